"""The further rounds that would probably settle an undecided pair, and the chance that they do."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.compare import SAME_RATIO, deciding, share_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.pairs import CellPairs, Pairs
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Basis, Comparison, Estimate, NoVerdict, Outlook, Verdict, Winner
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.stats.predict import chance_of_verdict
from cloudcmp.units import Money, format_money, format_seconds

# The chance of a verdict that a number of rounds must give.
_PROBABLY = 0.8
# A verdict that needs more rounds than this counts as out of reach.
_MOST_ROUNDS = 100_000
# Ratios of candidates scatter like this around 1 on the log scale, before anything is measured.
_PRIOR_SD = 0.1
# The reasons that more rounds can remove.
_CURABLE = (NoVerdict.TOO_FEW, NoVerdict.TOO_WIDE, NoVerdict.TOO_WIDE_FOR_ALL)


def outlooks(
    plan: Plan, estimates: Sequence[Estimate], pairs: Pairs, money: Pairs, winners: Sequence[Winner],
    metrics: Mapping[str, Metric],
) -> tuple[Outlook, ...]:  # fmt: skip
    """Return for each deciding cell without a settled winner the rounds that would settle its two best candidates.

    `winners` are those by performance and by work for money. A cell is left out if more rounds cannot settle it, for
    example because too many trials failed, or would need more than 100,000.
    """
    margins, level = deciding(plan, {one.cell for one in estimates}), pairs.alpha / max(1, pairs.family)
    found = []
    for winner in winners:
        of_cell = (pairs if winner.basis is Basis.PERFORMANCE else money).of(winner.cell)
        two = undecided_two(winner, estimates, of_cell, metrics[Cell.parse(winner.cell).metric])
        if two is not None:
            margin = margins.get(winner.cell)
            one = outlook_of(plan, of_cell, two, winner.basis, margin, level)
            found += [one] if one else []
    return tuple(found)


def undecided_two(
    winner: Winner, estimates: Sequence[Estimate], pairs: CellPairs, metric: Metric
) -> tuple[int, int] | None:
    """Return the first two candidates of a deciding cell that no verdict separates; None if its winner is settled."""
    if not pairs or not pairs.decides:
        return None
    won = winner.winners
    if won:
        open_ = [at for at in won[1:] if pairs.verdict(won[0], at) is not Verdict.SAME]
        return (won[0], open_[0]) if open_ else None
    sign = -1.0 if metric.better == "higher" else 1.0
    known = [one for one in estimates if one.cell == winner.cell and one.offered and one.median is not None]
    ranked = sorted(known, key=lambda one: (sign * (one.median or 0.0), one.candidate))
    return (ranked[0].candidate, ranked[1].candidate) if len(ranked) > 1 else None


def outlook_of(
    plan: Plan, pairs: CellPairs, two: tuple[int, int], basis: Basis, margin: float | None, level: float
) -> Outlook | None:
    """Return the rounds that would settle a pair with a chance of 80 %; None if no rounds can, or it is settled.

    `level` is the p value below which one of the questions is decided if one look may spend all of the error.
    """
    pair = pairs.between(*two)
    if pair is None or pair.verdict is not Verdict.CANNOT_TELL or pair.no_verdict not in _CURABLE:
        return None
    lacking = max(1, FEWEST_LAUNCHES - pair.n)
    spread = pairs.spread(pair.a, pair.b)
    if pair.n < 2 or spread is None or pair.effect is None:
        return Outlook(pair.cell, basis, *two, lacking, None)
    design = Design.of(plan, pair, spread, margin, level)
    more = design.rounds_needed(lacking) if spread > 0.0 else None
    return None if more is None else Outlook(pair.cell, basis, *two, more, design.chance(more))


@dataclass(frozen=True, slots=True)
class Design:
    """The known rounds of a pair, and the level at which the next look decides it."""

    centre: float
    spread: float
    n: int
    alpha: float
    margin: float | None
    prior_sd: float
    every_look: bool = False

    @classmethod
    def of(cls, plan: Plan, pair: Comparison, spread: float, margin: float | None, level: float) -> "Design":
        """Take the effect and the spread of a pair that has both."""
        effect, alpha = pair.effect or 0.0, level * share_of(plan, len(plan.looks) + 1)
        if pair.by_difference:
            return cls(effect, spread, pair.n, alpha, margin, math.inf, plan.stop is not None)
        limit, every_look = math.log(SAME_RATIO), plan.stop is not None
        return cls(math.log(effect), spread, pair.n, alpha, limit, _PRIOR_SD, every_look)

    def chance(self, more: int) -> float:
        """The probability of a verdict after `more` further rounds."""
        return chance_of_verdict(self.centre, self.spread, self.n, more, alpha=self.alpha, margin=self.margin,
                                 prior_sd=self.prior_sd, every_look=self.every_look)  # fmt: skip

    def rounds_needed(self, fewest: int) -> int | None:
        """The fewest further rounds, at least `fewest`, that probably suffice; None if more than 100,000."""
        high = fewest
        while self.chance(high) < _PROBABLY:
            if high >= _MOST_ROUNDS:
                return None
            high = min(2 * high, _MOST_ROUNDS)
        low = fewest - 1 if high == fewest else high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chance(middle) >= _PROBABLY else (middle, high)
        return high


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
