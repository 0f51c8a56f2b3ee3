"""A prediction: how long an application would take on each candidate, at what cost, and how sure that is."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.application import ApplicationKind
from cloudcmp.model.market import OfferKey
from cloudcmp.model.result import Bounds

SHORT_LIST = 3


class Aim(StrEnum):
    """What is to be least."""

    TIME = "time"
    COST = "cost"


class Basis(StrEnum):
    """What the interval of a prediction rests on."""

    LEFT_OUT = "left out"
    """The errors on machines that ran the application, each predicted without it."""
    LAUNCHES = "launches"
    """How the measurements scatter between launches; the error of the model is not in it."""
    NONE = "none"
    """Single measurements: there is no interval."""


class Lack(StrEnum):
    """Why a candidate has no prediction."""

    UNMEASURED = "unmeasured"
    """A measurement is missing that the application's demands need."""
    MEMORY = "memory"
    """It has less memory than the application takes."""
    SIZE = "size"
    """It has more or fewer processors than the machines that ran the application, and no profile says what it does with
    them."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """One candidate: its time (s) and cost with intervals, None if unknown.

    `overlapped_s` is the time if all demands went on at once at the best plausible speed, `serial_s` if they went one
    after the other at the worst. `parts_s` are the times of the parts. `ran_s` is the time that the application really
    took there: it is then `time_s` too. `cost` is in the market's currency, for `Prediction.units` of the application.
    `burstable` machines keep their speed only while credits last, or share processors.
    """

    key: OfferKey
    time_s: float
    overlapped_s: float
    serial_s: float
    parts_s: tuple[float, ...]
    interval: Bounds | None = None
    cost: float | None = None
    cost_interval: Bounds | None = None
    ran_s: float | None = None
    excluded: bool = False
    burstable: bool | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate without a prediction."""

    key: OfferKey
    lack: Lack
    what: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A measurement that the application's time follows, to the power of `exponent`; all exponents add up to 1."""

    name: str
    exponent: float


@dataclass(frozen=True, slots=True)
class Counted:
    """A demand and the column that measures its resource; for one that no source measures, the cell that it needs."""

    demand: str
    cell: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answer: candidates by their aim, best first; the first `SHORT_LIST` are the short list.

    Burstable machines come after all others: their speed was measured while credits lasted.

    `ran` counts the machines on which the application ran; `error` is the root mean square of log(time / prediction) of
    those, each predicted without it. `home_ratio` is the time on the home machine over the model's. `counted` and
    `uncounted` are the demands that are in the times, and those that no source measures. `units` is how many pages,
    jobs or runs the cost is for.
    """

    name: str
    kind: ApplicationKind
    aim: Aim
    currency: str
    units: int
    parts: tuple[str, ...]
    candidates: tuple[Predicted, ...]
    left_out: tuple[LeftOut, ...]
    basis: Basis
    confidence: float
    benchmark: str
    explained: tuple[Explanation, ...]
    ran: int
    error: float | None
    home: OfferKey | None
    home_ratio: float | None
    counted: tuple[Counted, ...]
    uncounted: tuple[Counted, ...]
    simulated: bool
    notes: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def short_list(self) -> tuple[Predicted, ...]:
        """The candidates to try."""
        return self.candidates[:SHORT_LIST]
