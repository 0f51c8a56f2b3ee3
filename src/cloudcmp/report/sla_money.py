"""The tables of money: credits, utilities within a budget, levels to ask for, and copies of a service."""

from collections.abc import Iterator
from decimal import Decimal

from cloudcmp.answer.sla.sentences import case_words, month_words, period_words, uptime_words
from cloudcmp.answer.sla.words import money_words, share_words, time_words
from cloudcmp.model.credits import CreditFinding, CreditPeriod
from cloudcmp.model.nines import ArrangementFinding, NinesFinding
from cloudcmp.model.utility import LevelAnswer, UtilityAnswer, UtilityOption
from cloudcmp.report.grids import Grid
from cloudcmp.report.table import Head
from cloudcmp.units import Money, format_quantity

_MOST = 8
_WATCHED = 0.999
"""A period that was watched for less is said to be incomplete."""


def credit_grid(found: CreditFinding) -> Grid:
    """What each month pays, in three readings of the downtime; money is that of the likely one."""
    bill = found.bill
    rows = tuple(
        (period_words(found, one).removeprefix("the "), time_words(one.likely.down_s),
         uptime_words(one.likely.uptime_percent, found.table, 5),
         case_words(one.least), case_words(one.likely), case_words(one.most),
         None if one.likely.money is None else money_words(one.likely.money),
         None if one.claim_until is None else str(one.claim_until))
        for one in found.periods
    )  # fmt: skip
    notes = [
        "least: from the first to the last failed sample; likely: each failed sample for its interval; most: from the "
        "last good sample to the next, and all that nobody saw while watching",
        f"down: {found.table.down}",
    ]
    heads = (Head("period", numeric=False), Head("down"), Head("uptime"), Head("least"), Head("likely"), Head("most"),
             Head("money"), Head("claim until"))  # fmt: skip
    paid = "" if bill is None else f" on a bill of {money_words(bill)} a month"
    return Grid(f"{found.table.name}{paid}, {found.target}", heads, rows, "; ".join(notes))


def unwatched(found: CreditFinding) -> Iterator[str]:
    """A line for each month without a sample, and for each period of which much was not watched."""
    for start, _ in found.unseen:
        yield f"{found.target}: {month_words(start)} has no sample, so nothing is known of it, and nothing to claim"
    for one in found.periods:
        if one.watched < _WATCHED:
            words = f"{(1 - one.watched) * 100:.3g} % of {period_words(found, one)} was not watched"
            yield f"{found.target}: {words}; what of it is between samples counts as down in the reading `most` alone"


def expected_words(found: CreditFinding) -> str:
    """The credit of a period like the watched days."""
    one = found.expected
    assert one is not None  # only findings with one are asked
    chances = ", ".join(f"{percent:g} % in {_chance(chance)}" for percent, chance in one.chances if percent)
    money = "" if one.money is None else f", {money_words(one.money)} on average"
    free = f", {one.free_hours:.1f} hours uncharged" if one.free_hours else ""
    span = "365 days" if found.table.period is CreditPeriod.YEAR else "a month of 30 days"
    return (
        f"{found.table.name}, {found.target}: {span} like the {one.days} watched pay "
        f"{chances or 'no credit'}{free}{money} ({one.draws:,} resampled; outages that no day had are not in it)"
    )


def _chance(chance: float) -> str:
    return f"{chance * 100:.3g} %"


def utility_grids(found: UtilityAnswer) -> Iterator[Grid]:
    """The offerings by utility, how far weights may move, and the choice at each budget."""
    names = [one.name for one in found.terms]
    rows = tuple(_option(one, found) for one in found.options[:_MOST])
    heads = (Head("offering", numeric=False), *(Head(name) for name in names), Head("utility"),
             Head(f"{found.currency or 'cost'}/h"), Head("best"))  # fmt: skip
    more = [f"{len(found.options) - _MOST} more in --json"] if len(found.options) > _MOST else []
    left = [f"{len(found.left_out)} without a value are left out"] if found.left_out else []
    note = "; ".join(["best: in so many of the plausible true values", *more, *left])
    yield Grid("Utility, the best within the budget first", heads, rows, note)
    if found.weights:
        lines = tuple(
            (one.name, f"{one.weight:.2g}", f"{one.low:.2g} to {one.high:.2g}",
             None if one.below is None else str(one.below), None if one.above is None else str(one.above))
            for one in found.weights
        )  # fmt: skip
        yield Grid("How far a weight may move before the choice changes",
                   ("term", Head("weight"), Head("stays from"), "below it", "above it"), lines,
                   "the other weights move in proportion")  # fmt: skip
    if len(found.steps) > 1:
        currency = found.currency
        steps = tuple(
            (f"{one.budget:.4g} {currency}/h", str(one.key), f"{one.utility:.3f}",
             None if one.cost_per_point is None else f"{one.cost_per_point:.3g}")
            for one in found.steps
        )  # fmt: skip
        yield Grid("The choice at each budget", (Head("from"), "offering", Head("utility"), Head("for 0.01 more")),
                   steps, f"for 0.01 more: {currency}/h against the row above")  # fmt: skip


def _option(one: UtilityOption, found: UtilityAnswer) -> tuple[str | None, ...]:
    marks = []
    if not one.within_budget:
        marks.append("too dear")
    if one.meets is not True:
        marks.append("need unknown" if one.meets is None else "misses a need")
    name = f"{one.key} ({', '.join(marks)})" if marks else str(one.key)
    values = (format_quantity(value, unit) for value, unit in zip(one.values, found.units, strict=True))
    best = None if one.best is None else f"{one.best * 100:.0f} %"
    return (name, *values, f"{one.utility:.3f}", None if one.cost is None else f"{one.cost:.4g}", best)


def levels_grid(found: LevelAnswer) -> Grid:
    """The service level to ask for: what each part costs and is worth."""
    texts = (format_quantity(found.response, "s"), f"{found.throughput:.4g}", share_words(found.availability))
    names = ("response time", "throughput", "availability")
    rows: list[tuple[str | None, ...]] = [
        (name, text, f"{cost:.4g}", f"{worth:.3f}")
        for name, text, cost, worth in zip(names, texts, found.costs, found.utilities, strict=True)
    ]
    rows.append(("together", None, f"{found.cost:.4g}", f"{found.utility:.3f}"))
    others = "; ".join(f"{utility:.3f} for {budget:.4g}" for budget, utility in found.at_budgets)
    heads = ("level", Head("ask for"), Head("cost"), Head("utility"))
    return Grid("Menasce and Ngo's problem", heads, tuple(rows), f"utility at other budgets: {others}")


def nines_grid(found: NinesFinding) -> Grid:
    """Arrangements of copies: downtime, loss and cost of a month, by how outages are correlated."""
    rows = [row for one in found.arrangements for row in _arrangement(one)]
    how = f"one zone: {share_words(found.availability)}"
    if found.bounds is not None:
        how += f" measured ({share_words(found.bounds.low)} to {share_words(found.bounds.high)}; n = {found.n:,})"
    measured = "" if found.measured is None else f"; the two watches are correlated by {found.measured:.2f}"
    note = (
        f"{how}{measured}; correlated: 0 if outages are independent, 1 if they are the same; total: with the loss; "
        "a minute: the money for each minute of avoided downtime; the time of a switch is left out"
    )
    heads = (Head("copies", numeric=False, whole=True),
             *map(Head, ("correlated", "availability", "down", "cost", "total", "a minute")))  # fmt: skip
    title = f"Copies of {found.target}: a month in {found.loss.currency}, with {money_words(found.loss)} lost an hour"
    return Grid(title, heads, tuple(rows), note)


def _arrangement(one: ArrangementFinding) -> Iterator[tuple[str | None, ...]]:
    for at, joint in enumerate(one.joints):
        alone = len(one.joints) == 1
        minute = None if at or one.per_minute is None else _amount(one.per_minute)
        yield (
            one.arrangement.value if not at else "", None if alone else f"{joint.correlation:.2g}",
            share_words(joint.availability), time_words(joint.down_s), _amount(one.cost.amount),
            _amount(joint.total), minute,
        )  # fmt: skip


def _amount(amount: Decimal) -> str:
    return money_words(Money(amount, "")).strip()
