"""How a table of text separates its cells and writes its numbers: `,`, `;` or tabs; decimal point or comma.

A spreadsheet writes both as its country does. A number is read only if the table shows which way it is: `1,234` by
itself may be 1.234 or 1234.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.store.tidy import NEEDED
from cloudcmp.store.tidy_agree import PRICE

DELIMITERS = (",", ";", "\t")
HINT = re.compile(r"sep=([,;\t])", re.ASCII)
"""The first line by which Excel tells itself the delimiter."""

_COLUMNS = {"value", "time", "vcpus", "memory_gib", "count"}
_SIGN, _POWER = r"[+-]?", r"(?:[eE][+-]?\d+)?"
_WHOLE = re.compile(rf"{_SIGN}\d+", re.ASCII)
_NEXT = "write all numbers with a decimal point and nothing between thousands"


class NumberStyle(Enum):
    """The mark before decimals: a point, or a comma. The other one, if there at all, separates thousands."""

    POINT = "."
    COMMA = ","

    @property
    def other(self) -> "NumberStyle":
        """The style with the two marks exchanged."""
        return NumberStyle.COMMA if self is NumberStyle.POINT else NumberStyle.POINT


def delimiter_of(header: str) -> str:
    """The delimiter of a table by its first line: the one that gives most of the required columns, or most columns."""
    hint = HINT.fullmatch(header.strip("\r\n"))
    if hint:
        return hint[1]
    names = {one: _names(header, one) for one in DELIMITERS}
    return max(DELIMITERS, key=lambda one: (len(names[one] & set(NEEDED)), len(names[one])))


def is_header(line: str) -> bool:
    """True if a line begins a table of text: the names of columns, or the hint of the delimiter."""
    return HINT.fullmatch(line.strip("\r\n")) is not None or bool(_names(line, delimiter_of(line)) & set(NEEDED))


def _names(header: str, delimiter: str) -> set[str]:
    return {name.strip().strip('"').strip() for name in header.split(delimiter)}


def number_columns(names: Iterable[str]) -> tuple[int, ...]:
    """The places of the columns that hold numbers."""
    return tuple(at for at, name in enumerate(names) if name in _COLUMNS or PRICE.fullmatch(name))


def _certain(style: NumberStyle) -> re.Pattern[str]:
    """Numbers that mean one thing only, if they are numbers: 12,5 and 0,125 and 1.234,5 and 1.234.567 for a comma."""
    mark, other = re.escape(style.value), re.escape(style.other.value)
    alone = rf"(?:\d+{mark}\d*|{mark}\d+){_POWER}"
    grouped = rf"\d{{1,3}}(?:(?:{other}\d{{3}})+{mark}\d*|(?:{other}\d{{3}}){{2,}})"
    return re.compile(rf"(?!{_SIGN}[1-9]\d{{0,2}}{mark}\d{{3}}$){_SIGN}(?:{alone}|{grouped})", re.ASCII)


def _possible(style: NumberStyle) -> re.Pattern[str]:
    """Numbers that may mean two things: 1,234 for a comma."""
    return re.compile(rf"{_SIGN}[1-9]\d{{0,2}}{re.escape(style.value)}\d{{3}}", re.ASCII)


_CERTAIN = {style: _certain(style) for style in NumberStyle}
_POSSIBLE = {style: _possible(style) for style in NumberStyle}


@dataclass(slots=True)
class StyleEvidence:
    """What the numbers of a table show about their style; the first text and line of each kind."""

    path: Path
    certain: dict[NumberStyle, tuple[str, int]] = field(default_factory=dict)
    possible: dict[NumberStyle, tuple[str, int]] = field(default_factory=dict)
    pointed: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)
    has_commas: bool = False

    def take(self, line: int, column: int, text: str) -> None:
        """Adds one cell of a column of numbers."""
        if _WHOLE.fullmatch(text):
            self.whole.add(column)
            return
        self.has_commas = self.has_commas or "," in text
        for style in NumberStyle:
            if _CERTAIN[style].fullmatch(text):
                self.certain.setdefault(style, (text, line))
            elif _POSSIBLE[style].fullmatch(text):
                self.possible.setdefault(style, (text, line))
                if style is NumberStyle.POINT:
                    self.pointed.add(column)

    def style(self) -> NumberStyle:
        """The one style that all numbers fit; raises UserMistake if there is none, or two."""
        if len(self.certain) == 2:
            (first, line), (second, other) = sorted(self.certain.values(), key=lambda one: one[1])
            raise UserMistake.at(
                f"{self.path}:{other}", f"{second} and, on line {line}, {first} have different decimal marks", _NEXT
            )
        if self.certain:
            return next(iter(self.certain))
        # A column whose every number has three decimals has a fixed format; with whole numbers among them it may be
        # one of thousands.
        doubtful = NumberStyle.COMMA in self.possible or bool(self.pointed & self.whole)
        if doubtful:
            text, line = min(self.possible.values(), key=lambda one: one[1])
            decimal, thousand = text.replace(",", "."), text.replace(",", "").replace(".", "")
            raise UserMistake.at(f"{self.path}:{line}", f"{text} may be {decimal} or {thousand}", _NEXT)
        return NumberStyle.POINT


def plain_number(text: str, style: NumberStyle) -> str:
    """A number in a style as text with a decimal point; any other text as it is."""
    if not (
        _CERTAIN[style].fullmatch(text) or _POSSIBLE[style].fullmatch(text) or _POSSIBLE[style.other].fullmatch(text)
    ):
        return text
    return text.replace(style.other.value, "").replace(style.value, ".")
