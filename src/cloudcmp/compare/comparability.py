"""What differs between two candidates besides the offering, and so refuses or marks their comparison."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cloudcmp.catalog import PROBES
from cloudcmp.compare.pairing import Flags, pairs_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Clause
from cloudcmp.stats.check import Integers

Facts = Mapping[int, Mapping[str, str]]
Params = frozenset[tuple[str, tuple[tuple[str, str], ...]]]
CellParams = Mapping[tuple[str, int], Params]

_DISK = ("disk", "dbench", "iozone", "postmark", "task")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that should be the same for both: its key, what people call it, whether a difference refuses the verdict
    (else it marks the comparison), and the probes that it matters to (none named: all)."""

    key: str
    name: str
    refuses: bool = False
    probes: tuple[str, ...] = ()


# What a trial ran with is refused: its numbers mean something else. What the trial found there is marked: it may be
# part of what the offering is. What differs by nature (processor, memory, instruction set) is not looked at.
FACTS = (
    Fact("agent_version", "agent version", refuses=True),
    Fact("compiler", "compiler"),
    Fact("image", "image"),
    Fact("kernel", "kernel"),
    Fact("transparent_huge_pages", "transparent huge pages"),
    Fact("clocksource", "clock source"),
    Fact("blas_kernel", "BLAS kernel", probes=("lu",)),
    Fact("dbench.loadfile", "loadfile", refuses=True, probes=("dbench",)),
    Fact("disk_class", "disk class", probes=_DISK),
    Fact("file_system", "file system", probes=_DISK),
)


def differences(plan: Plan, cell: Cell, a: int, b: int, facts: Facts) -> tuple[tuple[Clause, ...], tuple[str, ...]]:
    """The differences that refuse a verdict on `cell`, and the marks for what else differs.

    `facts` holds for each candidate the facts of `FACTS` that are known, as text, and further ones named
    `<probe>.<note>` (how one probe really ran: `disk.engine`), which mark the cells of that probe. A fact that only
    one of the two reported is a mark; one that neither reported is ignored. Parameters of the trials
    that are not part of the cell (duration, block counts) are read from the plan; where they differ, the verdict is
    refused.
    """
    mine, theirs = facts.get(a, {}), facts.get(b, {})
    if mine == theirs:
        return (), ()
    probes = _PROBES_OF.get(cell.metric, frozenset())
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
        found = Clause(fact.name, f"{first} against {second}")
        if fact.refuses:
            refused.append(found)
        else:
            marks.append(str(found))
    return tuple(refused), tuple(marks)


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """How like the candidates of one cell are: what refuses a verdict, and what marks a comparison.

    `kinds` has a number for each candidate: those of one number differ in nothing that refuses. `refused` says of each
    pair whether its two kinds do.
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
        """Look at the candidates of a cell, in order, with the parameters from `trial_params`."""
        probes = _PROBES_OF.get(cell.metric, frozenset())
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

    def refusal(self, a: int, b: int) -> tuple[Clause, ...]:
        """What refuses a verdict on the candidates at two places."""
        refused, _ = differences(self.plan, self.cell, self.candidates[a], self.candidates[b], self.facts)
        return refused if self.params[a] == self.params[b] else (*refused, Clause("", "probe parameters"))

    def marks(self, a: int, b: int) -> tuple[str, ...]:
        """What else differs between the candidates at two places."""
        return differences(self.plan, self.cell, self.candidates[a], self.candidates[b], self.facts)[1]


def _refuses(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether two kinds are too unlike: other parameters, or a fact that both reported and that differs."""
    facts = zip(one[1:], other[1:], strict=True)
    return one[0] != other[0] or any(a != b and a is not None and b is not None for a, b in facts)


def trial_params(plan: Plan) -> CellParams:
    """For each cell and candidate the probes of the trials that give it, with the parameters that the cell leaves open.

    What the cell itself names may be done under other names: each candidate is resized to a type of its own cloud.
    """
    owner = [launch.candidate for launch in plan.launches]
    found: dict[tuple[str, int], set[tuple[str, tuple[tuple[str, str], ...]]]] = {}
    kinds = dict.fromkeys((owner[trial.launch], trial.probe, trial.params, trial.cells) for trial in plan.trials)
    for candidate, probe, params, cells in kinds:
        for cell in cells:
            named = dict(Cell.parse(cell).params)
            rest = tuple(pair for pair in params if pair[0] not in named)
            found.setdefault((cell, candidate), set()).add((probe, rest))
    return {key: frozenset(some) for key, some in found.items()}


def _of_probes(probes: frozenset[str], mine: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[Fact, ...]:
    known = {fact.key for fact in FACTS}
    named = (key for key in sorted({*mine, *theirs} - known) if key.partition(".")[0] in probes and "." in key)
    return tuple(Fact(key, key.replace(".", " ").replace("_", " ")) for key in named)


def _probes_of() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for probe in PROBES.values():
        for metric in probe.metrics:
            found.setdefault(metric, set()).add(probe.name)
    return {metric: frozenset(names) for metric, names in found.items()}


_PROBES_OF = _probes_of()
