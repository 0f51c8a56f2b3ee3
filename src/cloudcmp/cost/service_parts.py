"""What a candidate's launches are billed for by their service: requests, downloads and nodes, with their rates."""

from dataclasses import dataclass, replace
from decimal import Decimal

from cloudcmp.cost.metering import EXACT
from cloudcmp.cost.rules import clock_of
from cloudcmp.cost.service_costs import own_prices
from cloudcmp.cost.service_operations import CAPACITY, MOVED, ROW_BYTES, Charge, billing_of, protocol_of
from cloudcmp.model.bill import NO_RATE, Rate, Use
from cloudcmp.model.cast import ServiceKind
from cloudcmp.model.plan import Candidate, LaunchUsage, ServiceUse
from cloudcmp.model.price import Item, PriceRow, UnitPrice


@dataclass(frozen=True, slots=True)
class ServicePart:
    """One use of a service, as expected and at most, with its rate."""

    expected: Use
    worst: Use
    rate: Rate


def service_parts(candidate: Candidate, usage: LaunchUsage) -> tuple[ServicePart, ...]:
    """Returns the uses of a candidate's service.

    At the study's own prices each request costs the same, and so does each byte moved. At those of a list each
    operation is billed as its provider documents it; downloads within a region are free then. A service that bills its
    nodes is billed for the life of a launch, and for no request unless the study has a price of one.
    """
    service = candidate.service
    if service is None:
        return ()
    parts: list[ServicePart] = []
    own = {price.item for price in candidate.unit_prices if not price.name}
    billed_as = protocol_of(service)
    protocol = "" if own else billed_as
    if billed_as in CAPACITY:
        parts.append(_nodes(candidate, usage, CAPACITY[billed_as]))
    for units in usage.service:
        if billed_as in CAPACITY and units.item not in own:
            continue
        if not protocol or not units.op:
            parts.append(_part(candidate, usage, units, Charge("", item=units.item)))
        elif units.item is Item.EGRESS:
            if (candidate.offering.provider, candidate.offering.region) != (service.provider, service.region):
                parts.append(_part(candidate, usage, units, Charge(MOVED[protocol], item=Item.EGRESS)))
        else:
            parts += _requests(candidate, usage, units, protocol)
    return tuple(parts)


def _requests(candidate: Candidate, usage: LaunchUsage, units: ServiceUse, protocol: str) -> list[ServicePart]:
    billing = billing_of(protocol, units.op, units.read)
    if billing is None or billing.why:
        why = billing.why if billing else f"how {units.op} is billed is not known"
        part = _part(candidate, usage, units, Charge(units.op))
        return [replace(part, rate=Rate(why=why))]
    return [_part(candidate, usage, units, charge) for charge in billing.charges]


def _nodes(candidate: Candidate, usage: LaunchUsage, name: str) -> ServicePart:
    """Returns the one node of a launch's data set, which is there as long as the machine that asks, or shorter."""
    service = candidate.service
    assert service is not None
    use = Use(service.provider, service.region, Item.CAPACITY, name, times=usage.launches, about=candidate.id)
    price = next((one for one in candidate.unit_prices if one.item is Item.CAPACITY and one.name in {name, ""}), None)
    expected, worst = (replace(use, periods_s=(Decimal(repr(one)),)) for one in (usage.expected_s, usage.worst_s))
    return ServicePart(expected, worst, NO_RATE if price is None else unit_rate(use, price))


def _part(candidate: Candidate, usage: LaunchUsage, units: ServiceUse, charge: Charge) -> ServicePart:
    """Returns one use: its quantity is the number of operations (or bytes) times what each is charged."""
    service = candidate.service
    assert service is not None
    each = charge.quantity(units.size_bytes or (ROW_BYTES if service.kind is ServiceKind.TABLE else 0))
    name = charge.name or service.kind.value
    use = Use(service.provider, service.region, units.item, name, times=usage.launches, about=candidate.id)
    use = replace(use, to="internet") if units.item is Item.EGRESS else use
    own = [one for one in candidate.unit_prices if not one.name and one.item is units.item]
    if charge.name or not own:
        price = next((one for one in candidate.unit_prices if (one.item, one.name) == (units.item, charge.name)), None)
    else:  # requests of an operation without a price cost as much as the dearest one
        dearest = max(own, key=lambda one: one.amount)
        price = next((one for one in own_prices(own, units.op)), dearest)
    rate = NO_RATE if price is None else unit_rate(use, price)
    expected, most = (EXACT.multiply(Decimal(count), each) for count in (units.expected, units.most))
    return ServicePart(replace(use, size=expected), replace(use, size=most), rate)


def unit_rate(use: Use, price: UnitPrice) -> Rate:
    """Returns the rate of a use with a given price for a unit of it."""
    row = PriceRow(use.provider, use.region, use.item, use.name, price.amount, price.currency, price.unit,
                   tenancy=use.tenancy, to=use.to)  # fmt: skip
    return Rate((row,), clock_of(use), source=price.source, dated=price.as_of)
