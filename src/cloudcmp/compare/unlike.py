"""Like with like: what differs between two candidates besides the offering."""

from collections.abc import Mapping
from dataclasses import dataclass

from cloudcmp.catalog import PROBES
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan

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


def unlike(
    plan: Plan, cell: Cell, a: int, b: int, facts: Mapping[int, Mapping[str, str]]
) -> tuple[str, tuple[str, ...]]:
    """What refuses a verdict on `cell` (empty: nothing), and the marks for what else differs.

    `facts` holds for each candidate the facts of `FACTS` that are known, as text, and further ones named
    `<probe>.<note>` (how one probe really ran: `disk.engine`), which mark the cells of that probe. A fact that only
    one of the two told is a mark; one that neither told is not seen, and nothing is said. Parameters of the trials
    that are not part of the cell (duration, block counts) are read from the plan; where they differ, the verdict is
    refused.
    """
    mine, theirs = facts.get(a, {}), facts.get(b, {})
    probes = _PROBES_OF.get(cell.metric, frozenset())
    refused: list[str] = []
    marks: list[str] = []
    for fact in (*FACTS, *_of_probes(probes, mine, theirs)):
        if fact.probes and not probes & set(fact.probes):
            continue
        first, second = mine.get(fact.key), theirs.get(fact.key)
        if first == second:
            continue
        if first is None or second is None:
            marks.append(f"{fact.name}: known only for {plan.candidates[b if first is None else a].id}")
        else:
            (refused if fact.refuses else marks).append(f"{fact.name}: {first} against {second}")
    return "; ".join(refused), tuple(marks)


def trial_params(plan: Plan) -> Mapping[tuple[str, int], frozenset[tuple[str, tuple[tuple[str, str], ...]]]]:
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
