"""What was used, what it costs by the rows of a price list, and the bill that comes of both."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from cloudcmp.model.offering import Billing
from cloudcmp.model.price import Item, PriceRow, Purchase
from cloudcmp.units import Money


@dataclass(frozen=True, slots=True)
class Use:
    """One kind of thing that is used: `count` of it at once, `times` after one another.

    `size` is that of each, in base units: bytes of a volume, a snapshot, storage or egress; operations a second; bytes
    a second; operations, requests or capacity units as numbers; 1 for a machine. `periods_s` are the seconds of each
    period of one of the times, for each start begins a new one; () for what is counted and not timed. `about` says in
    words what it is for. The other fields are those of the price row that is looked for.
    """

    provider: str
    region: str
    item: Item
    name: str
    count: int = 1
    times: int = 1
    size: Decimal = Decimal(1)
    periods_s: tuple[Decimal, ...] = ()
    system: str = ""
    purchase: Purchase = Purchase.ON_DEMAND
    tenancy: str = "shared"
    term_months: int = 0
    to: str = ""
    about: str = ""

    def label(self) -> str:
        """What people read of it: `instance m7i.large, aws/eu-west-1`."""
        kind = f"{self.item.value} to {self.to}" if self.to else self.item.value
        words = kind if self.name in {"", self.item.value} else f"{kind} {self.name}"
        return f"{words}, {self.provider}/{self.region}" if self.region else f"{words}, {self.provider}"


@dataclass(frozen=True, slots=True)
class Rate:
    """The price of a use: the tiers of one row, in their order, or `why` there is none.

    `billing` says how its time is billed. `included` is what comes with each thing and is not billed, in the row's
    unit. `monthly` are the shares of the price in equal parts of a month, where long use is cheaper by itself.
    `source` and `dated` say whose word it is and of when. `unlisted` is where no list has a price at all; else a list
    has one, and `why` says why it is not believed.
    """

    rows: tuple[PriceRow, ...] = ()
    billing: Billing = Billing()  # noqa: RUF009 - a frozen value
    included: Decimal = Decimal(0)
    monthly: tuple[Decimal, ...] = ()
    source: str = ""
    dated: date | None = None
    why: str = ""
    unlisted: bool = False


NO_RATE = Rate(why="no price is known for it", unlisted=True)
"""The rate of what no list has."""
RateOf = Callable[[Use], Rate]
"""Looks the price of a use up; it raises nothing: what is not known is a rate that says why."""


@dataclass(frozen=True, slots=True)
class BillLine:
    """One line of a bill: so much of a unit, at so much for each, and why.

    `amount` is None where it is unknown, and `why` then says so. `price` is of one unit. `quantity` is None also
    for what is taken off or added as a whole, such as what long use takes off.
    """

    item: str
    quantity: Decimal | None
    unit: str
    price: Decimal | None
    amount: Money | None
    why: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Bill:
    """The lines at list price, those that the account's own terms add or take away, and what comes of them.

    `listed` and `total` are None where a line is unknown; `unknown` names each such line and says why.
    """

    lines: tuple[BillLine, ...]
    own: tuple[BillLine, ...] = ()
    listed: Money | None = None
    total: Money | None = None
    unknown: tuple[str, ...] = ()
