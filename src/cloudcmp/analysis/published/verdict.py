"""The result of a recomputation: one `Check` for each derived cell, one `ClaimCheck` for each sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.analysis.published.number import Number, is_cut, like, read, rounding
from cloudcmp.published import Claim, Document, Table, Uncovered

Finding = tuple[str, bool | None]
"""What the tables say of a sentence, and whether it is true of them; None if a required figure is not printed."""
Predicate = Callable[[Document, Claim], Finding]


class Verdict(StrEnum):
    """The verdict on whether a printed figure or sentence follows from the document's own numbers."""

    FOLLOWS = "follows"
    DOES_NOT_FOLLOW = "does not follow"
    NOT_PRINTED = "cannot be recomputed: inputs not printed"

    @classmethod
    def of(cls, holds: bool | None) -> "Verdict":
        """The verdict of a statement that is true, false, or undecided by the printed figures."""
        if holds is None:
            return cls.NOT_PRINTED
        return cls.FOLLOWS if holds else cls.DOES_NOT_FOLLOW


@dataclass(frozen=True, slots=True)
class Check:
    """One printed figure with its recomputation from its own inputs.

    table, page: the document's own numbers; several tables joined by a comma if the check spans them. row, column:
    short labels. what: how the figure was recomputed, with the tables of its inputs.
    printed: the text of the cell; empty for a figure that the document uses and does not print.
    recomputed: from the inputs as printed, in `unit`; None if they are not printed.
    low, high: its possible range, given the rounding of the inputs; for a figure that cannot be recomputed, the bounds
    from the printed figures, or None.
    rounding: half a unit of the last printed place, in `unit`; None for a cell without a figure.
    The verdict is "follows" if some figure lies both in [low, high] and within `rounding` of the printed one.
    """

    document: str
    table: str
    page: str
    row: str
    column: str
    what: str
    printed: str
    recomputed: float | None
    low: float | None
    high: float | None
    unit: str
    rounding: float | None
    verdict: Verdict
    note: str = ""

    def recomputed_text(self) -> str:
        """The recomputed figure with one place more than is printed, else its bounds, else empty."""
        if self.recomputed is not None:
            return like(self.printed, self.recomputed)
        if self.low is None or self.high is None:
            return ""
        return f"{like(self.printed, self.low)} to {like(self.printed, self.high)}"


def check_figure(
    document: str, table: Table, row: str, column: str, what: str, text: str, figure: Number, unit: str
) -> Check:
    """The check of one printed cell, `text`, against the recomputed figure, in the same unit."""
    cell = read(text)
    meets = None if cell is None else cell.meets(figure)
    note = "cut off, not rounded" if meets is False and is_cut(figure, text) else ""
    return Check(
        document, table.number, table.page, row, column, what, text,
        figure.value, figure.low, figure.high, unit, rounding(text), Verdict.of(meets), note,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """One sentence with the tables' statement: `found` in figures; `note` gives a further reason if there is one."""

    document: str
    page: str
    section: str
    quote: str
    tables: tuple[str, ...]
    found: str
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True, slots=True)
class Recomputation:
    """The recomputation of one document, tables in their order and sentences in that of the text.

    uncovered: the document's tables and figures that are not stored, because they print no numbers.
    """

    document: str
    checks: tuple[Check, ...]
    claims: tuple[ClaimCheck, ...]
    uncovered: tuple[Uncovered, ...] = ()

    def checks_with(self, verdict: Verdict) -> tuple[Check, ...]:
        """The checks of that verdict."""
        return tuple(check for check in self.checks if check.verdict is verdict)
