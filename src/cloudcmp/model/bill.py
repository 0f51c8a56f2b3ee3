"""Uses of cloud resources, their rates in price lists, and the bill computed from both."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from cloudcmp.model.offering import Billing
from cloudcmp.model.price import Item, PriceRow, Purchase
from cloudcmp.units import Money


@dataclass(frozen=True, slots=True)
class Use:
    """A use of one kind of resource: `count` of it at once, `times` one after another.

    `size` is the size of each in base units: bytes of a volume, a snapshot, storage or egress; operations a second;
    bytes a second; operations, requests or capacity units as numbers; 1 for a machine. `periods_s` are the seconds of
    each period within one of the times, because each start begins a new period; () for a use that is counted and not
    timed. `about` is its purpose in words. The other fields select the price row.
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
        """The use as people read it: `instance m7i.large, aws/eu-west-1`."""
        kind = f"{self.item.value} to {self.to}" if self.to else self.item.value
        words = kind if self.name in {"", self.item.value} else f"{kind} {self.name}"
        return f"{words}, {self.provider}/{self.region}" if self.region else f"{words}, {self.provider}"


@dataclass(frozen=True, slots=True)
class Rate:
    """The price of a use: the tiers of one row, in order, or `why` there is none.

    `billing` is how its time is billed. `included` is the quantity that comes free with each resource, in the row's
    unit. `monthly` are the shares of the price in equal parts of a month, if long use is cheaper. `source` and `dated`
    are the price list and its date. `unlisted` is true if no list has a price; else `why` says why the listed one does
    not count.
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
"""The rate of a use that no list has."""
RateOf = Callable[[Use], Rate]
"""Looks up the price of a use; never raises: an unknown price is a rate with `why`."""


@dataclass(frozen=True, slots=True)
class BillLine:
    """One line of a bill: a quantity, the price of one unit, and the amount.

    `amount` is None if unknown, with the reason in `why`. `quantity` is also None for a flat amount, such as the
    discount for long use.
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
    """The lines at list price, the lines that the account's own terms add, and both totals.

    `listed` and `total` are None if a line is unknown; `unknown` names each such line with the reason.
    """

    lines: tuple[BillLine, ...]
    own: tuple[BillLine, ...] = ()
    listed: Money | None = None
    total: Money | None = None
    unknown: tuple[str, ...] = ()
