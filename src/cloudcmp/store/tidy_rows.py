"""A row of a user's table, checked by itself and then against the others."""

from collections.abc import Mapping
from typing import Any

from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell, parse_params
from cloudcmp.model.metric import Metric
from cloudcmp.model.trial import Outcome
from cloudcmp.model.untrusted_text import steering_character, without_steering
from cloudcmp.model.values import LARGEST_VALUE
from cloudcmp.store.tidy import NEEDED, SIGNED, time_of
from cloudcmp.store.tidy_agree import Agreement, CheckedRow, Faults, Key, number_of

SIGNS = ("", "no", SIGNED)
_OUTCOMES = frozenset({"", *Outcome})


def steered(name: str, text: str) -> str:
    """The fault of a text in a column that would control a terminal."""
    return f"the column {without_steering(name)!r} holds {steering_character(text)}, which steers a terminal"


class _Bad(Exception):
    """The fault in one cell of a row, and the advice."""

    def __init__(self, what: str, next: str) -> None:
        self.what = what
        self.next = next


class RowChecker:
    """Checks rows one after the other; `agreement` checks them against each other."""

    def __init__(self, faults: Faults, known: Mapping[str, Metric], columns: tuple[str, ...]) -> None:
        self.agreement = Agreement(faults, known, columns)
        self._faults = faults
        self._known = known
        self._columns = columns
        self._cells: dict[tuple[str, str], str] = {}

    def row(self, where: str, cells: list[str]) -> CheckedRow | None:
        """The row; None if it has a fault."""
        if len(cells) != len(self._columns):
            what = f"{len(cells)} cells where the header has {len(self._columns)}"
            self._faults.add(where, what, "write one cell for each column")
            return None
        of = dict(zip(self._columns, cells, strict=True))
        if name := next((name for name in self._columns if steering_character(of[name])), None):
            self._faults.add(where, steered(name, of[name]), "remove it")
            return None
        parts: list[Any] = []
        for part in (_key, self._cell, self._result, _round, _time):
            try:
                parts.append(part(of))
            except _Bad as bad:
                self._faults.add(where, bad.what, bad.next)
        if len(parts) < 5:
            return None
        key, cell, (outcome, value), round_, time = parts
        row = CheckedRow(key, of.get("instance", ""), round_, of.get("session", ""), time, cell, value, outcome)
        self.agreement.take(where, of, row)
        return row

    def _cell(self, of: dict[str, str]) -> str:
        key = (of["metric"] or "missing", of.get("params", ""))  # _key reports a missing metric
        if key not in self._cells:
            try:
                self._cells[key] = cell_of(*key)
            except UserMistake as error:
                raise _Bad(error.faults[0].what, error.faults[0].next) from None
        return self._cells[key]

    def _result(self, of: dict[str, str]) -> tuple[Outcome, float | None]:
        text, outcome = of["value"], of.get("outcome", "")
        if outcome not in _OUTCOMES:
            raise _Bad(f"unknown outcome {outcome!r}", f"write one of {', '.join(Outcome)}")
        if outcome not in ("", Outcome.OK):
            if text:
                raise _Bad(f"the outcome is {outcome}, yet there is a value", "empty the value, or write ok")
            return Outcome(outcome), None
        if not text:
            raise _Bad("there is no value", "write it, or the outcome that explains it, e.g. failed")
        value = number_of(text)
        if value is None:
            raise _Bad(f"the value {text!r} is not a finite number", "write e.g. 12.5")
        if abs(value) >= LARGEST_VALUE:
            what = f"the value {text} is not between -{LARGEST_VALUE:g} and {LARGEST_VALUE:g}"
            raise _Bad(what, "write invalid as outcome and no value")
        name, sign = of["metric"], of.get("signed", "")
        known = self._known.get(name)
        if sign not in SIGNS:
            raise _Bad(f"signed is {sign!r}", "write yes if the metric can be 0 or less, else no or nothing")
        if value <= 0 and known is not None and not known.signed:
            raise _Bad(f"{known.name} is {text}, yet it is always above 0", "write invalid as outcome and no value")
        if value <= 0 and known is None and sign != SIGNED:
            next_ = "write invalid as outcome and no value, or yes in a column signed if the metric can be 0 or less"
            raise _Bad(f"{name} is {text}, yet not declared as signed", next_)
        return Outcome.OK, value


def cell_of(metric: str, params: str) -> str:
    """The cell of a metric with its parameters as text; raises UserMistake."""
    return str(Cell.of(metric, parse_params(params)))


def key_of(provider: str, region: str, offering: str) -> Key:
    """The key of an offering; without a provider, it is that of the user's own table."""
    return provider or "imported", region, offering


def round_of(text: str) -> int:
    """The number of a round; raises ValueError for any other text."""
    number = number_of(text)
    if number is None or not number.is_integer() or not 0 <= number <= 1e9:
        raise ValueError(text)
    return int(number)


def _key(of: dict[str, str]) -> Key:
    empty = [name for name in NEEDED[:3] if not of[name]]
    if empty:
        raise _Bad(f"no {' and no '.join(empty)}", "fill in the empty cells")
    return key_of(of.get("provider", ""), of.get("region", ""), of["offering"])


def _round(of: dict[str, str]) -> int | None:
    text = of.get("round", "")
    if not text:
        return None
    try:
        return round_of(text)
    except ValueError:
        raise _Bad(f"the round {text!r} is not a whole number", "write 0, 1, 2, ...") from None


def _time(of: dict[str, str]) -> float | None:
    text = of.get("time", "")
    if not text:
        return None
    try:
        return time_of(text)
    except (ValueError, OverflowError):
        raise _Bad(f"the time {text!r} is not understood", "write e.g. 2026-01-31T12:00:00Z") from None
