"""The printed prices of published documents as dated price lists, and prices implied by their figures.

They are history: nothing is ever created at these prices, and each is older than any current price.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from cloudcmp.analysis.published.number import label, read
from cloudcmp.analysis.published.relations import KINDS
from cloudcmp.analysis.published.verdict import Check
from cloudcmp.model.price import Doubt, Item, PriceList, PriceRow, TypeFacts, Unit
from cloudcmp.published import Catalogue, Document, Table

PUBLISHED = "published"
NO_CURRENCY = "XXX"
"""ISO 4217's code for no currency: the document prints none."""
_DIGITS = 4


def price_lists(document: Document) -> tuple[PriceList, ...]:
    """A list for each catalogue of a document, in its order; empty if the document has no prices.

    Memory is taken as GiB where the document prints GB. A price that is not printed as more than zero is left out, with
    the reason among the doubts. An implied price is the one on which all tables of values agree, to four digits.
    """
    return tuple(_list(document, one) for one in document.catalogues)


def _list(document: Document, catalogue: Catalogue) -> PriceList:
    table, dated = document.table(catalogue.table), date.fromisoformat(catalogue.dated)
    items = list(_items(table, catalogue))
    amounts = [
        _implied(document, catalogue, one) if catalogue.implied_by else _printed(catalogue, one) for one in items
    ]
    tables = ", ".join(catalogue.implied_by)
    how = f", implied by tables {tables}" if catalogue.implied_by else ""
    content = json.dumps([table.columns, table.rows, [str(amount) for _, amount in amounts]])
    return PriceList(
        provider=document.name,
        source=f"{document.name}, table {table.number}{how}",
        how=PUBLISHED,
        fetched_at=datetime(dated.year, dated.month, dated.day, tzinfo=UTC).timestamp(),
        currency=catalogue.currency,
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        rows=tuple(
            _row(catalogue, one, amount) for one, (_, amount) in zip(items, amounts, strict=True) if amount is not None
        ),
        published=dated,
        sold=tuple(_sold(catalogue, one) for one in items if catalogue.vcpus),
        doubts=tuple(
            Doubt(one[catalogue.provider], "", "", one[catalogue.name], why)
            for one, (why, _) in zip(items, amounts, strict=True)
            if why
        ),
    )


def _items(table: Table, catalogue: Catalogue) -> Iterator[Mapping[str, str]]:
    """The cells of each sold item, by the names of its columns, or of its rows if read across."""
    if not catalogue.across:
        yield from (dict(zip(table.columns, row, strict=True)) for row in table.rows)
        return
    for at, column in enumerate(table.columns[1:], 1):
        yield {table.columns[0]: column, **{row[0]: row[at] for row in table.rows}}


def _printed(catalogue: Catalogue, item: Mapping[str, str]) -> tuple[str, Decimal | None]:
    """Why a price is doubtful, and the price; neither for a cell of another kind."""
    cell = item[catalogue.amount]
    figure, space, rest = cell.partition(" ")
    if f"{space}{rest}" != catalogue.mark:
        # In a column with several kinds, the other kinds belong to their own catalogues.
        return ("" if catalogue.mark else catalogue.left_out), None
    amount = Decimal(figure)
    return ("", amount) if amount > 0 else (catalogue.left_out, None)


def _implied(document: Document, catalogue: Catalogue, item: Mapping[str, str]) -> tuple[str, Decimal | None]:
    """The charge that the values imply; with a doubt if they do not all agree on it."""
    platform = label(document, item[catalogue.provider])
    check = next(one for one in _charges(document, catalogue) if one.row == platform)
    if check.recomputed is None or check.low is None or check.high is None:
        return check.note or "its values imply no charge that two of them agree on", None
    amount = Decimal(f"{check.recomputed:.{_DIGITS}g}")
    why = f"implied, between {check.low:.6g} and {check.high:.6g}"
    return f"{why}; {check.note}" if check.note else why, amount


def _charges(document: Document, catalogue: Catalogue) -> Iterator[Check]:
    (relation,) = (one for one in document.relations if one.tables == catalogue.implied_by)
    return (check for check in KINDS[relation.kind](document, relation) if check.column == "charge")


def _row(catalogue: Catalogue, item: Mapping[str, str], amount: Decimal) -> PriceRow:
    return PriceRow(
        provider=item[catalogue.provider],
        region="",
        item=Item(catalogue.item),
        name=item[catalogue.name],
        amount=amount,
        currency=catalogue.currency,
        unit=Unit(catalogue.unit),
        sku=f"table {catalogue.table}",
    )


def _sold(catalogue: Catalogue, item: Mapping[str, str]) -> TypeFacts:
    memory = _figure(item.get(catalogue.memory_gib, ""))
    return TypeFacts(item[catalogue.provider], "", item[catalogue.name], _figure(item[catalogue.vcpus]), memory)


def _figure(text: str) -> float | None:
    """A size as printed; None for words, and for a size that is only an upper bound."""
    number = read(text)
    return None if number is None or not text[:1].isdigit() else number.value
