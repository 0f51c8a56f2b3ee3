"""The lines of an output, and strict parsers of the figures in them."""

import json
import math
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from cloudcmp.model.tool import Report, UnclearOutput

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(NUMBER, re.ASCII)
_BRACKET = re.compile(r"\s*[\[{]")
_BRACKET_ON_LINE = re.compile(r"^[ \t\r]*[\[{]", re.MULTILINE)
_RESERVED = re.compile(r"[^A-Za-z0-9._/+-]+")
MOST = 1e200
"""The largest figure that is accepted: larger ones would overflow when multiplied by their unit."""

SECONDS = {"ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
"""The tools' names of units of time, in seconds."""


def number(text: str, where: str) -> float:
    """The finite number in a text; raises UnclearOutput for anything else: a decimal comma, inf, nan."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not abs(value) < MOST:
        raise UnclearOutput(f"{where}: {shown(text)} is not a number")
    return value


def above_zero(text: str, where: str) -> float:
    """A number above zero; raises UnclearOutput for zero too: no work was done, or less than the tool resolves."""
    value = number(text, where)
    if value <= 0:
        raise UnclearOutput(f"{where}: {shown(text)} is not above zero")
    return value


def scaled(text: str, unit: str, units: Mapping[str, float], where: str) -> float:
    """A number above zero times its unit; raises UnclearOutput for a unit that is not among `units`."""
    if unit not in units:
        raise UnclearOutput(f"{where}: the unit {shown(unit)} is none of {', '.join(units)}")
    return above_zero(text, where) * units[unit]


def shown(text: str) -> str:
    """A piece of an output, cleaned for one line of text."""
    return repr(text if len(text) <= 40 else text[:40] + "...")


def word(text: str) -> str:
    """A text as a word that a cell can hold."""
    return _RESERVED.sub("_", text.strip())[:80] or "_"


def distinct(text: str, plain: str = " ") -> str:
    """A text as a word that a cell can hold, with a digest if the word leaves out more than `plain` characters."""
    whole_text = re.sub(f"[{re.escape(plain)}]+", "_", text.strip())
    as_word = word(text)
    return as_word if as_word == whole_text else f"{as_word[:60]}-{sha256(text.encode()).hexdigest()[:6]}"


def whole(value: float) -> str:
    """A number as canonical text; a whole one has no decimal point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def near(a: float, b: float, share: float) -> bool:
    """True if two positive figures differ by at most a share of the larger one."""
    return abs(a - b) <= share * max(abs(a), abs(b))


def half_a_digit(printed: str) -> float:
    """Half a unit of the last digit of a printed decimal number: the most by which rounding changed it."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def follows(printed: float, recomputed: float, share: float, where: str, rounding: float = 0.0) -> None:
    """Raises UnclearOutput unless a printed figure agrees with the one recomputed from other figures.

    They may differ by a share, and by the `rounding` of the printed one.
    """
    if not near(printed, recomputed, share + rounding / recomputed if recomputed > 0.0 else share):
        what = f"{printed:g} does not follow from the figures beside it, which give {recomputed:g}"
        raise UnclearOutput(f"{where}: {what}")


class Page:
    """The complete lines of an output, from 1. A last line without a line end is left out: it may be cut."""

    def __init__(self, text: str, first: int = 1) -> None:
        lines = text.split("\n")
        self.first = first
        self.lines = [line.rstrip("\r") for line in lines[:-1]]
        self.rest = lines[-1]

    def place(self, index: int) -> str:
        """The place of a line, for people."""
        return f"line {self.first + index}"

    def all(self, pattern: str) -> list[tuple[str, re.Match[str]]]:
        """The lines that a pattern matches as a whole, each with its place."""
        compiled = re.compile(pattern, re.ASCII)
        matches = ((self.place(i), compiled.fullmatch(line)) for i, line in enumerate(self.lines))
        return [(place, match) for place, match in matches if match]

    def maybe(self, pattern: str, what: str) -> tuple[str, re.Match[str]] | None:
        """The one line that a pattern matches; None for none; raises UnclearOutput for two."""
        matches = self.all(pattern)
        if len(matches) > 1:
            raise UnclearOutput(f"{matches[1][0]}: {what} is told again, first on {matches[0][0]}")
        return matches[0] if matches else None

    def one(self, pattern: str, what: str) -> tuple[str, re.Match[str]]:
        """The one line that a pattern matches; raises UnclearOutput for none and for two."""
        line = self.maybe(pattern, what)
        if line is None:
            cut = ", and the last line has no end: the output is cut" if self.rest.strip() else ""
            raise UnclearOutput(f"no line tells {what}{cut}")
        return line

    def value(self, label: str, what: str, tail: str = "") -> float:
        """The number above zero between a label at the start of one line and `tail`."""
        place, match = self.one(rf"\s*{label}\s*(\S+?){tail}\s*", what)
        return above_zero(match[1], f"{place}, {what}")

    def parts(self, begins: Callable[[str], bool]) -> list["Page"]:
        """The pages between lines that match a pattern, each from such a line on; lines before the first are left out."""
        return self.split([i for i, line in enumerate(self.lines) if begins(line)])

    def split(self, at: list[int]) -> list["Page"]:
        """The pages that begin at these lines, counted from 0 in ascending order; lines before the first are left out."""
        ends = [*at[1:], len(self.lines)][: len(at)]
        pages = []
        for start, end in zip(at, ends, strict=True):
            page = Page("", self.first + start)
            page.lines = self.lines[start:end]
            page.rest = self.rest if end == len(self.lines) else ""
            pages.append(page)
        return pages


def begins(pattern: str) -> Callable[[str], bool]:
    """A test whether a text has a line that begins with the pattern."""
    compiled = re.compile(rf"^(?:{pattern})", re.MULTILINE)
    return lambda text: compiled.search(text) is not None


def has_head(head: str) -> Callable[[str], bool]:
    """A test whether the first line of a text is this one."""
    return lambda text: text.split("\n", 1)[0].rstrip("\r") == head


def has_line(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """A test whether a text has a line that the pattern matches as a whole."""
    return lambda text: any(pattern.fullmatch(line.rstrip("\r")) for line in text.split("\n"))


def each_run(
    first: re.Pattern[str], missing: str, report: Callable[[Page, re.Match[str]], Report]
) -> Callable[[str], tuple[Report, ...]]:
    """A reader of outputs of several runs, each from a line that `first` matches to the next such line.

    It raises UnclearOutput with `missing` if there is no such line.
    """

    def reports(text: str) -> tuple[Report, ...]:
        runs = Page(text).parts(lambda line: first.fullmatch(line) is not None)
        if not runs:
            raise UnclearOutput(missing)
        return tuple(report(run, match) for run in runs if (match := first.fullmatch(run.lines[0])))

    return reports


def document(text: str) -> Any:
    """The one JSON document in an output, after any other lines; raises UnclearOutput for none, a part or two."""
    start = _next_document(text, 0)
    value, end = _decode(text, start)
    if (again := _next_document(text, end)) >= 0:
        raise UnclearOutput(f"line {_line(text, again)}: a second JSON document begins")
    return value


def documents(text: str) -> list[Any]:
    """The JSON documents in an output, one after the other, with any lines between them.

    The items of a list are documents of their own. Raises UnclearOutput for none, and for a part of one.
    """
    found = []
    at = _next_document(text, 0)
    while True:
        value, end = _decode(text, at)
        found += value if isinstance(value, list) else [value]
        if (at := _next_document(text, end)) < 0:
            break
    if not found:
        raise UnclearOutput("the JSON document is an empty list")
    return found


def _next_document(text: str, at: int) -> int:
    """The place of the bracket that begins the next JSON document: right there or at the start of a line, or -1."""
    match = _BRACKET.match(text, at) or _BRACKET_ON_LINE.search(text, at)
    return match.end() - 1 if match else -1


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _decode(text: str, start: int) -> tuple[Any, int]:
    """The JSON document at a place, and its end."""
    if start < 0:
        raise UnclearOutput("there is no JSON document")
    decoder = json.JSONDecoder(object_pairs_hook=once, parse_constant=_no_constant)
    try:
        return decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        begun = _line(text, start)
        raise UnclearOutput(
            f"line {error.lineno}: the JSON document that begins on line {begun} is cut or broken"
        ) from None
    except (RecursionError, ValueError) as error:
        begun = _line(text, start)
        raise UnclearOutput(f"line {begun}: the JSON document cannot be read ({str(error)[:60]})") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose repeated keys have equal values."""
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields and fields[key] != value:
            raise UnclearOutput(f"the JSON document tells {shown(key)} twice")
        fields[key] = value
    return fields


def _no_constant(text: str) -> float:
    raise UnclearOutput(f"the JSON document holds {text}, which is no number")


def entry(of: Any, *keys: str | int) -> Any:
    """The value at nested keys of a document; raises UnclearOutput if it is missing."""
    for at, key in enumerate(keys):
        there = isinstance(of, dict) and key in of if isinstance(key, str) else isinstance(of, list) and key < len(of)
        if not there:
            raise UnclearOutput(f"the JSON document has no {'.'.join(map(str, keys[: at + 1]))}")
        of = of[key]
    return of


def amount(of: Any, *keys: str | int) -> float:
    """The finite number at nested keys of a document; raises UnclearOutput for anything else."""
    value = entry(of, *keys)
    where = ".".join(map(str, keys))
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MOST:
        raise UnclearOutput(f"{where}: {shown(str(value))} is not a number")
    return float(value)


def positive(of: Any, *keys: str | int) -> float:
    """The number above zero at nested keys of a document; raises UnclearOutput for anything else."""
    value = amount(of, *keys)
    if value <= 0:
        raise UnclearOutput(f"{'.'.join(map(str, keys))}: {value:g} is not above zero")
    return value
