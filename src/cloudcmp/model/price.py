"""Price lists: what was asked for each thing sold, when, by whose word."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum


class Item(StrEnum):
    """What is priced. VCPU and MEMORY are the parts of a custom machine; IO is billed by the operation.

    FEE is what is billed beside, such as for each region in which machines of tenancy: dedicated run.
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


class Purchase(StrEnum):
    """How a thing is bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"
    SAVINGS = "savings"


class Unit(StrEnum):
    """For how much a price is. A month has 730 hours; GB is 10^9 bytes and GiB is 2^30."""

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

    `name` is the provider's own word (an instance type, a volume type, a service; for VCPU and MEMORY a family of
    machines); `region` is empty where one price holds everywhere. `system` is linux, rhel, suse or windows, empty where
    it does not matter; `tenancy` is shared or dedicated. `term_months`, `upfront` and `plan` (which of a provider's
    kinds: `standard no upfront`) are of a commitment: `amount` may be zero only where `upfront` is more. A price holds
    from `tier_from` (in its unit, in a month) up to `tier_until`; for a VOLUME by the MONTH the tier is its size in
    GiB, and the price that of the whole disk. `to` is where egress goes: internet, region, zone, or a region's name.
    `least` is the smallest quantity that is billed. `starts` is the first day of the price, where the list tells one.
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
    """A price for a unit of use other than time: requests, bytes moved out, or bytes stored for a month."""

    item: Item
    amount: Decimal
    currency: str
    unit: Unit
    source: str
    as_of: date | None = None


@dataclass(frozen=True, slots=True)
class Sold:
    """What a price list tells of an instance type beside its price; unknown facts are None."""

    provider: str
    region: str
    name: str
    vcpus: float | None = None
    memory_gib: float | None = None
    category: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """A line of a price list that tells no price, and why; such a price is unknown.

    What is said of the thing (`item`, `system`, `purchase`, `tenancy`) narrows the doubt to it; what is not said (None,
    or empty) leaves every such thing of that name in doubt, and without a name every thing of the region.
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
        return doubted(self.provider, self.region, self.sku, self.name, self.why)


def doubted(provider: str, region: str, sku: str, name: str, why: str) -> str:
    """One line that names what is sold, its SKU, its region and why its price is unknown."""
    return f"{provider}/{region or 'all regions'} {name or 'everything'}, SKU {sku or 'unknown'}: {why}"


Told = PriceRow | Sold | Doubt | date
"""What a reader of a price list yields; a date is the list's own, and comes before anything else."""


class How(StrEnum):
    """How a list came to us; see `PriceList`."""

    GIVEN = "given"
    FETCHED = "fetched"
    RECORDED = "recorded"
    BUNDLED = "bundled"
    PUBLISHED = "published"


OLD_BY_NATURE = (How.BUNDLED, How.PUBLISHED)
"""Lists whose prices are shown, and never rented at."""


LIVES_DAYS = 366
"""How long a provider may leave its list as it is; the lists of Amazon change every few days."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as the price book names it; `id` is the book's own number."""

    id: int
    source: str
    how: str
    fetched_at: float
    sha256: str
    published: date | None = None

    @property
    def dated(self) -> date | None:
        """The day on which its prices held: of a given list, unless it says itself, when it came.

        A fetched one is of the day on which it came, whenever it was last changed, but not one that says itself that it
        is of the year before, or of the days to come: that is another one's copy.
        """
        came = datetime.fromtimestamp(self.fetched_at, UTC).date()
        if self.how == How.FETCHED:
            copied = self.published and not -1 <= (came - self.published).days <= LIVES_DAYS
            return self.published if copied else came
        return self.published or (came if self.how == How.GIVEN else None)


@dataclass(frozen=True, slots=True)
class PriceList:
    """A provider's prices as they were told at one time.

    `how` is fetched (from the provider, just then), recorded (an answer kept in a file), given (the user's own word),
    bundled (comes with a library), or published (printed in a paper). `fetched_at` is a Unix time (s); `published` the
    list's own date; `sha256` is of the bytes that were read. `provider` and `currency` are empty where the rows have
    several. `regions` are those that the list covers, empty where all.
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
    sold: tuple[Sold, ...] = ()
    doubts: tuple[Doubt, ...] = ()
