"""The model of a table as text, ready for the template."""

from collections.abc import Sequence
from dataclasses import dataclass

from cloudcmp.model.result import Verdict
from cloudcmp.model.untrusted_text import one_line

KINDS = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.SAME: "same",
    Verdict.CANNOT_TELL: "unsure",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its text, small text below it, and a kind for the style sheet."""

    text: str
    below: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, whether it holds numbers, and what the title means."""

    title: str
    numeric: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of fields; a heading is a row with one field that spans all columns."""

    fields: tuple[Field, ...]
    heading: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with its caption; `note` stands below it."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""


def row(*fields: str | Field) -> Row:
    """Create a row of texts and fields; cleans all text from outside."""
    return Row(tuple(_cleaned(field if isinstance(field, Field) else Field(field)) for field in fields))


def heading(text: str, below: str = "") -> Row:
    """A row that names what follows it."""
    return Row((_cleaned(Field(text, below)),), heading=True)


def _cleaned(field: Field) -> Field:
    return Field(one_line(field.text, 400), one_line(field.below, 600), field.kind)


def columns(*titles: str, numeric: Sequence[str] = ()) -> tuple[Column, ...]:
    """Columns of these titles; `numeric` names those that are right aligned."""
    return tuple(Column(one_line(title, 120), title in numeric) for title in titles)


def captioned(origin: str, words: str) -> str:
    """A caption with the origin of the numbers."""
    return f"{words} [{origin}]" if origin else words
