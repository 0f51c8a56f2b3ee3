"""A fleet: the machines that somebody pays for, and the moves to other offerings that would save money."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from cloudcmp.model.market import OfferKey
from cloudcmp.units import Money

HOURS_A_MONTH = 730.0
"""Hours of an average month (8,760 / 12), which clouds use in their own examples."""

FEW = 3
"""Measurements of which the answer says what they settle together, and which its study makes."""


@dataclass(frozen=True, slots=True)
class FleetMachine:
    """A machine of an inventory, or `count` equal ones.

    `hours` is how long each runs in a month, `price` what is paid for an hour of each. Without a price,
    `has_list_price` is true if the market's price stands in for it, and false if the price is unknown. `cpu` and
    `memory` are the shares in use (95th percentile, 0 to 1), None if unknown. `architecture` is a constraint, `any` for
    none; empty, it stays as it is. `commitment` names a discount for which its use was promised, until the day `until`,
    None if unknown. `system` names an operating system or a licence that is part of its price; empty for Linux.
    """

    name: str
    key: OfferKey
    count: int = 1
    hours: float = HOURS_A_MONTH
    price: float | None = None
    has_list_price: bool = True
    cpu: float | None = None
    memory: float | None = None
    architecture: str = ""
    commitment: str = ""
    until: date | None = None
    system: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Rows of an inventory that are no running machine: what they are, and how many."""

    what: str
    rows: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """The machines of some files; `currency` is that of their prices, empty without any.

    `notes` say in words what was read differently than it was written.
    """

    machines: tuple[FleetMachine, ...]
    currency: str = ""
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


class Untold(StrEnum):
    """Why nothing can be told about a machine."""

    NO_OFFERING = "NO_OFFERING"
    """No source has its type in its region."""
    NO_PRICE = "NO_PRICE"
    """Neither the inventory nor a source has its price."""
    NO_METRIC = "NO_METRIC"
    """No source has the measurement of its type."""
    NO_MEMORY = "NO_MEMORY"
    """No source has the memory of its type."""
    NO_ARCHITECTURE = "NO_ARCHITECTURE"
    """Its architecture is unknown, and must stay."""
    ACCELERATED = "ACCELERATED"
    """Its work may be on accelerators, which the measurement does not see."""
    OTHER_SYSTEM = "OTHER_SYSTEM"
    """Its price includes a system or a licence, and the prices of sources do not."""


class Fate(StrEnum):
    """What is to become of a machine."""

    MOVES = "MOVES"
    """To another offering, which is surely fast enough."""
    MAY_MOVE = "MAY_MOVE"
    """To another offering, if single values are believed: how sure they are is unknown."""
    STAYS = "STAYS"
    """No cheaper offering is surely enough for it."""
    COMMITTED = "COMMITTED"
    """Its use was promised, and until when is unknown."""
    UNTOLD = "UNTOLD"


@dataclass(frozen=True, slots=True)
class MachineAnswer:
    """One row of the inventory: its fate, its cost a month, and where it moves with what saving a month.

    `since` is the end of its commitment, before which it does not move.
    """

    name: str
    of: OfferKey
    count: int
    fate: Fate
    cost: Money | None = None
    to: OfferKey | None = None
    saving: Money | None = None
    chance: float | None = None
    since: date | None = None
    untold: Untold | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """All machines of one type that move to the same offering, on the same day if they are committed.

    `saving` is a month's. `chance` is the least chance of any of them that the offering is enough, None if no spread is
    known. `speed` is the least ratio of the offering's measurement to what is needed; `elsewhere` marks measurements of
    another region.
    """

    of: OfferKey
    to: OfferKey
    machines: int
    saving: Money
    chance: float | None
    speed: float
    since: date | None = None
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class UntoldGroup:
    """Machines of one type about which nothing can be told for one reason; `cost` a month is None if unknown."""

    why: Untold
    of: OfferKey
    machines: int
    cost: Money | None


@dataclass(frozen=True, slots=True)
class Measurement:
    """Two offerings whose comparison would settle money: what is used now, and what may replace it.

    `money` a month is what depends on it, `expected` its product with the chances, None if one is unknown. `price` is
    that of `launches` launches of each, without those that an earlier measurement of the list makes already. `settled`
    is the share of all undecided money after it.
    """

    of: OfferKey
    to: OfferKey
    money: Money
    expected: Money | None
    chance: float | None
    launches: int
    price: Money
    settled: float


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """What a fleet costs a month, what its moves would save, what is unknown, and what to measure.

    `cost` is that of all machines whose price is known. `saving` is that of moves with a chance, `bounds` the middle
    95 % of what they save in all draws, and `chance` that of any saving. `single` is the saving of moves without a
    chance, `later` that of both after commitments end, the first at `later_from`. `undecided` is the money a month that
    measurements could still move, of which `measurements` lists the best for its price first; `close` is the part that
    is too close for them. `hot` counts machines that use more than the head-room leaves, `unmeasured` those whose use
    is unknown, `dear` those that cost more than the list price of their type, of which the rest counts as no saving.
    `paid` is the ratio of prices paid to list prices, None if none is known. `metric` and `kept` are columns: of the
    work that a machine does, and of what must not become worse. `cautions` are in words.
    """

    currency: str
    metric: str
    kept: tuple[str, ...]
    headroom: float
    confidence: float
    spread: float | None
    machines: int
    cost: Money
    saving: Money
    bounds: tuple[Money, Money] | None
    chance: float | None
    single: Money
    later: Money
    later_from: date | None
    stays: int
    committed: int
    moves: tuple[Move, ...]
    untold: tuple[UntoldGroup, ...]
    undecided: Money
    close: Money
    measurements: tuple[Measurement, ...]
    answers: tuple[MachineAnswer, ...]
    hot: int
    unmeasured: int
    dear: int
    paid: float | None
    simulated: bool
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    cautions: tuple[str, ...] = ()
