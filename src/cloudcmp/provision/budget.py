"""The budget guard: a study's worst case stays within the budget, before and after each create."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from cloudcmp.errors import BudgetSpent, Refused
from cloudcmp.model.offering import Billing
from cloudcmp.model.safety import Spend
from cloudcmp.provider.time import Time
from cloudcmp.provision.ledger_cost import (
    EXACT,
    HOUR_S,
    NO_EXTRA_COSTS,
    Charge,
    ExtraCosts,
    Key,
    Terms,
    money_of,
    sum_of,
    usable,
    with_top,
)
from cloudcmp.provision.tally import RowsFrom, Tally
from cloudcmp.units import Money

WARN, DRAIN = Decimal("0.80"), Decimal("0.95")


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits on concurrent machines and on network bytes; None is no limit. Bytes have no price here."""

    at_once: int | None = None
    traffic_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """A launch's request: machines of one price (per hour, each) for a time to live.

    `where` names region and offering in refusals; the grant counts for `slots` until their intents do. `hourly` as in
    `Charge`.
    """

    provider: str
    where: str
    price_per_hour: Decimal | None
    currency: str | None
    wanted_ttl_s: float
    shortest_ttl_s: float
    slots: tuple[str, ...]
    hourly: bool = False


class Guard:
    """Grants creates and their time to live, from the ledger's rows; it reads the new rows each time.

    A grant counts until its intent is in the rows or `withdraw` is called, so concurrent launches never share money.
    The guard creates, destroys and waits for nothing.
    """

    def __init__(
        self,
        budget: Money | None,
        terms: Terms,
        rows: RowsFrom,
        time: Time,
        limits: Limits = Limits(),
        extras: ExtraCosts = NO_EXTRA_COSTS,
    ) -> None:
        self._budget = budget
        self._terms = terms
        self._time = time
        currency = budget.currency if budget else ""
        self._tally = Tally(rows, terms, currency, extras, self._aged)
        self._limits = limits
        self._extras = extras
        self._reserved: dict[str, Charge] = {}
        self._since: dict[Key, float] = {}
        self._least_s: dict[Key, float] = {}
        self.traffic_bytes = 0
        self._reserved_bytes = 0

    def allow(self, request: BudgetRequest) -> float:
        """Returns the granted time to live (s): the wanted one, or less to fit the budget.

        Raises Refused if a price is unknown, not positive or in another currency than the budget's, BudgetSpent if even
        the shortest time to live does not fit, or a limit is reached.
        """
        self.withdraw(request.slots)
        self._read()
        self._check_caps(request)
        billing = self._terms.get(request.provider)
        if billing is not None and request.hourly:
            billing = billing.in_hours()
        ttl_s = request.wanted_ttl_s if billing is None else self._fitting(request, billing)
        for slot in request.slots:
            key = (slot, 1 + self._tally.last_attempt(slot))
            one = _charge(request, key, ttl_s)
            self._reserved[slot] = one
            self._since[one.key] = self._time.monotonic()
        return ttl_s

    def withdraw(self, slots: Iterable[str]) -> None:
        """Withdraws grants of slots; created machines stay counted."""
        for slot in slots:
            self._reserved.pop(slot, None)

    def spend(self) -> Spend:
        """Returns the current spend, for progress and report."""
        if not self._terms:
            return Spend(None, None, self._budget, note="nothing here is billed")
        if self._budget is None:
            return Spend(None, None, None, note="no budget was given")
        charges, currency = self._open(), self._budget.currency
        sums = self._sum(charges, worst=False), self._sum(charges, worst=True)
        if sums[0] is None or sums[1] is None:
            return Spend(None, None, self._budget, "teardown", f"a machine has no known price in {currency}")
        accrued, worst = (with_top(one, self._extras) for one in (sums[0], sums[1]))
        level = _level(accrued, worst, EXACT.multiply(self._budget.amount, Decimal(HOUR_S)))
        return Spend(money_of(accrued, currency), money_of(worst, currency), self._budget, level)

    def reserve_traffic(self, where: str, most: int) -> int | None:
        """Reserves up to `most` bytes for a trial; None while reservations of others leave too little.

        Raises BudgetSpent if nothing is left of the limit.
        """
        cap = self._limits.traffic_bytes
        left = most if cap is None else cap - self.traffic_bytes - self._reserved_bytes
        if left < most and self._reserved_bytes:
            return None
        if left <= 0:
            what = f"the cap on traffic is {cap} bytes, {self.traffic_bytes} are counted"
            raise BudgetSpent.at(where, what, "raise the cap, or measure less")
        reserved = min(left, most)
        self._reserved_bytes += reserved
        return reserved

    def settle_traffic(self, reserved: int, sent: int) -> None:
        """Replaces a reservation by the bytes that were sent."""
        self._reserved_bytes -= reserved
        self.traffic_bytes += sent

    def _sum(self, charges: Iterable[Charge], *, worst: bool) -> Decimal | None:
        """Returns the cost of charges times 3600, without support; None if a price is unknown in the currency."""
        gone = self._tally.gone_cost()
        currency = self._budget.currency if self._budget else ""
        more = sum_of(charges, self._terms, currency, self._extras, worst=worst)
        return None if gone is None or more is None else EXACT.add(gone, more)

    def _open(self) -> tuple[Charge, ...]:
        """Returns the machines that may exist by the rows, and the grants that are not yet in them."""
        self._read()
        return (*self._tally.open(self._time.now()), *map(self._aged, self._reserved.values()))

    def _read(self) -> None:
        """Reads new rows, and drops the grants that are now in them."""
        for key in self._tally.read(self._time.now()):
            if key[0] in self._reserved and self._reserved[key[0]].key == key:
                del self._reserved[key[0]]

    def _aged(self, charge: Charge) -> Charge:
        """Returns a charge that is at least as old as by the monotonic clock: the wall clock may have been set back."""
        moment = self._time.monotonic()
        since = self._since.setdefault(charge.key, moment)
        if charge.open:
            self._least_s[charge.key] = moment - since
        return replace(charge, age_s=max(charge.age_s, self._least_s.get(charge.key, 0.0)))

    def _check_caps(self, request: BudgetRequest) -> None:
        cap, count = self._limits.at_once, self._tally.open_count() + len(self._reserved)
        if cap is not None and count + len(request.slots) > cap:
            what = f"the cap is {cap} machines at once, {count} are counted, this would add {len(request.slots)}"
            raise BudgetSpent.at(request.where, what, "raise the cap, or launch fewer")

    def _fitting(self, request: BudgetRequest, billing: Billing) -> float:
        """Returns the longest time to live, up to the wanted one, that fits the budget."""
        budget = self._budget
        if budget is None:
            what = "it is billed, and the study has no budget"
            raise Refused.at(request.where, what, 'write one, e.g. "budget: 5 USD"')
        _check_price(request, budget.currency)
        base = self._sum(self._open(), worst=True)
        if base is None:
            what = f"a machine that was created before has no known price in {budget.currency}"
            raise Refused.at(request.where, what, "cloudcmp cleanup, then begin a new study")
        taken, most = with_top(base, self._extras), EXACT.multiply(budget.amount, Decimal(HOUR_S))

        def total(ttl_s: float) -> Decimal:
            """Returns the committed cost (times 3600) if each requested machine lives `ttl_s`."""
            machines = [_charge(request, (slot, 0), ttl_s) for slot in request.slots]
            more = sum_of(machines, {request.provider: billing}, budget.currency, self._extras, worst=True)
            return with_top(EXACT.add(base, more or Decimal(0)), self._extras)

        if total(request.wanted_ttl_s) <= most:
            return request.wanted_ttl_s
        shortest_s = min(request.shortest_ttl_s, request.wanted_ttl_s)
        ttl_s = _longest(total, most, request.wanted_ttl_s)
        if ttl_s < max(shortest_s, 1.0):
            least = money_of(total(shortest_s) - taken, budget.currency)
            reserved = money_of(taken, budget.currency)
            what = f"the budget is {_exact(budget)}, {_exact(reserved)} are committed, this would add {_exact(least)}"
            raise BudgetSpent.at(request.where, what, "raise the budget, or measure less")
        return ttl_s


def _charge(request: BudgetRequest, key: Key, ttl_s: float) -> Charge:
    """Returns a requested machine as a charge."""
    price, currency, hourly = request.price_per_hour, request.currency, request.hourly
    return Charge(key, request.provider, price, currency, ttl_s, 0.0, open=True, hourly=hourly)


def _check_price(request: BudgetRequest, currency: str) -> None:
    """Raises Refused if the requested hourly price is invalid."""
    price = request.price_per_hour
    if price is None or not usable(price):
        what = "its price is not known" if price is None else f"a price of {price} is invalid"
        raise Refused.at(request.where, what, 'give its price in the study, e.g. "price: 0.10 USD/h"')
    if request.currency != currency:
        what = f"its price is in {request.currency}, the budget in {currency}"
        raise Refused.at(request.where, what, f"give both in one currency, e.g. a price in {currency}")


def _longest(total: Callable[[float], Decimal], most: Decimal, wanted_s: float) -> float:
    """Returns the longest time (whole s), up to the wanted one, whose total is at most `most`; 0 if there is none.

    The cost never falls with time, so bisection finds it.
    """
    if total(0.0) > most:
        return 0.0
    low, high = 0, math.ceil(wanted_s)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if total(float(middle)) <= most else (low, middle)
    return float(low)


def _level(accrued: Decimal, worst: Decimal, budget: Decimal) -> str:
    """Compares the accrued cost with the budget; a committed cost above the budget ends the study too."""
    if accrued >= budget or worst > budget:
        return "teardown"
    return "drain" if accrued >= budget * DRAIN else "warn" if accrued >= budget * WARN else "ok"


def _exact(money: Money) -> str:
    return f"{money.amount.normalize():f} {money.currency}"
