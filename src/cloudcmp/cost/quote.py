"""The quote of a plan: a bill for the expected case and one for the worst case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, ROUND_UP, Decimal

from cloudcmp.cost.bill import bill
from cloudcmp.cost.far import with_all_prices
from cloudcmp.cost.metering import EXACT, SHORTEST_MONTH_HOURS
from cloudcmp.cost.metering import parts as spread
from cloudcmp.cost.parts import (
    MACHINE_OF_SERVICE,
    Parts,
    Priced,
    clock_excess_s,
    fee_of,
    parts_of,
    unpriced_volume,
)
from cloudcmp.cost.rules import USER_SOURCES
from cloudcmp.model.bill import NO_RATE, Bill, Rate, RateOf, Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate, Extra, LaunchUsage, Plan
from cloudcmp.model.price import MONTH_HOURS, Item
from cloudcmp.model.terms import NO_TERMS, Credit, Terms
from cloudcmp.units import Money, format_money

_TRAFFIC = frozenset({Item.EGRESS, Item.REQUEST})
_STEP = Decimal("0.000001")

BillingOf = Callable[[str], Billing]
"""Returns how a provider bills, by default in whole hours."""
Free = Callable[[Candidate], bool]
"""True if running a candidate costs nothing."""


@dataclass(frozen=True, slots=True)
class Market:
    """What is known of prices: how providers bill, the rates of price lists, and which candidates are free."""

    billing_of: BillingOf = lambda _: Billing()
    rate_of: RateOf = lambda _: NO_RATE
    free: Free = lambda _: False


def with_quote(plan: Plan, market: Market = Market()) -> Plan:
    """Returns the plan with its quote, hourly prices of candidates, and the extra costs of launches.

    Expected: the expected life of each launch, at list price. Worst: each launch uses its whole lease, as the dearest
    type that a resize gives it, sends as much as its caps allow, at the dearest tier, in the shortest month. Costs are
    None if a machine's price is unknown or currencies differ; anything else without a price is named in the notes.
    """
    candidates = tuple(
        with_all_prices(one, market.billing_of(one.offering.provider), market.rate_of) for one in plan.candidates
    )
    counted = _billed_candidates(candidates, market.free)
    billing = {one.index: _billing(one, market) for one in counted}
    usages = [(one, plan.usage[one.index]) for one in counted]
    priced = [(one, usage, parts_of(one, usage, billing[one.index], market.rate_of)) for one, usage in usages]
    fees = region_fees(plan, [end for one in counted for end in one.ends], billing)
    usual = [*(one for _, _, parts in priced for one in parts.expected), *fees]
    ended = _ended_credits(plan)
    terms = replace(plan.terms, credits=tuple(one for one in plan.terms.credits if one not in ended))
    expected, own = _bill(usual, NO_TERMS), _bill(usual, terms)
    worst = _bill([one for _, _, parts in priced for one in parts.worst], plan.terms, worst=True)
    usage_by_candidate = list(plan.usage)
    for _, usage, parts in priced:
        usage_by_candidate[usage.candidate] = replace(usage, extra=extra_of(usage, parts))
    cost, most = _rounded(expected, ROUND_HALF_EVEN, listed=True), _rounded(worst, ROUND_UP)
    quote = replace(
        plan.quote,
        expected_cost=cost,
        worst_cost=most,
        lines=expected.lines if cost else (),
        own=own.own if plan.terms else (),
        with_terms=_rounded(own, ROUND_HALF_EVEN) if plan.terms else None,
    )
    notes = (*quote.notes, *_notes(candidates, counted, priced, worst, market), *_budget_notes(most, plan.budget))
    notes += tuple(f"a credit of {format_money(one.money)} pays nothing: it ends on {one.until}" for one in ended)
    quote = replace(quote, notes=tuple(dict.fromkeys(notes)))  # a plan that is changed is quoted again
    return replace(plan, candidates=candidates, usage=tuple(usage_by_candidate), quote=quote)


def launch_costs(plan: Plan) -> tuple[Money, ...] | None:
    """Returns the expected cost of one launch of each candidate, as its quote has it; None if one is unknown."""
    if plan.quote.expected_cost is None:
        return None
    costs = []
    for one, usage in zip(plan.candidates, plan.usage, strict=True):
        about = {one.id, f"{one.id}, {MACHINE_OF_SERVICE}"}
        amounts = [line.amount.amount for line in plan.quote.lines if line.amount and line.about in about]
        if not amounts or not usage.launches:
            return None
        costs.append(Money(sum(amounts, Decimal(0)) / usage.launches, plan.quote.expected_cost.currency))
    return tuple(costs)


_PricedUsages = Sequence[tuple[Candidate, LaunchUsage, Parts]]


def _bill(pairs: Sequence[Priced], terms: Terms, *, worst: bool = False) -> Bill:
    return bill([use for use, _ in pairs], dict(pairs).__getitem__, terms, worst=worst)


def _ended_credits(plan: Plan) -> tuple[Credit, ...]:
    """Returns the credits that end before the expected end of the study: how much they pay is unknown."""
    ends: date = datetime.fromtimestamp(plan.start_at + plan.quote.expected_s, UTC).date()
    return tuple(one for one in plan.terms.credits if one.until is not None and one.until < ends)


def _rounded(total: Bill, rounding: str, *, listed: bool = False) -> Money | None:
    money = total.listed if listed else total.total
    return None if money is None else Money(money.amount.quantize(_STEP, rounding), money.currency)


def _billing(candidate: Candidate, market: Market) -> Billing:
    """Returns how a candidate's machines are billed: by the hour begun if that depends on an unknown image."""
    billing = market.billing_of(candidate.offering.provider)
    return billing.in_hours() if billing.hourly(dict(candidate.options)) else billing


def _billed_candidates(candidates: Sequence[Candidate], free: Free) -> list[Candidate]:
    """Returns the candidates whose cost counts: without free ones, unless all are free."""
    some = [one for one in candidates if one.offering.price is not None or not free(one)]
    return some or list(candidates)


def _notes(
    candidates: Sequence[Candidate], counted: Sequence[Candidate], priced: _PricedUsages, worst: Bill, market: Market
) -> list[str]:
    """Returns notes on what the prices include, what they leave out, and why there is no cost."""
    lines: list[str] = []
    for name in dict.fromkeys(one.offering.provider for one in candidates if one.offering.price):
        lines += _extra_notes(name, candidates, priced, market.billing_of(name))
    hourly = [
        c.id for c in candidates if c.offering.price and _billing(c, market) != market.billing_of(c.offering.provider)
    ]
    if hourly:
        lines.append(f"counted by the hour begun, because the billing of its image is unknown: {_short_list(hourly)}")
    lines += _spot_notes(candidates, market)
    lines += _no_cost_reasons(counted, worst)
    volumes = [str(one.volume) for one in candidates if one.offering.price and unpriced_volume(one)]
    if volumes:
        lines.append(f"no cost counts the price of a volume: {_short_list(list(dict.fromkeys(volumes)))}")
    left = [one.id for one in candidates if one not in counted]
    if left:
        lines.append(f"the cost leaves out {_short_list(left)}: they have no price, and nobody bills them")
    return lines


def _spot_notes(candidates: Sequence[Candidate], market: Market) -> list[str]:
    """Returns notes on whether the worst case bounds the cost of spot machines, whose price changes."""
    spot = [one for one in candidates if one.offering.price and dict(one.options).get("market") == "spot"]
    capped = [one.id for one in spot if market.billing_of(one.offering.provider).spot_capped]
    free = [one.id for one in spot if one.id not in capped]
    lines = []
    if capped:
        lines.append(
            f"counted at the most that a spot machine may cost, where less may be billed: {_short_list(capped)}"
        )
    if free:
        what = "its price moves, and no maximum is known to hold"
        lines.append(f"the worst case is no bound for {_short_list(free)}: {what}")
    return lines


def _extra_notes(name: str, candidates: Sequence[Candidate], priced: _PricedUsages, billing: Billing) -> list[str]:
    counted = next((one.beside for one in candidates if one.beside and one.offering.provider == name), None)
    lines = []
    if counted:
        amount = f"{counted.amount_per_hour.normalize():f} {counted.currency}/h"
        dated = f", {counted.as_of}" if counted.as_of else ""
        lines.append(f"{name}: each machine's price counts {amount} more ({counted.source}{dated})")
    for one in candidates:
        if one.surplus is not None and one.offering.provider == name:
            amount = f"{one.surplus.amount_per_hour.normalize():f} {one.surplus.currency}/h"
            lines.append(f"{one.id}: its price counts {amount} more ({one.surplus.source})")
    missing = list(billing.uncounted)
    if billing.beside and not (counted and billing.beside.source in counted.source):
        missing.append(billing.beside.source)
    unknown = (what for one, _, parts in priced if one.offering.provider == name for what in parts.unknown)
    missing += dict.fromkeys(unknown)
    if missing:
        lines.append(f"{name}: no cost counts {'; '.join(missing)}")
    return lines


def _no_cost_reasons(candidates: Sequence[Candidate], worst: Bill) -> list[str]:
    ends = [(one, end.offering) for one in candidates for end in one.ends]
    unknown = [
        f"{one.id} in {sold.region}" if one.far else one.id
        for one, sold in ends
        if sold.price is None and not one.unit_prices
    ]
    currencies = sorted({sold.price.currency for _, sold in ends if sold.price})
    if unknown:
        return [f"no cost is quoted: no price is known for {_short_list(unknown)}"]
    if len(currencies) > 1:
        return [f"no cost is quoted: the prices are in {' and '.join(currencies)}"]
    return [f"no cost is quoted: {line}" for line in worst.unknown[:1]]


def _budget_notes(worst: Money | None, budget: Money | None) -> list[str]:
    if worst and budget and worst.currency == budget.currency and worst.amount > budget.amount:
        return [f"the worst case is above the budget of {budget.amount} {budget.currency}"]
    return []


def describe_terms(plan: Plan) -> str:
    """Describes the expected cost under the account's terms, empty if there are none."""
    quote = plan.quote
    if not plan.terms:
        return ""
    if quote.with_terms is None:
        why = "; ".join(one.why for one in quote.own if one.amount is None) or "a price is missing"
        return f"with your terms: unknown ({why})"
    return f"with your terms: {format_money(quote.with_terms)}"


def _short_list(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"


_HOUR_S = 3600.0


def region_fees(plan: Plan, candidates: Iterable[Candidate], billing: Mapping[int, Billing]) -> list[Priced]:
    """Returns the fees of regions with dedicated machines, for the hours of the clock in which launches run.

    How many hours of the clock a period touches depends on the minute in which it begins. This counts the mean over all
    minutes: each launch's time plus an hour, with overlaps counted once.
    """
    spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
    rates = {}
    for one in candidates:
        place = (one.offering.provider, one.offering.region)
        use = Use(*place, Item.FEE, "dedicated")
        rate = fee_of(one, billing[one.index], use)
        if rate is None:
            continue
        rates[place] = (use, rate)
        life_s = plan.usage[one.index].expected_s
        starts = (launch.start_s for launch in plan.launches if launch.candidate == one.index)
        spans.setdefault(place, []).extend((start, start + life_s + _HOUR_S) for start in starts)
    return [(_whole_hours(use, _union_s(spans[place])), rate) for place, (use, rate) in rates.items()]


def _whole_hours(use: Use, seconds: float) -> Use:
    hours = Decimal(round(seconds / _HOUR_S))
    return Use(use.provider, use.region, use.item, use.name, periods_s=(max(hours, Decimal(1)) * 3600,))


def _union_s(spans: Iterable[tuple[float, float]]) -> float:
    """Returns the seconds in at least one of the spans."""
    total, end = 0.0, float("-inf")
    for start, until in sorted(spans):
        total += max(0.0, until - max(start, end))
        end = max(end, until)
    return total


_SHORT_EXCESS = Decimal(MONTH_HOURS) / SHORTEST_MONTH_HOURS - 1
"""By which share the hourly part of a monthly price is higher in the shortest month."""
_DISKS = frozenset({Item.VOLUME, Item.IOPS, Item.THROUGHPUT})


def extra_of(usage: LaunchUsage, parts: Parts) -> Extra:
    """Returns what a launch costs at worst in addition to its machines' hourly price.

    Traffic and requests at their dearest; a region's fee with one more hour of the clock; the dearer hour of disks in a
    short month, and the difference between their clock and the machine's.
    """
    timed: list[tuple[Decimal, Billing]] = []
    fixed = Decimal(0)
    machine = parts.worst[0][1].billing if parts.worst else Billing()
    for use, rate in parts.expected:
        if use.item in _DISKS and rate.source not in USER_SOURCES:
            hourly = _dearest_hour(use, rate)
            timed.append((EXACT.multiply(hourly, _SHORT_EXCESS), machine))
            coarse_h = EXACT.divide(clock_excess_s(use, machine), Decimal(3600))
            fixed += EXACT.multiply(hourly * (1 + _SHORT_EXCESS), coarse_h) * usage.machines * (1 + usage.starts)
    for use, rate in parts.worst:
        if use.item in _TRAFFIC and rate.rows:
            fixed += _dearest_cost(use, rate)
        elif use.item is Item.FEE:
            timed.append((rate.rows[0].amount, rate.billing))
            fixed += rate.rows[0].amount
    return Extra(tuple(timed), fixed)


def _dearest_cost(use: Use, rate: Rate) -> Decimal:
    """Returns the cost of one launch's use at its dearest tier."""
    tiers = spread(replace(use, times=1), rate, Decimal(0), worst=True)
    return sum((EXACT.multiply(one.quantity, one.row.amount) for one in tiers), Decimal(0))


def _dearest_hour(use: Use, rate: Rate) -> Decimal:
    """Returns the hourly cost of one thing at its dearest tier, in a month of 730 hours."""
    one = replace(use, count=1, periods_s=(Decimal(3600),))
    return _dearest_cost(one, replace(rate, billing=Billing(0.0, 0.0)))
