"""Moving data into a region, keeping it fresh and taking it out again: time, money, and disks that are shipped."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.result import Bounds


class Step(StrEnum):
    """A part of a move."""

    BRING = "bring"
    REFRESH = "refresh"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Throughput:
    """The rate of one direction, in bytes a second: the geometric mean of its measured values, or a given rate.

    `bounds` is the 95 % interval of that mean, None with fewer than two values; `least` and `most` are the extremes of
    `n` values. `n` is 0 for a given rate.
    """

    value: float
    bounds: Bounds | None
    n: int
    least: float
    most: float
    source: str


@dataclass(frozen=True, slots=True)
class Charge:
    """One thing that is paid for in a part of a move; `amount` is None if its price is unknown."""

    what: str
    amount: float | None


@dataclass(frozen=True, slots=True)
class MovePart:
    """A part of a move: bytes, time and money. Those of a refresh are of one day and of one month.

    `seconds` is the time on the link with its interval from the throughput's; `charges` are for all bytes.
    """

    step: Step
    size_bytes: float
    rate: Throughput
    seconds: float
    bounds: Bounds | None
    charges: tuple[Charge, ...]

    @property
    def money(self) -> float | None:
        """All charges; None if one is unknown."""
        known = [one.amount for one in self.charges if one.amount is not None]
        return sum(known) if len(known) == len(self.charges) else None


@dataclass(frozen=True, slots=True)
class ShippedDevice:
    """A device that a provider ships to its customers for their data, by its usable bytes, prices and days.

    `fee` is for each device and journey with `included_days` at the customer's place, `day_fee` for each further day.
    `handling_days` are the days of delivery, return and import without the copying, at `copy_bytes_per_s`.
    `out_per_gb` is the price of a GB that leaves the provider by it, None if it only goes in, or nobody knows.
    """

    name: str
    provider: str
    usable_bytes: float
    fee: float
    included_days: float
    day_fee: float
    handling_days: float
    copy_bytes_per_s: float
    out_per_gb: float | None
    currency: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Shipment:
    """A part of a move by shipped devices, beside the link.

    `even_rate` is the throughput (B/s) above which the link is as quick; `even_bytes` the size below which the link at
    its measured rate is, None if it always is. `even_money_bytes` is the size above which devices are cheaper; None if
    they never are or a price is unknown.
    """

    step: Step
    device: ShippedDevice
    count: int
    seconds: float
    money: float | None
    even_rate: float
    even_bytes: float | None
    even_money_bytes: float | None


@dataclass(frozen=True, slots=True)
class MoveAnswer:
    """What a move takes: its parts over a link, shipments by device, and money over all `months`.

    `total` is None if a charge is unknown. `cautions` are in words.
    """

    origin: str
    to: str
    months: float
    parts: tuple[MovePart, ...]
    shipments: tuple[Shipment, ...]
    total: float | None
    currency: str
    cautions: tuple[str, ...]
