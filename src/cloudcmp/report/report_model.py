"""The model of a report: the cells of a study in reading order, each with all its results."""

from dataclasses import dataclass

from cloudcmp.catalog.order import cell_order
from cloudcmp.cost import work_unit
from cloudcmp.model.metric import Better, Group, Metric
from cloudcmp.model.pairs import CellPairs
from cloudcmp.model.plan import Candidate
from cloudcmp.model.result import Basis, Comparison, Estimate, Outlook, Verdict, Winner
from cloudcmp.model.view import View
from cloudcmp.report.numbers import Scale, cost_scale, known, work_scale
from cloudcmp.report.text import ShortNames
from cloudcmp.report.words import CellNames, origin, parse_cell

MARKS = {Verdict.BETTER: "▲", Verdict.WORSE: "▼", Verdict.SAME: "=", Verdict.CANNOT_TELL: "?"}


STYLES = {Verdict.BETTER: "green", Verdict.WORSE: "red", Verdict.SAME: "cyan", Verdict.CANNOT_TELL: "yellow"}
"""The colours of verdicts on a terminal; marks say the same without colour."""
_APART = 0.005  # medians that look equal oppose nothing
OPPOSED = "the medians stand the other way round: the change is the mean round by round"


@dataclass(frozen=True, slots=True)
class Standing:
    """The candidates of one cell on one basis: by performance, or by work for money.

    `values` are their medians, or their work for one unit of money; None is unknown. `scale` shows them. If `inverse`,
    they are the money for one unit of work, as for tasks, and their ratio is the inverse of the one compared.
    """

    comparisons: CellPairs
    winner: Winner | None
    values: dict[int, float | None]
    better: Better
    scale: Scale
    outlook: Outlook | None
    inverse: bool = False

    def against(self, a: int, b: int) -> tuple[Comparison, bool] | None:
        """The comparison of two candidates, and whether its effect is that of b against a."""
        pair = self.comparisons.between(a, b)
        return None if pair is None else (pair, (pair.a != a) is not self.inverse)

    def verdict(self, a: int, b: int) -> Verdict | None:
        """The verdict on a against b; None for exploratory cells."""
        return self.comparisons.verdict(a, b)

    @property
    def ranked(self) -> list[int]:
        """The candidates with a value, best first; the winners in their order before all others."""
        sign = -1 if self.better is Better.HIGHER else 1
        won = list(self.winner.winners) if self.winner else []
        known_values = {at: value for at, value in self.values.items() if known(value) and at not in won}
        return [*won, *sorted(known_values, key=lambda at: (sign * (known_values[at] or 0.0), at))]

    @property
    def leader(self) -> int | None:
        """The reference candidate: the first winner, else the one with the best value."""
        return next(iter(self.ranked), None)

    def best_and_next(self) -> tuple[int, int] | None:
        """Return the best candidate and the best of those that are not practically the same; None without two."""
        ranked = self.ranked
        others = [at for at in ranked[1:] if self.verdict(ranked[0], at) is not Verdict.SAME] or ranked[1:]
        return (ranked[0], others[0]) if others else None

    def notes(self, a: int, b: int) -> tuple[str, ...]:
        """Return what a reader must know beside the comparison of two candidates: its marks, and opposed medians.

        The change is the mean of the changes round by round; the medians of all launches may stand the other way round.
        """
        pair = self.against(a, b)
        if pair is None:
            return ()
        one, turned = pair
        first, second, effect = self.values.get(a), self.values.get(b), one.effect
        if not (known(first) and known(second) and known(effect)) or first == second:
            return one.marks
        none, apart = 0.0 if one.by_difference else 1.0, abs(first - second) > _APART * max(abs(first), abs(second))
        opposed = apart and effect != none and ((effect > none) is not turned) is not (first > second)
        return (*one.marks, *([OPPOSED] if opposed and one.basis is Basis.PERFORMANCE else []))

    def marks(self) -> dict[int, Verdict]:
        """Return the verdict on each candidate against the leader, and on the leader; empty unless the cell decides."""
        leader, others = self.leader, [at for at in self.values if at != self.leader]
        if not self.comparisons or not self.comparisons.decides or len(self.values) < 2:
            return {}
        if leader is None:
            return dict.fromkeys(self.values, Verdict.CANNOT_TELL)
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
class CellView:
    """One cell: its estimates by candidate index, and its standings by performance and by work for money.

    `cell` is its canonical text; `money` is None if prices are unknown or nothing decides.
    """

    cell: str
    metric: Metric
    name: str
    decides: bool
    estimates: dict[int, Estimate]
    standing: Standing
    money: Standing | None

    @property
    def scale(self) -> Scale:
        """The unit of the cell's values."""
        return self.standing.scale

    @property
    def money_words(self) -> str:
        """What the values for money are: the work for one unit of money, or the money for one task."""
        return "cost of a task" if self.money is not None and self.money.inverse else "work for money"

    @property
    def comparisons(self) -> CellPairs:
        """The comparisons by performance."""
        return self.standing.comparisons

    @property
    def winner(self) -> Winner | None:
        """The winners by performance."""
        return self.standing.winner

    def against(self, a: int, b: int) -> tuple[Comparison, bool] | None:
        """The comparison of two candidates by performance, and whether it is stored in reverse order."""
        return self.standing.against(a, b)

    def verdict(self, a: int, b: int) -> Verdict | None:
        """The verdict on a against b by performance; None for exploratory cells."""
        return self.standing.verdict(a, b)

    @property
    def leader(self) -> int | None:
        """The reference candidate by performance."""
        return self.standing.leader

    def of_leader(self) -> list[Comparison]:
        """The comparisons of the leader with each other candidate."""
        leader = self.leader
        pairs = [] if leader is None else [self.against(leader, at) for at in self.estimates if at != leader]
        return [pair[0] for pair in pairs if pair is not None]

    def marks(self) -> dict[int, Verdict]:
        """The verdict on each candidate against the leader by performance; empty unless the cell decides."""
        return self.standing.marks() if self.decides else {}


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study with its cells in reading order."""

    view: View
    cells: tuple[CellView, ...]
    names: CellNames
    origin: str
    short_names: ShortNames
    by_cell: dict[str, CellView]

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
        """Collect the results of each cell, with the cells in the order of the catalog and of their parameters.

        A candidate that cannot have a cell is missing from its estimates.
        """
        estimates: dict[str, dict[int, Estimate]] = {}
        for one in view.analysis.estimates:
            if one.offered:
                estimates.setdefault(one.cell, {})[one.candidate] = one
        names = CellNames(estimates)
        found = _Results.of(view)
        rank = {name: at for at, name in enumerate(view.metrics)}
        parsed = {text: parse_cell(text) for text in estimates}
        ordered = sorted(parsed, key=lambda text: (rank[parsed[text].metric], cell_order(parsed[text])))
        cells = tuple(_cell_view(view, cell, names, estimates[cell], found) for cell in ordered)
        short = ShortNames.of([one.id for one in view.plan.candidates])
        return cls(view, cells, names, origin(view.plan), short, {one.cell: one for one in cells})

    @property
    def short(self) -> tuple[str, ...]:
        """The candidates' names without the parts that all share."""
        return self.short_names.names


@dataclass(frozen=True, slots=True)
class _Results:
    """The winners and outlooks of a study by cell and basis, and the currency of its prices."""

    winners: dict[tuple[str, Basis], Winner]
    outlooks: dict[tuple[str, Basis], Outlook]
    currency: str

    @classmethod
    def of(cls, view: View) -> "_Results":
        found = view.analysis
        prices = (one.offering.price for one in view.plan.candidates)
        return cls(
            {(one.cell, one.basis): one for one in (*found.winners, *found.money_winners)},
            {(one.cell, one.basis): one for one in found.outlooks},
            next((price.currency for price in prices if price is not None), ""),
        )


def _cell_view(view: View, cell: str, names: CellNames, estimates: dict[int, Estimate], found: _Results) -> CellView:
    metric = view.metrics[parse_cell(cell).metric]
    ordered = dict(sorted(estimates.items()))
    comparisons = view.analysis.comparisons.of(cell).among(ordered)
    decide = {one.cell for one in view.plan.decide}
    decides = comparisons.decides if comparisons else not decide or cell in decide or metric.name in decide
    medians = {at: one.median for at, one in ordered.items()}
    scale = Scale.of([one for one in medians.values() if known(one)], metric.unit)
    of_cell = (cell, Basis.PERFORMANCE)
    standing = Standing(comparisons, found.winners.get(of_cell), medians, metric.better, scale,
                        found.outlooks.get(of_cell))  # fmt: skip
    return CellView(cell, metric, names.short(cell), decides, ordered, standing, _money(view, cell, ordered, found))


def _money(view: View, cell: str, estimates: dict[int, Estimate], found: _Results) -> Standing | None:
    """The standing by work for money; None if the cell has none."""
    if cell not in view.analysis.money.cells:
        return None
    metric, of_cell = view.metrics[parse_cell(cell).metric], (cell, Basis.MONEY)
    pairs = view.analysis.money.of(cell).among(estimates)
    winner, outlook = found.winners.get(of_cell), found.outlooks.get(of_cell)
    paid = {
        at: one.cost_per_task for at, one in estimates.items() if one.cost_per_task and one.cost_per_task.amount > 0
    }
    if paid:
        costs = {at: float(money.amount) for at, money in paid.items()}
        scale = cost_scale(costs.values(), next(iter(paid.values())).currency)
        return Standing(pairs, winner, {**costs}, Better.LOWER, scale, outlook, inverse=True)
    work = {at: one.work_per_money for at, one in estimates.items() if one.work_per_money is not None}
    scale = work_scale([one for one in work.values() if known(one)], work_unit(metric, found.currency) or metric.unit)
    return Standing(pairs, winner, {**work}, Better.HIGHER, scale, outlook)
