"""Queries for a price, and the filters that choose the rows of a price list for them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from cloudcmp.model.price import Doubt, PriceRow, Purchase, Unit, doubt_line


@dataclass(frozen=True, slots=True)
class PriceQuery:
    """A query for the price of a machine for an hour. `plan` is a provider's kind of commitment, any if empty."""

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
    """Why a price is not known; `line` names the thing, its region and its SKU."""

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
    """There is no price; says why."""

    def __init__(self, why: str, sku: str = "") -> None:
        self.why, self.sku = why, sku
        super().__init__(why)


def any_row(_: object) -> bool:
    """True for every row and doubt."""
    return True


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Chooses the rows that price a query, and the doubts about it; a doubt that leaves something open matches all."""

    row: Callable[[PriceRow], bool] = any_row
    doubt: Callable[[Doubt], bool] = any_row
    purchase: Purchase = Purchase.ON_DEMAND


def machine_rows(asked: PriceQuery) -> RowFilter:
    """The filter for rows of a machine that is bought as the query says."""

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
    """The filter for rows of volumes of this size, where a list has several sizes."""

    def row(one: PriceRow) -> bool:
        return one.unit is not Unit.MONTH or one.tier_from < gib <= (one.tier_until or gib)

    return RowFilter(row)


def missing_disk_size(rows: Iterable[PriceRow]) -> str:
    """Why none of these rows prices a volume, if they are of whole disks: a disk is billed as the next larger one."""
    sizes = sorted(
        {(one.tier_from, one.tier_until) for one in rows if one.unit is Unit.MONTH}, key=lambda size: size[0]
    )
    if not sizes:
        return ""
    named = [f"above {begin:f} up to {end:f} GiB" if end else f"above {begin:f} GiB" for begin, end in sizes]
    more = " and more" if named[3:] else ""
    return f"no disk of its size is listed: there are those for {', '.join(named[:3])}{more}"


def tier_rows(tier: Decimal) -> RowFilter:
    """The filter for rows of the tier that begins at `tier`."""
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
    """The row without its SKU and its first day, so that rows with the same price are equal."""
    return replace(row, starts=None, sku="")
