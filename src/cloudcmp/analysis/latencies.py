"""Latency histograms, merged over a launch before a percentile is read; percentiles are never averaged."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.errors import CorruptStore
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan
from cloudcmp.model.values import HistogramRow
from cloudcmp.model.view import Cdf
from cloudcmp.stats.histogram import Histogram, all_from_base64, cdf, from_base64, merge, percentiles_s

# The most points of a drawn curve; steps between are left out, the first and the last never.
_CDF_POINTS = 400

_Name = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class LaunchLatencies:
    """One percentile of a latency, in seconds, by launch: of all its ok trials together, and of each trial alone.

    Launches that recorded no latency are left out. Those of trials only tell where the spread comes from.
    """

    launches: Mapping[int, float]
    trials: Mapping[int, Sequence[float]]


def latencies_of(histograms: Sequence[HistogramRow], cells: Iterable[Cell]) -> dict[Cell, LaunchLatencies]:
    """The launches' percentiles of each of the cells, which have a percentile among their parameters.

    Raises CorruptStore for a histogram that is not HdrHistogram V2 as the agent sends it.
    """
    by_name: dict[_Name, dict[int, list[Histogram]]] = defaultdict(lambda: defaultdict(list))
    for row, histogram in zip(histograms, _decoded(histograms), strict=True):
        by_name[row.metric, row.params][row.launch].append(histogram)
    cells_of: dict[_Name, list[tuple[Cell, float]]] = defaultdict(list)
    for cell in cells:
        name, percent = _without_percentile(cell)
        cells_of[name].append((cell, percent))
    return {cell: one for name, some in cells_of.items() for cell, one in _by_cell(by_name.get(name, {}), some)}


def _by_cell(
    by_launch: Mapping[int, Sequence[Histogram]], cells: Sequence[tuple[Cell, float]]
) -> Iterator[tuple[Cell, LaunchLatencies]]:
    """The percentiles of one latency; a single trial of a launch is the launch."""
    percents = [percent for _, percent in cells]
    whole = percentiles_s([merge(some) for some in by_launch.values()], percents)
    alone = {at: percentiles_s(some, percents) for at, some in by_launch.items() if len(some) > 1}
    for column, (cell, _) in enumerate(cells):
        launches = dict(zip(by_launch, whole[:, column].tolist(), strict=True))
        trials = {at: alone[at][:, column].tolist() if at in alone else (one,) for at, one in launches.items()}
        yield cell, LaunchLatencies(launches, trials)


def _decoded(rows: Sequence[HistogramRow]) -> list[Histogram]:
    try:
        return all_from_base64(row.hist for row in rows)
    except ValueError:  # a study may come from a stranger
        for row in rows:
            _check(row)
        raise


def _check(row: HistogramRow) -> None:
    """Raises CorruptStore if a histogram cannot be read."""
    try:
        from_base64(row.hist)
    except ValueError as error:
        what = f"its histogram of {row.metric} cannot be read ({error})"
        raise CorruptStore.at(f"trial {row.trial}", what, "restore the study's folder from a copy") from error


def cdfs(plan: Plan, histograms: Sequence[HistogramRow]) -> tuple[Cdf, ...]:
    """The cumulative distribution of each latency for each candidate, all launches merged.

    Ordered by metric, params, candidate; at most 400 points, first and last kept. Seconds against shares in (0, 1].
    Launches with more operations weigh more, as in CloudCmp's figure 4; it has no interval.
    """
    owner = [launch.candidate for launch in plan.launches]
    by_candidate: dict[tuple[str, str, int], list[Histogram]] = defaultdict(list)
    for row, histogram in zip(histograms, _decoded(histograms), strict=True):
        by_candidate[row.metric, row.params, owner[row.launch]].append(histogram)
    return tuple(
        Cdf(candidate, metric, params, *_thinned(merge(by_candidate[metric, params, candidate])))
        for metric, params, candidate in sorted(by_candidate)
    )


def _thinned(histogram: Histogram) -> tuple[tuple[float, ...], tuple[float, ...]]:
    x_s, share = (tuple(column.tolist()) for column in cdf(histogram))
    step = -(-len(x_s) // _CDF_POINTS)
    kept = sorted({*range(0, len(x_s), step), len(x_s) - 1})
    return tuple(x_s[at] for at in kept), tuple(share[at] for at in kept)


def _without_percentile(cell: Cell) -> tuple[_Name, float]:
    params = dict(cell.params)
    percent = float(params.pop("percentile"))
    return (cell.metric, Cell.of(cell.metric, params).params_text), percent
