"""Claims about a service level, the samples they are held against, and what the samples prove."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cloudcmp.model.result import Bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Quantity(StrEnum):
    """What a claim is about."""

    AVAILABILITY = "availability"
    RESPONSE = "response"
    THROUGHPUT = "throughput"
    MEASURED = "measured"


class Statistic(StrEnum):
    """Which figure of the samples a claim bounds."""

    SHARE = "share"
    PERCENTILE = "percentile"
    MEAN = "mean"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"


class Calendar(StrEnum):
    """The unit of a window that follows the calendar, in UTC."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class Window:
    """The time over which a claim holds: `count` units of the calendar, which begin where the calendar's do."""

    count: int
    unit: Calendar

    def __str__(self) -> str:
        return self.unit.value if self.count == 1 else f"{self.count} {self.unit.value}s"


@dataclass(frozen=True, slots=True)
class Claim:
    """A service level as it is promised: `p99 <= 300 ms over 1 month`.

    `name` is the metric or cell of a measured quantity, empty for others. `percent` is that of a percentile. `limit` is
    in the unit of the quantity (bytes a second for a throughput), a share for availability; None as long as a measured
    quantity's unit is unknown, which `limit_text` is read with. Without a `window` the claim is about the service in
    general.
    """

    text: str
    quantity: Quantity
    statistic: Statistic
    at_most: bool
    strict: bool
    limit_text: str
    name: str = ""
    percent: float | None = None
    limit: float | None = None
    window: Window | None = None

    @property
    def share(self) -> float | None:
        """The share of samples that must do as the limit says; None for a mean."""
        if self.statistic is Statistic.SHARE:
            return self.limit
        if self.statistic is Statistic.PERCENTILE:
            assert self.percent is not None
            return self.percent / 100 if self.at_most else 1 - self.percent / 100
        return None if self.statistic is Statistic.MEAN else 1.0


class Standing(StrEnum):
    """What samples prove of a claim."""

    MET = "met"
    BROKEN = "broken"
    CANNOT_TELL = "cannot tell"


class Doubt(StrEnum):
    """Why samples prove nothing."""

    UNSEEN = "unseen"
    TOO_FEW = "too few"
    ANY_REQUEST = "any request"


class Clusters(StrEnum):
    """What is independent of each other in the samples."""

    SAMPLE = "sample"
    LAUNCH = "launch"
    DAY = "day"
    HOUR = "hour"


@dataclass(frozen=True, slots=True, eq=False)
class SampleGroup:
    """Samples that may depend on each other: of one launch, or of one block of time.

    `values` and `counts` have the same shape: each value was seen so often. `failed` samples have no value.
    """

    values: "NDArray[np.float64]"
    counts: "NDArray[np.int64]"
    failed: int = 0

    @property
    def n(self) -> int:
        """The number of samples, failed ones included."""
        return int(self.counts.sum()) + self.failed


@dataclass(frozen=True, slots=True)
class Needed:
    """How many independent samples prove a claim if `misses` of them miss it."""

    misses: int
    samples: int


@dataclass(frozen=True, slots=True)
class OutageDays:
    """How many days of watching an availability takes if outages last `outage_s` on average and none is seen."""

    outage_s: float
    days: float


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a claim takes: samples by the number of misses, their interval, and days where outages are correlated.

    `every_s` is the longest interval of samples within one window, None without a window. `samples` is how many in all
    settle the claim if what was seen goes on (in the last window, if there is one); None if that is unknown.
    """

    needed: tuple[Needed, ...]
    every_s: float | None = None
    days: tuple[OutageDays, ...] = ()
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class Burn:
    """How fast an error budget is spent: (1 - what was seen) / (1 - target) over the last `span_s`, with its bounds."""

    span_s: float
    n: int
    rate: float
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """What of a window a claim allows to miss it, in seconds, and what was spent.

    `spent_s` is seen; `spent_at_most_s` counts what nobody saw as missed. `burns` are the rates of the last hours and
    days; empty if the claim allows no miss.
    """

    allowed_s: float
    spent_s: float
    spent_at_most_s: float
    burns: tuple[Burn, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowFinding:
    """What the samples of one window prove.

    Times are Unix seconds. `n` samples, of which `misses` miss the limit (None for a mean). `value` is that of what was
    seen: the share that meets the limit, or the mean; None without a sample. `bounds` hold for what was seen; `low` and
    `high` for the whole window, if all that was `unseen` (a share of it) were bad, and good.
    """

    start: float
    end: float
    n: int
    misses: int | None
    value: float | None
    bounds: Bounds | None
    unseen: float
    low: float | None
    high: float | None
    standing: Standing
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """What samples prove of a claim about one subject.

    `value` and `bounds` are those of `WindowFinding` over all samples, with the clusters that they were counted in:
    `clusters` of the kind `by`. `effective` is the number of independent samples that tell as much. `figure` is the
    claimed figure itself (a percentile, mean or extreme in its unit), with the bounds `figure_bounds`. `alone` is the
    lower bound if all samples were independent. `watched_s` is for how long samples stand, None for a study.
    """

    claim: Claim
    subject: str
    unit: str
    standing: Standing
    doubt: Doubt | None
    n: int
    misses: int | None
    failed: int
    value: float | None
    bounds: Bounds | None
    alone: float | None
    clusters: int
    by: Clusters
    effective: float | None
    figure: float | None
    figure_bounds: Bounds | None
    requirement: Requirement
    windows: tuple[WindowFinding, ...] = ()
    budget: ErrorBudget | None = None
    watched_s: float | None = None
    simulated: bool = False
    sentence: str = ""
