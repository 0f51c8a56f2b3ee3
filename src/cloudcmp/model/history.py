"""Measurements of candidates over time, their changes, and what is old."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cloudcmp.model.metric import Metric
from cloudcmp.model.result import Bounds
from cloudcmp.units import Money

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class By(StrEnum):
    """What one point of a history is: the median of a day (UTC), or one launch."""

    DAY = "day"
    LAUNCH = "launch"


Facts = tuple[tuple[str, str], ...]
"""What is known of a launch (kernel, processor, version of the agent), as sorted text pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """The values of one source in columns of equal length.

    `series` counts the pairs of candidate and cell in `keys`, `launch` the launches, `time` is Unix time (s), `value`
    in the metric's unit. `facts` and `sessions` have those of each launch, or of none. `missing` counts the values
    without a time.
    """

    keys: "tuple[tuple[str, str], ...]"
    series: "NDArray[np.int32]"
    launch: "NDArray[np.int32]"
    time: "NDArray[np.float64]"
    value: "NDArray[np.float64]"
    facts: tuple[Facts, ...] = ()
    sessions: tuple[str | None, ...] = ()
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A study or table of a history: its name, what it would cost to run it again, and the times of its values.

    `cost` is the expected cost in its plan; None is unknown. `first` and `last` are Unix times; None without values.
    """

    name: str
    cost: Money | None
    simulated: bool
    imported: bool
    first: float | None = None
    last: float | None = None


@dataclass(frozen=True, slots=True)
class FactChange:
    """A fact of the launches that changed together with a level."""

    fact: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level of one candidate in one cell.

    `at` is the time of the first point after it, `since` that of the last one before it (Unix, s). `before` and `after`
    are the two levels in the metric's unit: geometric means, or means if `by_difference`. `change` is after / before -
    1, or after - before, with its 95 % interval. `n_before` and `n_after` are points. `facts` changed with it.
    """

    at: float
    since: float
    before: float
    after: float
    change: float
    bounds: Bounds
    by_difference: bool
    better: bool
    n_before: int
    n_after: int
    p: float
    facts: tuple[FactChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Level:
    """The newest level of a series: the median of its points since the last change, in the metric's unit.

    `bounds` is its distribution-free 95 % interval, None for fewer than 6 points. `launches` is the number of launches
    in them. `first` and `last` are Unix times, `age_s` counts from `last`.
    """

    value: float
    bounds: Bounds | None
    points: int
    launches: int
    first: float
    last: float
    age_s: float


@dataclass(frozen=True, slots=True)
class SessionEffect:
    """What a session differs by from the others: launches in it against all others, each about its own level.

    `effect` is a ratio - 1, or a difference if `by_difference`, with Welch's 95 % interval; `n` and `n_others` are
    launches (on one day).
    """

    session: str
    effect: float
    bounds: Bounds
    by_difference: bool
    n: int
    n_others: int


@dataclass(frozen=True, slots=True)
class Track:
    """One candidate in one cell over time: a point for each day or launch with a value.

    `times` are those of the first value of each point (Unix, s), `values` in the unit of the metric, `counts` the
    launches of each point, `sources` the place of the source of its first value. `correlation` is that of neighbouring
    points, as the test of a change allows for it. `sessions` are those of the study, else the weekend (UTC).
    """

    candidate: str
    provider: str
    cell: str
    times: tuple[float, ...]
    values: tuple[float, ...]
    counts: tuple[int, ...]
    sources: tuple[int, ...]
    changes: tuple[LevelChange, ...]
    level: Level
    correlation: float
    sessions: tuple[SessionEffect, ...] = ()


@dataclass(frozen=True, slots=True)
class LaterChange:
    """A change in a provider's series after the last value of an answer: the place of its track, and the change."""

    track: int
    change: LevelChange


@dataclass(frozen=True, slots=True)
class Outdated:
    """An answer that may no longer hold: a source whose values lie before a change of what it measured, or are old.

    `later` are the changes of its providers' series in its cells after its last value there, the newest last; without
    any, the answer is only old. `age_s` counts from `last`, the time of its last value.
    """

    source: int
    last: float
    age_s: float
    later: tuple[LaterChange, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Candidates over time.

    `as_of` is the Unix time from which ages count; later values are left out. `metrics` are by name. `notes` has a line
    for each thing that a reader must know.
    """

    by: By
    as_of: float
    metrics: dict[str, Metric]
    sources: tuple[Source, ...]
    tracks: tuple[Track, ...]
    outdated: tuple[Outdated, ...]
    notes: tuple[str, ...] = ()
