"""A price list of the user's own, as CSV or JSON (docs/reference/price-files.md), for example for private clouds."""

import difflib
import io
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, BinaryIO, TypeVar

from cloudcmp.cost.sources import fields
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Purchase, TypeFacts, Unit
from cloudcmp.model.untrusted_text import one_line

SCHEMA = "cloudcmp.prices/1"
NEEDED = ("provider", "name", "amount", "currency", "unit")
COLUMNS = (*NEEDED, "region", "item", "system", "purchase", "tenancy", "term_months", "upfront", "tier_from",
           "tier_until", "to", "least", "sku", "starts", "plan", "as_of", "vcpus", "memory_gib",
           "category")  # fmt: skip
SYSTEMS = ("linux", "rhel", "suse", "windows")
TENANCIES = ("shared", "dedicated")

Word = TypeVar("Word", bound=StrEnum)


def read(file: BinaryIO) -> Iterator[PriceEntry]:
    """Yields the entries of a list; raises Unreadable if it is none, or has an unknown column."""
    rest = file if isinstance(file, io.BufferedReader) else io.BufferedReader(io.BytesIO(file.read()))
    start = rest.peek(1)[:1]
    rows = _json_rows(rest) if start in {b"{", b"["} else fields.records_of(fields.lines_of(rest), NEEDED)
    for number, row in enumerate(rows, 1):
        _check_columns(row)
        if _value_or(row, "as_of", None) is not None:
            try:
                yield fields.day_of(row["as_of"])
            except fields.InvalidValue as error:
                raise fields.Unreadable(f"price {number}: as_of {error}") from None
        entry = _price_of(row, number)
        yield entry
        if isinstance(entry, PriceRow):
            yield from _type_facts(row, entry)


def _json_rows(file: BinaryIO) -> Iterator[Mapping[str, Any]]:
    document = fields.mapping(fields.json_of(file), "the document")
    if document.get("schema") != SCHEMA:
        raise fields.Unreadable(f"its schema is not {SCHEMA!r}")
    if unknown := sorted(set(document) - {"schema", "as_of", "prices"}):
        raise fields.Unreadable(f"{one_line(unknown[0])!r} is no key of it")
    for number, row in enumerate(fields.sequence(document.get("prices"), "prices"), 1):
        yield {"as_of": document.get("as_of"), **fields.mapping(row, f"price {number}")}


def _check_columns(row: Mapping[str, Any]) -> None:
    for key in row:
        if key not in COLUMNS:
            near = difflib.get_close_matches(key, COLUMNS, n=1)
            hint = f"; did you mean {near[0]}?" if near else f": known are {', '.join(COLUMNS)}"
            raise fields.Unreadable(f"the column {one_line(key)!r} is not known{hint}")


def _price_of(row: Mapping[str, Any], number: int) -> PriceEntry:
    """Returns the price of a row, or why it has none."""
    provider = row.get("provider")
    if not isinstance(provider, str) or not provider.strip():
        raise fields.Unreadable(f"price {number} names no provider")
    item: Item | None = None
    try:
        item = _member(Item, _value_or(row, "item", "instance"), "item")
        upfront = fields.quantity_of(_value_or(row, "upfront", "0"))
        amount = row.get("amount")
        return PriceRow(
            provider=one_line(provider),
            region=_text(row, "region"),
            item=item,
            name=fields.text_of(row, "name"),
            amount=Decimal(0) if upfront and _is_zero(amount) else fields.amount_of(amount),
            currency=fields.currency_of(row.get("currency")),
            unit=_member(Unit, row.get("unit"), "unit"),
            system=_one_of(SYSTEMS, _value_or(row, "system", "linux" if item is Item.INSTANCE else ""), "system"),
            purchase=_member(Purchase, _value_or(row, "purchase", "on-demand"), "purchase"),
            tenancy=_one_of(TENANCIES, _value_or(row, "tenancy", "shared"), "tenancy"),
            term_months=_months(_value_or(row, "term_months", "0")),
            upfront=upfront,
            tier_from=fields.quantity_of(_value_or(row, "tier_from", "0")),
            tier_until=None if (end := _value_or(row, "tier_until", None)) is None else fields.quantity_of(end),
            to=_text(row, "to"),
            least=fields.quantity_of(_value_or(row, "least", "0")),
            sku=_text(row, "sku"),
            starts=None if (day := _value_or(row, "starts", None)) is None else fields.day_of(day),
            plan=_text(row, "plan"),
        )
    except fields.InvalidValue as error:
        return fields.doubt(one_line(provider), row.get("region"), row.get("sku"), row.get("name"), error, item)


def _value_or(row: Mapping[str, Any], key: str, usual: str | None) -> Any:
    """Returns a row's value, or the default if it is missing or empty; 0, false and [] are values."""
    value = row.get(key)
    return usual if value is None or value == "" else value


def _months(value: object) -> int:
    months = fields.quantity_of(value)
    if months != int(months):
        raise fields.InvalidValue(f"term_months {one_line(value)!r} is no whole number")
    return int(months)


def _is_zero(amount: object) -> bool:
    try:
        return fields.number_of(amount) == 0
    except fields.InvalidValue:
        return False


def _member(kind: type[Word], value: object, what: str) -> Word:
    try:
        return kind(value.strip() if isinstance(value, str) else "")
    except ValueError:
        raise fields.InvalidValue(f"{what} {one_line(value)!r} is not one of {', '.join(kind)}") from None


def _one_of(known: tuple[str, ...], value: object, what: str) -> str:
    text = value.strip() if isinstance(value, str) else None
    if text == "" or text in known:
        return text
    raise fields.InvalidValue(f"{what} {one_line(value)!r} is not one of {', '.join(known)}")


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if value is None or isinstance(value, str):
        return one_line(value or "")
    raise fields.InvalidValue(f"{key} is {one_line(value)}, which is no text")


def _type_facts(row: Mapping[str, Any], price: PriceRow) -> Iterator[TypeFacts]:
    if price.item is not Item.INSTANCE or not (row.get("vcpus") or row.get("memory_gib") or row.get("category")):
        return
    try:
        vcpus, memory = (float(fields.number_of(row[key])) if row.get(key) else None for key in ("vcpus", "memory_gib"))
    except fields.InvalidValue:
        return
    yield TypeFacts(price.provider, price.region, price.name, vcpus, memory, _text(row, "category") or None)
