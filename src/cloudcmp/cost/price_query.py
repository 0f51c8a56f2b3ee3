"""Queries for a price, and the filters that choose the rows of a price list for them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from cloudcmp.model.price import Doubt, PriceRow, Purchase, Unit, doubt_line


@dataclass(frozen=True, slots=True)
class PriceQuery:
    """A query for the hourly price of a machine. `plan` is a provider's kind of commitment, any if empty."""

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
    """The reason why a price is unknown; `line` names the thing, its region and its SKU."""

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
    """There is no price; the text is the reason."""

    def __init__(self, why: str, sku: str = "") -> None:
        self.why, self.sku = why, sku
        super().__init__(why)


def any_row(_: object) -> bool:
    """True for every row and doubt."""
    return True


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Chooses the rows that price a query, and the doubts about it; a doubt without a value for a field matches any."""

    row: Callable[[PriceRow], bool] = any_row
    doubt: Callable[[Doubt], bool] = any_row
    purchase: Purchase = Purchase.ON_DEMAND


def machine_rows(query: PriceQuery) -> RowFilter:
    """Returns the filter for rows of a machine with the query's purchase, system and tenancy."""

    def row(one: PriceRow) -> bool:
        return (
            one.system in {query.system, ""}
            and one.purchase is query.purchase
            and one.tenancy == query.tenancy
            and one.term_months == query.term_months
            and (not query.plan or one.plan == query.plan)
        )

    def doubt(one: Doubt) -> bool:
        return (
            one.system in {query.system, ""}
            and one.purchase in {query.purchase, None}
            and one.tenancy in {query.tenancy, ""}
        )

    return RowFilter(row, doubt, query.purchase)


def volume_rows(gib: Decimal) -> RowFilter:
    """Returns the filter for rows of volumes of this size, where a list has several sizes."""

    def row(one: PriceRow) -> bool:
        return one.unit is not Unit.MONTH or one.tier_from < gib <= (one.tier_until or gib)

    return RowFilter(row)


def missing_disk_size(rows: Iterable[PriceRow]) -> str:
    """Returns why no row prices a volume, if they are for whole disks: the next larger disk is billed."""
    sizes = sorted(
        {(one.tier_from, one.tier_until) for one in rows if one.unit is Unit.MONTH}, key=lambda size: size[0]
    )
    if not sizes:
        return ""
    named = [f"above {begin:f} up to {end:f} GiB" if end else f"above {begin:f} GiB" for begin, end in sizes]
    more = " and more" if named[3:] else ""
    return f"no disk of its size is listed: there are those for {', '.join(named[:3])}{more}"


def tier_rows(tier: Decimal) -> RowFilter:
    """Returns the filter for rows of the tier that begins at `tier`."""
    return RowFilter(lambda row: row.tier_from == tier)


def in_force(rows: Iterable[PriceRow]) -> list[PriceRow]:
    """Returns the rows that began last for each SKU: each row ends the one before it."""
    rows = list(rows)
    last: dict[str, date] = {}
    for row in rows:
        if row.sku and row.starts:
            last[row.sku] = max(row.starts, last.get(row.sku, row.starts))
    return [row for row in rows if not row.sku or not row.starts or row.starts == last[row.sku]]


def without_sku(row: PriceRow) -> PriceRow:
    """Returns the row without its SKU and first day, so that rows with the same price are equal."""
    return replace(row, starts=None, sku="")
