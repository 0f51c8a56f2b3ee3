"""Delivered over advertised: measured rates of networks and disks against those that the provider promises."""

import math
from collections.abc import Callable, Iterator, Sequence

from cloudcmp.compare.verdict import SAME_RATIO
from cloudcmp.model.cast import LOOPBACK, NEIGHBOUR, NO_LOAD
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.promise import Delivered, Delivery, Promise, Promised, positive
from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.model.study import FEWEST_LAUNCHES

TCP, _DISK_BYTES, _DISK_OPS = "tcp_bytes_per_s", "disk_bytes_per_s", "disk_op_per_s"
PAYLOAD_LEAST = 1448 / 1538
"""The share of TCP's payload in a full line of 1500 B packets: 1448 B of the 1538 B that each takes on Ethernet, with
headers, preamble and gap. With larger packets, or a provider that counts fewer headers, the share is higher, below 1.
"""
OPERATION_MOST_BYTES = 16384
"""The largest block that counts as one operation against a promise of operations; clouds count larger ones as several.
"""

THROUGHPUT_LEAST_BYTES = 65536
"""The smallest block of random reads and writes that can show a throughput; smaller ones show operations."""


def delivered_of(plan: Plan, estimates: Sequence[Estimate]) -> tuple[Delivered, ...]:
    """The measured rate over each promised one, by candidate, promise and place; empty without promises.

    A promise of the network is met by TCP between machines; one of throughput by reads and writes past the page cache,
    sequential or in blocks of at least 64 KiB; one of operations by random ones of at most 16 KiB. Of several settings
    (streams, blocks, depths) of one place the fastest counts: its interval is not corrected for that choice. A level is
    reached if the whole interval lies within 3 % of it; the network's payload may be less by the headers
    (`PAYLOAD_LEAST`).
    """
    known: dict[int, list[Estimate]] = {}
    for one in estimates:
        if one.offered and one.median is not None and one.median > 0.0:
            known.setdefault(one.candidate, []).append(one)
    return tuple(
        delivered
        for candidate in plan.candidates
        for promise in promises_of(candidate)
        for delivered in _delivered(candidate, promise, known.get(candidate.index, ()))
    )


def promises_of(candidate: Candidate) -> tuple[Promise, ...]:
    """The promises of a candidate's machine, and the operations a second that its volume was ordered with.

    A machine that measures a service has none; limits of a machine's own disk say nothing of a volume.
    """
    if candidate.service is not None:
        return ()
    known = tuple(one for one in candidate.offering.promised if one.cap is not None)
    volume, own_disk = candidate.volume, {Promised.DISK_THROUGHPUT, Promised.DISK_IOPS}
    if volume is None:
        return known
    some = tuple(one for one in known if one.of not in own_disk)
    if volume.iops is None:
        return some
    return (*some, Promise(Promised.VOLUME_IOPS, float(volume.iops), None, f"the volume as ordered: {volume}"))


def _delivered(candidate: Candidate, promise: Promise, estimates: Sequence[Estimate]) -> Iterator[Delivered]:
    places: dict[str, list[Estimate]] = {}
    for one in estimates:
        cell = Cell.parse(one.cell)
        alone = cell.get(NEIGHBOUR) in {None, NO_LOAD}
        place = _PLACES[promise.of](cell) if alone else None
        if place is not None and promise.op in {"", cell.get("op")}:
            places.setdefault(place, []).append(one)
    for settings in places.values():
        yield _fastest(candidate, promise, settings)


def _network(cell: Cell) -> str | None:
    """The path of a transfer between machines; None for any other cell."""
    path = cell.get("path") or LOOPBACK
    return path if cell.metric == TCP and path != LOOPBACK else None


def _throughput(cell: Cell) -> str | None:
    """The direction of a disk's bytes in sequence or in large blocks; None for any other cell."""
    if cell.metric != _DISK_BYTES or cell.get("durability") == "cached":
        return None
    large = (positive(cell.get("block_bytes")) or 0.0) >= THROUGHPUT_LEAST_BYTES
    return cell.get("op") if large or cell.get("pattern") == "sequential" else None


def _operations(cell: Cell) -> str | None:
    """The direction of a disk's random operations of small blocks; None for any other cell."""
    if cell.metric != _DISK_OPS or cell.get("durability") == "cached" or cell.get("pattern") != "random":
        return None
    block_bytes = positive(cell.get("block_bytes"))
    return cell.get("op") if block_bytes is not None and block_bytes <= OPERATION_MOST_BYTES else None


_PLACES: dict[Promised, Callable[[Cell], str | None]] = {
    Promised.NETWORK: _network,
    Promised.VOLUME_THROUGHPUT: _throughput,
    Promised.DISK_THROUGHPUT: _throughput,
    Promised.VOLUME_IOPS: _operations,
    Promised.DISK_IOPS: _operations,
}


def _fastest(candidate: Candidate, promise: Promise, settings: Sequence[Estimate]) -> Delivered:
    best = max(settings, key=lambda one: one.median or 0.0)
    delivery = _delivery(promise, best.median_bounds)
    level = {Delivery.AT_CAP: promise.cap, Delivery.AT_BASELINE: promise.baseline}.get(delivery)
    alike = sum(_reaches(one.median_bounds, level, promise.of) for one in settings if one is not best)
    value, bounds, n = best.median or 0.0, best.median_bounds, best.n
    reason = ""
    if delivery is Delivery.UNDECIDED:
        few = n < FEWEST_LAUNCHES or bounds is None
        reason = f"{n} of at least {FEWEST_LAUNCHES} launches" if few else "the interval is too wide"
    return Delivered(
        candidate.index, best.cell, promise, n, value, bounds, *_over(value, bounds, promise.baseline),
        *_over(value, bounds, promise.up_to), delivery, reason, len(settings), alike,
    )  # fmt: skip


def _over(value: float, bounds: Bounds | None, level: float | None) -> tuple[float | None, Bounds | None]:
    """A value and its interval divided by a promised rate, which has no uncertainty of its own."""
    if level is None:
        return None, None
    return value / level, None if bounds is None else Bounds(bounds.low / level, bounds.high / level, bounds.confidence)


def _band(level: float, of: Promised) -> tuple[float, float]:
    """The measured rates that a level stands for: within 3 %, and of the network less by the headers."""
    least = PAYLOAD_LEAST if of is Promised.NETWORK else 1.0
    return least * level / SAME_RATIO, level * SAME_RATIO


def _reaches(bounds: Bounds | None, level: float | None, of: Promised) -> bool:
    if bounds is None or level is None:
        return False
    low, high = _band(level, of)
    return low <= bounds.low and bounds.high <= high


def _delivery(promise: Promise, bounds: Bounds | None) -> Delivery:
    """How an interval stands to the promised levels; the first rule that applies counts."""
    if bounds is None:
        return Delivery.UNDECIDED
    if _reaches(bounds, promise.cap, promise.of):
        return Delivery.AT_CAP
    if _reaches(bounds, promise.baseline, promise.of):
        return Delivery.AT_BASELINE
    return _apart(promise, bounds)


def _apart(promise: Promise, bounds: Bounds) -> Delivery:
    """Where an interval at no promised level lies, if all of it is on one side of each level."""
    below, above = ((-math.inf, math.inf) if one is None else _band(one, promise.of)
                    for one in (promise.baseline, promise.cap))  # fmt: skip
    if bounds.low > above[1]:
        return Delivery.ABOVE
    if bounds.high < below[0]:
        return Delivery.BELOW
    past_baseline = promise.baseline is None or bounds.low > below[1]
    return Delivery.UNDER_CAP if past_baseline and bounds.high < above[0] else Delivery.UNDECIDED
