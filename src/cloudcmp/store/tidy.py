"""The tidy table: one value per row with its description, in columns for any tool, and the text forms of its cells."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cloudcmp.model.untrusted_text import without_steering

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = (
    "provider", "region", "offering", "instance", "round", "session", "time",
    "metric", "params", "unit", "better", "value", "outcome", "signed",
)  # fmt: skip
NEEDED = ("offering", "metric", "unit", "value")
PARQUET_MAGIC = b"PAR1"
SIGNED = "yes"
"""The cell of the column `signed` for a metric that can be 0 or less; empty for any other metric."""
_FIRST_COLUMNS = ",".join(COLUMNS[:-1]).encode()  # until exports without the last column are forgotten
_FORMULA = "=+-@\t\r"


Attribute = str | float | Decimal


@dataclass(frozen=True, slots=True)
class TidyPlace:
    """The shared columns of the rows of one launch. Unknown texts are empty; `instance` names the launch.

    `attributes` are those of the offering.
    """

    provider: str
    region: str
    offering: str
    instance: str
    round: int | None
    session: str
    attributes: dict[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TidyCell:
    """The shared columns of the rows of one cell."""

    metric: str
    params: str
    unit: str
    better: str
    signed: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class TidyColumns:
    """A tidy table, one value per row: indices into `places`, `cells` and `outcomes`; the value, and the Unix time.

    A missing value or time is NaN.
    """

    places: tuple[TidyPlace, ...]
    cells: tuple[TidyCell, ...]
    outcomes: tuple[str, ...]
    place: "NDArray[np.int32]"
    cell: "NDArray[np.int32]"
    outcome: "NDArray[np.int32]"
    value: "NDArray[np.float64]"
    time: "NDArray[np.float64]"

    def attribute_names(self) -> list[str]:
        """The names of all attributes that some row has, sorted."""
        return sorted({name for place in self.places for name in place.attributes})

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows as records with the columns of the table; times as text, None for unknown cells."""
        names = self.attribute_names()
        columns = (column.tolist() for column in (self.place, self.cell, self.outcome, self.value, self.time))
        for at, number, outcome, value, time in zip(*columns, strict=True):
            place, cell = self.places[at], self.cells[number]
            place_values = (place.provider, place.region, place.offering, place.instance, place.round, place.session,
                    None if math.isnan(time) else time_text(time), cell.metric, cell.params, cell.unit, cell.better,
                    None if math.isnan(value) else value, self.outcomes[outcome], cell.signed)  # fmt: skip
            more = {name: place.attributes.get(name) for name in names}
            yield {**dict(zip(COLUMNS, place_values, strict=True)), **more}


def is_tidy(head: bytes) -> bool:
    """True if a file is a tidy table as `tidy_write` writes it, by its first bytes."""
    return head.startswith((_FIRST_COLUMNS, PARQUET_MAGIC))


def neutral(text: str) -> str:
    """The text escaped so that no spreadsheet runs it as a formula (undone by `plain`), and no terminal runs it."""
    text = without_steering(text)
    return "'" + text if text[:1] and text[0] in _FORMULA + "'" else text


def plain(text: str) -> str:
    """The text before `neutral`."""
    return text[1:] if text[:1] == "'" and text[1:2] and text[1] in _FORMULA + "'" else text


def number_text(value: float) -> str:
    """The shortest decimal form that reads back as the same number; whole numbers without a point."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 and math.copysign(1, value) > 0 else repr(value)


def time_text(at: float) -> str:
    """A Unix time as UTC, e.g. 2026-01-31T12:00:00.250000Z."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def time_of(text: str) -> float:
    """The Unix time of an ISO 8601 text (UTC without an offset) or of a number; raises ValueError for other text."""
    try:
        at = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(at) or not 0 <= at < 253402300800:  # the year 10000
        raise ValueError(text)
    return at
