"""The answer in a few sentences: winners with differences and intervals, and how to decide open verdicts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.answer.effects import (
    chance_words,
    how_much,
    how_much_cost,
    how_much_work,
    leading,
    listed,
    short_names,
    span,
    turned,
)
from cloudcmp.answer.outlook import more_rounds
from cloudcmp.answer.selection import standing_lines
from cloudcmp.catalog.order import cell_order
from cloudcmp.compare import deciding
from cloudcmp.cost import price_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.pairs import Analysis, CellPairs
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Basis, Bounds, Estimate, Outlook, Verdict, Winner

# An answer on more cells than this is too long to read; the rest is in the tables.
_MOST_CELLS = 8
_DECIDED = (Verdict.BETTER, Verdict.WORSE)


@dataclass(frozen=True, slots=True)
class _Cell:
    """Everything known about one deciding cell on one basis."""

    plan: Plan
    cell: Cell
    label: str
    metric: Metric
    winner: Winner
    estimates: Mapping[int, Estimate]
    pairs: CellPairs
    outlook: Outlook | None
    currency: str

    @property
    def basis(self) -> Basis:
        return self.winner.basis

    def name(self, candidate: int) -> str:
        return self.plan.candidates[candidate].id

    def ranked(self) -> list[int]:
        """Candidates with a figure on this basis, best first."""
        sign = -1.0 if self.metric.better == "higher" else 1.0
        figures = {at: self._figure(one) for at, one in self.estimates.items()}
        known = {at: value for at, value in figures.items() if value is not None}
        return sorted(known, key=lambda at: (sign * known[at], at))

    def _figure(self, one: Estimate) -> float | None:
        if self.basis is Basis.PERFORMANCE:
            return one.median
        return one.work_per_money if one.cost_per_task is None else float(one.cost_per_task.amount)

    @property
    def is_cost(self) -> bool:
        """True if its figures are what one task costs; less is better."""
        return self.basis is Basis.MONEY and any(one.cost_per_task is not None for one in self.estimates.values())

    def verdict(self, a: int, b: int) -> Verdict | None:
        return self.pairs.verdict(a, b)

    def doubtful(self) -> list[int]:
        """Winners that are neither the best nor practically the same as the best."""
        won = self.winner.winners
        return [at for at in won[1:] if self.verdict(won[0], at) is not Verdict.SAME]


def in_words(
    plan: Plan, analysis: Analysis, metrics: Mapping[str, Metric], names: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return the answer as sentences, in the order of the study's `decide`, for at most eight cells.

    A study with a rule begins with what the rule concluded. The next sentence counts wins, ties and undecided
    measurements, by performance and by work for money. Each cell gets the best candidate and its difference from the
    next with the 95 % interval and n; ties and the cheapest of them; the same by work for money; and what is undecided,
    with the further rounds that would probably decide it and the chance that they do. Caveats state the limits of the
    numbers: simulated numbers were not measured, values are not launches, loopback is not a network. The answer
    contains nothing that the tables do not show.

    `names` are readable names of the cells, by their text.
    """
    labels = names or short_names(one.cell for one in analysis.winners)
    rank = {name: at for at, name in enumerate(metrics)}
    cells = sorted(
        _cells(plan, analysis, metrics, labels),
        key=lambda one: (place_in_decide(plan, one.cell), rank[one.cell.metric], cell_order(one.cell)),
    )
    speed = [one for one in cells if one.basis is Basis.PERFORMANCE]
    caveats = _caveats(plan, speed, analysis.comparisons.replication_known)
    if not speed:
        return (*caveats, "No deciding measurement has two candidates: there is no verdict.")
    some, rest = leading(speed, _MOST_CELLS)
    shown = {one.cell for one in some}
    sentences = [sentence for cell in cells if cell.cell in shown for sentence in _of_cell(cell)]
    more = [f"{rest} more measurements are in the table."] if rest else []
    return (*caveats, *standing_lines(plan, labels), *_overall(cells), *sentences, *more, *_of_prices(plan))


def place_in_decide(plan: Plan, cell: Cell) -> int:
    """Return the position of the cell, or of its metric, in the study's `decide`; the end if it is not listed."""
    named = [at for at, each in enumerate(plan.decide) if each.cell in {str(cell), cell.metric}]
    return min(named, default=len(plan.decide))


def _cells(plan: Plan, analysis: Analysis, metrics: Mapping[str, Metric], labels: Mapping[str, str]) -> Iterator[_Cell]:
    """Yield each deciding cell by performance, followed by the same by work for money."""
    deciding_cells = deciding(plan, (one.cell for one in analysis.winners))
    of_cell: dict[str, dict[int, Estimate]] = {}
    for one in analysis.estimates:
        if one.offered:
            of_cell.setdefault(one.cell, {})[one.candidate] = one
    outlooks = {(one.cell, one.basis): one for one in analysis.outlooks}
    by_money = {one.cell: one for one in analysis.money_winners}
    currency = next((price.currency for one in plan.candidates if (price := price_of(one)) is not None), "")
    for winner in analysis.winners:
        known, text = of_cell.get(winner.cell, {}), winner.cell
        if text not in deciding_cells:
            continue
        for found, pairs in ((winner, analysis.comparisons), (by_money.get(text), analysis.money)):
            some = pairs.of(text).among(known) if found is not None and text in pairs.cells else None
            if found is not None and some:
                cell = Cell.parse(text)
                yield _Cell(plan, cell, labels[text], metrics[cell.metric], found, known, some,
                            outlooks.get((text, found.basis)), currency)  # fmt: skip


def _caveats(plan: Plan, cells: Sequence[_Cell], replication_known: bool) -> Iterator[str]:
    simulated = [candidate.id for candidate in plan.candidates if candidate.simulated]
    if len(simulated) == len(plan.candidates):
        yield "All numbers are simulated: their true values are planted, and nothing was measured."
    elif simulated:
        yield f"The numbers of {listed(simulated)} are simulated: they are planted, and nothing was measured there."
    if not replication_known:
        yield (
            "The table does not say which values came from one launch: n counts values, "
            "so differences look more certain than they are if several values came from one launch."
        )
    if any(cell.cell.get("path") == "loopback" for cell in cells):
        yield "Values with path=loopback were measured inside one machine: they do not measure a network."


def _overall(cells: Sequence[_Cell]) -> Iterator[str]:
    """Yield one sentence with the number of wins, ties and undecided cells, for each basis with several cells."""
    for basis, what in ((Basis.PERFORMANCE, "deciding measurements"), (Basis.MONEY, "by work for money")):
        some = [one for one in cells if one.basis is basis]
        if len(some) > 1:
            names = {one.index: one.id for one in cells[0].plan.candidates}
            counts = standings([(one.winner, bool(one.doubtful())) for one in some], names)
            yield f"Of {len(some)} {what}, {counts}."


def standings(winners: Sequence[tuple[Winner, bool]], names: Mapping[int, str]) -> str:
    """Describe wins, ties and undecided cells: `a wins 3, b wins 1, 1 is undecided`.

    `winners` are those of each cell, and whether one of them is undecided against the first.
    """
    alone = Counter(one.winners[0] for one, doubtful in winners if len(one.winners) == 1)
    tied = sum(len(one.winners) > 1 and not doubtful for one, doubtful in winners)
    open_ = sum(not one.winners or doubtful for one, doubtful in winners)
    parts = [f"{names[at]} wins {n}" for at, n in alone.most_common()]
    parts += [f"{tied} {'are ties' if tied > 1 else 'is a tie'}"] * bool(tied)
    parts += [f"{open_} {'are' if open_ > 1 else 'is'} undecided"] * bool(open_)
    return listed(parts)


def undecided(winner: Winner, pairs: CellPairs) -> bool:
    """True if a cell has no winner, or some winner is neither the first nor practically the same."""
    won = winner.winners
    return not won or any(pairs.verdict(won[0], at) is not Verdict.SAME for at in won[1:])


def _of_cell(cell: _Cell) -> Iterator[str]:
    won = cell.winner.winners
    about = ", cost of a task" if cell.is_cost else ", work for money" if cell.basis is Basis.MONEY else ""
    label = f"{cell.label}{about}"
    if not won:
        yield f"{label}: {cell.winner.reason or 'cannot tell yet'}.{_rounds(cell)}"
        return
    doubtful = cell.doubtful()
    ties = [at for at in won[1:] if at not in doubtful]
    left_out = "".join(f" {note[0].upper()}{note[1:]}." for note in cell.winner.left_out)
    yield f"{label}: {_lead(cell, won[0], ties, doubtful)}{'' if cell.basis is Basis.MONEY else left_out}"
    if doubtful:
        names = listed([cell.name(at) for at in doubtful])
        yield f"{label}: undecided whether {names} is behind.{_rounds(cell)}"


def _lead(cell: _Cell, best: int, ties: Sequence[int], doubtful: Sequence[int]) -> str:
    if ties:
        names = listed([cell.name(at) for at in (best, *ties)])
        star = cell.winner.starred
        cheapest = "" if star is None else f", {cell.name(star)} the cheapest of them"
        start = f"{names} are practically the same and {'lead' if doubtful else 'best'}{cheapest}"
    else:
        start = f"{cell.name(best)} {'leads' if doubtful else 'is best'}"
    rest = (at for at in cell.ranked() if at not in (best, *ties, *doubtful))
    behind = [at for at in rest if cell.verdict(best, at) in _DECIDED]
    pair = cell.pairs.between(best, behind[0]) if behind else None
    if pair is None or pair.effect is None:
        return start + "."
    effect, bounds = turned(pair, best)
    unit, by_difference, other = cell.metric.unit, pair.by_difference, cell.name(behind[0])
    money = cell.basis is Basis.MONEY
    if cell.is_cost:
        effect, bounds = 1 / effect, bounds and Bounds(1 / bounds.high, 1 / bounds.low, bounds.confidence)
        amount = how_much_cost(effect, other)
    else:
        amount = how_much_work(effect, cell.currency, other) if money else how_much(effect, unit, by_difference, other)
    interval = "no interval" if bounds is None else f"95 % interval {span(bounds, effect, unit, by_difference)}"
    next_ = "the nearest that is behind" if doubtful else "the next"
    rank = next_ if len(cell.plan.candidates) > 2 else "the other"
    link = f". {_LINKS[cell.is_cost, money].format(cell.name(best))} " if ties else ": "
    notes = "".join(f"; {mark}" for mark in (*_opposed(cell, best, behind[0]), *pair.marks))
    return f"{start}{link}{amount}, {rank} ({interval}, n = {pair.n}{notes})."


_LINKS = {(False, False): "{} is", (False, True): "{} does", (True, True): "On {}"}
"""How the second sentence on a tie begins, by whether the cell is a cost and is about money."""


def _opposed(cell: _Cell, best: int, other: int) -> Iterator[str]:
    """Yield a note if the medians of two candidates stand against the verdict, which compares round by round."""
    medians = [cell.estimates[at].median for at in (best, other)]
    if cell.basis is Basis.MONEY or medians[0] is None or medians[1] is None:
        return
    if (medians[0] < medians[1]) == (cell.metric.better == "higher") and medians[0] != medians[1]:
        yield "the medians stand the other way round, because this is the mean change round by round"


def _rounds(cell: _Cell) -> str:
    """Return a sentence with the number of rounds that would probably settle the cell; empty if unknown."""
    one = cell.outlook
    if one is None:
        return ""
    rounds, several = more_rounds(cell.plan, one.rounds), one.rounds > 1
    if one.chance is None:
        return f" At least {rounds} {'are' if several else 'is'} needed for a verdict."
    names = listed([cell.name(at) for at in (one.a, one.b)])
    return f" {rounds} would settle {names} with a chance of {chance_words(one.chance)}."


def _of_prices(plan: Plan) -> Iterator[str]:
    unknown = [candidate.id for candidate in plan.candidates if price_of(candidate) is None]
    if len(unknown) == len(plan.candidates):
        yield "No price is known, so costs are not compared."
    elif unknown:
        yield f"The price of {listed(unknown)} is unknown, so its cost is not compared."
