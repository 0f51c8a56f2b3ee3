"""The values of a simulated machine: the planted truth, and noise that the plan's seeds determine.

The planted `mean` is the median over launches and runs (of a log-normal; also its mean on the log scale, on which
candidates are compared), so the candidate with the better planted mean is the better one, whatever the spreads are.
"""

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import BESIDE
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric, Reduce
from cloudcmp.model.offering import CellTruth
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.provider.simulated.services import DELAY, STALE, delays

Floats = npt.NDArray[np.float64]
Encode = Callable[[Floats], str]

_SECONDS_PER_DAY = 86400.0
_SAMPLES = 5
_INTERVALS_MAX = 20
_LATENCIES = 400
_LATENCIES_FINE = 1000  # so that one latency is the 99.9th percentile
_SPREAD_OF_LATENCIES = 0.3  # of the logarithm, if only one percentile is planted
_LARGEST_NS = 3.6e12
_WAITS = ("scaling", "scale_in", "resize", "recovery")  # timed by the controller: one value for each step
_VALUES = 1  # separates the noise of values from other draws with the same seed


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a trial: Unix seconds of the virtual time, and seconds since the plan's start."""

    at: float
    since_start_s: float


@dataclass(frozen=True, slots=True)
class Reading:
    """One sample or histogram, as in a frame."""

    metric: str
    params: tuple[tuple[str, str], ...]
    t_s: float
    value: float | None
    hist: str | None


@dataclass(slots=True)
class _Draw:
    """The noise of one series: one number for its launch, one for its trial, and a source for its samples."""

    launch: float
    trial: float
    samples: np.random.Generator


def readings(
    trial: PlannedTrial,
    launch_seed: int,
    earlier: int,
    moment: Moment,
    truth: Mapping[str, CellTruth],
    metrics: Mapping[str, Metric],
    encode_histogram: Encode,
) -> tuple[Reading, ...]:
    """The values of a trial, in an order that only depends on the plan; raises UserMistake for a cell without truth.

    A cell of a sparse metric without truth has no value, as the handshake of an endpoint without TLS.
    A launch's effects come from its seed and the series' name, so they are independent between cells, except for the
    steps of one wait, which are one machine's. A trial's effects come from its seed and `earlier`, the number of its
    earlier attempts that ended by themselves. `truth` is keyed by cell or metric name; `encode_histogram` takes
    nanoseconds.
    """
    series: dict[Cell, list[tuple[float | None, CellTruth]]] = {}
    for text in sorted(trial.cells):
        cell = Cell.parse(text)
        percentile = cell.get("percentile") if metrics[cell.metric].reduce is Reduce.PERCENTILE else None
        key = Cell(cell.metric, tuple(item for item in cell.params if percentile is None or item[0] != "percentile"))
        planted = truth.get(str(cell)) or truth.get(cell.metric)
        if planted is None and metrics[cell.metric].sparse:
            continue
        if planted is None:
            raise UserMistake.at("truth", f"nothing is planted in the cell {cell}", "give its mean under truth:")
        at_percentile = None if percentile is None else float(percentile)
        series.setdefault(key, []).append((at_percentile, _at_time(planted, moment)))
    noise = np.random.Generator(np.random.PCG64(np.random.SeedSequence([trial.seed, earlier, _VALUES])))
    results: list[Reading] = []
    if trial.probe in _WAITS:
        draw = _Draw(_launch_effect(launch_seed, Cell(trial.probe)), noise.standard_normal(), noise)
        return tuple(
            Reading(cell.metric, cell.params, 0.0, _scaled(truths[0][1], draw), None) for cell, truths in series.items()
        )
    for cell, truths in series.items():
        metric = metrics[cell.metric]
        draw = _Draw(_launch_effect(launch_seed, cell), noise.standard_normal(), noise)
        if metric.reduce is Reduce.PERCENTILE:
            anchors = [(percentile, _scaled(planted, draw)) for percentile, planted in truths if percentile]
            hist = encode_histogram(_latencies_ns(anchors))
            results.append(Reading(cell.metric, cell.params, _duration_s(trial), None, hist))
        elif metric.name == DELAY:
            stale = next((_middle(one[0][1], draw) for other, one in series.items() if other.metric == STALE), 0.0)
            results.extend(_spaced(trial, cell, delays(_middle(truths[0][1], draw), stale, draw.samples)))
        else:
            results.extend(_samples(trial, metric, cell, truths[0][1], draw))
    return tuple(results)


def _at_time(planted: CellTruth, moment: Moment) -> CellTruth:
    """The truth at a moment, after drift (a ratio per day) and the daily cycle (a sine of UTC's day)."""
    if not planted.drift and not planted.daily:
        return planted
    days = moment.since_start_s / _SECONDS_PER_DAY
    turn = math.sin(2 * math.pi * (moment.at % _SECONDS_PER_DAY) / _SECONDS_PER_DAY)
    mean = planted.mean * (1 + planted.drift) ** days * (1 + planted.daily * turn)
    return CellTruth(mean, planted.cov, planted.between)


def _launch_effect(seed: int, cell: Cell) -> float:
    """A standard normal number of a launch in one series, the same whatever its neighbour does."""
    own = Cell(cell.metric, tuple(item for item in cell.params if item[0] not in BESIDE))
    sequence = np.random.SeedSequence([seed, zlib.crc32(str(own).encode())])
    return np.random.Generator(np.random.PCG64(sequence)).standard_normal()


def _scaled(planted: CellTruth, draw: _Draw) -> float:
    """The trial's value: log-normal around the planted median, with the planted coefficients of variation."""
    return planted.mean * math.exp(_log_sd(planted.between) * draw.launch + _log_sd(planted.cov) * draw.trial)


def _log_sd(cov: float) -> float:
    """The standard deviation of the logarithm of a log-normal variable with a coefficient of variation."""
    return math.sqrt(math.log1p(cov * cov))


def _samples(trial: PlannedTrial, metric: Metric, cell: Cell, planted: CellTruth, draw: _Draw) -> list[Reading]:
    """Samples whose median (or total) is exactly the trial's value; they scatter half as much as runs do."""
    duration_s = _duration_s(trial)
    if metric.signed:
        # Additive, because the truth may be 0; loss and jitter stay at 0 or above, and ratios at 1 or below.
        offsets = draw.samples.standard_normal(_SAMPLES)
        values = _middle(planted, draw) + 0.5 * planted.cov * abs(planted.mean) * (offsets - np.median(offsets))
        values = np.clip(values, 0.0, 1.0 if metric.unit == "ratio" else math.inf)
    elif metric.reduce is Reduce.TOTAL:
        weights = np.exp(0.5 * _log_sd(planted.cov) * draw.samples.standard_normal(_intervals(trial, duration_s)))
        values = _scaled(planted, draw) * weights / weights.mean()
    else:
        offsets = draw.samples.standard_normal(_SAMPLES)
        values = _scaled(planted, draw) * np.exp(0.5 * _log_sd(planted.cov) * (offsets - np.median(offsets)))
    return _spaced(trial, cell, values)


def _middle(planted: CellTruth, draw: _Draw) -> float:
    """The trial's value of a metric that may be 0."""
    return planted.mean + abs(planted.mean) * (planted.between * draw.launch + planted.cov * draw.trial)


def _spaced(trial: PlannedTrial, cell: Cell, values: Floats) -> list[Reading]:
    """Samples in equal steps over the measured phase."""
    step_s = _duration_s(trial) / len(values)
    return [
        Reading(cell.metric, cell.params, step_s * (index + 1), value, None)
        for index, value in enumerate(values.tolist())
    ]


def _duration_s(trial: PlannedTrial) -> float:
    """The length of the measured phase in virtual time, within the deadline with a margin for rounding."""
    return min(float(dict(trial.params).get("duration_s", trial.expected_s)), trial.deadline_s * 0.99)


def _intervals(trial: PlannedTrial, duration_s: float) -> int:
    """The number of rates in a run: one for each interval, at most twenty."""
    interval_s = float(dict(trial.params).get("interval_s", "1"))
    return max(1, min(_INTERVALS_MAX, round(duration_s / interval_s) if interval_s > 0 else 1))


def _latencies_ns(anchors: Sequence[tuple[float, float]]) -> Floats:
    """Latencies in nanoseconds whose percentiles are the anchors (percentile, seconds), log-normal between them."""
    ordered = sorted(anchors)
    normal = NormalDist()
    at = np.array([normal.inv_cdf(percentile / 100) for percentile, _ in ordered])
    logs = np.maximum.accumulate(np.log([seconds * 1e9 for _, seconds in ordered]))
    slopes = np.diff(logs) / np.diff(at) if len(ordered) > 1 else np.array([_SPREAD_OF_LATENCIES])
    grid = _grid(_LATENCIES_FINE if ordered[-1][0] > 99.5 else _LATENCIES)
    inside = np.interp(grid, at, logs)
    below = slopes[0] * np.minimum(grid - at[0], 0.0)
    above = slopes[-1] * np.maximum(grid - at[-1], 0.0)
    latencies: Floats = np.clip(np.rint(np.exp(inside + below + above)), 1.0, _LARGEST_NS)
    return latencies


@lru_cache(maxsize=4)
def _grid(count: int) -> Floats:
    """Standard normal quantiles of the ranks 1 .. count, so that a percentile falls on a latency."""
    normal = NormalDist()
    ranks = [*range(1, count), count - 0.5]  # the quantile of the last rank itself is infinite
    return np.array([normal.inv_cdf(rank / count) for rank in ranks])
