"""The outcomes, attempts and samples of trials, and why launches end."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The end of a trial. Only `ok` gives values; every other one is a result too."""

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

    `interrupted` marks an attempt that the end of the controller interrupted, which is no failure of the candidate.
    `why` is one line of text for people, `reason` the name of the reason on which code may branch. `facts` is the JSON
    text of the agent's hello and notes. `sha256` is that of the samples' file.
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


class LaunchReason(StrEnum):
    """Why a launch did not run all of its trials to their own end."""

    MACHINE_LOST = "machine_lost"
    MACHINE_UNREACHABLE = "machine_unreachable"
    MACHINE_FAILED = "machine_failed"
    SERVICE_FAILED = "service_failed"
    TIME_TO_LIVE = "time_to_live"
    CONTROLLER_SLEPT = "controller_slept"
    PROVIDER_UNREACHABLE = "provider_unreachable"
    CONTROLLER_FAULT = "controller_fault"
    ACCOUNT_FAULT = "account_fault"
    BUDGET_SPENT = "budget_spent"
    STOPPED = "stopped"

    @property
    def text(self) -> str:
        """The reason as one line without details; empty if the fault itself has the text."""
        return _TEXTS.get(self, "")


_TEXTS = {
    LaunchReason.MACHINE_LOST: "the machine was taken away during an earlier trial of the launch",
    LaunchReason.MACHINE_UNREACHABLE: "its machine is out of reach, and its provider does not say that it is gone",
    LaunchReason.TIME_TO_LIVE: "its machine's time to live is over, or too short for the next trial",
    LaunchReason.CONTROLLER_SLEPT: "this machine slept during a trial",
    LaunchReason.PROVIDER_UNREACHABLE: "there was no way to the provider for a while",
    LaunchReason.STOPPED: "stopped on request",
}
