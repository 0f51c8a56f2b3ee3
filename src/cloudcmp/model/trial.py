"""The outcomes, attempts and samples of trials."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a trial ended. Only `ok` gives values; every other one is a result too."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    PREEMPTED = "preempted"
    ABORTED = "aborted"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric, `t_s` seconds after the measured phase began; `hist` is a V2 histogram in its place."""

    seq: int
    metric: str
    params: str
    t_s: float
    value: float | None
    hist: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a trial. Times are Unix seconds (virtual ones in a simulated study).

    `interrupted` marks one cut short by the controller's own end, which is no failure of the candidate. `why` is one
    line of text for people, `reason` the name of the reason on which code may branch. `facts` is the JSON text of the
    agent's hello and notes. `sha256` is that of the samples' file.
    """

    trial: int
    attempt: int
    outcome: Outcome
    started_at: float
    ended_at: float
    why: str = ""
    interrupted: bool = False
    n_samples: int = 0
    sha256: str | None = None
    facts: str = "{}"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The checked result of a trial: the outcome, the samples (none unless ok) and the agent's facts.

    `texts` are a command's outputs by name.
    """

    outcome: Outcome
    samples: tuple[Sample, ...]
    why: str = ""
    facts: str = "{}"
    texts: tuple[tuple[str, str], ...] = ()
