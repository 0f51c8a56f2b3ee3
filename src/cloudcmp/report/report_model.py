"""The model of a report: the cells of a study in reading order, each with all its results."""

from dataclasses import dataclass, field

from cloudcmp.model.metric import Better, Group, Metric
from cloudcmp.model.pairs import CellPairs
from cloudcmp.model.plan import Candidate
from cloudcmp.model.result import Comparison, Estimate, Verdict, Winner
from cloudcmp.model.view import View
from cloudcmp.report.numbers import Scale, known
from cloudcmp.report.words import CellNames, origin, parse_cell

MARKS = {Verdict.BETTER: "▲", Verdict.WORSE: "▼", Verdict.SAME: "=", Verdict.CANNOT_TELL: "?"}


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell: its estimates by candidate index, comparisons and winner; `cell` is its canonical text."""

    cell: str
    metric: Metric
    name: str
    scale: Scale
    decides: bool
    estimates: dict[int, Estimate]
    comparisons: CellPairs
    winner: Winner | None

    def against(self, a: int, b: int) -> tuple[Comparison, bool] | None:
        """The comparison of two candidates, and whether it is stored in reverse order."""
        pair = self.comparisons.between(a, b)
        return None if pair is None else (pair, pair.a != a)

    def verdict(self, a: int, b: int) -> Verdict | None:
        """The verdict on a against b; None for exploratory cells."""
        return self.comparisons.verdict(a, b)

    @property
    def leader(self) -> int | None:
        """The reference candidate: the first winner, else the one with the best median."""
        if self.winner and self.winner.winners:
            return self.winner.winners[0]
        medians = {at: one.median for at, one in self.estimates.items() if known(one.median)}
        if not medians:
            return None
        sign = -1 if self.metric.better is Better.HIGHER else 1
        return min(medians, key=lambda at: (sign * (medians[at] or 0.0), at))

    def of_leader(self) -> list[Comparison]:
        """The comparisons of the leader with each other candidate."""
        leader = self.leader
        pairs = [] if leader is None else [self.against(leader, at) for at in self.estimates if at != leader]
        return [pair[0] for pair in pairs if pair is not None]

    def marks(self) -> dict[int, Verdict]:
        """Return the verdict on each candidate against the leader, and on the leader; empty unless the cell decides."""
        leader, others = self.leader, [at for at in self.estimates if at != self.leader]
        if not self.decides or len(self.estimates) < 2:
            return {}
        if leader is None:
            return dict.fromkeys(self.estimates, Verdict.CANNOT_TELL)
        marks = {at: self.verdict(at, leader) or Verdict.CANNOT_TELL for at in others}
        verdicts = set(marks.values())
        if verdicts == {Verdict.WORSE}:
            marks[leader] = Verdict.BETTER
        elif Verdict.CANNOT_TELL in verdicts or Verdict.BETTER in verdicts:
            marks[leader] = Verdict.CANNOT_TELL
        else:
            marks[leader] = Verdict.SAME
        return marks


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study with its cells in reading order."""

    view: View
    cells: tuple[CellView, ...]
    names: CellNames
    origin: str
    by_cell: dict[str, CellView] = field(default_factory=dict)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates in the plan's order."""
        return self.view.plan.candidates

    def groups(self) -> tuple[tuple[Group, tuple[CellView, ...]], ...]:
        """The groups that were measured, each with its cells."""
        split = ((group, tuple(one for one in self.cells if one.metric.group is group)) for group in Group)
        return tuple((group, some) for group, some in split if some)

    @classmethod
    def of(cls, view: View) -> "StudyView":
        """Collect the results of each cell, with the cells in the order of the catalog.

        A candidate that cannot have a cell is missing from its estimates.
        """
        estimates: dict[str, dict[int, Estimate]] = {}
        for one in view.analysis.estimates:
            if one.offered:
                estimates.setdefault(one.cell, {})[one.candidate] = one
        names = CellNames(estimates)
        winners = {one.cell: one for one in view.analysis.winners}
        rank = {name: at for at, name in enumerate(view.metrics)}
        ordered = sorted(estimates, key=lambda cell: rank[parse_cell(cell).metric])
        cells = tuple(_cell_view(view, cell, names, estimates[cell], winners.get(cell)) for cell in ordered)
        return cls(view, cells, names, origin(view.plan), {one.cell: one for one in cells})


def _cell_view(
    view: View, cell: str, names: CellNames, estimates: dict[int, Estimate], winner: Winner | None
) -> CellView:
    metric = view.metrics[parse_cell(cell).metric]
    comparisons = view.analysis.comparisons.of(cell).among(estimates)
    medians = [one.median for one in estimates.values() if known(one.median)]
    decide = {one.cell for one in view.plan.decide}
    decides = comparisons.decides if comparisons else not decide or cell in decide or metric.name in decide
    scale, ordered = Scale.of(medians, metric.unit), dict(sorted(estimates.items()))
    return CellView(cell, metric, names.short(cell), scale, decides, ordered, comparisons, winner)
