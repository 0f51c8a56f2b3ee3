"""The predicted times of every offering: by the demands alone, and by the machines that ran the application."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.prediction.columns import Benchmark
from cloudcmp.answer.prediction.times import DemandTimes, Resources, Values, demand_times
from cloudcmp.model.application import ApplicationKind
from cloudcmp.model.market import Numbers, OfferKey
from cloudcmp.model.prediction import Basis, Explanation
from cloudcmp.stats.powers import explain

Floats = NDArray[np.float64]

BUSY = 1.1
"""A program that took longer than this many times what its counters say was disturbed by other work."""


@dataclass(frozen=True, slots=True, eq=False)
class ByDemands:
    """Times of one unit of the application, by its demands: arrays of shape (offerings, 1) or (offerings, draws).

    `parts` are those of each part. `cpu_s` is the processor time in a unit.
    """

    time: Floats
    overlapped: Floats
    serial: Floats
    cpu_s: Floats
    parts: tuple[Floats, ...]
    demands: dict[str, Floats]


def by_demands(found: Resources, benchmark: Benchmark | None, values: Values, home: int | None) -> ByDemands:
    """Return the times with one benchmark for the processor.

    Pages and tasks do one thing after the other. A program overlaps as much of its files and network as it did at home,
    and waits as long as there for what is not measured.
    """
    application = found.application
    parts = [demand_times(found, part, benchmark, values) for part in application.parts]
    if application.kind is ApplicationKind.PROGRAM:
        return _program(found, parts[0], home)
    weights = np.array([one.weight for one in application.parts])
    weights = weights / weights.sum()
    names = dict.fromkeys(name for one in parts for name in one.by_name)
    serial = [one.serial for one in parts]
    # The rest of a file cannot come before its first bytes.
    overlapped = serial if application.kind is ApplicationKind.STATIC else [one.overlapped for one in parts]
    return ByDemands(
        time=_weighted(weights, serial),
        overlapped=_weighted(weights, overlapped),
        serial=_weighted(weights, serial),
        cpu_s=_weighted(weights, [one.cpu_s for one in parts]),
        parts=tuple(serial),
        demands={
            name: _weighted(weights, [one.by_name.get(name, np.zeros((1, 1))) for one in parts]) for name in names
        },
    )


def _weighted(weights: Floats, times: Sequence[Floats]) -> Floats:
    return reduce(np.add, (weight * one for weight, one in zip(weights, times, strict=True)))


def _program(found: Resources, times: DemandTimes, home: int | None) -> ByDemands:
    """A program: of its transfers, the share that it waited for at home delays it, and the rest is in the bound."""
    cpu = times.by_name["cpu"]
    transfers = [one for name, one in times.by_name.items() if name != "cpu"]
    moved = reduce(np.add, transfers) if transfers else np.zeros((1, 1))
    blocked = found.application.blocked_s
    waited, fixed = 1.0, blocked
    if home is not None and transfers:
        there = float(np.nanmean(moved[home]))
        waited = min(1.0, blocked / there) if there > 0 else 1.0
        fixed = blocked - waited * there
    elif transfers:
        fixed = 0.0
    total = cpu + waited * moved + fixed
    return ByDemands(
        total, np.maximum(cpu, waited * moved) + fixed, cpu + moved + fixed, times.cpu_s, (total,), dict(times.by_name)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """The predicted time (s) of each offering with its interval, NaN if unknown, and what it rests on.

    `overlapped` and `serial` are the bounds over all benchmarks, scaled as the times are. `explained` are the
    measurements that it follows, `error` the root mean square of its errors with one machine left out.
    """

    time: Floats
    low: Floats
    high: Floats
    overlapped: Floats
    serial: Floats
    cpu_s: Floats
    parts: tuple[Floats, ...]
    basis: Basis
    explained: tuple[Explanation, ...]
    error: float | None
    home_ratio: float | None


def times_of(found: Resources, home: int | None, ran: dict[int, float], confidence: float) -> Times:
    """Return the times of all offerings; `ran` are times that the application took, by the row of the machine.

    With none or one such machine the demands decide, scaled to that one; with more, what was measured on them.
    """
    first = found.benchmarks[0] if found.benchmarks else None
    plain = by_demands(found, first, Values(), home)
    others = [by_demands(found, one, Values(), home) for one in found.benchmarks[1:]]
    every = [plain, *others]
    with np.errstate(invalid="ignore"):
        overlapped = reduce(np.fmin, [one.overlapped[:, 0] for one in every])
        serial = reduce(np.fmax, [one.serial[:, 0] for one in every])
    time = plain.time[:, 0]
    rows = [row for row in ran if np.isfinite(time[row])]
    taken = np.array([ran[row] for row in rows])
    ratio = float(np.exp(np.log(taken / time[rows]).mean())) if rows else 1.0
    home_ratio = ran[home] / float(time[home]) if home in ran and np.isfinite(time[home]) else None
    low, high, basis = _by_launches(found, first, home, ratio, confidence)
    explained: tuple[Explanation, ...] = ()
    error = None
    if len(rows) > 1:
        time, low, high, explained, error = _by_runs(found, plain, others, rows, taken, home, confidence)
        basis = Basis.LEFT_OUT
    else:
        time = time * ratio
    return Times(time, low, high, overlapped * ratio, serial * ratio, plain.cpu_s[:, 0],
                 tuple(one[:, 0] * ratio for one in plain.parts), basis, explained, error, home_ratio)  # fmt: skip


def _by_launches(
    found: Resources, first: Benchmark | None, home: int | None, ratio: float, confidence: float
) -> tuple[Floats, Floats, Basis]:
    """The interval by how the measurements scatter between launches; none where one of them was measured once."""
    used = [*found.cells.values(), *([first.one] if first is not None and found.uses_cpu else [])]
    nothing = np.full(len(found.market.keys), np.nan)
    scatters = reduce(np.logical_and, [_scatters(one) for one in used]) if used else nothing > 0
    if not scatters.any():
        return nothing, nothing, Basis.NONE
    drawn = by_demands(found, first, Values(drawn=True), home).time * ratio
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=1)
    return np.where(scatters, low, np.nan), np.where(scatters, high, np.nan), Basis.LAUNCHES


def _scatters(column: Numbers) -> NDArray[np.bool_]:
    """True for each offering with two launches or more."""
    if column.launches is None:
        return np.zeros(len(column.value), np.bool_)
    return np.asarray(np.isfinite(column.launches).sum(axis=1) > 1, np.bool_)


def _by_runs(
    found: Resources, plain: ByDemands, others: Sequence[ByDemands], rows: Sequence[int], taken: Floats,
    home: int | None, confidence: float,
) -> tuple[Floats, Floats, Floats, tuple[Explanation, ...], float]:  # fmt: skip
    """The time of each offering with its interval, from those that ran the application; what it follows; its error.

    Offerings on which the same was measured are predicted together, from what was measured on them and on those that
    ran it: the columns are all demands first, then each demand, then each other benchmark. Without half of the columns
    an offering is not predicted.
    """
    informed = home is not None or not found.uses_cpu
    some = [(name, one) for name, one in _named(found, plain, others) if np.all(one[rows] > 0)]
    columns = np.column_stack([one for _, one in some])
    known = np.isfinite(columns) & (columns > 0)
    time, low, high = (np.full(len(columns), np.nan) for _ in range(3))
    explained: tuple[Explanation, ...] = ()
    error = math.nan
    patterns, which = np.unique(known, axis=0, return_inverse=True)
    for at in np.argsort(patterns.sum(axis=1), kind="stable"):  # the fullest is the last: what follows is its
        pattern, mine = patterns[at], np.flatnonzero(which.ravel() == at)
        if (informed and not pattern[0]) or 2 * pattern.sum() < len(pattern):
            continue
        machines = np.concatenate([rows, mine])
        one = explain(taken, np.arange(len(rows)), columns[np.ix_(machines, pattern)], confidence, informed=informed)
        time[mine], low[mine], high[mine] = (ends[len(rows) :] for ends in (one.time, one.low, one.high))
        names = [name for (name, _), used in zip(some, pattern, strict=True) if used]
        explained = tuple(Explanation(*pair) for pair in zip(names, one.exponents.tolist(), strict=True))
        error = float(np.sqrt(np.mean(np.square(one.errors))))
    return time, low, high, tuple(sorted(explained, key=lambda one: -abs(one.exponent))), error


def _named(found: Resources, plain: ByDemands, others: Sequence[ByDemands]) -> Iterator[tuple[str, Floats]]:
    alone = len(plain.demands) == 1 and found.uses_cpu
    yield found.benchmarks[0].name if alone else "all demands", plain.time[:, 0]
    rows = len(plain.time)
    if len(plain.demands) > 1:
        for name, one in plain.demands.items():
            yield f"{name} alone", np.broadcast_to(one, (rows, 1))[:, 0]
    for benchmark, other in zip(found.benchmarks[1:], others, strict=True):
        yield benchmark.name, other.demands["cpu"][:, 0] if "cpu" in other.demands else np.full(rows, np.nan)


def home_time(elapsed_s: float, alone_s: float) -> float:
    """The time of a program at home: as it took, unless other work disturbed it; then by its own counters."""
    return elapsed_s if elapsed_s <= BUSY * alone_s else alone_s


def row_of(keys: Sequence[OfferKey], wanted: OfferKey) -> int | None:
    """The row of an offering; without a region, the only one of that name. None without one."""
    same = [row for row, key in enumerate(keys) if key == wanted]
    if not same and not wanted.region:
        same = [row for row, key in enumerate(keys) if (key.provider, key.name) == (wanted.provider, wanted.name)]
    return same[0] if len(same) == 1 else None
