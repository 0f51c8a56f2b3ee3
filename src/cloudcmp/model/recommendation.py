"""A recommendation: the offering that meets the needs of an application at the best value of its objective."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from cloudcmp.model.market import OfferKey
from cloudcmp.model.result import Bounds


class NoChoice(StrEnum):
    """Why there is no recommendation."""

    NONE_MEETS = "NONE_MEETS"
    """No offering meets all needs."""
    NONE_KNOWN = "NONE_KNOWN"
    """No offering has all the facts and measurements that the needs and the objective name."""
    NOT_SURE = "NOT_SURE"
    """Some may meet the needs, none surely enough."""
    BURSTABLE_ONLY = "BURSTABLE_ONLY"
    """Only burstable or shared offerings meet the needs, and those were not allowed."""


@dataclass(frozen=True, slots=True)
class Used:
    """A column that decides: a measurement or a fact, with its unit, and whether it was measured.

    `label` is its name for people.
    """

    name: str
    unit: str
    is_measured: bool
    label: str = ""


@dataclass(frozen=True, slots=True)
class Pick:
    """One offering with its values of the columns that decide, in their order; None is unknown.

    `objective` is its value of the objective. `meets` is the chance that it meets every need, `best` that it is the
    best of those that do, `near_best` that it is within 3 % of the best; all are None if no spread is known. `day` is
    that of its oldest measurement that decides, `launches` the fewest launches behind one. `regions` are those in which
    the same type may be the best: this is the best of them, and `best` counts all.
    """

    key: OfferKey
    values: tuple[float | None, ...]
    objective: float
    meets: float | None = None
    best: float | None = None
    near_best: float | None = None
    burstable: bool | None = None
    elsewhere: bool = False
    day: date | None = None
    launches: int = 1
    regions: int = 1


@dataclass(frozen=True, slots=True)
class Distance:
    """How much worse the objective of another offering is, as a ratio of at least 1 with its 95 % interval.

    The interval is None if no spread is known.
    """

    ratio: float
    bounds: Bounds | None


@dataclass(frozen=True, slots=True)
class Miss:
    """An offering that would be better but misses, or may miss, one need: its value, and its chance to meet all."""

    pick: Pick
    need: str
    column: str
    value: float
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class Margin:
    """How far a number of the choice may move before the answer changes, as a ratio to what it is now.

    Below 1 it may fall, above 1 it may rise, to that share. `because` is what then happens: another offering is better,
    or a need is missed.
    """

    name: str
    ratio: float
    because: str


@dataclass(frozen=True, slots=True)
class KnownSpread:
    """A variation of the choice that decides: its value in `unit`, its 95 % interval, and its launches.

    `unseen` is the share of all launches that may be of another level, although none of these is (with 95 %).
    """

    name: str
    unit: str
    value: float
    bounds: Bounds
    launches: int
    unseen: float


@dataclass(frozen=True, slots=True)
class Count:
    """How many offerings miss one need by their known values, and for how many its fact is unknown."""

    need: str
    miss: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Step:
    """The next size of the choice's family: its price and its objective's performance as ratios to the choice's."""

    key: OfferKey
    cost: float
    work: float


@dataclass(frozen=True, slots=True)
class Front:
    """The offerings that no other beats in price and in the measurement `of` at once, cheapest first."""

    of: str
    picks: tuple[Pick, ...]


class Addition(StrEnum):
    """What the total of several machines rests on."""

    ASSUMED = "ASSUMED"
    """Nothing was measured with several machines: n do n times the work of one."""
    MEASURED = "MEASURED"
    """Several machines of some offerings were measured; other numbers of them follow by Amdahl's law."""


@dataclass(frozen=True, slots=True)
class Against:
    """Several of a small machine against one large machine.

    `cost` and `work` are those of the large one as ratios to one small one. For its price one gets `equal_cost` small
    ones, which together do `work_ratio` times its work; `equal_work` small ones do at least as much as it, for
    `cost_ratio` times its price. They are None if more machines than were asked for would be needed.
    """

    small: OfferKey
    large: OfferKey
    cost: float
    work: float
    equal_cost: int | None
    work_ratio: float | None
    equal_work: int | None
    cost_ratio: float | None


@dataclass(frozen=True, slots=True)
class Several:
    """An answer that may be several machines: at most `most`, with totals that rest on `addition`.

    `of` is the total that decides, empty without one. `against` sets one machine of the choice against larger ones, or
    smaller ones against the choice if that is a single machine.
    """

    most: int
    addition: Addition
    of: str
    against: tuple[Against, ...]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer to what to take, its certainty, and what would change it.

    `picks` are the best that meet the needs, best first; the first is the choice if there is one. `other_family` is the
    best of another family if the runner-up, at `distance`, is only another size of the same one. `flagged` is a
    burstable offering that would have been chosen. `doubtful` would be better but may miss a need; `misses` surely miss
    exactly one.
    `offered` counts all offerings, `meeting` those that meet every need by their values. `spread` is the coefficient of
    variation that the user declared for single values. `single` counts offerings that cannot be chosen because a
    measurement of theirs is a single one, beside others with several launches. `marks` are what a reader must know
    beside the choice's values. `spreads` are those of the choice that decide. `several` is there if an answer may be
    several machines. `reason`, `certainty`, `steadiness`, `age`, `changes` and `cautions` are in words.
    """

    objective: str
    most: bool
    needs: tuple[str, ...]
    used: tuple[Used, ...]
    currency: str
    offered: int
    meeting: int
    counts: tuple[Count, ...]
    picks: tuple[Pick, ...]
    no_choice: NoChoice | None
    distance: Distance | None = None
    other_family: Pick | None = None
    other_distance: Distance | None = None
    flagged: Pick | None = None
    doubtful: tuple[Miss, ...] = ()
    misses: tuple[Miss, ...] = ()
    margins: tuple[Margin, ...] = ()
    fronts: tuple[Front, ...] = ()
    ladder: tuple[Step, ...] = ()
    confidence: float = 0.95
    spread: float | None = None
    simulated: bool = False
    single: int = 0
    marks: tuple[str, ...] = ()
    spreads: tuple[KnownSpread, ...] = ()
    notes: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()
    certainty: str = ""
    steadiness: tuple[str, ...] = ()
    age: str = ""
    changes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    several: Several | None = None

    @property
    def choice(self) -> Pick | None:
        """The offering that is recommended; None if there is none."""
        return self.picks[0] if self.picks and self.no_choice is None else None
