"""What a service did over time, sample by sample: the input of claims about a service level."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WatchSample:
    """One request to a watched service.

    `at` is its start in seconds since 1970 (UTC). `ok` is false if it failed or came too late; `response_s` is None if
    no whole answer came. `reason` is a word for the failure, such as `refused`, `timed out` or `status 503`.
    `size_bytes` is that of the answer's body, None if it is unknown.
    """

    at: float
    ok: bool
    response_s: float | None = None
    reason: str = ""
    size_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """The samples of a service in order of time, one every `every_s` seconds as asked.

    Times in which nobody looked are gaps between samples, and are neither up nor down. So are the spans `left_out`
    (start and end in seconds since 1970, in order): somebody looked, and nobody proves what was seen.
    """

    target: str
    every_s: float
    samples: tuple[WatchSample, ...]
    left_out: tuple[tuple[float, float], ...] = ()


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
    """A time of which no sample tells: between two samples, in seconds since 1970 by the watcher's clock.

    `elapsed_s` is its length by a clock that nobody sets; None if it is unknown, as over a new start of the computer.
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
class LineSpan:
    """The lines `first` to `last` of a file of evidence, counted from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A folder of evidence as it was read, with its chain checked from the first line to the last.

    `signed_lines` of `lines` are covered by the last of `heads` signed heads, with the digest `head_sha256`; `key` is
    the signer's public key. `unsigned` are the lines that no head covers, or only one of a later watcher, which found
    them: they are chained, and anyone with the folder could have written them. `signed` and `signed_gaps` are what the
    other lines hold, with gaps in place of what the unsigned ones do; `watched` and `gaps` are what all hold. `starts`
    counts how often a watcher began, `mends` the damaged last lines that were cut off and kept. `ended` is why the
    watcher stopped; empty while it runs, and if it was killed.
    """

    terms: WatchTerms
    watched: Watched
    signed: Watched
    gaps: tuple[Gap, ...]
    signed_gaps: tuple[Gap, ...]
    unsigned: tuple[LineSpan, ...]
    steps: tuple[ClockStep, ...]
    lines: int
    signed_lines: int
    heads: int
    head_sha256: str
    key: str
    starts: int
    mends: int
    ended: str

    @property
    def unsigned_samples(self) -> int:
        """How many samples are in unsigned lines."""
        return len(self.watched.samples) - len(self.signed.samples)

    @property
    def unsigned_failed(self) -> int:
        """How many of those failed."""
        return _failed(self.watched) - _failed(self.signed)


def _failed(watched: Watched) -> int:
    return sum(not one.ok for one in watched.samples)


@dataclass(frozen=True, slots=True)
class WatchAnswer:
    """What one request gave: as a `WatchSample`, with the status, the size of the body and the parts of the time.

    `phases` are dns, connect, tls and first_byte in seconds, as far as they were reached; `address` is the one that was
    connected to.
    """

    ok: bool
    response_s: float | None = None
    reason: str = ""
    status: int | None = None
    size_bytes: int | None = None
    phases: tuple[tuple[str, float], ...] = ()
    address: str = ""


class WatchProber(Protocol):
    """Sends requests to a watched service, one at a time."""

    def probe(self) -> WatchAnswer | None:
        """What one request gave; None if it was interrupted, which says nothing of the service."""
        ...

    def interrupt(self) -> None:
        """Ends the request of another thread, and every later one, at once."""
        ...


class WatchClock(Protocol):
    """The clocks of a watcher."""

    boot: str
    """Names this run of the computer; the steady clocks of two of them cannot be compared."""

    def now(self) -> tuple[float, float]:
        """Seconds since 1970 by the wall clock, and by a steady clock that nobody sets and that counts sleep."""
        ...

    def sleep_until(self, steady_s: float) -> None:
        """Wait for a time of the steady clock; may return early."""
        ...


class WatchObserver(Protocol):
    """Is told what a watcher has done, once it is on the disk."""

    def sampled(self, sample: WatchSample, lines: int) -> None:
        """A sample is acknowledged, in the last of `lines` lines."""
        ...

    def signed(self, lines: int, sha256: str) -> None:
        """A head of the first `lines` lines is signed; `sha256` is their digest."""
        ...

    def note(self, text: str) -> None:
        """Something that the user may want to know."""
        ...


class WatchListener(Protocol):
    """Is told what the watchers of a process do, by the thread of each."""

    def sampled(self, target: str, sample: WatchSample, lines: int) -> None:
        """A sample of a target is acknowledged, in the last of `lines` lines."""
        ...

    def signed(self, target: str, lines: int, sha256: str) -> None:
        """A head of the first `lines` lines of a target's evidence is signed."""
        ...

    def note(self, target: str, text: str) -> None:
        """Something that the user may want to know."""
        ...

    def listening(self, url: str) -> None:
        """Metrics are served at a URL."""
        ...
