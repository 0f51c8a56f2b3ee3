"""The answer in a few sentences: winners with differences and intervals, and how to decide open verdicts."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.analysis import FEWEST_LAUNCHES
from cloudcmp.compare import ALPHA, SAME_RATIO, deciding
from cloudcmp.cost import is_task, price_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.pairs import CellPairs, Pairs
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Bounds, Comparison, Estimate, NoVerdict, Verdict, Winner
from cloudcmp.stats.power import needed_n
from cloudcmp.units import Money, format_money, format_quantity, format_seconds

# An answer with more sentences is too long to read; the rest is in the tables.
_MOST_CELLS = 8
_ONLY_TOO_WIDE = (NoVerdict.TOO_WIDE, NoVerdict.TOO_WIDE_FOR_ALL)
_DECIDED = (Verdict.BETTER, Verdict.WORSE)


@dataclass(frozen=True, slots=True)
class _Cell:
    """Everything known about one deciding cell."""

    plan: Plan
    cell: Cell
    label: str
    metric: Metric
    winner: Winner
    estimates: Mapping[int, Estimate]
    pairs: CellPairs
    margin: float | None
    family: int

    def name(self, candidate: int) -> str:
        return self.plan.candidates[candidate].id

    def ranked(self) -> list[int]:
        """Candidates with a median, best first."""
        sign = -1.0 if self.metric.better == "higher" else 1.0
        known = {at: one.median for at, one in self.estimates.items() if one.median is not None}
        return sorted(known, key=lambda at: (sign * known[at], at))

    def verdict(self, a: int, b: int) -> Verdict | None:
        return self.pairs.verdict(a, b)

    def doubtful(self) -> list[int]:
        """Winners that are neither the best nor practically the same as the best."""
        won = self.winner.winners
        return [at for at in won[1:] if self.verdict(won[0], at) is not Verdict.SAME]


def in_words(
    plan: Plan,
    estimates: Sequence[Estimate],
    comparisons: Pairs,
    winners: Sequence[Winner],
    metrics: Mapping[str, Metric],
    names: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Return the answer as sentences, in the order of the study's `decide`, for at most eight cells.

    Each cell gets the best candidate and its difference from the next with the 95 % interval and n; ties and the
    cheapest of them; and what is undecided, with the number of further rounds that would probably decide it, their time
    and their cost. Caveats state the limits of the numbers: simulated numbers were not measured, values are not
    launches, loopback is not a network. The answer contains nothing that the tables do not show.

    `names` are readable names of the cells, by their text.
    """
    labels = names or short_names(one.cell for one in winners)
    cells = sorted(_cells(plan, estimates, comparisons, winners, metrics, labels), key=lambda one: _place(plan, one))
    caveats = _caveats(plan, cells, comparisons.replication_known)
    if not cells:
        return (*caveats, "No deciding measurement has two candidates: there is no verdict.")
    sentences = [sentence for cell in cells[:_MOST_CELLS] for sentence in _of_cell(cell)]
    rest = len(cells) - _MOST_CELLS
    more = [f"{rest} more {'measurements are' if rest > 1 else 'measurement is'} in the table."] if rest > 0 else []
    return (*caveats, *_overall(cells), *sentences, *more, *_of_prices(plan))


def _place(plan: Plan, one: _Cell) -> int:
    """Return the position of the cell, or of its metric, in the study's `decide`; the end if it is not listed."""
    named = [at for at, each in enumerate(plan.decide) if each.cell in {str(one.cell), one.cell.metric}]
    return min(named, default=len(plan.decide))


def _cells(
    plan: Plan,
    estimates: Sequence[Estimate],
    comparisons: Pairs,
    winners: Sequence[Winner],
    metrics: Mapping[str, Metric],
    labels: Mapping[str, str],
) -> list[_Cell]:
    margins = deciding(plan, (one.cell for one in winners))
    of_cell: dict[str, dict[int, Estimate]] = {}
    for one in estimates:
        if one.offered:
            of_cell.setdefault(one.cell, {})[one.candidate] = one
    cells = []
    for winner in winners:
        known = of_cell.get(winner.cell, {})
        pairs = comparisons.of(winner.cell).among(known)
        if pairs and pairs.decides:
            cell = Cell.parse(winner.cell)
            cells.append(
                _Cell(plan, cell, labels[winner.cell], metrics[cell.metric], winner, known, pairs,
                      margins.get(winner.cell), comparisons.family)
            )  # fmt: skip
    return cells


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
    """Yield one sentence with the number of wins, ties and undecided cells, if there are several cells."""
    if len(cells) < 2:
        return
    alone = Counter(cell.name(cell.winner.winners[0]) for cell in cells if len(cell.winner.winners) == 1)
    parts = [f"{name} wins {n}" for name, n in alone.most_common()]
    tied = sum(len(cell.winner.winners) > 1 and not cell.doubtful() for cell in cells)
    open_ = sum(not cell.winner.winners or bool(cell.doubtful()) for cell in cells)
    parts += [f"{tied} {'are ties' if tied > 1 else 'is a tie'}"] * bool(tied)
    parts += [f"{open_} {'are' if open_ > 1 else 'is'} undecided"] * bool(open_)
    yield f"Of {len(cells)} deciding measurements, {listed(parts)}."


def _of_cell(cell: _Cell) -> Iterator[str]:
    won = cell.winner.winners
    if not won:
        yield f"{cell.label}: {cell.winner.reason or 'cannot tell yet'}.{_outlook(cell, cell.ranked()[:2])}"
        return
    doubtful = cell.doubtful()
    ties = [at for at in won[1:] if at not in doubtful]
    left_out = "".join(f" {note[0].upper()}{note[1:]}." for note in cell.winner.left_out)
    yield f"{cell.label}: {_lead(cell, won[0], ties, doubtful)}{_cheapest_task(cell)}{left_out}"
    if doubtful:
        names = listed([cell.name(at) for at in doubtful])
        yield f"{cell.label}: undecided whether {names} is behind.{_outlook(cell, [won[0], doubtful[0]])}"


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
    if not behind:
        return start + "."
    pair = cell.pairs.between(best, behind[0])
    if pair is None:
        return start + "."
    effect, bounds = turned(pair, best)
    unit, by_difference = cell.metric.unit, pair.by_difference
    amount = how_much(effect, unit, by_difference, cell.name(behind[0]))
    interval = "no interval" if bounds is None else f"95 % interval {span(bounds, effect, unit, by_difference)}"
    rank = "the next" if len(cell.plan.candidates) > 2 else "the other"
    link = f". {cell.name(best)} is " if ties else ": "
    return f"{start}{link}{amount}, {rank} ({interval}, n = {pair.n})."


def _outlook(cell: _Cell, two: Sequence[int]) -> str:
    """Return a sentence with the number of rounds that would probably separate two candidates; empty if unknown."""
    pair = cell.pairs.between(*two) if len(two) == 2 else None
    if pair is None or pair.verdict is not Verdict.CANNOT_TELL:
        return ""
    needed = rounds_needed(pair, cell.pairs.spread(pair.a, pair.b), cell.margin, cell.family)
    if needed is None or needed <= pair.n:
        return ""
    names = listed([cell.name(at) for at in two])
    if pair.n < 2:
        return f" At least {more_rounds(cell.plan, needed - pair.n)} are needed for a verdict."
    if not pair.by_difference and pair.effect and 1 / SAME_RATIO < pair.effect < SAME_RATIO:
        effect = f"show a difference of {(SAME_RATIO - 1) * 100:.0f} % between {names}, if there is one"
    else:
        effect = f"separate {names}, if they differ as much as it seems"
    return f" {more_rounds(cell.plan, needed - pair.n)} would probably {effect}."


def _cheapest_task(cell: _Cell) -> str:
    """Return a sentence with the candidate on which a task costs least, if the interval of each cost ratio is below
    1."""
    costs = {at: one.cost_per_task for at, one in cell.estimates.items() if one.cost_per_task is not None}
    if not is_task(cell.metric) or len(costs) < 2 or len({cost.currency for cost in costs.values()}) > 1:
        return ""
    first, *others = sorted(costs, key=lambda at: (costs[at].amount, at))
    ratios = [_cost_ratio(cell, first, other) for other in others]
    if not all(bounds is not None and bounds.low < bounds.high < 1.0 for bounds in ratios) or ratios[0] is None:
        return ""
    scope = "" if len(costs) == len(cell.plan.candidates) else " of those with a known price"
    return (
        f" A task costs least on {cell.name(first)}{scope}: {format_money(costs[first])}, "
        f"{span(ratios[0], 1.0, '', False)} than on {cell.name(others[0])} (95 % interval)."
    )


def _cost_ratio(cell: _Cell, a: int, b: int) -> Bounds | None:
    """Return the interval of the ratio of a task's cost on a to that on b; None if unknown or without a verdict."""
    pair = cell.pairs.between(a, b)
    prices = price_of(cell.plan.candidates[a]), price_of(cell.plan.candidates[b])
    if pair is None or prices[0] is None or prices[1] is None:
        return None
    if pair.verdict is Verdict.CANNOT_TELL and pair.no_verdict not in _ONLY_TOO_WIDE:
        return None
    _, bounds = turned(pair, a)
    ratio = float(prices[0].amount / prices[1].amount)
    return None if bounds is None else Bounds(bounds.low * ratio, bounds.high * ratio)


def _of_prices(plan: Plan) -> Iterator[str]:
    unknown = [candidate.id for candidate in plan.candidates if price_of(candidate) is None]
    if len(unknown) == len(plan.candidates):
        yield "No price is known, so costs are not compared."
    elif unknown:
        yield f"The price of {listed(unknown)} is unknown, so its cost is not compared."


# With more rounds than this, the difference counts as out of reach.
_MOST_ROUNDS = 100_000


def rounds_needed(one: Comparison, spread: float | None, margin: float | None, family: int) -> int | None:
    """Return the total number of rounds after which the pair probably (80 %) gets a verdict, at least 6.

    Assumes that the candidates differ by the observed effect. An effect within 3 % counts as 3 %, a difference within
    the margin as the margin, because a smaller one makes no practical difference. None if the spread or the difference
    is unknown, or more than 100,000 rounds are needed. `spread` is the standard deviation of one difference, `family`
    the number of questions that decide together.

    The spread is itself an estimate; with few rounds it is rough.
    """
    if one.effect is None:
        return None
    if one.n < 2 or spread is None:
        return FEWEST_LAUNCHES
    observed = abs(one.effect) if one.by_difference else abs(math.log(one.effect))
    target = max(observed, (margin or 0.0) if one.by_difference else math.log(SAME_RATIO))
    # A target below a hundredth of the spread needs more than the most rounds, so the search is skipped.
    if spread == 0.0 or target < 0.01 * spread:
        return None
    needed = needed_n(spread, target, ALPHA / family, 0.8)
    return None if needed is None or needed > _MOST_ROUNDS else max(needed, FEWEST_LAUNCHES)


def more_rounds(plan: Plan, more: int) -> str:
    """Describe a number of further rounds of the whole plan, with their time and, if known, their cost."""
    text = f"{more} more round{'s' if more > 1 else ''}"
    if plan.rounds < 1 or plan.imported:
        return text
    share = more / plan.rounds
    costs = [f"about {format_seconds(plan.quote.expected_s * share)}"]
    cost = plan.quote.expected_cost
    if cost is not None:
        costs.append(format_money(Money(cost.amount * more / plan.rounds, cost.currency)))
    return f"{text} ({', '.join(costs)})"


# Parameters that names always show, even if a study has only one value of them.
_ALWAYS = {"percentile", "threads"}


def short_names(cells: Iterable[str]) -> dict[str, str]:
    """Return a short name for each cell: metric, threads, percentile, and the parameters that distinguish it."""
    parsed = {text: Cell.parse(text) for text in cells}
    values: dict[tuple[str, str], set[str | None]] = {}
    for cell in parsed.values():
        for key, _ in cell.params:
            values.setdefault((cell.metric, key), set())
    for metric, key in values:
        values[metric, key] = {cell.get(key) for cell in parsed.values() if cell.metric == metric}
    names = {}
    for text, cell in parsed.items():
        params = [f"{key}={value}" for key, value in cell.params if key in _ALWAYS or len(values[cell.metric, key]) > 1]
        names[text] = f"{cell.metric} ({', '.join(params)})" if params else cell.metric
    return names


def turned(one: Comparison, first: int) -> tuple[float, Bounds | None]:
    """Return effect and 95 % interval of candidate `first` against the other.

    Raises ValueError if the comparison has no effect.
    """
    if one.effect is None:
        raise ValueError("a comparison without an effect has no direction")
    if one.a == first:
        return one.effect, one.bounds
    bounds = one.bounds
    if one.by_difference:
        return -one.effect, bounds and Bounds(-bounds.high, -bounds.low, bounds.confidence)
    return 1.0 / one.effect, bounds and Bounds(1.0 / bounds.high, 1.0 / bounds.low, bounds.confidence)


def how_much(effect: float, unit: str, by_difference: bool, other: str) -> str:
    """Describe an effect: `12.3 % higher than b`, `2.40 times as high as b`, `3 ms lower than b`.

    Shares differ in percentage points.
    """
    number, word = _parts(effect, unit, by_difference, _is_factor(effect))
    return f"{number} {word} {'as' if word == _TIMES else 'than'} {other}"


def span(bounds: Bounds, effect: float, unit: str, by_difference: bool) -> str:
    """Describe an interval, the smaller change first: `10.1 % to 14.2 % higher`.

    If the ends have different directions, each gets its own word. Ratios are written like the effect itself: as changes
    up to a factor of two, as factors beyond.
    """
    low, high = (_parts(end, unit, by_difference, _is_factor(effect)) for end in (bounds.low, bounds.high))
    if low[1] != high[1]:
        return f"{' '.join(low)} to {' '.join(high)}"
    smaller, larger = (high, low) if low[1] == "lower" else (low, high)
    return f"{smaller[0].removesuffix(_POINTS)} to {larger[0]} {larger[1]}"


_TIMES = "times as high"
_POINTS = " percentage points"


def _parts(effect: float, unit: str, by_difference: bool, factor: bool) -> tuple[str, str]:
    """Return the number with its unit, and the word for its direction."""
    if by_difference:
        points = f"{abs(effect) * 100:.3g}{_POINTS}" if unit == "ratio" else format_quantity(abs(effect), unit)
        return points, "higher" if effect > 0 else "lower"
    if factor:
        return f"{effect:.2f}" if 0.1 <= effect < 100.0 else f"{effect:.3g}", _TIMES
    return f"{abs(effect - 1.0) * 100:.1f} %", "higher" if effect > 1.0 else "lower"


def _is_factor(effect: float) -> bool:
    return effect >= 2.0 or effect <= 0.5


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""
