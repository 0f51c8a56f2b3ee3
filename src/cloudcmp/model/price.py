"""Price lists: rows, sources and dates."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum


class Item(StrEnum):
    """The kind of a priced item. VCPU and MEMORY are the parts of a custom machine; IO is billed by the operation.

    FEE is an additional charge, such as for each region in which machines of tenancy: dedicated run.
    """

    INSTANCE = "instance"
    VCPU = "vcpu"
    MEMORY = "memory"
    VOLUME = "volume"
    IOPS = "iops"
    THROUGHPUT = "throughput"
    IO = "io"
    SNAPSHOT = "snapshot"
    STORAGE = "storage"
    REQUEST = "request"
    CAPACITY = "capacity"
    EGRESS = "egress"
    ADDRESS = "address"
    SUPPORT = "support"
    FEE = "fee"
    CPU_CREDIT = "cpu_credit"


class Purchase(StrEnum):
    """The purchase option of a price."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"
    SAVINGS = "savings"


class Unit(StrEnum):
    """The unit of a price. A month has 730 hours; GB is 10^9 bytes and GiB is 2^30."""

    HOUR = "h"
    GB_MONTH = "GB month"
    GIB_MONTH = "GiB month"
    GB_HOUR = "GB h"
    GIB_HOUR = "GiB h"
    IOPS_MONTH = "IOPS month"
    MB_PER_S_MONTH = "MB/s month"
    MILLION = "10^6"
    GB = "GB"
    GIB = "GiB"
    MONTH = "month"
    RATIO = "ratio"


MONTH_HOURS = 730
"""Hours of a month as clouds bill them: 365 x 24 / 12."""


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One line of a price list.

    `name` is the provider's own term (an instance type, a volume type, a service; for VCPU and MEMORY a family of
    machines); `region` is empty if one price holds everywhere. `system` is linux, rhel, suse or windows, empty if it
    does not matter; `tenancy` is shared or dedicated. `term_months`, `upfront` and `plan` (the provider's kind:
    `standard no upfront`) describe a commitment: `amount` may be zero only if `upfront` is more. A price holds
    from `tier_from` (in its unit, in a month) up to `tier_until`; for a VOLUME by the MONTH the tier is its size in
    GiB, and the price that of the whole disk. `to` is the destination of egress: internet, region, zone, or a region's
    name. `least` is the smallest billed quantity. `starts` is the first day of the price, if the list has one.
    """

    provider: str
    region: str
    item: Item
    name: str
    amount: Decimal
    currency: str
    unit: Unit
    system: str = ""
    purchase: Purchase = Purchase.ON_DEMAND
    tenancy: str = "shared"
    term_months: int = 0
    upfront: Decimal = Decimal(0)
    tier_from: Decimal = Decimal(0)
    tier_until: Decimal | None = None
    to: str = ""
    least: Decimal = Decimal(0)
    sku: str = ""
    starts: date | None = None
    plan: str = ""


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """A price for a unit of use: requests, bytes moved out, bytes stored for a month, or capacity for an hour.

    `name` is that of a row of a price list (`S3 Requests-Tier1`); empty for a price that the study gives. Such a price
    of requests may be that of one `operation` only, such as put; empty for all others.
    """

    item: Item
    amount: Decimal
    currency: str
    unit: Unit
    source: str
    as_of: date | None = None
    name: str = ""
    operation: str = ""


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """The facts about an instance type in a price list, without its price; unknown facts are None."""

    provider: str
    region: str
    name: str
    vcpus: float | None = None
    memory_gib: float | None = None
    category: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """A line of a price list without a usable price, and why; such a price is unknown.

    `item`, `system`, `purchase` and `tenancy` narrow the doubt; None or empty leaves every price of that name in doubt,
    and an empty `name` every price of the region.
    """

    provider: str
    region: str
    sku: str
    name: str
    why: str
    item: Item | None = None
    system: str = ""
    purchase: Purchase | None = None
    tenancy: str = ""

    def line(self) -> str:
        """The doubt as one line."""
        return doubt_line(self.provider, self.region, self.sku, self.name, self.why)


def doubt_line(provider: str, region: str, sku: str, name: str, why: str) -> str:
    """One line with the name, SKU and region of a resource, and why its price is unknown."""
    return f"{provider}/{region or 'all regions'} {name or 'everything'}, SKU {sku or 'unknown'}: {why}"


PriceEntry = PriceRow | TypeFacts | Doubt | date
"""An entry of a price list, as readers yield it; a date is the list's own and comes first."""


class How(StrEnum):
    """The origin of a price list; see `PriceList`."""

    GIVEN = "given"
    FETCHED = "fetched"
    RECORDED = "recorded"
    BUNDLED = "bundled"
    PUBLISHED = "published"


OLD_BY_NATURE = (How.BUNDLED, How.PUBLISHED)
"""Origins of lists whose prices are only shown; nothing is rented at them."""


LIVES_DAYS = 366
"""The longest time that a provider may leave its list unchanged; Amazon's lists change every few days."""


@dataclass(frozen=True, slots=True)
class PriceListEntry:
    """A price list in the price book; `id` is the book's own number."""

    id: int
    source: str
    how: str
    fetched_at: float
    sha256: str
    published: date | None = None

    @property
    def dated(self) -> date | None:
        """The day on which its prices held: the list's own date, or for a given list without one its import day.

        A fetched list is of the day of its fetch, even if it was changed earlier; but if its own date is more than a
        year old or in the future, it is a copy from elsewhere, and its own date counts.
        """
        came = datetime.fromtimestamp(self.fetched_at, UTC).date()
        if self.how == How.FETCHED:
            copied = self.published and not -1 <= (came - self.published).days <= LIVES_DAYS
            return self.published if copied else came
        return self.published or (came if self.how == How.GIVEN else None)


@dataclass(frozen=True, slots=True)
class PriceList:
    """A provider's prices at one time.

    `how` is fetched (from the provider, at that time), recorded (a response kept in a file), given (by the user),
    bundled (with a library), or published (printed in a paper). `fetched_at` is a Unix time (s); `published` the
    list's own date; `sha256` is of the bytes that were read. `provider` and `currency` are empty if the rows have
    several. `regions` are those that the list covers, empty for all.
    """

    provider: str
    source: str
    how: str
    fetched_at: float
    currency: str
    sha256: str
    rows: tuple[PriceRow, ...]
    published: date | None = None
    regions: tuple[str, ...] = ()
    sold: tuple[TypeFacts, ...] = ()
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True, slots=True)
class PriceListImport:
    """A price list in the book: its source and date, and how many prices, instance types and doubtful lines it has.

    `again` if the book had the same list before and only its date is new; `first_doubts` are a few of the doubts.
    """

    kind: str
    source: str
    how: str
    dated: date | None
    sha256: str
    bytes: int
    rows: int
    types: int
    doubts: int
    first_doubts: tuple[Doubt, ...]
    again: bool = False
