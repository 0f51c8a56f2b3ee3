"""What a launch may cost beyond the price for an hour of its machines, for a budget that counts by those."""

from dataclasses import replace
from decimal import Decimal

from cloudcmp.cost.metering import EXACT, SHORTEST_MONTH_HOURS
from cloudcmp.cost.metering import parts as spread
from cloudcmp.cost.parts import Parts, coarser
from cloudcmp.cost.rules import TOLD
from cloudcmp.model.bill import Rate, Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Extra, LaunchUsage
from cloudcmp.model.price import MONTH_HOURS, Item

_MORE = Decimal(MONTH_HOURS) / SHORTEST_MONTH_HOURS - 1
"""By how much more a month's price for an hour is in the shortest month."""
_MOVED = frozenset({Item.EGRESS, Item.REQUEST})
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
