"""What is to be priced, and which rows of a price list are about it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from cloudcmp.model.price import Doubt, PriceRow, Purchase, Unit, doubt_line


@dataclass(frozen=True, slots=True)
class PriceQuery:
    """What is to be priced: a machine for an hour. `plan` is one of a provider's kinds of commitment, any if empty."""

    provider: str
    region: str
    name: str
    system: str = "linux"
    purchase: Purchase = Purchase.ON_DEMAND
    tenancy: str = "shared"
    term_months: int = 0
    plan: str = ""


@dataclass(frozen=True, slots=True)
class UnknownPrice:
    """Why a price is not known; `line` names what was asked for, its region and its SKU."""

    provider: str
    region: str
    name: str
    why: str
    sku: str = ""

    @property
    def line(self) -> str:
        """The reason as one line."""
        return doubt_line(self.provider, self.region, self.sku, self.name, self.why)


class NoPrice(Exception):
    """There is no price, and why."""

    def __init__(self, why: str, sku: str = "") -> None:
        self.why, self.sku = why, sku
        super().__init__(why)


def any_row(_: object) -> bool:
    """Whatever it is."""
    return True


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows price what was asked for, and which doubts are about it: what a doubt does not say may be anything."""

    row: Callable[[PriceRow], bool] = any_row
    doubt: Callable[[Doubt], bool] = any_row
    purchase: Purchase = Purchase.ON_DEMAND


def machine_rows(asked: PriceQuery) -> RowFilter:
    """Rows of a machine that is bought so."""

    def row(one: PriceRow) -> bool:
        return (
            one.system in {asked.system, ""}
            and one.purchase is asked.purchase
            and one.tenancy == asked.tenancy
            and one.term_months == asked.term_months
            and (not asked.plan or one.plan == asked.plan)
        )

    def doubt(one: Doubt) -> bool:
        return (
            one.system in {asked.system, ""}
            and one.purchase in {asked.purchase, None}
            and one.tenancy in {asked.tenancy, ""}
        )

    return RowFilter(row, doubt, asked.purchase)


def volume_rows(gib: Decimal) -> RowFilter:
    """Rows for volumes of this size, where sizes are told apart."""

    def row(one: PriceRow) -> bool:
        return one.unit is not Unit.MONTH or one.tier_from < gib <= (one.tier_until or gib)

    return RowFilter(row)


def missing_disk_size(rows: Iterable[PriceRow]) -> str:
    """Why none of these rows prices a volume, if they are of whole disks: a disk is billed as the next larger one."""
    sizes = {(one.tier_from, one.tier_until) for one in rows if one.unit is Unit.MONTH}
    told = [f"above {begin:f} up to {end:f} GiB" if end else f"above {begin:f} GiB" for begin, end in sorted(
        sizes, key=lambda size: size[0])]  # fmt: skip
    if not told:
        return ""
    return f"no disk of its size is listed: there are those for {', '.join(told[:3])}{' and more' if told[3:] else ''}"


def tier_rows(tier: Decimal) -> RowFilter:
    """Rows of the tier that begins there."""
    return RowFilter(lambda row: row.tier_from == tier)


def in_force(rows: Iterable[PriceRow]) -> list[PriceRow]:
    """Of rows of one SKU those that began last: each ends the one before it."""
    rows = list(rows)
    last: dict[str, date] = {}
    for row in rows:
        if row.sku and row.starts:
            last[row.sku] = max(row.starts, last.get(row.sku, row.starts))
    return [row for row in rows if not row.sku or not row.starts or row.starts == last[row.sku]]


def without_sku(row: PriceRow) -> PriceRow:
    """The row without what tells it from one that says the same: its SKU and its first day."""
    return replace(row, starts=None, sku="")
