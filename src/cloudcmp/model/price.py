"""Price lists: what was asked for each thing sold, when, by whose word."""

from dataclasses import dataclass
from datetime import date
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

    `name` is the provider's own word (an instance type, a volume type, a service); `region` is empty where one price
    holds everywhere. `system` is linux, rhel, suse or windows, empty where it does not matter; `tenancy` is shared or
    dedicated. `term_months` and `upfront` are of a commitment. A price holds from `tier_from` (in its unit, in a month)
    up to `tier_until`. `to` is where egress goes: internet, region, zone, or a region's name. `least` is the smallest
    quantity that is billed. `starts` is the first day of the price, where the list tells one.
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
    """A line of a price list that tells no price, and why; such a price is unknown."""

    provider: str
    region: str
    sku: str
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class PriceList:
    """A provider's prices as they were told at one time.

    `how` is fetched (from the provider, just then), recorded (an answer kept in a file), bundled (comes with a
    library), or published (printed in a paper). `fetched_at` is a Unix time (s); `published` the list's own date;
    `sha256` is of the bytes that were read. `regions` are those that the list covers, empty where all.
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
