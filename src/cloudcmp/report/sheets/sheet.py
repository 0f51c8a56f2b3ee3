"""The model of a table as text, ready for the template."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    """One field: its text, small text below it, and a kind for the style sheet; `more` is a line between the two."""

    text: str
    below: str = ""
    kind: str = ""
    more: str = ""


@dataclass(frozen=True, slots=True)
class Whisker:
    """A candidate's change against the best of its cell: positions on an axis of 0 to 100, and its words."""

    name: str
    low: float
    centre: float
    high: float
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Forest:
    """The changes of a cell's other candidates against the best one, at `zero` on the axis."""

    zero: float
    whiskers: tuple[Whisker, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, whether it holds numbers, and what the title means."""

    title: str
    numeric: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of fields; a heading is a row with one field that spans all columns. `forest` fills the last column."""

    fields: tuple[Field, ...]
    heading: bool = False
    forest: Forest | None = None


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
    return replace(
        field, text=one_line(field.text, 400), below=one_line(field.below, 600), more=one_line(field.more, 200)
    )


def columns(*titles: str, numeric: Sequence[str] = ()) -> tuple[Column, ...]:
    """Columns of these titles; `numeric` names those that are right aligned."""
    return tuple(Column(one_line(title, 120), title in numeric) for title in titles)


def captioned(origin: str, words: str) -> str:
    """A caption with the origin of the numbers."""
    return f"{words} [{origin}]" if origin else words
