"""A price list that was imported into the price book."""

from dataclasses import dataclass
from datetime import date

from cloudcmp.model.price import Doubt


@dataclass(frozen=True, slots=True)
class PriceListImport:
    """A price list in the book: its source and date, and how many prices, instance types and doubtful lines it has.

    `again` if the book had the same list before and only its date is new; `first_doubts` are a few of the doubts.
    """

    kind: str
    source: str
    how: str
    dated: date | None
    sha256: str
    bytes: int
    rows: int
    types: int
    doubts: int
    first_doubts: tuple[Doubt, ...]
    again: bool = False
