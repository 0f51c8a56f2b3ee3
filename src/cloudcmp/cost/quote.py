"""The money of a plan: a bill for what it is expected to take, and one for the worst case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, ROUND_UP, Decimal

from cloudcmp.cost.bill import bill
from cloudcmp.cost.metering import EXACT, SHORTEST_MONTH_HOURS
from cloudcmp.cost.metering import parts as spread
from cloudcmp.cost.parts import Parts, Priced, coarser, fee_of, parts_of, unpriced_volume, with_beside
from cloudcmp.cost.rules import TOLD
from cloudcmp.model.bill import NO_RATE, Bill, Rate, RateOf, Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate, Extra, LaunchUsage, Plan
from cloudcmp.model.price import MONTH_HOURS, Item
from cloudcmp.model.terms import NO_TERMS, Credit, Terms
from cloudcmp.units import Money, format_money

_MOVED = frozenset({Item.EGRESS, Item.REQUEST})
_STEP = Decimal("0.000001")

BillingOf = Callable[[str], Billing]
"""How a provider bills; the coarsest way, every hour begun, for one of which it is not known."""
Free = Callable[[Candidate], bool]
"""Whether whoever runs a candidate bills nothing."""


def by_the_hour(provider: str) -> Billing:  # noqa: ARG001
    """Every provider in whole hours."""
    return Billing()


def nobody_is_free(candidate: Candidate) -> bool:  # noqa: ARG001
    """Every candidate without a price leaves the cost unknown."""
    return False


def no_list(use: Use) -> Rate:  # noqa: ARG001
    """No price list at all."""
    return NO_RATE


@dataclass(frozen=True, slots=True)
class Market:
    """What is known of prices: how providers bill, what their lists say, and who bills nothing."""

    billing_of: BillingOf = by_the_hour
    rate_of: RateOf = no_list
    free: Free = nobody_is_free


def quoted(plan: Plan, market: Market = Market()) -> Plan:
    """The plan with its money: in its quote, in what its candidates cost an hour, and in what its launches add to that.

    Expected: what a launch is expected to live, at list price. Worst: each launch lives its whole lease, as the dearest
    type that a resize makes of it, sends what its caps allow, and pays the dearest tier in the shortest month.
    Money is None where a machine's price is unknown or currencies differ; what else has no price is named in the notes.
    """
    candidates = tuple(
        with_beside(one, market.billing_of(one.offering.provider), market.rate_of) for one in plan.candidates
    )
    counted = _counted(candidates, market.free)
    found = [(one, plan.usage[one.index], _parts(one, plan.usage[one.index], market)) for one in counted]
    fees = region_fees(plan, counted, {one.index: _terms(one, market) for one in counted})
    usual = [*(one for _, _, parts in found for one in parts.expected), *fees]
    ended = _ended(plan)
    terms = replace(plan.terms, credits=tuple(one for one in plan.terms.credits if one not in ended))
    expected, own = _bill(usual, NO_TERMS), _bill(usual, terms)
    worst = _bill([one for _, _, parts in found for one in parts.worst], plan.terms, worst=True)
    usage = list(plan.usage)
    for _, stay, parts in found:
        usage[stay.candidate] = replace(stay, extra=extra_of(stay, parts))
    cost, most = _money(expected, ROUND_HALF_EVEN, listed=True), _money(worst, ROUND_UP)
    quote = replace(
        plan.quote,
        expected_cost=cost,
        worst_cost=most,
        lines=expected.lines if cost else (),
        own=own.own if plan.terms else (),
        with_terms=_money(own, ROUND_HALF_EVEN) if plan.terms else None,
    )
    notes = (*quote.notes, *_notes(candidates, counted, found, worst, market), *_about_budget(most, plan.budget))
    notes += tuple(f"a credit of {format_money(one.money)} pays nothing: it ends on {one.until}" for one in ended)
    return replace(plan, candidates=candidates, usage=tuple(usage), quote=replace(quote, notes=notes))


_Found = Sequence[tuple[Candidate, LaunchUsage, Parts]]


def _parts(one: Candidate, stay: LaunchUsage, market: Market) -> Parts:
    return parts_of(one, stay, _terms(one, market), market.rate_of)


def _bill(pairs: Sequence[Priced], terms: Terms, *, worst: bool = False) -> Bill:
    return bill([use for use, _ in pairs], dict(pairs).__getitem__, terms, worst=worst)


def _ended(plan: Plan) -> tuple[Credit, ...]:
    """The credits that end before the study is expected to: which of its hours they pay is not known."""
    ends: date = datetime.fromtimestamp(plan.start_at + plan.quote.expected_s, UTC).date()
    return tuple(one for one in plan.terms.credits if one.until is not None and one.until < ends)


def _money(found: Bill, rounding: str, *, listed: bool = False) -> Money | None:
    money = found.listed if listed else found.total
    return None if money is None else Money(money.amount.quantize(_STEP, rounding), money.currency)


def _terms(candidate: Candidate, market: Market) -> Billing:
    """How a candidate's machines are billed: by the hour begun where its provider's terms rest on an unknown image."""
    billing = market.billing_of(candidate.offering.provider)
    return billing.in_hours() if billing.hourly(dict(candidate.options)) else billing


def _counted(candidates: Sequence[Candidate], free: Free) -> list[Candidate]:
    """The candidates whose money is counted: all, but those without a price that nobody bills, beside others."""
    some = [one for one in candidates if one.offering.price is not None or not free(one)]
    return some or list(candidates)


def _notes(
    candidates: Sequence[Candidate], counted: Sequence[Candidate], found: _Found, worst: Bill, market: Market
) -> list[str]:
    """What is counted beside the prices, what is billed and in no cost, and why there is none; one line each."""
    lines: list[str] = []
    for name in dict.fromkeys(one.offering.provider for one in candidates if one.offering.price):
        lines += _beside_notes(name, candidates, found, market.billing_of(name))
    hourly = [
        c.id for c in candidates if c.offering.price and _terms(c, market) != market.billing_of(c.offering.provider)
    ]
    if hourly:
        lines.append(f"counted by the hour begun, for how its image is billed is not known: {_listed(hourly)}")
    lines += _spot_notes(candidates, market)
    lines += _why_no_cost(counted, worst)
    volumes = [str(one.volume) for one in candidates if one.offering.price and unpriced_volume(one)]
    if volumes:
        lines.append(f"no cost counts the price of a volume: {_listed(list(dict.fromkeys(volumes)))}")
    left = [one.id for one in candidates if one not in counted]
    if left:
        lines.append(f"the cost leaves out {_listed(left)}: without a price, and billed by nobody")
    return lines


def _spot_notes(candidates: Sequence[Candidate], market: Market) -> list[str]:
    """How far the worst case bounds the cost of spot machines, whose price moves: by their maximum price, or not."""
    spot = [one for one in candidates if one.offering.price and dict(one.options).get("market") == "spot"]
    capped = [one.id for one in spot if market.billing_of(one.offering.provider).spot_capped]
    free = [one.id for one in spot if one.id not in capped]
    lines = []
    if capped:
        lines.append(f"counted at the most that a spot machine may cost, where less may be billed: {_listed(capped)}")
    if free:
        what = "its price moves, and no maximum is known to hold"
        lines.append(f"the worst case is no bound for {_listed(free)}: {what}")
    return lines


def _beside_notes(name: str, candidates: Sequence[Candidate], found: _Found, billing: Billing) -> list[str]:
    counted = next((one.beside for one in candidates if one.beside and one.offering.provider == name), None)
    lines = []
    if counted:
        amount = f"{counted.amount_per_hour.normalize():f} {counted.currency}/h"
        dated = f", {counted.as_of}" if counted.as_of else ""
        lines.append(f"{name}: each machine's price counts {amount} more ({counted.source}{dated})")
    missing = list(billing.uncounted)
    if billing.beside and not (counted and billing.beside.source in counted.source):
        missing.append(billing.beside.source)
    unknown = (what for one, _, parts in found if one.offering.provider == name for what in parts.unknown)
    missing += dict.fromkeys(unknown)
    if missing:
        lines.append(f"{name}: no cost counts {'; '.join(missing)}")
    return lines


def _why_no_cost(candidates: Sequence[Candidate], worst: Bill) -> list[str]:
    unknown = [one.id for one in candidates if one.offering.price is None]
    currencies = sorted({one.offering.price.currency for one in candidates if one.offering.price})
    if unknown:
        return [f"no cost is quoted: no price is known for {_listed(unknown)}"]
    if len(currencies) > 1:
        return [f"no cost is quoted: the prices are in {' and '.join(currencies)}"]
    return [f"no cost is quoted: {line}" for line in worst.unknown[:1]]


def _about_budget(worst: Money | None, budget: Money | None) -> list[str]:
    if worst and budget and worst.currency == budget.currency and worst.amount > budget.amount:
        return [f"the worst case is above the budget of {budget.amount} {budget.currency}"]
    return []


def told_terms(plan: Plan) -> str:
    """What the account's terms make of the expected cost, in a line; nothing where there are none."""
    quote = plan.quote
    if not plan.terms:
        return ""
    if quote.with_terms is None:
        why = "; ".join(one.why for one in quote.own if one.amount is None) or "a price is missing"
        return f"with your terms: unknown ({why})"
    return f"with your terms: {format_money(quote.with_terms)}"


def _listed(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"


_HOUR_S = 3600.0


def region_fees(plan: Plan, candidates: Iterable[Candidate], billing: Mapping[int, Billing]) -> list[Priced]:
    """The fees of regions with dedicated machines, for the hours of the clock that their launches are to touch.

    How many hours a time of so many seconds touches depends on the minute at which it begins; counted is the mean over
    all of them: the launches' times, each an hour longer, where they overlap taken once.
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
    return [(_lasting(use, _covered_s(spans[place])), rate) for place, (use, rate) in rates.items()]


def _lasting(use: Use, seconds: float) -> Use:
    hours = Decimal(round(seconds / _HOUR_S))
    return Use(use.provider, use.region, use.item, use.name, periods_s=(max(hours, Decimal(1)) * 3600,))


def _covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds in at least one of the spans."""
    total, end = 0.0, float("-inf")
    for start, until in sorted(spans):
        total += max(0.0, until - max(start, end))
        end = max(end, until)
    return total


_MORE = Decimal(MONTH_HOURS) / SHORTEST_MONTH_HOURS - 1
"""By how much more a month's price for an hour is in the shortest month."""
_DISKS = frozenset({Item.VOLUME, Item.IOPS, Item.THROUGHPUT})


def extra_of(stay: LaunchUsage, parts: Parts) -> Extra:
    """What is at worst billed for a launch and is not in the price for an hour of its machines.

    Traffic and requests at their dearest; a region's fee for dedicated machines, with the hour of the clock that a
    life may touch; a disk's dearer hour in a short month, and what its own clock counts more than its machine's.
    """
    timed: list[tuple[Decimal, Billing]] = []
    fixed = Decimal(0)
    machine = parts.worst[0][1].billing
    for use, rate in parts.expected:
        if use.item in _DISKS and rate.source not in TOLD:
            hourly = _hour_of(use, rate)
            timed.append((EXACT.multiply(hourly, _MORE), machine))
            coarse_h = EXACT.divide(coarser(use, machine), Decimal(3600))
            fixed += EXACT.multiply(hourly * (1 + _MORE), coarse_h) * stay.machines * (1 + stay.starts)
    for use, rate in parts.worst:
        if use.item in _MOVED and rate.rows:
            fixed += _dearest_of(use, rate)
        elif use.item is Item.FEE:
            timed.append((rate.rows[0].amount, rate.billing))
            fixed += rate.rows[0].amount
    return Extra(tuple(timed), fixed)


def _dearest_of(use: Use, rate: Rate) -> Decimal:
    """What one launch's use costs, all of it at its dearest tier."""
    found = spread(replace(use, times=1), rate, Decimal(0), worst=True)
    return sum((EXACT.multiply(one.quantity, one.row.amount) for one in found), Decimal(0))


def _hour_of(use: Use, rate: Rate) -> Decimal:
    """What one of a thing costs for an hour, at its dearest tier, in a month of 730 hours."""
    one = replace(use, count=1, periods_s=(Decimal(3600),))
    return _dearest_of(one, replace(rate, billing=Billing(0.0, 0.0)))
