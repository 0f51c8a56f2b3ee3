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


@dataclass(frozen=True, slots=True)
class WatchTerms:
    """What is watched, and what counts as an answer; a folder of evidence is for one of these alone.

    A sample is taken every `every_s` seconds and fails after `timeout_s`. `status` is the status that a whole answer
    must have (None: 200 to 399), `text` what its body must contain.
    """

    target: str
    every_s: float
    timeout_s: float
    status: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which nobody looked: between two samples, in seconds since 1970 by the watcher's clock.

    `elapsed_s` is its length by a clock that nobody sets; None if the computer was started anew meanwhile.
    """

    start: float
    end: float
    why: str
    elapsed_s: float | None = None


@dataclass(frozen=True, slots=True)
class ClockStep:
    """A change of the watcher's clock by somebody: by `step_s`, None if only its direction is known (backwards)."""

    line: int
    at: float
    step_s: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A folder of evidence as it was read, with its chain checked from the first line to the last.

    `signed_lines` of `lines` are covered by the last of `heads` signed heads; `key` is the signer's public key.
    `starts` counts how often a watcher began, `mends` the damaged last lines that were cut off and kept. `ended` is why
    the watcher stopped; empty while it runs, and if it was killed.
    """

    terms: WatchTerms
    watched: Watched
    gaps: tuple[Gap, ...]
    steps: tuple[ClockStep, ...]
    lines: int
    signed_lines: int
    heads: int
    key: str
    starts: int
    mends: int
    ended: str
