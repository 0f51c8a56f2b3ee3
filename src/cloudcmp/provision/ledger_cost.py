"""The accrued and committed cost of machines, from a ledger's rows.

    committed = sum over machines of price x paid(age), or of price x paid(time to live) while it may still exist

`paid` is the provider's minimum and every step begun, again for each start; whole hours if the machine's billing is
unknown. Where the provider ends machines at their time to live, the committed cost bounds the bill, even if the
controller fails. Other charges (traffic, a region's fee, a disk's dearer hour in a short month, support) count for each
launch, as the plan bounds them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Context, Decimal

from cloudcmp.model.lease import INSTANCE, STATE_OF, LeaseEvent, LeaseNote, LeaseRow, LeaseState
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Extra
from cloudcmp.model.protocol import Provider
from cloudcmp.units import Money

HOUR_S = 3600
_SHOWN = Decimal("0.000001")
SLACK_S = 360.0
"""How much longer a self-terminating machine may last: a minute for its timer, five until absence is believed."""
TIMER_S = 60.0
"""How long after its time to live a machine's own timer may take to end it."""
EXACT = Context(prec=60, rounding=ROUND_UP)


Key = tuple[str, int]
Terms = Mapping[str, Billing]
"""How each provider bills; providers without terms are free."""


_NOTHING = Extra()


@dataclass(frozen=True, slots=True)
class ExtraCosts:
    """Costs apart from the prices in the ledger's rows: of a slot, and on top of all spend (support).

    `on_top` takes money in the budget's currency, and must not fall when that rises.
    """

    of_slot: Callable[[str], Extra] = lambda _: _NOTHING
    on_top: Callable[[Decimal], Decimal] = lambda _: Decimal(0)


NO_EXTRA_COSTS = ExtraCosts()


@dataclass(frozen=True, slots=True)
class Charge:
    """One machine on the bill: its price (per hour), time to live and age (s), and whether it may still exist.

    `most_s` is the longest that it can have existed if its provider ends machines. `starts` counts its restarts.
    `hourly` bills each hour begun, whatever the provider's terms are.
    """

    key: Key
    provider: str
    price_per_hour: Decimal | None
    currency: str | None
    ttl_s: float
    age_s: float
    open: bool
    most_s: float = math.inf
    starts: int = 0
    hourly: bool = False

    def seconds(self, billing: Billing, *, worst: bool) -> int:
        """Returns the whole seconds that are billed by now; with `worst`, by the end of its life.

        Each start begins a new billing period. Future starts are part of the time to live.
        """
        billing = billing.in_hours() if self.hourly else billing
        used_s = min(self.age_s, self.most_s) if billing.ends else self.age_s
        paid_s = billing.paid_s(used_s) + self.starts * billing.anew_s
        ends_s = self.ttl_s + (TIMER_S if billing.ends else 0.0)
        return math.ceil(max(paid_s, billing.paid_s(ends_s)) if worst and self.open else paid_s)

    def times_seconds(self, billing: Billing, extra: Extra, *, worst: bool) -> Decimal:
        """Returns price x paid seconds, plus the extra costs."""
        total = EXACT.multiply(self.price_per_hour or Decimal(0), Decimal(self.seconds(billing, worst=worst)))
        for per_hour, clock in extra.timed:
            own = replace(clock, ends=billing.ends)
            total = EXACT.add(total, EXACT.multiply(per_hour, Decimal(self.seconds(own, worst=worst))))
        return EXACT.add(total, EXACT.multiply(extra.fixed, Decimal(HOUR_S)))


def terms_of(providers: Mapping[str, Provider]) -> dict[str, Billing]:
    """Returns how providers bill, without free ones, and whether they end machines by themselves."""
    return {
        name: replace(provider.billing, ends=any(one.name == "death" and one.holds for one in provider.safeguards))
        for name, provider in providers.items()
        if provider.billed
    }


def charges(rows: Iterable[LeaseRow], now: float) -> tuple[Charge, ...]:
    """Returns the machines of a ledger's rows as charges, `now` in Unix seconds.

    A machine's age is the span of its rows, up to `now` until it is seen gone. If the controller was away for days, a
    self-terminating machine that was not seen after its time to live ended then, within `SLACK_S`. A machine whose
    answer was lost counts from its intent on; a refused one never existed. One without its own intent (a library asked
    twice) costs what the one with its token does.
    """
    by_key: dict[Key, list[LeaseRow]] = {}
    intents: dict[str, LeaseRow] = {}
    for row in rows:
        if row.kind == INSTANCE:
            by_key.setdefault((row.slot, row.attempt), []).append(row)
            if row.event is LeaseEvent.INTENT:
                intents[row.token] = row
    return tuple(
        charge_of(key, intents.get(some[0].token, some[0]), some, now)
        for key, some in by_key.items()
        if some[-1].event is not LeaseEvent.REFUSED
    )


def charge_of(key: Key, intent: LeaseRow, rows: Sequence[LeaseRow], now: float) -> Charge:
    """Returns the charge of one machine from its rows and the intent of its token."""
    times = [intent.at, *(row.at for row in rows)]
    is_open = STATE_OF[rows[-1].event] is not LeaseState.GONE
    # If the clock was set, rows may be out of order: the whole span is never too short.
    age_s = (max(now, *times) if is_open else max(times)) - min(times)
    ttl_s = intent.ttl_s or 0.0
    outlived = is_open or any(LeaseNote.STILL_THERE in row.notes for row in rows)
    most_s = ttl_s + SLACK_S if LeaseNote.ENDS_BY_ITSELF in intent.notes and not outlived else math.inf
    starts = sum(LeaseNote.STARTED_AGAIN in row.notes for row in rows)
    hourly, price = LeaseNote.BY_THE_HOUR in intent.notes, intent.price_per_hour
    return Charge(key, intent.provider, price, intent.currency, ttl_s, age_s, is_open, most_s, starts, hourly)


def accrued_cost(
    machines: Iterable[Charge], terms: Terms, currency: str, extras: ExtraCosts = NO_EXTRA_COSTS
) -> Money | None:
    """Returns the cost so far, rounded up; None if a price is unknown or in another currency."""
    total = sum_of(machines, terms, currency, extras, worst=False)
    return None if total is None else money_of(with_top(total, extras), currency)


def committed_cost(
    machines: Iterable[Charge], terms: Terms, currency: str, extras: ExtraCosts = NO_EXTRA_COSTS
) -> Money | None:
    """Returns the accrued cost plus what open machines add by their time to live; rounded up, None like accrued."""
    total = sum_of(machines, terms, currency, extras, worst=True)
    return None if total is None else money_of(with_top(total, extras), currency)


def sum_of(
    machines: Iterable[Charge], terms: Terms, currency: str, extras: ExtraCosts, *, worst: bool
) -> Decimal | None:
    """Returns the sum of price x paid seconds and of extra costs, undivided; None if a price is unknown."""
    total = Decimal(0)
    for charge in machines:
        if is_unpriced(charge, terms, currency):
            return None
        total = EXACT.add(total, cost_of(charge, terms, extras, worst=worst))
    return total


def is_unpriced(charge: Charge, terms: Terms, currency: str) -> bool:
    """True if a machine is billed and has no known price in a currency."""
    return charge.provider in terms and (not usable(charge.price_per_hour) or charge.currency != currency)


def cost_of(charge: Charge, terms: Terms, extras: ExtraCosts, *, worst: bool) -> Decimal:
    """Returns price x paid seconds of one machine with its extra costs, undivided; 0 if its provider is free."""
    billing = terms.get(charge.provider)
    if billing is None:
        return Decimal(0)
    return charge.times_seconds(billing, extras.of_slot(charge.key[0]), worst=worst)


def with_top(times_seconds: Decimal, extras: ExtraCosts) -> Decimal:
    """Returns the sum with what comes on top of all spend."""
    if times_seconds <= 0:
        return times_seconds
    more = extras.on_top(EXACT.divide(times_seconds, Decimal(HOUR_S)))
    return EXACT.add(times_seconds, EXACT.multiply(more, Decimal(HOUR_S)))


def usable(price: Decimal | None) -> bool:
    """True if a price is known, finite and positive."""
    return price is not None and price.is_finite() and price > 0


def money_of(times_seconds: Decimal, currency: str) -> Money:
    """Converts price x seconds to money, rounded up."""
    return Money(EXACT.divide(times_seconds, Decimal(HOUR_S)).quantize(_SHOWN, ROUND_UP, EXACT), currency)
