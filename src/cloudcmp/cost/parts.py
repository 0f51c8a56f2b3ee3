"""What a candidate's launches are billed for: machines, disks, addresses, fees and traffic, each with its rate."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from cloudcmp.cost.bill import bill
from cloudcmp.cost.metering import EXACT, SHORTEST_MONTH_HOURS
from cloudcmp.cost.rates import hourly_rate
from cloudcmp.cost.rules import USER_SOURCES, clock_of, directions
from cloudcmp.cost.service_parts import service_parts, unit_rate
from cloudcmp.model.bill import NO_RATE, Rate, RateOf, Use
from cloudcmp.model.cast import REGION, ZONES
from cloudcmp.model.offering import Billing, Offering, Price, Volume
from cloudcmp.model.plan import Candidate, LaunchUsage, Traffic
from cloudcmp.model.price import MONTH_HOURS, OLD_BY_NATURE, Item, Purchase, Unit

Priced = tuple[Use, Rate]
_OWN_MACHINE = "local"
_HOUR = (Decimal(3600),)
_ONE = LaunchUsage(0, 1, 1, 0.0, 0.0)
_SHORT = Decimal(MONTH_HOURS) / SHORTEST_MONTH_HOURS


MACHINE_OF_SERVICE = "the machine that asks"
"""What a bill's lines on the machine that measures a service are about, after the candidate."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The expected and worst-case uses with their rates; `unknown` describes what has no price."""

    expected: tuple[Priced, ...]
    worst: tuple[Priced, ...]
    unknown: tuple[str, ...] = ()


def with_extra_prices(candidate: Candidate, billing: Billing, rate_of: RateOf) -> Candidate:
    """Returns the candidate with the known hourly prices of its volume and of what comes with each machine.

    That is the provider's extra charge (an address) and the system disk, in the machine's currency, at 730 hours a
    month; and, for a burstable type that does not slow down without CPU credits, all its vCPUs at full speed.
    """
    price = candidate.offering.price
    if price is None:
        return candidate
    volume = candidate.volume
    if volume is not None and volume.price is None:
        volume_price = _volume_price(candidate, volume, rate_of, price.currency)
        candidate = replace(candidate, volume=replace(volume, price=volume_price)) if volume_price else candidate
    beside = [billing.beside] if billing.beside and billing.beside.currency == price.currency else []
    root = _root(candidate, billing)
    under = _volume_price(candidate, root, rate_of, price.currency) if root else None
    if under and root:
        beside.append(replace(under, source=f"{root}, {under.source}"))
    candidate = replace(candidate, surplus=_surplus_price(candidate, billing))
    return replace(candidate, beside=_sum_prices(beside)) if beside else candidate


def _surplus_price(candidate: Candidate, billing: Billing) -> Price | None:
    """Returns the hourly price of full speed without CPU credits; None if it is unknown, or not billed."""
    sold, options = candidate.offering, dict(candidate.options)
    if not _is_unlimited(candidate) or sold.vcpus is None or sold.price is None:
        return None
    own = (sold.name.partition(".")[0], options.get("os", "linux"), sold.price.currency)
    rate = next((one.price for one in billing.surplus if (one.family, one.system, one.price.currency) == own), None)
    if rate is None:
        return None
    amount = EXACT.multiply(rate.amount_per_hour, Decimal(repr(sold.vcpus)))
    return replace(rate, amount_per_hour=amount, source=f"its CPU time beyond the credits, at most, {rate.source}")


def _is_unlimited(candidate: Candidate) -> bool:
    return dict(candidate.options).get("credits") == "unlimited"


def unpriced_volume(candidate: Candidate) -> bool:
    """True if a candidate has a volume without a known price."""
    return candidate.volume is not None and candidate.volume.price is None


def parts_of(candidate: Candidate, usage: LaunchUsage, billing: Billing, rate_of: RateOf) -> Parts:
    """Returns all that a candidate's launches are billed for, in each of its regions.

    The first machine of a launch is in the candidate's own region, all others are at its far end, if it has one.
    """
    if candidate.far is None or usage.machines < 2:
        return _parts_in_region(candidate, usage, billing, rate_of)
    near = _parts_in_region(candidate, replace(usage, machines=1), billing, rate_of)
    others = replace(usage, machines=usage.machines - 1, traffic=())
    far = _parts_in_region(candidate.far, others, billing, rate_of)
    return Parts((*near.expected, *far.expected), (*near.worst, *far.worst), (*near.unknown, *far.unknown))


def _parts_in_region(candidate: Candidate, usage: LaunchUsage, billing: Billing, rate_of: RateOf) -> Parts:
    """Returns what the machines in one region are billed for, and the traffic of the launch.

    An hourly price that comes with a machine is billed like the machine. A rate from a price list has its own clock.
    The user's own machine without a price costs nothing where it only asks a service.
    """
    life, lease = _expected_periods(usage), _worst_periods(usage, billing)
    expected: list[Priced] = []
    worst: list[Priced] = []
    if not _asks_for_nothing(candidate):
        expected += _machines(candidate, usage, life, billing)
        worst.append(_machine(candidate, _dearest(candidate, usage), usage, lease, billing))
    for use, rate in (*_address(candidate, usage, billing), *_surplus(candidate, usage, billing)):
        expected.append((replace(use, periods_s=life), rate))
        worst.append((replace(use, periods_s=lease), rate))
    for use, rate in _disks(candidate, usage, billing, rate_of):  # disks stay when their machine is stopped
        expected.append((replace(use, periods_s=(sum(life, Decimal(0)),)), rate))
        worst.append((replace(use, periods_s=lease), worst_rate(rate, use)))
    sent = [
        (path, _traffic(candidate, usage, path, rate_of)) for path in usage.traffic if path.path not in billing.free
    ]
    for _, pair in sent:
        expected += pair[:1]
        worst += pair[1:]
    for part in service_parts(candidate, usage):
        expected.append((part.expected, part.rate))
        worst.append((part.worst, part.rate))
    unknown = [
        *_unpriced_extras(candidate, billing, rate_of),
        *(f"traffic over path {one.path}" for one, pair in sent if not pair),
    ]
    return Parts(tuple(expected), (*worst, *_worst_fee(candidate, usage, billing)), tuple(unknown))


def _asks_for_nothing(candidate: Candidate) -> bool:
    """True for a service with prices that the user's own machine asks, whose hours have no price."""
    own = candidate.runner == _OWN_MACHINE and candidate.offering.price is None
    return own and candidate.service is not None and bool(candidate.unit_prices)


def worst_rate(rate: Rate, use: Use) -> Rate:
    """Returns the rate of a disk in the shortest month; an hourly price that the user gave stays."""
    if use.item is not Item.VOLUME or rate.source in USER_SOURCES or rate.rows[0].unit is not Unit.HOUR:
        return rate
    return replace(rate, rows=tuple(replace(row, amount=EXACT.multiply(row.amount, _SHORT)) for row in rate.rows))


def _unpriced_extras(candidate: Candidate, billing: Billing, rate_of: RateOf) -> Iterator[str]:
    """Describes what is billed in addition to a machine and has no price in its currency."""
    price, fee, root = candidate.offering.price, billing.dedicated, _root(candidate, billing)
    if price is None:
        return
    if _is_unlimited(candidate) and candidate.surplus is None:
        yield f"CPU time of {candidate.offering.name} beyond the credits, which credits: unlimited bills"
    if root and _volume_price(candidate, root, rate_of, price.currency) is None:
        yield "the disk under the system unless it is written as a volume (some 0.001 USD/h for 8 GiB)"
    if fee is not None and _is_dedicated(candidate) and fee.currency != price.currency:
        yield f"{fee.amount_per_hour} {fee.currency}/h {fee.source}"


def _address(candidate: Candidate, usage: LaunchUsage, billing: Billing) -> list[Priced]:
    """Returns the use of public addresses, one for each machine, if the provider bills them."""
    price, beside = candidate.offering.price, billing.beside
    if price is None or beside is None or beside.currency != price.currency:
        return []
    use = _use(candidate, usage, Item.ADDRESS, "ipv4")
    return [(use, hourly_rate(beside, use, billing))]


def _surplus(candidate: Candidate, usage: LaunchUsage, billing: Billing) -> list[Priced]:
    """Returns the use of CPU time beyond the credits, of all vCPUs all the time, if it is billed and has a price."""
    if candidate.surplus is None:
        return []
    use = _use(candidate, usage, Item.CPU_CREDIT, candidate.offering.name)
    return [(use, hourly_rate(candidate.surplus, use, billing))]


def _traffic(candidate: Candidate, usage: LaunchUsage, sent: Traffic, rate_of: RateOf) -> tuple[Priced, ...]:
    """Returns the expected and the worst traffic of a path between a launch's machines, () if it has no price."""
    price, far = candidate.offering.price, candidate.far
    to = far.offering.region if far else REGION if sent.path == ZONES else sent.path
    use = replace(_use(candidate, usage, Item.EGRESS, "egress"), to=to)
    use = replace(use, count=directions(use))
    rate = unit_rate(use, candidate.traffic_price) if candidate.traffic_price else NO_RATE if far else rate_of(use)
    if (
        price is None
        or not rate.rows
        or rate.rows[0].currency != price.currency
        or not any(row.amount > 0 for row in rate.rows)
    ):
        return ()
    expected, most = (replace(use, size=Decimal(size)) for size in (sent.expected_bytes, sent.most_bytes))
    return (expected, rate), (most, rate)


def _machine(
    candidate: Candidate, offering: Offering, usage: LaunchUsage, periods: tuple[Decimal, ...], billing: Billing
) -> Priced:
    use = replace(_use(candidate, usage, Item.INSTANCE, offering.name), periods_s=periods)
    if offering.price is None:
        return use, NO_RATE
    return use, hourly_rate(offering.price, use, billing)


def _use(candidate: Candidate, usage: LaunchUsage, item: Item, name: str) -> Use:
    offering, options = candidate.offering, dict(candidate.options)
    spot = item is Item.INSTANCE and options.get("market") == "spot"
    about = f"{candidate.id}, {MACHINE_OF_SERVICE}" if candidate.service else candidate.id
    use = Use(
        offering.provider, offering.region, item, name, count=usage.machines, times=usage.launches, about=about,
        purchase=Purchase.SPOT if spot else Purchase.ON_DEMAND,
    )  # fmt: skip
    return with_system(use, candidate)


def with_system(use: Use, candidate: Candidate) -> Use:
    """Returns a use of machines with the candidate's system and tenancy; any other use is unchanged."""
    if use.item is not Item.INSTANCE:
        return use
    options = dict(candidate.options)
    return replace(use, system=options.get("os", "linux"), tenancy=options.get("tenancy", "shared"))


def _expected_periods(usage: LaunchUsage) -> tuple[Decimal, ...]:
    """Returns the expected billing periods of one launch: until its first resize, and after each."""
    if not usage.starts:
        return (Decimal(repr(usage.expected_s)),)
    first = Decimal(repr(max(0.0, usage.expected_s - usage.after_s)))
    return (first, *([Decimal(repr(usage.after_s / usage.starts))] * usage.starts))


def _worst_periods(usage: LaunchUsage, billing: Billing) -> tuple[Decimal, ...]:
    """Returns the worst-case billing periods of one launch: its lease, and one for each further start."""
    life_s = usage.worst_s
    if billing.minimum_s < billing.step_s:
        life_s += usage.starts * billing.step_s
    return (Decimal(repr(life_s)), *([Decimal(0)] * usage.starts))


def _machines(candidate: Candidate, usage: LaunchUsage, life: tuple[Decimal, ...], billing: Billing) -> list[Priced]:
    """Returns a launch's expected machines: its own type, and each type to which a resize changes it, if priced."""
    each = usage.starts // max(1, len(usage.becomes))
    kinds = [candidate.offering, *(kind for kind in usage.becomes for _ in range(each))]
    machines = []
    for number, period in enumerate(life):
        kind = kinds[min(number, len(kinds) - 1)]
        machines.append(_machine(candidate, kind if kind.price else candidate.offering, usage, (period,), billing))
    return machines


def _dearest(candidate: Candidate, usage: LaunchUsage) -> Offering:
    """Returns the dearest type that a machine has in a launch; one without a price comes first."""
    kinds = [candidate.offering, *usage.becomes]
    unknown = next((one for one in kinds if one.price is None), None)
    return unknown or max(kinds, key=lambda one: one.price.amount_per_hour if one.price else Decimal(0))


def _disks(candidate: Candidate, usage: LaunchUsage, billing: Billing, rate_of: RateOf) -> Iterator[Priced]:
    """Yields the disks with a known price: the volume, and the system disk by a price list."""
    volume, price = candidate.volume, candidate.offering.price
    if price is None:
        return
    if volume is not None and volume.price is not None:  # the bill reports another currency
        use = replace(_use(candidate, usage, Item.VOLUME, volume.type), size=Decimal(volume.size_bytes or 1))
        yield use, hourly_rate(volume.price, use, billing if volume.price.source in USER_SOURCES else None)
    root = _root(candidate, billing)
    if root is not None:
        yield from _volume_rates(candidate, usage, root, rate_of, price.currency)


def _volume_rates(
    candidate: Candidate, usage: LaunchUsage, volume: Volume, rate_of: RateOf, currency: str
) -> list[Priced]:
    """Returns a volume's size and IOPS with their rates in a price list; nothing if one has no price."""
    if volume.size_bytes is None or _has_other_charges(candidate, volume, rate_of):
        return []
    uses = [replace(_use(candidate, usage, Item.VOLUME, volume.type), size=Decimal(volume.size_bytes))]
    if volume.iops is not None:
        uses.append(replace(_use(candidate, usage, Item.IOPS, volume.type), size=Decimal(volume.iops)))
    rates = [(use, rate_of(use)) for use in uses]
    fits = all(
        rate.rows and rate.rows[0].currency == currency and rate.rows[0].unit is not Unit.RATIO for _, rate in rates
    )
    return rates if fits else []


def _has_other_charges(candidate: Candidate, volume: Volume, rate_of: RateOf) -> bool:
    """True if a volume is billed by more than its size and its stated rate.

    That is by operation, or by a rate from zero on that the study does not state; a rate in doubt counts.
    """
    io, iops = (rate_of(_use(candidate, _ONE, item, volume.type)) for item in (Item.IO, Item.IOPS))
    if io.rows or not io.unlisted:
        return True
    if iops.rows:
        return volume.iops is None and min(row.tier_from for row in iops.rows) == 0
    return not iops.unlisted


def _volume_price(candidate: Candidate, volume: Volume, rate_of: RateOf, currency: str) -> Price | None:
    """Returns the hourly price of a volume in a price list, if known."""
    uses = _volume_rates(candidate, _ONE, volume, rate_of, currency)
    rates = {replace(use, periods_s=_HOUR): replace(rate, billing=Billing(0.0, 0.0)) for use, rate in uses}
    money = bill(rates, rates.__getitem__).total
    if money is None or money.amount <= 0:
        return None
    dated = [rate.dated for rate in rates.values() if rate.dated]
    return Price(money.amount, money.currency, next(iter(rates.values())).source, min(dated, default=None))


def _root(candidate: Candidate, billing: Billing) -> Volume | None:
    """Returns the system disk that is counted if the study writes none."""
    own = candidate.volume is not None and candidate.volume.root
    return None if own else billing.root


def _sum_prices(prices: list[Price]) -> Price:
    """Returns the sum of prices of one currency: as old as the oldest, as reliable as the least reliable."""
    if len(prices) == 1:
        return prices[0]
    amount = sum((one.amount_per_hour for one in prices), Decimal(0))
    days = [one.as_of for one in prices if one.as_of]
    how = next((one.how for one in prices if one.how in OLD_BY_NATURE), prices[0].how)
    return Price(amount, prices[0].currency, "; ".join(one.source for one in prices), min(days, default=None), how)


def _is_dedicated(candidate: Candidate) -> bool:
    return dict(candidate.options).get("tenancy") == "dedicated"


def _worst_fee(candidate: Candidate, usage: LaunchUsage, billing: Billing) -> list[Priced]:
    """Returns a region's fee for dedicated machines at worst: each lease may touch one more hour of the clock."""
    use = _use(candidate, usage, Item.FEE, "dedicated")
    rate = fee_of(candidate, billing, use)
    return [(replace(use, count=1, periods_s=(Decimal(repr(usage.worst_s)) + 3600,)), rate)] if rate else []


def fee_of(candidate: Candidate, billing: Billing, use: Use) -> Rate | None:
    """Returns the rate of a region's fee; None if there is none or its currency differs."""
    fee, price = billing.dedicated, candidate.offering.price
    if fee is None or price is None or not _is_dedicated(candidate) or fee.currency != price.currency:
        return None
    return hourly_rate(fee, use, Billing())


def clock_excess_s(use: Use, billing: Billing) -> Decimal:
    """Returns how many more seconds a thing's own clock may count than its machine's."""
    own = clock_of(use)
    finer = own.minimum_s <= billing.minimum_s and own.step_s <= billing.step_s
    return Decimal(0) if finer else EXACT.add(Decimal(repr(own.minimum_s)), Decimal(repr(own.step_s)))
