"""A view, opened: its cells in reading order, and what is known of each."""

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
class Page:
    """One cell with everything that is known of it; `estimates` is keyed by the candidate's index."""

    cell: str
    metric: Metric
    name: str
    scale: Scale
    decides: bool
    estimates: dict[int, Estimate]
    comparisons: CellPairs
    winner: Winner | None

    def against(self, a: int, b: int) -> tuple[Comparison, bool] | None:
        """The comparison of two candidates, and whether it is stored the other way round."""
        found = self.comparisons.between(a, b)
        return None if found is None else (found, found.a != a)

    def verdict(self, a: int, b: int) -> Verdict | None:
        """The verdict on a candidate as seen from a against b; None for exploratory cells."""
        return self.comparisons.verdict(a, b)

    @property
    def leader(self) -> int | None:
        """The candidate that the others are set against: the first winner, else the best median."""
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
        """What is to be said of each candidate against the leader, and of the leader; empty unless the cell decides."""
        leader, others = self.leader, [at for at in self.estimates if at != self.leader]
        if not self.decides or len(self.estimates) < 2:
            return {}
        if leader is None:
            return dict.fromkeys(self.estimates, Verdict.CANNOT_TELL)
        said = {at: self.verdict(at, leader) or Verdict.CANNOT_TELL for at in others}
        seen = set(said.values())
        if seen == {Verdict.WORSE}:
            said[leader] = Verdict.BETTER
        elif Verdict.CANNOT_TELL in seen or Verdict.BETTER in seen:
            said[leader] = Verdict.CANNOT_TELL
        else:
            said[leader] = Verdict.SAME
        return said


@dataclass(frozen=True, slots=True)
class Book:
    """The whole view in reading order."""

    view: View
    pages: tuple[Page, ...]
    names: CellNames
    origin: str
    by_cell: dict[str, Page] = field(default_factory=dict)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates in the plan's order."""
        return self.view.plan.candidates

    def groups(self) -> tuple[tuple[Group, tuple[Page, ...]], ...]:
        """The groups that were measured, each with its cells."""
        split = ((group, tuple(page for page in self.pages if page.metric.group is group)) for group in Group)
        return tuple((group, pages) for group, pages in split if pages)

    @classmethod
    def of(cls, view: View) -> "Book":
        """Open a view: find what belongs to each cell, and put the cells in the order of the metrics' table.

        A candidate that cannot have a cell is not on its page.
        """
        estimates: dict[str, dict[int, Estimate]] = {}
        for one in view.analysis.estimates:
            if one.offered:
                estimates.setdefault(one.cell, {})[one.candidate] = one
        pairs = view.analysis.comparisons
        winners = {one.cell: one for one in view.analysis.winners}
        names = CellNames(estimates)
        rank = {name: at for at, name in enumerate(view.metrics)}
        cells = sorted(estimates, key=lambda cell: rank[parse_cell(cell).metric])
        pages = tuple(
            _page(view, cell, names, estimates[cell], pairs.of(cell).among(estimates[cell]), winners.get(cell))
            for cell in cells
        )
        return cls(view, pages, names, origin(view.plan), {page.cell: page for page in pages})


def _page(
    view: View,
    cell: str,
    names: CellNames,
    estimates: dict[int, Estimate],
    comparisons: CellPairs,
    winner: Winner | None,
) -> Page:
    metric = view.metrics[parse_cell(cell).metric]
    medians = [one.median for one in estimates.values() if known(one.median)]
    asked = {one.cell for one in view.plan.decide}
    named = not asked or cell in asked or metric.name in asked
    decides = comparisons.decides if comparisons else named
    ordered = dict(sorted(estimates.items()))
    return Page(cell, metric, names.short(cell), Scale.of(medians, metric.unit), decides, ordered, comparisons, winner)
