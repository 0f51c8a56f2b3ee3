"""What a service did over time, sample by sample: the input of claims about a service level."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WatchSample:
    """One request to a watched service.

    `at` is its start in seconds since 1970 (UTC). `ok` is false if it failed or came too late; `response_s` is None if
    no whole answer came. `reason` is a word for the failure, such as `refused`, `timed out` or `status 503`.
    """

    at: float
    ok: bool
    response_s: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Watched:
    """The samples of a service in order of time, one every `every_s` seconds as asked.

    Times in which nobody looked are gaps between samples, and are neither up nor down.
    """

    target: str
    every_s: float
    samples: tuple[WatchSample, ...]
