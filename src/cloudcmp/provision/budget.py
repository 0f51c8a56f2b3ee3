"""What a study may spend: its worst case is kept within the budget before anything is created, and while it runs.

    committed = sum over machines of price x paid(age), or of price x paid(time to live) while it may still be there

`paid` is the provider's minimum and every step begun, anew from each start on; whole hours for a machine of which it is
not known that it is billed so. A machine ends by itself at its time to live, where the provider does that; so what is
committed is what can be billed, whatever happens to the controller.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Context, Decimal

from cloudcmp.errors import BudgetSpent, Refused
from cloudcmp.model.lease import (
    ENDS,
    HOURLY,
    INSTANCE,
    STARTED,
    STATE_OF,
    STILL_THERE,
    LeaseEvent,
    LeaseRow,
    LeaseState,
)
from cloudcmp.model.offering import Billing
from cloudcmp.model.protocol import Provider
from cloudcmp.model.safety import Spend
from cloudcmp.provider.time import Time
from cloudcmp.units import Money

WARN, DRAIN = Decimal("0.80"), Decimal("0.95")
_HOUR_S = 3600
_SHOWN = Decimal("0.000001")
SLACK_S = 360.0
"""How much longer than its time to live a machine may last that ends by itself: the minute in which its own timer goes
off, and the five until a new one runs for which its absence is not believed either."""
_EXACT = Context(prec=60, rounding=ROUND_UP)

Key = tuple[str, int]
Terms = Mapping[str, Billing]
"""How each provider bills; one that is not named bills nothing."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One machine on the bill: its price (per hour), time to live and age (s), and whether it may still be there.

    `most_s` is the most that it can have been there where machines of its provider end by themselves: no bound where
    that is not known of this one. `starts` is how often it was started again; `hourly`: it is counted by the hour
    begun, whatever its provider's terms.
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
        """Whole seconds that are paid by now; with `worst`, by the end of its life.

        Each start begins a period of billing anew. Those that are still to come are in its time to live.
        """
        billing = billing.in_hours() if self.hourly else billing
        used_s = min(self.age_s, self.most_s) if billing.ends else self.age_s
        paid_s = billing.paid_s(used_s) + self.starts * max(billing.minimum_s, billing.step_s)
        return math.ceil(max(paid_s, billing.paid_s(self.ttl_s)) if worst and self.open else paid_s)


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard caps on machines at once and on bytes through the network; None is no cap. No money is counted for bytes."""

    at_once: int | None = None
    traffic_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """What a launch wants: so many machines of one price (per hour, each) for a time to live.

    `where` names region and offering for a refusal; `slots` are those of the machines, so that what is allowed counts
    from now on and not only from their intents on. `hourly` as in `Charge`.
    """

    provider: str
    where: str
    price_per_hour: Decimal | None
    currency: str | None
    wanted_ttl_s: float
    shortest_ttl_s: float
    slots: tuple[str, ...]
    hourly: bool = False


def terms_of(providers: Mapping[str, Provider]) -> dict[str, Billing]:
    """How those providers bill that bill at all, and whether what they bill ends by itself."""
    return {
        name: replace(provider.billing, ends=any(one.name == "death" and one.holds for one in provider.barriers))
        for name, provider in providers.items()
        if provider.billed
    }


def charges(rows: Iterable[LeaseRow], now: float) -> tuple[Charge, ...]:
    """The machines of a ledger's rows as a bill sees them, `now` in Unix seconds.

    A machine's age runs from the first to the last of its rows, and to `now` until it is seen gone. Nobody may have
    looked for days: one that is known to end by itself, and that was not seen after its time to live, ended at it,
    within `SLACK_S`. One whose answer was lost counts from its intent on, whether or not it was ever there. A refused
    one was never there. One without an intent of its own (a library asked twice) costs what the one with its token
    does, from that one's intent on.
    """
    by_key: dict[Key, list[LeaseRow]] = {}
    intents: dict[str, LeaseRow] = {}
    for row in rows:
        if row.kind == INSTANCE:
            by_key.setdefault((row.slot, row.attempt), []).append(row)
            if row.event is LeaseEvent.INTENT:
                intents[row.token] = row
    return tuple(
        _charge(key, intents.get(some[0].token, some[0]), some, now)
        for key, some in by_key.items()
        if some[-1].event is not LeaseEvent.REFUSED
    )


def _charge(key: Key, intent: LeaseRow, rows: list[LeaseRow], now: float) -> Charge:
    times = [intent.at, *(row.at for row in rows)]
    is_open = STATE_OF[rows[-1].event] is not LeaseState.GONE
    # Rows may be out of order where the wall's clock was set: the whole span is never less than what went by.
    age_s = (max(now, *times) if is_open else max(times)) - min(times)
    ttl_s = intent.ttl_s or 0.0
    outlived = is_open or any(row.detail == STILL_THERE for row in rows)
    most_s = ttl_s + SLACK_S if ENDS in intent.detail and not outlived else math.inf
    starts, price, currency = sum(row.detail == STARTED for row in rows), intent.price_per_hour, intent.currency
    hourly = HOURLY in intent.detail
    return Charge(key, intent.provider, price, currency, ttl_s, age_s, is_open, most_s, starts, hourly)


def spent(found: Iterable[Charge], terms: Terms, currency: str) -> Money | None:
    """What has accrued by now, rounded up; None where a price is not known or is in another currency."""
    total = _times_seconds(found, terms, currency, worst=False)
    return None if total is None else _money(total, currency)


def committed(found: Iterable[Charge], terms: Terms, currency: str) -> Money | None:
    """What has accrued, and what every open machine adds by its time to live; rounded up, None as `spent`."""
    total = _times_seconds(found, terms, currency, worst=True)
    return None if total is None else _money(total, currency)


def _times_seconds(found: Iterable[Charge], terms: Terms, currency: str, *, worst: bool) -> Decimal | None:
    """The sum of price x paid seconds, undivided and so exact; None where a price is not known."""
    total = Decimal(0)
    for charge in found:
        billing = terms.get(charge.provider)
        if billing is None:
            continue
        if not _usable(charge.price_per_hour) or charge.currency != currency:
            return None
        seconds = charge.seconds(billing, worst=worst)
        total = _EXACT.add(total, _EXACT.multiply(charge.price_per_hour or Decimal(0), Decimal(seconds)))
    return total


def _usable(price: Decimal | None) -> bool:
    return price is not None and price.is_finite() and price > 0


def _money(times_seconds: Decimal, currency: str) -> Money:
    return Money(_EXACT.divide(times_seconds, Decimal(_HOUR_S)).quantize(_SHOWN, ROUND_UP, _EXACT), currency)


class Guard:
    """Says what may still be created, and for how long; all that it knows is read from the ledger's rows each time.

    What it has allowed counts until the intent is in the rows or `let_go` is called, so launches side by side never
    share the same money. It creates, destroys and waits for nothing.
    """

    def __init__(
        self,
        budget: Money | None,
        terms: Terms,
        rows: Callable[[], Iterable[LeaseRow]],
        time: Time,
        limits: Limits = Limits(),
    ) -> None:
        self._budget = budget
        self._terms = terms
        self._rows = rows
        self._time = time
        self._limits = limits
        self._held: dict[str, Charge] = {}
        self._since: dict[Key, float] = {}
        self._least_s: dict[Key, float] = {}
        self.traffic_bytes = 0
        self._held_bytes = 0

    def allow(self, ask: Ask) -> float:
        """The time to live (s) for what is asked: as wanted, or shortened to what fits the budget.

        Raises Refused where a price is unknown, zero, negative or in another currency than the budget's, BudgetSpent
        where not even the shortest time to live fits, or a cap is reached.
        """
        self.let_go(ask.slots)
        rows = tuple(self._rows())
        found = self._charges(rows)
        self._check_caps(ask, found)
        billing = self._terms.get(ask.provider)
        if billing is not None and ask.hourly:
            billing = billing.in_hours()
        ttl_s = ask.wanted_ttl_s if billing is None else self._fitting(ask, billing, found)
        for slot in ask.slots:
            attempt = 1 + max((row.attempt for row in rows if row.slot == slot), default=0)
            one = Charge((slot, attempt), ask.provider, ask.price_per_hour, ask.currency, ttl_s, 0.0, open=True,
                         hourly=ask.hourly)  # fmt: skip
            self._held[slot] = one
            self._since[one.key] = self._time.monotonic()
        return ttl_s

    def let_go(self, slots: Iterable[str]) -> None:
        """What was allowed for these slots will not be created any more; what was created stays counted."""
        for slot in slots:
            self._held.pop(slot, None)

    def spend(self) -> Spend:
        """The money now, for progress and report."""
        if not self._terms:
            return Spend(None, None, self._budget, note="nothing here is billed")
        if self._budget is None:
            return Spend(None, None, None, note="no budget was given")
        found, currency = self._charges(tuple(self._rows())), self._budget.currency
        accrued = _times_seconds(found, self._terms, currency, worst=False)
        worst = _times_seconds(found, self._terms, currency, worst=True)
        if accrued is None or worst is None:
            return Spend(None, None, self._budget, "teardown", f"a machine has no known price in {currency}")
        level = _level(accrued, worst, _EXACT.multiply(self._budget.amount, Decimal(_HOUR_S)))
        return Spend(_money(accrued, currency), _money(worst, currency), self._budget, level)

    def hold_traffic(self, where: str, most: int) -> int | None:
        """The bytes that a trial may send, up to `most`, nobody else's until they are settled; None while others hold
        too much of what is left. Raises BudgetSpent where nothing is left of the cap.
        """
        cap = self._limits.traffic_bytes
        left = most if cap is None else cap - self.traffic_bytes - self._held_bytes
        if left < most and self._held_bytes:
            return None
        if left <= 0:
            what = f"the cap on traffic is {cap} bytes, {self.traffic_bytes} are counted"
            raise BudgetSpent.at(where, what, "raise the cap, or measure less")
        held = min(left, most)
        self._held_bytes += held
        return held

    def settle_traffic(self, held: int, sent: int) -> None:
        """Of what was held so much was sent; `traffic_bytes` counts it, and the rest is given back."""
        self._held_bytes -= held
        self.traffic_bytes += sent

    def _charges(self, rows: Iterable[LeaseRow]) -> tuple[Charge, ...]:
        """The rows' machines, and what is allowed and not yet in them."""
        rows = tuple(rows)
        written = {(row.slot, row.attempt) for row in rows}
        self._held = {slot: one for slot, one in self._held.items() if one.key not in written}
        return tuple(map(self._aged, (*charges(rows, self._time.now()), *self._held.values())))

    def _aged(self, charge: Charge) -> Charge:
        """A charge that is at least as old as the clock says that nobody sets: the wall's may have been set back."""
        moment = self._time.monotonic()
        since = self._since.setdefault(charge.key, moment)
        if charge.open:
            self._least_s[charge.key] = moment - since
        return replace(charge, age_s=max(charge.age_s, self._least_s.get(charge.key, 0.0)))

    def _check_caps(self, ask: Ask, found: Sequence[Charge]) -> None:
        cap, count = self._limits.at_once, sum(charge.open for charge in found)
        if cap is not None and count + len(ask.slots) > cap:
            what = f"the cap is {cap} machines at once, {count} are counted, this would add {len(ask.slots)}"
            raise BudgetSpent.at(ask.where, what, "raise the cap, or launch fewer")

    def _fitting(self, ask: Ask, billing: Billing, found: Sequence[Charge]) -> float:
        """The longest time to live up to the wanted one that the budget bears."""
        budget = self._budget
        if budget is None:
            raise Refused.at(ask.where, "it is billed, and the study has no budget", 'write one, e.g. "budget: 5 USD"')
        each = _checked(ask, budget.currency)
        taken = _times_seconds(found, self._terms, budget.currency, worst=True)
        if taken is None:
            what = f"a machine that was created before has no known price in {budget.currency}"
            raise Refused.at(ask.where, what, "cloudcmp cleanup, then begin a new study")
        left = _EXACT.subtract(_EXACT.multiply(budget.amount, Decimal(_HOUR_S)), taken)
        price = _EXACT.multiply(each, Decimal(len(ask.slots)))
        if _cost(price, billing, ask.wanted_ttl_s) <= left:
            return ask.wanted_ttl_s
        ttl_s = _longest(billing, int(_EXACT.divide_int(left, price))) if left > 0 else 0.0
        shortest_s = min(ask.shortest_ttl_s, ask.wanted_ttl_s)
        if ttl_s < max(shortest_s, 1.0):
            least = _money(_cost(price, billing, shortest_s), budget.currency)
            raise BudgetSpent.at(
                ask.where,
                f"the budget is {_told(budget)}, {_told(_money(taken, budget.currency))} are committed, this would add "
                f"{_told(least)}",
                "raise the budget, or measure less",
            )
        return min(ttl_s, ask.wanted_ttl_s)


def _cost(price: Decimal, billing: Billing, time_s: float) -> Decimal:
    return _EXACT.multiply(price, Decimal(math.ceil(billing.paid_s(time_s))))


def _checked(ask: Ask, currency: str) -> Decimal:
    """The price (per hour) that is asked for; raises Refused where it says nothing."""
    price = ask.price_per_hour
    if price is None or not _usable(price):
        what = "its price is not known" if price is None else f"a price of {price} says nothing"
        raise Refused.at(ask.where, what, 'give its price in the study, e.g. "price: 0.10 USD/h"')
    if ask.currency != currency:
        what = f"its price is in {ask.currency}, the budget in {currency}"
        raise Refused.at(ask.where, what, f"give both in one currency, e.g. a price in {currency}")
    return price


def _longest(billing: Billing, paid_s: int) -> float:
    """The longest time (s) for which no more than so many seconds are paid; 0 where the minimum is more."""
    if billing.minimum_s > paid_s:
        return 0.0
    if billing.step_s <= 0:
        return float(paid_s)
    steps = math.floor((paid_s - billing.minimum_s) / billing.step_s)
    # A product of floats may lie a hair above what was divided: one step less is then the answer.
    return next(
        (
            time_s
            for time_s in (billing.minimum_s + (steps - less) * billing.step_s for less in range(min(steps, 2) + 1))
            if math.ceil(billing.paid_s(time_s)) <= paid_s
        ),
        0.0,
    )


def _level(accrued: Decimal, worst: Decimal, budget: Decimal) -> str:
    """What has accrued against the budget; more committed than was ever allowed ends the study too."""
    if accrued >= budget or worst > budget:
        return "teardown"
    return "drain" if accrued >= budget * DRAIN else "warn" if accrued >= budget * WARN else "ok"


def _told(money: Money) -> str:
    return f"{money.amount.normalize():f} {money.currency}"
