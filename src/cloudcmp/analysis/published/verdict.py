"""What a recomputation finds: one `Check` for each derived cell, one `ClaimCheck` for each sentence."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.analysis.published.number import Number, like, read, rounding
from cloudcmp.published import Table


class Verdict(StrEnum):
    """Whether a printed figure or sentence follows from the document's own numbers."""

    FOLLOWS = "follows"
    DOES_NOT_FOLLOW = "does not follow"
    NOT_PRINTED = "cannot be recomputed: inputs not printed"

    @classmethod
    def of(cls, holds: bool | None) -> "Verdict":
        """The verdict of a statement that is true, false, or not decided by what is printed."""
        if holds is None:
            return cls.NOT_PRINTED
        return cls.FOLLOWS if holds else cls.DOES_NOT_FOLLOW


@dataclass(frozen=True, slots=True)
class Check:
    """One printed figure beside what its own inputs give.

    table, page: as the document numbers them; several tables joined by a comma where the check spans them.
    row, column: short labels. what: how the figure was recomputed, with the tables of its inputs.
    printed: the text of the cell; empty for a figure that the document uses and does not print.
    recomputed: from the inputs as they are printed, in `unit`; None when they are not printed.
    low, high: all that it can be, given the rounding of the inputs; for a figure that cannot be recomputed, the bounds
    that what is printed sets, or None.
    rounding: half a unit of the last printed place, in `unit`; None for a cell that prints no figure.
    The verdict is "follows" when some figure lies both in [low, high] and within `rounding` of the printed one.
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
        """The recomputed figure with one place more than is printed, else its bounds, else nothing."""
        if self.recomputed is not None:
            return like(self.printed, self.recomputed)
        if self.low is None or self.high is None:
            return ""
        return f"{like(self.printed, self.low)} to {like(self.printed, self.high)}"


def check_figure(
    document: str, table: Table, row: str, column: str, what: str, text: str, found: Number, unit: str
) -> Check:
    """The check of one printed cell, `text`, against what was recomputed, in the same unit."""
    cell = read(text)
    verdict = Verdict.of(None if cell is None else cell.meets(found))
    return Check(
        document, table.number, table.page, row, column, what, text,
        found.value, found.low, found.high, unit, rounding(text), verdict,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """One sentence beside what the tables say. `found` says it in figures; `note` why, where more is to be said."""

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
    """All that was recomputed of one document, tables in their order and sentences in that of the text."""

    document: str
    checks: tuple[Check, ...]
    claims: tuple[ClaimCheck, ...]

    def checks_with(self, verdict: Verdict) -> tuple[Check, ...]:
        """The checks of that verdict."""
        return tuple(check for check in self.checks if check.verdict is verdict)
