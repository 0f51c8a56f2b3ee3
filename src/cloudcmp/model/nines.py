"""What more copies of a service cost, and the downtime that they avoid."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from cloudcmp.model.result import Bounds
from cloudcmp.units import Money


class Arrangement(StrEnum):
    """Where the copies of a service run."""

    ONE_ZONE = "one zone"
    TWO_ZONES = "two zones"
    TWO_REGIONS = "two regions"


@dataclass(frozen=True, slots=True)
class Joint:
    """Availability and downtime a month if the outages of both copies are correlated by `correlation`.

    `total` is the cost and the expected loss of one month.
    """

    correlation: float
    availability: float
    down_s: float
    loss: Decimal
    total: Decimal


@dataclass(frozen=True, slots=True)
class ArrangementFinding:
    """An arrangement: its cost a month, and what it does for each correlation, of which one copy has none.

    Against one zone: `per_minute`, the money for each avoided minute of downtime if outages are independent, and
    `pays_below`, the correlation below which it is worth its cost; None if it never is.
    """

    arrangement: Arrangement
    cost: Money
    joints: tuple[Joint, ...]
    per_minute: Decimal | None
    pays_below: float | None


@dataclass(frozen=True, slots=True)
class NinesFinding:
    """Money against nines, from the availability of one zone.

    `availability` is measured, with `bounds` and the number of samples `n`; or stated by the user (n = 0). `loss` is
    that of one hour of downtime. `measured` is the correlation of two watched copies, None without them.
    """

    target: str
    availability: float
    bounds: Bounds | None
    n: int
    loss: Money
    arrangements: tuple[ArrangementFinding, ...]
    measured: float | None = None
    sentence: str = ""
