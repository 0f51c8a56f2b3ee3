"""The cost of one operation of a storage service, and the rate at which it costs as much as a machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from cloudcmp.cost.metering import EXACT, SCALE
from cloudcmp.cost.service_operations import MOVED, ROW_BYTES, Charge, billing_of, protocol_of
from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import Item, UnitPrice
from cloudcmp.units import Money

_MILLI_CENTS = 100_000
_OUT = "download"


@dataclass(frozen=True, slots=True)
class OperationCost:
    """The cost of one operation, or `why` it is unknown.

    An amount of zero is an operation that its provider documents as free. `source` and `dated` are those of the oldest
    price in it; `page` is the provider's page about how the operation is billed, empty at a price of the study, and
    `note` what the amount leaves out.
    """

    money: Money | None
    why: str = ""
    source: str = ""
    dated: date | None = None
    page: str = ""
    note: str = ""

    @property
    def milli_cents(self) -> Decimal | None:
        """The cost in thousandths of a cent of its currency, as in table 4 of CloudCmp (IMC 2010)."""
        return None if self.money is None else EXACT.multiply(self.money.amount, Decimal(_MILLI_CENTS))


def operation_cost(
    service: Service, op: str, size_bytes: int, prices: Sequence[UnitPrice], *, read: str = "",
    within_region: bool = True,
) -> OperationCost:  # fmt: skip
    """Returns the cost of one operation at some unit prices, without storage and without the asking machine.

    `size_bytes` is the payload, of one row for a table. `read` is `eventual` (by default) or `strong`. A price without
    a name holds for every request and wins, and its download needs a price of bytes moved as well. At a list's prices a
    download to a machine in the service's region is free by the provider's pages; else it needs that price too.
    """
    own = own_prices(prices, op)
    if own:
        return _at_own_prices(own, op, size_bytes)
    protocol = protocol_of(service)
    if not protocol:
        return OperationCost(None, "nobody's price list has the requests of its endpoint")
    billing = billing_of(protocol, op, read)
    if billing is None:
        return OperationCost(None, f"how {op} is billed by {protocol} is not known")
    unknown = billing.why
    if billing.most_bytes and size_bytes > billing.most_bytes:
        unknown = f"how more than {billing.most_bytes} bytes are billed is not documented"
    if unknown:
        return OperationCost(None, unknown, page=billing.source)
    charges = list(billing.charges)
    if op == _OUT and not within_region:
        charges.append(Charge(MOVED[protocol], Decimal(1), 1, item=Item.EGRESS))
    return _sum(charges, size_bytes, prices, billing.source, billing.note)


def own_prices(prices: Sequence[UnitPrice], op: str) -> list[UnitPrice]:
    """Returns the study's own prices that hold for an operation: its own before those for all."""
    some = [
        price
        for price in prices
        if not price.name and price.operation in {op, ""} and price.item not in {Item.STORAGE, Item.CAPACITY}
    ]
    return sorted(some, key=lambda price: price.operation, reverse=True)


def _at_own_prices(own: Sequence[UnitPrice], op: str, size_bytes: int) -> OperationCost:
    """Returns the cost at the study's prices: one request, and for a download its bytes."""
    charges = [Charge("")]
    if op == _OUT:
        charges.append(Charge("", Decimal(1), 1, item=Item.EGRESS))
    return _sum(charges, size_bytes, own, "", "")


def _sum(
    charges: Sequence[Charge], size_bytes: int, prices: Sequence[UnitPrice], page: str, note: str
) -> OperationCost:
    used: list[UnitPrice] = []
    total = Decimal(0)
    for charge in charges:
        price = next((one for one in prices if (one.item, one.name) == (charge.item, charge.name)), None)
        if price is None:
            named = f"{charge.item.value} {charge.name}".rstrip()
            return OperationCost(None, f"no price is known for {named}", page=page)
        used.append(price)
        scale = SCALE.get(price.unit, Decimal(1))
        total += EXACT.divide(EXACT.multiply(price.amount, charge.quantity(size_bytes)), scale)
    currencies = sorted({price.currency for price in used})
    if len(currencies) > 1:
        return OperationCost(None, f"its parts are in {' and '.join(currencies)}", page=page)
    if not used:
        currency = prices[0].currency if prices else "USD"
        return OperationCost(Money(total, currency), page=page, note=note or "free by the provider's page")
    days = [price.as_of for price in used if price.as_of]
    return OperationCost(
        Money(total, currencies[0]), "", "; ".join(dict.fromkeys(one.source for one in used)), min(days, default=None),
        page, note,
    )  # fmt: skip


def candidate_operation_cost(candidate: Candidate, op: str, size_bytes: int, read: str = "") -> OperationCost:
    """Returns the cost of one operation on a candidate's service, at the candidate's prices, seen from its machine.

    A size of 0 is that of a row of a table.
    """
    service, sold = candidate.service, candidate.offering
    assert service is not None
    size = size_bytes or (ROW_BYTES if service.kind is ServiceKind.TABLE else 0)
    there = (sold.provider, sold.region) == (service.provider, service.region)
    return operation_cost(service, op, size, candidate.unit_prices, read=read, within_region=there)


def break_even_per_hour(machine_per_hour: Money, operation: Money) -> Decimal | None:
    """Returns how many operations an hour cost as much as a machine; None for a free one, or in another currency."""
    if operation.amount <= 0 or operation.currency != machine_per_hour.currency:
        return None
    return EXACT.divide(machine_per_hour.amount, operation.amount)


@dataclass(frozen=True, slots=True)
class OperationFigure:
    """The cost of one kind of operation on a candidate (its index), and when it costs as much as its machine.

    `break_even_per_hour` is in operations; None if the cost or the machine's price is unknown.
    """

    candidate: int
    op: str
    size_bytes: int
    read: str
    cost: OperationCost
    break_even_per_hour: Decimal | None


def operation_figures(plan: Plan) -> tuple[OperationFigure, ...]:
    """Returns a figure for each service candidate and each operation, size and consistency that the plan measures."""
    asked: dict[tuple[int, str, int, str], None] = {}
    for trial in plan.trials:
        params = dict(trial.params)
        candidate = plan.candidates[plan.launches[trial.launch].candidate]
        if candidate.service is None or not (op := params.get("op") or _IMPLIED.get(trial.probe)):
            continue
        asked[candidate.index, op, int(params.get("size_bytes", "0")), params.get("read", "")] = None
    return tuple(_figure(plan.candidates[index], op, size, read) for index, op, size, read in sorted(asked))


_IMPLIED = {"load": "load"}
"""The operation of probes that have no parameter for it."""


def _figure(candidate: Candidate, op: str, size_bytes: int, read: str) -> OperationFigure:
    cost = candidate_operation_cost(candidate, op, size_bytes, read)
    machine = candidate.offering.price
    even = None
    if machine is not None and machine.amount_per_hour > 0 and cost.money is not None:
        even = break_even_per_hour(Money(machine.amount_per_hour, machine.currency), cost.money)
    return OperationFigure(candidate.index, op, size_bytes, read, cost, even)
