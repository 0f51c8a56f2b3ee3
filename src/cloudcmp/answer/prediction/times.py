"""The times of an application's demands on each offering, one after the other and all at once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.prediction.columns import Benchmark, benchmarks_of, find_cell, lower_is_better
from cloudcmp.model.application import Application, ApplicationKind, CellWish, Demand, Part, Way
from cloudcmp.model.market import Market, Numbers
from cloudcmp.stats.draws import drawn_means

Floats = NDArray[np.float64]

DRAWS = 2000
_ENDLESS = 300.0
_SEED = 2010
_MEMORY = CellWish("triad_bytes_per_s", (("threads", "one"),))


@dataclass(frozen=True, slots=True, eq=False)
class Resources:
    """What the sources know of an application's demands.

    `cells` are the columns of the demands that are measured, by the name of the demand and of its part. `memory` is the
    benchmark of the memory's rate. `reference` are the rows on whose mean speed the processor seconds hold.
    """

    market: Market
    application: Application
    benchmarks: tuple[Benchmark, ...]
    cells: Mapping[tuple[str, str], Numbers]
    memory: Benchmark | None
    reference: tuple[int, ...]

    @property
    def uses_cpu(self) -> bool:
        """True if a demand is processor time."""
        return any(one.way is Way.CPU for part in self.application.parts for one in part.demands)

    @property
    def needs_processors(self) -> bool:
        """True if threads run at once, so that the number of processors decides."""
        return any(many > 1 for many, _ in self.application.parallel)


def resources(market: Market, application: Application, reference: tuple[int, ...]) -> Resources:
    """Return the columns of a market that an application's demands need."""
    cells = {}
    for part in application.parts:
        for demand in part.demands:
            if demand.cell is not None and (column := find_cell(market, demand.cell)) is not None:
                cells[part.name, demand.name] = column
    triad = find_cell(market, _MEMORY)
    every = find_cell(market, CellWish("triad_bytes_per_s", (("threads", "all"),)))
    memory = Benchmark(triad, every) if triad is not None and application.moved_bytes else None
    return Resources(market, application, benchmarks_of(market, application), cells, memory, reference)


class Values:
    """The values of columns, of shape (offerings, 1), or draws of their true means, of shape (offerings, draws)."""

    def __init__(self, *, drawn: bool = False) -> None:
        self._drawn = drawn
        self._known: dict[str, Floats] = {}

    def of(self, column: Numbers) -> Floats:
        """The values of one column; one that is measured once is not drawn."""
        if column.name not in self._known:
            drawn = self._drawn and column.launches is not None
            seed = _SEED + len(self._known)
            with np.errstate(invalid="ignore", divide="ignore"):
                value = (
                    drawn_means(np.log(column.launches), DRAWS, seed) if drawn and column.launches is not None else None
                )
            # Two launches have draws of any size: those beyond e^300 are as good as endless, and stay numbers.
            self._known[column.name] = (
                column.value[:, None] if value is None else np.exp(np.clip(value, -_ENDLESS, _ENDLESS))
            )
        return self._known[column.name]


@dataclass(frozen=True, slots=True, eq=False)
class DemandTimes:
    """The seconds of each demand of one part on every offering; `cpu_s` is the processor time in them.

    Arrays have the shape (offerings, 1) or (offerings, draws). A job's times are those of all its tasks on one worker.
    """

    by_name: Mapping[str, Floats]
    cpu_s: Floats

    @property
    def serial(self) -> Floats:
        """The time if the demands go one after the other: their sum."""
        return reduce(np.add, self.by_name.values())

    @property
    def overlapped(self) -> Floats:
        """The time if all go on at once: that of the longest."""
        return reduce(np.maximum, self.by_name.values())


def demand_times(found: Resources, part: Part, benchmark: Benchmark | None, values: Values) -> DemandTimes:
    """Return the times of a part's demands with one benchmark for the processor.

    A demand that no source measures is left out; a processor time without a benchmark is NaN.
    """
    rows = len(found.market.keys)
    times: dict[str, Floats] = {}
    cpu = np.zeros((rows, 1))
    rounds = math.ceil(part.tasks / part.workers)
    for demand in part.demands:
        if demand.way is Way.CPU:
            cpu = cpu_times(found, demand.amount, benchmark, values)
            times[demand.name] = cpu * rounds
        elif demand.way is Way.FIXED:
            times[demand.name] = np.full((rows, 1), demand.amount * rounds)
        elif (column := found.cells.get((part.name, demand.name))) is not None:
            times[demand.name] = _service_times(demand, values.of(column), column) * rounds
    return DemandTimes(times or {"nothing": np.full((rows, 1), np.nan)}, cpu * part.tasks)


def _service_times(demand: Demand, value: Floats, column: Numbers) -> Floats:
    with np.errstate(divide="ignore"):
        return demand.amount * (value if lower_is_better(column) else 1.0 / value)


def cpu_times(found: Resources, cpu_s: float, benchmark: Benchmark | None, values: Values) -> Floats:
    """Return how long processor seconds of the reference take on every offering.

    With w(k) of them while k threads can run, n processors that do the work of e at once, and a speed relative to the
    reference, the time is the sum of w(k) / speed / (1 + (min(k, n) - 1) (e - 1) / (n - 1)). Source: the shape of
    parallel programs, Sevcik, "Characterizations of parallelism in applications and their use in scheduling",
    SIGMETRICS 1989. If it is known how much was fetched from memory, that share follows the memory's rate.
    """
    if benchmark is None:
        return np.full((len(found.market.keys), 1), np.nan)
    time = _scaled(found, cpu_s, benchmark, values)
    if found.memory is None or not found.application.moved_bytes or not found.reference:
        return time
    rate = values.of(found.memory.one)[list(found.reference)].mean()
    share = min(1.0, found.application.moved_bytes / rate / cpu_s) if rate > 0 else 0.0
    return time * (1 - share) + _scaled(found, cpu_s, found.memory, values) * share


def _scaled(found: Resources, cpu_s: float, benchmark: Benchmark, values: Values) -> Floats:
    value = values.of(benchmark.one)
    with np.errstate(divide="ignore", invalid="ignore"):
        slowness = value if lower_is_better(benchmark.one) else 1.0 / value
        mean = np.exp(np.log(slowness[list(found.reference)]).mean(axis=0))
    total = np.zeros_like(slowness)
    parallel = found.application.parallel if found.application.kind is ApplicationKind.PROGRAM else ((1, 1.0),)
    for many, share in parallel:
        total = total + share / _at_once(found, benchmark, many, values)
    scaled: Floats = cpu_s * slowness / mean * total
    return scaled


def _at_once(found: Resources, benchmark: Benchmark, threads: int, values: Values) -> Floats:
    """How much more than one thread so many do at once; NaN if an offering's processors are not known."""
    if threads == 1:
        return np.ones((len(found.market.keys), 1))
    count = found.market.columns.get("vcpus")
    n = count.value[:, None] if isinstance(count, Numbers) else np.full((len(found.market.keys), 1), np.nan)
    gain = n
    if benchmark.every is not None:
        one, every = values.of(benchmark.one), values.of(benchmark.every)
        ratio = one / every if lower_is_better(benchmark.one) else every / one
        gain = np.where(np.isfinite(ratio), np.maximum(ratio, 1.0), n)
        n = np.where(np.isfinite(n), n, np.maximum(1.0, np.round(gain)))
    with np.errstate(divide="ignore", invalid="ignore"):
        some = 1.0 + (np.minimum(threads, n) - 1.0) * (gain - 1.0) / (n - 1.0)
    at_once: Floats = np.where(n <= 1, 1.0, some)
    return at_once
