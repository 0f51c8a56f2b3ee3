"""What a watch has seen so far, as it is shown."""

from dataclasses import dataclass

from cloudcmp.model.result import Bounds


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
    """`samples` good ones of as many, one every `every_s` seconds for an hour, prove an availability of `proves`."""

    proves: float
    samples: int
    every_s: float


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """What is known of a watched service: `n_ok` of `n` samples were good; nobody looked in `gaps` of `gap_s` seconds.

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
    """A folder of evidence that was read whole: what it shows, and how far it is signed.

    `signer` is the fingerprint of its key. `ended` is why the watcher stopped, empty while it runs or if it was killed.
    """

    folder: str
    summary: WatchSummary
    lines: int
    signed_lines: int
    heads: int
    signer: str
    head_sha256: str
    starts: int
    mends: int
    clock_steps: int
    ended: str
