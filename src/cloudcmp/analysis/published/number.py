"""A printed figure as the range of its rounding, and the arithmetic of such ranges."""

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from cloudcmp.published import Document, Table
from cloudcmp.stats.describe import cov, mean, sd
from cloudcmp.stats.tests import welch_t

# The tolerance for float arithmetic alone, relative to the figure; the printed rounding gets no further tolerance.
_FLOAT_SLACK = 1e-12
_FIGURE = re.compile(r"(?:Less than )?(-?\d+(?:\.\d+)?(?:E[+-]\d+)?)\s*(%|GB|Mbps|Gbps)?")
_REMARK = re.compile(r" \(.*\)$")
_TO_MBIT = {"Mbps": 1, "Gbps": 1000}


@dataclass(frozen=True, slots=True)
class Number:
    """A figure with its smallest and largest possible value, all in the same unit; low <= value <= high."""

    value: float
    low: float
    high: float

    def meets(self, other: "Number") -> bool:
        """True if some figure lies within both ranges, including their ends."""
        slack = _FLOAT_SLACK * max(abs(self.value), abs(other.value))
        return self.low <= other.high + slack and other.low <= self.high + slack

    def over(self, other: "Number") -> "Number":
        """The quotient of two positive figures; raises ValueError if the divisor may be 0 or negative."""
        if other.low <= 0.0 or self.low < 0.0:
            raise ValueError(f"{self} over {other}: a quotient of printed figures needs them positive")
        return Number(self.value / other.value, self.low / other.high, self.high / other.low)

    def times(self, factor: float) -> "Number":
        """The figure in another unit; `factor` is positive."""
        return Number(self.value * factor, self.low * factor, self.high * factor)


def read(text: str) -> Number | None:
    """The printed figure of a cell, with half a unit of its last place on either side; None for a cell without one.

    A percent sign, GB, or a remark in brackets behind it is left out; Mbps and Gbps are given in Mbit/s, so that they
    can be compared. "Less than 500Mbps" is read as 500, its upper bound.
    """
    match = _match(text)
    if match is None:
        return None
    figure, half = Decimal(match[1]), _half(match[1])
    scale = _TO_MBIT.get(match[2], 1)
    return Number(float(figure * scale), float((figure - half) * scale), float((figure + half) * scale))


def figure(text: str) -> Number:
    """The printed figure of a cell that must have one, commas of thousands left out; raises ValueError without one."""
    number = read(text.replace(",", ""))
    if number is None:
        raise ValueError(f"{text!r} is not a figure")
    return number


def is_cut(found: Number, stated: str) -> bool:
    """True if the stated figure is the found one with digits dropped."""
    match = _match(stated)
    if match is None or "E" in match[1]:
        return False
    scale = 10.0 ** len(match[1].partition(".")[2])
    return math.floor(found.value * scale) == round(float(match[1]) * scale)


def rounding(text: str) -> float | None:
    """Half a unit of the last printed place, in the unit of the cell; None for a cell without a figure."""
    match = _match(text)
    return float(_half(match[1])) if match else None


def like(text: str, value: float) -> str:
    """`value` in the format of the figure in `text`, with one more place (more if no digit would show)."""
    match = _match(text)
    places = -int(Decimal(match[1]).as_tuple().exponent) if match else 3
    if match and "E" in match[1]:
        mantissa = match[1].split("E")[0]
        return f"{value:.{len(mantissa.partition('.')[2]) + 1}E}"
    shown = f"{value:.{max(places + 1, 0)}f}"
    return f"{value:.2g}" if value != 0.0 and not shown.strip("-0.") else shown


def along(statistic: Callable[[Sequence[float]], float | None], figures: Sequence[Number]) -> Number:
    """A statistic that never falls when an input rises, such as a median or a mean, with its exact range."""
    ends = [[figure.value for figure in figures], [f.low for f in figures], [f.high for f in figures]]
    value, low, high = (_known(statistic(end)) for end in ends)
    return Number(value, low, high)


def cov_of(figures: Sequence[Number]) -> Number:
    """The coefficient of variation of printed figures, a ratio, with a range of all its possible values.

    At a positive mean it is quasi-convex in its inputs, so its largest value lies at a corner of their ranges. The
    smallest is bounded by the smallest standard deviation (all inputs moved to one centre) over the largest mean.
    """
    centre = _centre(figures)
    least = _known(sd([min(max(centre, f.low), f.high) for f in figures])) / mean([f.high for f in figures])
    value = _known(cov([f.value for f in figures]))
    corners = itertools.product(*((f.low, f.high) for f in figures))
    return Number(value, min(least, value), max(_known(cov(corner)) for corner in corners))


def welch_p_of(a: Sequence[Number], b: Sequence[Number]) -> Number:
    """The two-sided p value of Welch's test on printed figures, with its range.

    Each input is set to that end of its own range which lowers p, then to the other. Exact as long as p is monotonic in
    each input across its rounding, as is the case if the rounding is small relative to the spread.
    """
    figures = [*a, *b]
    nominal = [f.value for f in figures]

    def p_value(x: Sequence[float]) -> float:
        result = welch_t(x[: len(a)], x[len(a) :])
        if result is None:
            raise ValueError("Welch's test needs two values on either side")
        return result.p_value

    lowering, raising = [], []
    for place, figure in enumerate(figures):
        ends = [(p_value([*nominal[:place], end, *nominal[place + 1 :]]), end) for end in (figure.low, figure.high)]
        lowering.append(min(ends)[1])
        raising.append(max(ends)[1])
    value = p_value(nominal)
    return Number(value, min(value, p_value(lowering)), max(value, p_value(raising)))


def pooled_median_bounds(medians: Sequence[Number], count: int) -> tuple[float, float]:
    """The smallest and largest possible median of all values pooled, from the medians of equal groups alone.

    `count` is the odd size of a group. At least (count + 1) / 2 values of a group are no greater than its median, which
    bounds each order statistic of the pool from above by one of the medians; from below it is the mirror image.
    """
    total, half = count * len(medians), (count + 1) // 2
    ranks = [(total + 1) // 2, total // 2 + 1]
    places = [-(-rank // half) - 1 for rank in ranks]
    highs = sorted(f.high for f in medians)
    lows = sorted((f.low for f in medians), reverse=True)
    return mean([lows[place] for place in places]), mean([highs[place] for place in places])


def _match(text: str) -> re.Match[str] | None:
    return _FIGURE.fullmatch(_REMARK.sub("", text.strip()))


def _half(digits: str) -> Decimal:
    return Decimal((0, (5,), int(Decimal(digits).as_tuple().exponent) - 1))


def _centre(figures: Sequence[Number]) -> float:
    """The centre towards which all inputs can be moved at once with the smallest remaining spread, by bisection."""
    low, high = min(f.low for f in figures), max(f.high for f in figures)
    for _ in range(60):
        middle = (low + high) / 2.0
        if middle > sum(min(max(middle, f.low), f.high) for f in figures) / len(figures):
            high = middle
        else:
            low = middle
    return (low + high) / 2.0


def _known(value: float | None) -> float:
    if value is None:
        raise ValueError("the statistic is not defined for these figures")
    return value


def table_name(number: str) -> str:
    """A table as a reader calls it: "table 8", or the figure or part of the text that it holds the numbers of."""
    return number if number.startswith("figure") else f"table {number}"


_COV = "Coefficient of Variation %"
_UNIT_IN_HEAD = re.compile(r" \([^)]*\)$")


def label(document: Document, name: str) -> str:
    """The short form of a row or column name: a platform without its unit, a pair joined by a slash."""
    if " Vs " in name:
        return "/".join(label(document, part) for part in name.split(" Vs "))
    bare = _UNIT_IN_HEAD.sub("", name)
    return document.labels.get(name, document.labels.get(bare, name))


def row_label(document: Document, table: Table, row: tuple[str, ...]) -> str:
    """The short form of a row's keys, joined by a space."""
    return " ".join(label(document, key) for key in row[: table.keys])


def printed(document: Document, table: Table, column: str) -> dict[str, str]:
    """The cells of a column as printed, by the short labels of their rows."""
    cells = table.column(column).values()
    return {row_label(document, table, row): cell for row, cell in zip(table.rows, cells, strict=True)}


def numbers(document: Document, table: Table, column: str) -> dict[str, Number]:
    """The figures of a column by the short labels of their rows; cells without one are left out."""
    figures = {row: read(cell) for row, cell in printed(document, table, column).items()}
    return {row: number for row, number in figures.items() if number is not None}


def sessions(document: Document, table: Table) -> dict[str, list[Number]]:
    """The session values of each platform, in order, from a table with a row per session and a column per platform."""
    by_platform = {}
    for column in table.figures():
        rows = table.column(column)
        values = [read(cell) for row, cell in rows.items() if row != _COV]
        by_platform[label(document, column)] = [value for value in values if value is not None]
    return by_platform


def cov_row(document: Document, table: Table) -> dict[str, str]:
    """The printed coefficient of variation of each platform, with its percent sign."""
    return {label(document, column): table.column(column)[_COV] for column in table.figures()}


def columns(document: Document, reference: str) -> list[tuple[Table, str]]:
    """The columns of a reference `table` or `table:column`: that one, or all with figures."""
    number, _, column = reference.partition(":")
    table = document.table(number)
    return [(table, column)] if column else [(table, name) for name in table.figures()]


def pair_of(row: str, names: tuple[str, ...]) -> str | None:
    """The pair among `names` in a row of p values; None for a row of another pair."""
    return next((name for name in names if row == name or row.startswith(f"{name} ")), None)
