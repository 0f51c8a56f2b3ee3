"""What was delivered, beside what was advertised."""

from cloudcmp.report.book import Book
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.sheets.asked import advertised
from cloudcmp.report.sheets.sheet import Field, Row, Sheet, captioned, columns, heading, row
from cloudcmp.report.text import clean
from cloudcmp.units import format_quantity

_MOST_COLUMNS = 6
_MOST_FACTS = 120
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def sheets(book: Book) -> tuple[Sheet, ...]:
    """One table for a few candidates at a time: promised facts first, then what the machines said."""
    told = {index: dict(pairs) for index, pairs in book.view.hosts}
    known = [one.index for one in book.candidates if told.get(one.index) or advertised(one)]
    parts = [known[at : at + _MOST_COLUMNS] for at in range(0, len(known), _MOST_COLUMNS)]
    return tuple(_sheet(book, part, told) for part in parts) if told else ()


def _sheet(book: Book, part: list[int], told: dict[int, dict[str, str]]) -> Sheet:
    promised = {at: advertised(book.candidates[at]) for at in part}
    rows = [heading("advertised"), *_rows(promised, part)]
    rows += [heading("delivered", "as the machines themselves say: not verified"), *_rows(told, part)]
    names = tuple(book.candidates[at].id for at in part)
    return Sheet(captioned(book.origin, "What was delivered, beside what was advertised"), columns("fact", *names),
                 tuple(rows), "≠ marks facts in which the candidates differ.")  # fmt: skip


def _rows(facts: dict[int, dict[str, str]], part: list[int]) -> list[Row]:
    keys = sorted({key for at in part for key in facts.get(at, {})})[:_MOST_FACTS]
    rows = []
    for key in keys:
        values = [readable(key, facts.get(at, {}).get(key, UNKNOWN)) for at in part]
        name = clean(key, 60).replace("_", " ")
        differs = len(set(values)) > 1
        rows.append(row(Field(f"{name} ≠" if differs else name, kind="differs" if differs else ""), *values))
    return rows


def readable(key: str, value: str) -> str:
    """A fact with its unit as people read it; the name of the fact says the unit that it came in."""
    if not value.replace(".", "", 1).isdigit() or len(value) > 20:
        return clean(value, 200)
    if key.endswith("_bytes"):
        size = next(((size, unit) for size, unit in _SIZES if float(value) >= size), (1, "B"))
        return f"{float(value) / size[0]:.4g} {size[1]}"
    if key.endswith("_bytes_per_s"):
        return format_quantity(float(value), "B/s")
    return format_quantity(float(value), "s") if key.endswith("_s") and not key.endswith("_per_s") else value
