"""Trial values in columns, as passed from the store to the analysis."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


LARGEST_VALUE = 1e60
"""Statistics of sums and differences of such values stay finite; no measured quantity in SI units comes near it."""


@dataclass(frozen=True, slots=True, eq=False)
class TrialValues:
    """One row for each started trial and each of its cells; columns of equal length.

    `launch` indexes the plan's launches, `cell` indexes `cells`; `value`, in the metric's unit, is defined only if
    `ok`, and is undefined (0) for percentile cells, whose values come from `HistogramRow`s.
    """

    cells: tuple[str, ...]
    launch: "NDArray[np.int32]"
    cell: "NDArray[np.int32]"
    ok: "NDArray[np.bool_]"
    value: "NDArray[np.float64]"


@dataclass(frozen=True, slots=True)
class HistogramRow:
    """One histogram of an ok trial: V2 deflate, base64, nanoseconds. `params` is without the percentile."""

    launch: int
    trial: int
    metric: str
    params: str
    hist: str


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one cell in one trial over time: seconds since the measured phase began, values in its unit."""

    launch: int
    trial: int
    cell: str
    t_s: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SeriesLimits:
    """Limits on the samples over time that are read for charts.

    Only cells and trials with at least `least` samples, of these the first `most`, each thinned to `points` evenly
    spaced samples including the first and the last. The metrics of `whole` have no series: all their samples are read.
    """

    least: int = 10
    most: int = 100
    points: int = 2000
    whole: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StudyValues:
    """The values of a study's samples, read at once.

    Values of trials, histograms of ok trials in the order of trial and frame, and if they were requested series, and
    `whole`: all samples of some metrics.
    """

    values: TrialValues
    histograms: tuple[HistogramRow, ...] = ()
    series: tuple[Series, ...] = ()
    whole: tuple[Series, ...] = ()
