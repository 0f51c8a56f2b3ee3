"""The comparability of candidates: differences besides the offering refuse a verdict or mark a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloudcmp.catalog import PROBES
from cloudcmp.compare.pairing import Flags, pairs_of, place_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Clause
from cloudcmp.stats.check import Integers

Facts = Mapping[int, Mapping[str, str]]
Params = frozenset[tuple[str, tuple[tuple[str, str], ...]]]
CellParams = Mapping[tuple[str, int], Params]

_PARAMETERS = "probe parameters"
_DISK = ("disk", "dbench", "iozone", "postmark", "task")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that should be equal for both candidates.

    `name` is its readable name. If it `refuses`, a difference refuses the verdict; otherwise it marks the comparison.
    `probes` are the probes that it affects; empty means all.
    """

    key: str
    name: str
    refuses: bool = False
    probes: tuple[str, ...] = ()


# A difference in how a trial ran refuses the verdict, because the numbers have another meaning. A difference in the
# environment is marked, because it may be part of the offering. Facts that define the offering (processor, memory,
# instruction set) are not compared.
FACTS = (
    Fact("agent_version", "agent version", refuses=True),
    Fact("version", "version"),
    Fact("tool_version", "tool version"),
    Fact("compiler", "compiler"),
    Fact("image", "image"),
    Fact("kernel", "kernel"),
    Fact("transparent_huge_pages", "transparent huge pages"),
    Fact("huge_pages", "reserved huge pages"),
    Fact("page_merging", "merging of pages (KSM)"),
    Fact("balloon", "memory balloon"),
    Fact("clocksource", "clock source"),
    Fact("blas_kernel", "BLAS kernel", probes=("lu",)),
    Fact("dbench.loadfile", "loadfile", refuses=True, probes=("dbench",)),
    Fact("default_disk", "disk", refuses=True, probes=_DISK),
    Fact("disk_class", "disk class", probes=_DISK),
    Fact("file_system", "file system", probes=_DISK),
)


def differences(plan: Plan, cell: Cell, a: int, b: int, facts: Facts) -> tuple[tuple[Clause, ...], tuple[str, ...]]:
    """Return the differences that refuse a verdict on `cell`, and marks for all other differences.

    `facts` holds for each candidate the known facts of `FACTS`, as text, and further facts named `<probe>.<note>` (how
    a probe really ran: `disk.engine`), which mark the cells of that probe. A fact that only one candidate reported is a
    mark; a fact that neither reported is ignored. Different trial parameters that are not part of the cell (duration,
    block counts) also refuse a verdict; `Likeness.refusal` adds them.
    """
    mine, theirs = facts.get(a, {}), facts.get(b, {})
    if mine == theirs:
        return (), ()
    probes = probes_of(cell)
    refused: list[Clause] = []
    marks: list[str] = []
    for fact in (*FACTS, *_of_probes(probes, mine, theirs)):
        if fact.probes and not probes & set(fact.probes):
            continue
        first, second = mine.get(fact.key), theirs.get(fact.key)
        if first == second:
            continue
        if first is None or second is None:
            marks.append(f"{fact.name}: known only for {plan.candidates[b if first is None else a].id}")
            continue
        difference = Clause(fact.name, f"{first} against {second}")
        if fact.refuses:
            refused.append(difference)
        else:
            marks.append(str(difference))
    return tuple(refused), tuple(marks)


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """The comparability of the candidates of one cell: what refuses a verdict, and what marks a comparison.

    `kinds` has a number for each candidate: candidates with the same number have no difference that refuses. `refused`
    is True for each pair whose two kinds refuse a verdict.
    """

    plan: Plan
    cell: Cell
    facts: Facts
    candidates: tuple[int, ...]
    params: tuple[Params | None, ...]
    kinds: Integers
    refused: Flags

    @classmethod
    def of(cls, plan: Plan, cell: Cell, candidates: tuple[int, ...], facts: Facts, params: CellParams) -> "Likeness":
        """Compare the candidates of a cell, in order, with the parameters from `trial_params`."""
        probes = probes_of(cell)
        keys = [fact.key for fact in FACTS if fact.refuses and (not fact.probes or probes & set(fact.probes))]
        text = str(cell)
        own = tuple(None if plan.imported else params.get((text, one)) for one in candidates)
        signs: dict[tuple[object, ...], int] = {}
        kinds = [
            signs.setdefault((some, *map(facts.get(one, {}).get, keys)), len(signs))
            for one, some in zip(candidates, own, strict=True)
        ]
        apart = np.array([[_refuses(one, other) for other in signs] for one in signs], dtype=np.bool_)
        of_kind, (first, second) = np.array(kinds, dtype=np.int64), pairs_of(len(candidates))
        refused = apart.reshape(len(signs), -1)[of_kind[first], of_kind[second]]
        return cls(plan, cell, facts, candidates, own, of_kind, refused)

    def among(self, places: Sequence[int]) -> "Likeness":
        """Return the comparability of the candidates at some positions."""
        if len(places) == len(self.candidates):
            return self
        first, second = (np.array(places, dtype=np.int64)[side] for side in pairs_of(len(places)))
        return replace(
            self,
            candidates=tuple(self.candidates[at] for at in places),
            params=tuple(self.params[at] for at in places),
            kinds=self.kinds[list(places)],
            refused=self.refused[place_of(first, second, len(self.candidates))],
        )

    def refusal(self, a: int, b: int) -> tuple[Clause, ...]:
        """Return what refuses a verdict on the candidates at two positions."""
        refused, _ = differences(self.plan, self.cell, self.candidates[a], self.candidates[b], self.facts)
        known = self.params[a] is not None and self.params[b] is not None
        return (*refused, Clause("", _PARAMETERS)) if known and self.params[a] != self.params[b] else refused

    def marks(self, a: int, b: int) -> tuple[str, ...]:
        """Return marks for the other differences between the candidates at two positions."""
        marks = differences(self.plan, self.cell, self.candidates[a], self.candidates[b], self.facts)[1]
        if (self.params[a] is None) is (self.params[b] is None):
            return marks
        known = self.plan.candidates[self.candidates[b if self.params[a] is None else a]].id
        return (*marks, f"{_PARAMETERS}: known only for {known}")


def _refuses(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """True if two kinds are not comparable: their parameters or a fact differ, and both are known."""
    return any(a != b and a is not None and b is not None for a, b in zip(one, other, strict=True))


def trial_params(plan: Plan) -> CellParams:
    """Return, for each cell and candidate, the probes of its trials with the parameters that the cell does not name.

    Parameters in the cell's name are left out, because their values may differ by candidate: each candidate is resized
    to a type of its own cloud.
    """
    owner = [launch.candidate for launch in plan.launches]
    by_key: dict[tuple[str, int], set[tuple[str, tuple[tuple[str, str], ...]]]] = {}
    kinds = dict.fromkeys((owner[trial.launch], trial.probe, trial.params, trial.cells) for trial in plan.trials)
    for candidate, probe, params, cells in kinds:
        for cell in cells:
            named = dict(Cell.parse(cell).params)
            rest = tuple(pair for pair in params if pair[0] not in named)
            by_key.setdefault((cell, candidate), set()).add((probe, rest))
    return {key: frozenset(some) for key, some in by_key.items()}


def probes_of(cell: Cell) -> frozenset[str]:
    """Return the probes that can measure a cell: the one that it names as its tool, else all of its metric."""
    tool = cell.get("tool")
    return frozenset({tool}) if tool else _PROBES_OF.get(cell.metric, frozenset())


def _of_probes(probes: frozenset[str], mine: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[Fact, ...]:
    known = {fact.key for fact in FACTS}
    named = (key for key in sorted({*mine, *theirs} - known) if key.partition(".")[0] in probes and "." in key)
    return tuple(Fact(key, key.replace(".", " ").replace("_", " ")) for key in named)


def _probes_of() -> dict[str, frozenset[str]]:
    by_metric: dict[str, set[str]] = {}
    for probe in PROBES.values():
        for metric in probe.metrics:
            by_metric.setdefault(metric, set()).add(probe.name)
    return {metric: frozenset(names) for metric, names in by_metric.items()}


_PROBES_OF = _probes_of()
