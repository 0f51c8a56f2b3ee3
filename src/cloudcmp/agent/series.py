"""The series that a trial should give; the decoder rejects all others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric, Reduce

SeriesKey = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class ExpectedSeries:
    """One series that a trial should give: samples of a cell, or the histograms that percentiles are read from.

    A `sparse` one may be missing.
    """

    metric: str
    params: str
    histogram: bool
    total: bool
    signed: bool
    sparse: bool = False


def expected_series(cells: Iterable[str], metrics: Mapping[str, Metric]) -> dict[SeriesKey, ExpectedSeries]:
    """The series of a trial's cells, keyed by metric and sorted parameters as in a frame."""
    series: dict[SeriesKey, ExpectedSeries] = {}
    for text in cells:
        cell = Cell.parse(text)
        metric = metrics[cell.metric]
        histogram = metric.reduce is Reduce.PERCENTILE
        params = tuple(item for item in cell.params if not (histogram and item[0] == "percentile"))
        sent = Cell(cell.metric, params)
        series[cell.metric, params] = ExpectedSeries(
            cell.metric,
            sent.params_text,
            histogram,
            total=metric.reduce is Reduce.TOTAL,
            signed=metric.signed,
            sparse=metric.sparse,
        )
    return series
