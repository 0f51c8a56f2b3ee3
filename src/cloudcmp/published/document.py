"""A published document as data: its tables, the stated derivation of its figures, and its checkable sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Table:
    """One printed table, every cell as the text that was printed.

    number: as printed ("8"); tables of an appendix carry its letter ("D.1").
    page: the printed page, or the pages between which it stands where the document lists none.
    unit: of every cell that does not carry its own.
    keys: how many leading columns name a row instead of holding figures.
    rows: an empty text is a cell without a figure; `note` says why.
    """

    number: str
    title: str
    page: str
    section: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int = 1
    note: str = ""

    def figures(self) -> tuple[str, ...]:
        """The names of the columns that hold figures."""
        return self.columns[self.keys :]

    def names(self) -> tuple[str, ...]:
        """The name of each row: its key cells, joined by a comma."""
        return tuple(", ".join(row[: self.keys]) for row in self.rows)

    def column(self, name: str) -> dict[str, str]:
        """The cells of one column by the names of their rows; raises KeyError if the table has no such column."""
        if name not in self.columns:
            raise KeyError(f"table {self.number} has no column {name!r}; it has {', '.join(self.columns)}")
        place = self.columns.index(name)
        return {row_name: row[place] for row_name, row in zip(self.names(), self.rows, strict=True)}


@dataclass(frozen=True, slots=True)
class Relation:
    """The stated derivation of one table's figures from those of others.

    kind: the statistic, one of those that `cloudcmp.analysis.published` lists.
    section: the section that states it.
    into, column: the table (and column) whose figures are derived; `column` is empty for all of them.
    of: the tables that hold the inputs, in the order that the kind asks for.
    tables: the tables that the relation is about, if it derives none from another.
    count: how many single values stand behind one input (runs averaged, or sizes tried in a session).
    factor: what the inputs are multiplied by, exact, as digits.
    exact: the inputs that are counts or settings, without rounding.
    better: the direction of the figures, `higher` or `lower`, where values are handed on.
    reason: why inputs are missing, if they are.
    """

    kind: str
    section: str
    into: str = ""
    column: str = ""
    of: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    count: int = 0
    factor: str = "1"
    exact: tuple[str, ...] = ()
    better: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of the text about the document's own figures.

    kind: the kind of statement, one of those that `cloudcmp.analysis.published` lists.
    quote: its few words; `page` and `section` are their place.
    tables: its subject, each `table` or `table:column` (without a column: all columns of figures).
    cells: its subject, if that is single cells: each `table | column | row`, with the row's short label.
    names: the platforms, pairs or things that it names.
    stated: the figure in words or digits that it gives.
    against: further tables that the kind compares with.
    """

    kind: str
    page: str
    section: str
    quote: str
    tables: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    stated: str = ""
    against: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A table or figure of which no numbers are stored, and the reason.

    number: as printed, with its kind ("figure 2"). reason: e.g. that it is a plot whose numbers are not printed.
    """

    number: str
    title: str
    page: str
    section: str
    reason: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The cells of a table that are prices, and their date.

    dated: the last day (ISO) on which they can have been looked up; dated_by: the document's evidence for it.
    item, unit: one of those of `cloudcmp.model.price`. currency: `XXX` (ISO 4217: none) if none is printed.
    provider, name, vcpus, memory_gib, amount: the columns that hold them, or the rows where the table is read `across`.
    mark: the text after the figure in the cells that count, if a column holds several kinds.
    implied_by: tables of values from which the price follows, where no amount is printed.
    left_out: why a cell without a price has none.
    """

    table: str
    dated: str
    dated_by: str
    item: str
    unit: str
    currency: str
    provider: str
    name: str
    amount: str = ""
    vcpus: str = ""
    memory_gib: str = ""
    mark: str = ""
    across: bool = False
    implied_by: tuple[str, ...] = ()
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A published study as data.

    name: its name for `load`. labels: short forms of the names in its tables. year: None if it has no date.
    """

    name: str
    author: str
    title: str
    year: int | None
    source: str
    tables: tuple[Table, ...]
    relations: tuple[Relation, ...] = ()
    claims: tuple[Claim, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    catalogues: tuple[Catalogue, ...] = ()
    uncovered: tuple[Uncovered, ...] = ()

    def table(self, number: str) -> Table:
        """The table of a number; raises KeyError if the document has none."""
        for table in self.tables:
            if table.number == number:
                return table
        raise KeyError(f"{self.name} has no table {number}")
