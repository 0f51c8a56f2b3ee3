"""What a watch has seen so far, as it is shown."""

from dataclasses import dataclass

from cloudcmp.model.result import Bounds
from cloudcmp.model.watch import LineSpan


@dataclass(frozen=True, slots=True)
class Outage:
    """A run of failed samples; times are seconds since 1970.

    It began between `good_before` and `first_bad`, and ended between `last_bad` and `good_after`; None where no good
    sample is known. `n` samples failed, for these reasons.
    """

    good_before: float | None
    first_bad: float
    last_bad: float
    good_after: float | None
    n: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile of the response time of `n` good samples in seconds, with its interval where n is large enough."""

    p: float
    value_s: float
    bounds: Bounds | None
    n: int


@dataclass(frozen=True, slots=True)
class HourNeed:
    """`samples` good ones of as many, one every `every_s` seconds for an hour, prove an availability of `proves`.

    It is a lower bound that is wrong with probability at most 5 %.
    """

    proves: float
    samples: int
    every_s: float


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """What is known of a watched service: `n_ok` of `n` samples were good; none tells of `gaps` of `gap_s` seconds.

    Each of the bounds is wrong with probability at most 5 %, so a pair is a 90 % interval, as those of claims are.
    The first of `hour` is what the watch's own interval proves in an hour.
    """

    target: str
    every_s: float
    n: int
    n_ok: int
    availability: float | None
    availability_bounds: Bounds | None
    outages: tuple[Outage, ...]
    gaps: int
    gap_s: float
    percentiles: tuple[Percentile, ...]
    hour: tuple[HourNeed, ...]


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """A folder of evidence that was read whole: what its signed lines show, and which those are.

    `unsigned` are lines that no watcher signed which wrote them, as in `Evidence`; the summary leaves out their
    `unsigned_samples`, of which `unsigned_failed` failed. `signer` is the fingerprint of its key. `ended` is why the
    watcher stopped, empty while it runs or if it was killed.
    """

    folder: str
    summary: WatchSummary
    lines: int
    signed_lines: int
    unsigned: tuple[LineSpan, ...]
    unsigned_samples: int
    unsigned_failed: int
    heads: int
    signer: str
    head_sha256: str
    starts: int
    mends: int
    clock_steps: int
    ended: str
