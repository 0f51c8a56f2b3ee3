"""Time and money of moving data into a region, of refreshing it, and of leaving; over a link or by shipped devices."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cloudcmp.answer.placement.money import Tiers, tiered
from cloudcmp.model.move import Charge, MoveAnswer, MovePart, Shipment, ShippedDevice, Step, Throughput
from cloudcmp.model.price import MONTH_HOURS
from cloudcmp.model.result import Bounds

GB = 1e9
DAY_S = 86400.0
MONTH_DAYS = MONTH_HOURS / 24
_MOST_DEVICES = 100


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a GB, by tiers of a month, or of a request; unknown without tiers, and nothing if `free`."""

    tiers: Tiers = ()
    free: bool = False

    def of(self, amount: float, months: int = 1) -> float | None:
        """The price of an amount that is spread evenly over some months, whose tiers begin anew each month."""
        if self.free:
            return 0.0
        return tiered(self.tiers, amount / months) * months if self.tiers else None


@dataclass(frozen=True, slots=True)
class MovePrices:
    """What moved bytes and requests cost.

    `origin_out` is for a GB that leaves the origin, None if that is no region of a cloud; `region_in` and `region_out`
    for one that enters and leaves the region. `put` and `get` are for one request, None if none are counted.
    """

    origin_out: Price | None
    region_in: Price
    region_out: Price
    put: Price | None
    get: Price | None
    currency: str


@dataclass(frozen=True, slots=True)
class Move:
    """What is moved: bytes in all, and bytes a day that are refreshed for so many months.

    `object_bytes` is the mean size of an object, which is one request; None if requests are not counted.
    """

    size_bytes: float
    refresh_bytes_per_day: float
    months: float
    object_bytes: float | None = None


def predicted(
    move: Move, inward: Throughput, outward: Throughput, prices: MovePrices, devices: Sequence[ShippedDevice],
    origin: str, to: str,
) -> MoveAnswer:  # fmt: skip
    """The parts of a move, what devices would take instead, and the money of all.

    What is refreshed replaces older data, so that as much leaves as was brought. The rate is taken to hold all the
    time: a link that is shared, or throttled after a while, is slower.
    """
    bring = _part(Step.BRING, move.size_bytes, move.size_bytes, inward, move, prices)
    parts = [bring]
    total = bring.money
    if move.refresh_bytes_per_day:
        monthly = move.refresh_bytes_per_day * MONTH_DAYS
        refresh = _part(Step.REFRESH, move.refresh_bytes_per_day, monthly, inward, move, prices)
        parts.append(refresh)
        total = None if total is None or refresh.money is None else total + refresh.money * move.months
    leave = _part(Step.LEAVE, move.size_bytes, move.size_bytes, outward, move, prices)
    parts.append(leave)
    total = None if total is None or leave.money is None else total + leave.money
    shipments = [
        one
        for part in (bring, leave)
        for device in devices
        if (one := _shipment(part, device, move, prices)) is not None
    ]
    return MoveAnswer(
        origin, to, move.months, tuple(parts), tuple(shipments), total, prices.currency,
        tuple(_cautions(move, parts, prices, devices)),
    )  # fmt: skip


def _part(step: Step, size: float, paid: float, rate: Throughput, move: Move, prices: MovePrices) -> MovePart:
    """A part that moves `size` bytes, and for which `paid` bytes are charged."""
    seconds = size / rate.value
    bounds = rate.bounds and Bounds(size / rate.bounds.high, size / rate.bounds.low, rate.bounds.confidence)
    months = 1 if step is Step.REFRESH else max(1, math.ceil(seconds / DAY_S / MONTH_DAYS))
    return MovePart(step, size, rate, seconds, bounds, tuple(_charges(step, paid, months, move, prices)))


def _charges(step: Step, size: float, months: int, move: Move, prices: MovePrices) -> Iterator[Charge]:
    requests = math.ceil(size / move.object_bytes) if move.object_bytes else 0
    if step is Step.LEAVE:
        yield Charge("out of the region", prices.region_out.of(size / GB, months))
        if prices.get is not None:
            yield Charge("read requests", prices.get.of(requests))
        return
    if prices.origin_out is not None:
        yield Charge("out of the origin", prices.origin_out.of(size / GB, months))
    yield Charge("into the region", prices.region_in.of(size / GB, months))
    if prices.put is not None:
        yield Charge("write requests", prices.put.of(requests))


def _shipment(part: MovePart, device: ShippedDevice, move: Move, prices: MovePrices) -> Shipment | None:
    """A part by devices that are filled one after the other; None if a device does not go that way."""
    leaving = part.step is Step.LEAVE
    if leaving and device.out_per_gb is None:
        return None
    count = max(1, math.ceil(part.size_bytes / device.usable_bytes))
    copying = part.size_bytes / device.copy_bytes_per_s
    seconds = device.handling_days * DAY_S + copying
    money = _device_money(part.size_bytes, device, leaving=leaving) if device.currency == prices.currency else None
    slower = 1 / part.rate.value - 1 / device.copy_bytes_per_s
    return Shipment(
        part.step, device, count, seconds, money,
        even_rate=part.size_bytes / seconds,
        even_bytes=device.handling_days * DAY_S / slower if slower > 0 else None,
        even_money_bytes=_even_money(part, device, move, prices) if money is not None else None,
    )  # fmt: skip


def _device_money(size: float, device: ShippedDevice, *, leaving: bool) -> float:
    full, rest = divmod(size, device.usable_bytes)
    loads = [device.usable_bytes] * int(full) + ([rest] if rest or not full else [])
    total = 0.0
    for load in loads:
        days = load / device.copy_bytes_per_s / DAY_S
        total += device.fee + max(0, math.ceil(days - device.included_days)) * device.day_fee
    return total + (size / GB * (device.out_per_gb or 0.0) if leaving else 0.0)


def _even_money(part: MovePart, device: ShippedDevice, move: Move, prices: MovePrices) -> float | None:
    """The least size from which full devices, or a part of the first one, cost less than the link, each by its tiers.

    A device that has just been begun may cost more again. None if the price of the link is unknown, and if a hundred
    full devices still cost more.
    """

    def gain(size: float) -> float:
        link = _part(part.step, size, size, part.rate, move, prices).money
        return math.nan if link is None else link - _device_money(size, device, leaving=part.step is Step.LEAVE)

    high = next((one for n in range(1, _MOST_DEVICES + 1) if gain(one := n * device.usable_bytes) > 0), None)
    if high is None:
        return None
    low = 0.0 if high <= device.usable_bytes else high - device.usable_bytes
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if gain(middle) > 0 else (middle, high)
    return high


def _cautions(
    move: Move, parts: Sequence[MovePart], prices: MovePrices, devices: Sequence[ShippedDevice]
) -> Iterator[str]:
    unknown = dict.fromkeys(charge.what for part in parts for charge in part.charges if charge.amount is None)
    if unknown:
        yield f"the total is unknown, because the price of these is: {', '.join(unknown)}"
    if any(part.rate.n == 1 for part in parts):
        yield "a rate was measured once: how far it is off is unknown"
    refresh = next((part for part in parts if part.step is Step.REFRESH), None)
    if refresh is not None and refresh.seconds > DAY_S:
        yield "a day's refresh takes more than a day: the copy falls behind"
    if any(part.rate.n and part.seconds > 100 * DAY_S for part in parts):
        yield "a move of months is predicted from runs of seconds"
    if prices.origin_out is None:
        yield "what your own network takes for its traffic is not counted"
    if move.object_bytes is None:
        yield "requests are not counted: add --object, the size of an object"
    yield "storage in the region is not counted"
    memory = sorted({one.as_of for one in devices if one.source.endswith(", R")})
    if memory:
        yield f"prices and days of shipped devices are from memory (R, of {', '.join(memory)}): give yours with --disks"
    if any(device.currency != prices.currency for device in devices):
        yield f"devices are not priced in {prices.currency}: their money is unknown"
