"""What all readers of price lists share: strict JSON, amounts, dates, and one-line reasons for refusals."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, BinaryIO, NoReturn, TypeVar

from cloudcmp.model.price import Doubt, Item, Purchase
from cloudcmp.model.untrusted_text import one_line

T = TypeVar("T")
MOST = Decimal(10) ** 9
"""A higher amount is taken for an error."""
LEAST = Decimal(10) ** -12
JSON_BYTES = 2**30
LINE_BYTES = 2**17

_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?", re.ASCII)
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})([T ][0-9:.]+(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}")


class Unreadable(Exception):
    """A list cannot be read as its supposed kind: none of it is used."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


class InvalidValue(ValueError):
    """A value is no price; the text is the reason."""


def amount_of(value: object) -> Decimal:
    """Returns a positive amount from a number or its text; raises InvalidValue with the reason."""
    amount = number_of(value)
    if amount == 0:
        raise InvalidValue("a price of zero is unknown, not free")
    if amount < 0:
        raise InvalidValue(f"a price of {_brief(value)} is below zero")
    if not LEAST <= amount <= MOST:
        raise InvalidValue(f"a price of {_brief(value)} is implausible")
    return amount


def number_of(value: object) -> Decimal:
    """Returns a finite decimal number, from a number or text without units and separators; raises InvalidValue."""
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        text = str(value)
    elif isinstance(value, str):
        text = value.strip()
    else:
        raise InvalidValue(f"{_brief(value)} is no number")
    if not _NUMBER.fullmatch(text):
        raise InvalidValue(f"{_brief(value)} is no number")
    return Decimal(text)


def unit_of(units: Mapping[str, T], text: object, item: Item) -> T:
    """Returns the entry of a unit's text; raises InvalidValue if the item is not billed in such a unit."""
    unit = units.get(one_line(text or ""))
    if unit is None:
        raise InvalidValue(f"its unit {one_line(text)!r} is not one that {item} is billed by")
    return unit


def quantity_of(value: object) -> Decimal:
    """Returns a non-negative number, such as the beginning of a tier; raises InvalidValue."""
    number = number_of(value)
    if number < 0 or number > Decimal(10) ** 18:
        raise InvalidValue(f"{_brief(value)} is no quantity")
    return number


def currency_of(value: object) -> str:
    """Returns a currency's three letters; raises InvalidValue."""
    if not isinstance(value, str) or not _CURRENCY.fullmatch(value):
        raise InvalidValue(f"{_brief(value)} is no currency")
    return value


def day_of(value: object) -> date:
    """Returns the day of a date or a time (ISO 8601); raises InvalidValue."""
    match = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    try:
        return date.fromisoformat(match[1]) if match else _no_day(value)
    except ValueError:
        _no_day(value)


def _no_day(value: object) -> NoReturn:
    raise InvalidValue(f"{_brief(value)} is no date")


def text_of(thing: Mapping[str, Any], key: str) -> str:
    """Returns the text of a key; raises InvalidValue if it is missing, empty or no text."""
    value = thing.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InvalidValue(
            f"{key} is missing" if value in (None, "") else f"{key} is {_brief(value)}, which is no text"
        )
    return one_line(value)


def _brief(value: object) -> str:
    return repr(one_line(value)[:40]) if isinstance(value, str) else one_line(value)[:40]


def json_of(file: BinaryIO) -> Any:
    """Parses a JSON document, with numbers as Decimal; raises Unreadable, also for duplicate keys."""
    content = file.read(JSON_BYTES + 1)
    if len(content) > JSON_BYTES:
        raise Unreadable(f"the document has more than {JSON_BYTES} bytes")
    text = _decoded(content)
    if text.lstrip()[:1] == "<":
        raise Unreadable("it is HTML or XML, not JSON")
    if not text.strip():
        raise Unreadable("it is empty")
    try:
        return json.loads(text, parse_float=_decimal, parse_int=_decimal, parse_constant=_no_constant,
                          object_pairs_hook=_unique_keys)  # fmt: skip
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"it is no JSON, or cut short ({one_line(error)})") from None


def _decimal(text: str) -> Decimal | str:
    return Decimal(text) if _NUMBER.fullmatch(text) else text


def _no_constant(text: str) -> NoReturn:
    raise Unreadable(f"it holds {text}, which is no number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise Unreadable(f"the key {one_line(twice)!r} comes twice in one object")
    return values


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte {error.start} is not UTF-8") from None


def lines_of(file: BinaryIO) -> Iterator[str]:
    """Yields the lines of a text file unchanged, also a last one without a line end; raises Unreadable."""
    coding, number = "utf-8-sig", 0
    while line := file.readline(LINE_BYTES):
        number += 1
        if len(line) >= LINE_BYTES:
            raise Unreadable(f"line {number} has more than {LINE_BYTES} bytes")
        if b"\0" in line:
            raise Unreadable(f"line {number} holds a zero byte")
        try:
            yield line.decode(coding)
        except UnicodeDecodeError as error:
            raise Unreadable(f"line {number} is not UTF-8 ({one_line(error.reason)})") from None
        coding = "utf-8"


def records_of(lines: Iterator[str], needed: Iterable[str], *, separator: str = ",") -> Iterator[dict[str, str]]:
    """Yields the rows of a CSV table by column; raises Unreadable if a column is missing or rows are uneven."""
    rows = csv.reader(lines, strict=True, delimiter=separator)
    head: list[str] | None = None
    try:
        for row in rows:
            if head is None:
                head = _head(row, needed)
            elif row and len(row) != len(head):
                raise Unreadable(f"line {rows.line_num} has {len(row)} columns of {len(head)}: it may be cut short")
            elif row:
                yield dict(zip(head, row, strict=True))
    except csv.Error as error:
        raise Unreadable(f"line {rows.line_num} is no CSV, or cut short ({one_line(error)})") from None
    if head is None:
        raise Unreadable("it is empty")


def _head(row: list[str], needed: Iterable[str]) -> list[str]:
    head = [one.strip() for one in row]
    if head and head[0].startswith("<"):
        raise Unreadable("it is HTML or XML, not CSV")
    missing = [one for one in needed if one not in head]
    if missing:
        raise Unreadable(f"its head has no column {missing[0]!r}")
    if len(set(head)) != len(head):
        raise Unreadable(f"its head has the column {one_line(next(x for x in head if head.count(x) > 1))!r} twice")
    return head


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """Returns a JSON object; raises Unreadable for anything else."""
    if not isinstance(value, Mapping):
        raise Unreadable(f"{what} is no object")
    return value


def sequence(value: object, what: str) -> list[Any]:
    """Returns a JSON array; raises Unreadable for anything else."""
    if not isinstance(value, list):
        raise Unreadable(f"{what} is no array")
    return value


def doubt(provider: str, region: object, sku: object, name: object, why: object, item: Item | None = None,
          system: str = "", purchase: Purchase | None = None, tenancy: str = "") -> Doubt:  # fmt: skip
    """Returns a line without a valid price; its values may be anything."""
    region, sku, name = (one_line(one) if isinstance(one, str) else "" for one in (region, sku, name))
    return Doubt(provider, region, sku, name, one_line(why), item, system, purchase, tenancy)
