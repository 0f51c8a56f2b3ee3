"""The number of rounds that would probably settle an open verdict."""

import math

from cloudcmp.analysis import FEWEST_LAUNCHES
from cloudcmp.compare import ALPHA, SAME_RATIO
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison
from cloudcmp.stats.power import needed_n
from cloudcmp.units import Money, format_money, format_seconds

# More rounds than this are no plan; the honest word is that this difference is out of reach.
_MOST_ROUNDS = 100_000


def rounds_needed(one: Comparison, spread: float | None, margin: float | None, family: int) -> int | None:
    """Total rounds after which the pair is likely (80 %) to get a verdict, if it differs as it seems to.

    A ratio that seems to be within 3 % is taken as 3 %, a difference within the margin as the margin: telling less is
    of no use. At least 6. None where the spread or the difference is unknown, or it takes more than 100,000. `spread`
    is the standard deviation of one difference, `family` the number of questions that decide together.
    It trusts a spread that was itself estimated, from few rounds roughly.
    """
    if one.effect is None:
        return None
    if one.n < 2 or spread is None:
        return FEWEST_LAUNCHES
    seen = abs(one.effect) if one.by_difference else abs(math.log(one.effect))
    target = max(seen, (margin or 0.0) if one.by_difference else math.log(SAME_RATIO))
    # Past the most rounds the search would go on for nothing; a hundredth of a spread is beyond it.
    if spread == 0.0 or target < 0.01 * spread:
        return None
    needed = needed_n(spread, target, ALPHA / family, 0.8)
    return None if needed is None or needed > _MOST_ROUNDS else max(needed, FEWEST_LAUNCHES)


def more_rounds(plan: Plan, more: int) -> str:
    """A number of further rounds of the whole plan in words, with their time and, if known, their cost."""
    text = f"{more} more round{'s' if more > 1 else ''}"
    if plan.rounds < 1 or plan.imported:
        return text
    share = more / plan.rounds
    costs = [f"about {format_seconds(plan.quote.expected_s * share)}"]
    cost = plan.quote.expected_cost
    if cost is not None:
        costs.append(format_money(Money(cost.amount * more / plan.rounds, cost.currency)))
    return f"{text} ({', '.join(costs)})"
