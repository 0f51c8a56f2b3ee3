"""Latency histograms, merged over a launch before a percentile is read; percentiles are never averaged."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.errors import CorruptStore
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan
from cloudcmp.model.values import HistogramRow
from cloudcmp.model.view import Cdf
from cloudcmp.stats.histogram import Histogram, cdf, from_base64, merge, percentile_s

# The most points of a drawn curve; steps between are left out, the first and the last never.
_CDF_POINTS = 400

_Name = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class LaunchLatency:
    """The histograms of one latency in one launch: all its ok trials merged, and each alone."""

    whole: Histogram
    trials: tuple[Histogram, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Latencies:
    """The histograms of a study, by (metric, params without percentile) and launch."""

    of: Mapping[_Name, Mapping[int, LaunchLatency]]

    def launch_values(self, cell: Cell, launches: Iterable[int]) -> dict[int, float]:
        """The percentile of `cell`, in seconds, for each of the launches that recorded any latency."""
        name, percent = _without_percentile(cell)
        by_launch = self.of.get(name, {})
        return {at: percentile_s(by_launch[at].whole, percent) for at in launches if at in by_launch}

    def trial_values(self, cell: Cell, launches: Iterable[int]) -> list[tuple[int, float]]:
        """(launch, percentile in seconds) for each single trial: only to attribute the spread."""
        name, percent = _without_percentile(cell)
        by_launch = self.of.get(name, {})
        return [(at, percentile_s(one, percent)) for at in launches if at in by_launch for one in by_launch[at].trials]


def latencies_of(histograms: Sequence[HistogramRow]) -> Latencies:
    """Decodes all histograms once; raises CorruptStore for one that is not HdrHistogram V2 as the agent sends it."""
    by_name: dict[_Name, dict[int, list[Histogram]]] = defaultdict(lambda: defaultdict(list))
    for row in histograms:
        by_name[row.metric, row.params][row.launch].append(_decoded(row))
    return Latencies(
        {
            name: {at: LaunchLatency(merge(some), tuple(some)) for at, some in launches.items()}
            for name, launches in by_name.items()
        }
    )


def _decoded(row: HistogramRow) -> Histogram:
    try:
        return from_base64(row.hist)
    except ValueError as error:  # a study may come from a stranger
        what = f"its histogram of {row.metric} cannot be read ({error})"
        raise CorruptStore.at(f"trial {row.trial}", what, "restore the study's folder from a copy") from error


def cdfs(plan: Plan, histograms: Sequence[HistogramRow]) -> tuple[Cdf, ...]:
    """The cumulative distribution of each latency for each candidate, all launches merged.

    Ordered by metric, params, candidate; at most 400 points, first and last kept. Seconds against shares in (0, 1].
    Launches with more operations weigh more, as in CloudCmp's figure 4; it has no interval.
    """
    owner = [launch.candidate for launch in plan.launches]
    by_candidate: dict[tuple[str, str, int], list[Histogram]] = defaultdict(list)
    for row in histograms:
        by_candidate[row.metric, row.params, owner[row.launch]].append(_decoded(row))
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
