"""Recomputes the statistics behind a document's tables: one function for each kind of relation, one table of kinds."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from cloudcmp.analysis.published.number import (
    Number,
    along,
    columns,
    cov_of,
    cov_row,
    label,
    numbers,
    pooled_median_bounds,
    printed,
    read,
    rounding,
    row_label,
    sessions,
    welch_p_of,
)
from cloudcmp.analysis.published.verdict import Check, Verdict, check_figure
from cloudcmp.published import Document, Relation, Table
from cloudcmp.stats.describe import geometric_mean, median

Checks = Iterator[Check]


def medians(document: Document, relation: Relation) -> Checks:
    """The median of a platform's session values, all of which are printed."""
    table, source = document.table(relation.into), document.table(relation.of[0])
    inputs = sessions(document, source)
    for row, text in printed(document, table, relation.column).items():
        figure, what = along(median, inputs[row]), f"median of table {source.number}"
        yield check_figure(document.name, table, row, label(document, relation.column), what, text, figure, table.unit)


def pooled_medians(document: Document, relation: Relation) -> Checks:
    """The median over single values of which only the medians by session are printed: it can only be refuted."""
    table, source = document.table(relation.into), document.table(relation.of[0])
    inputs = sessions(document, source)
    for row, text in printed(document, table, relation.column).items():
        low, high = pooled_median_bounds(inputs[row], relation.count)
        cell = read(text)
        outside = cell is not None and not cell.meets(Number((low + high) / 2.0, low, high))
        yield Check(
            document.name, table.number, table.page, row, label(document, relation.column),
            f"bounds by table {source.number}", text, None, low, high, table.unit, rounding(text),
            Verdict.DOES_NOT_FOLLOW if outside else Verdict.NOT_PRINTED,
            f"the median of {relation.count} values in each session; the values are not printed",
        )  # fmt: skip


def covs(document: Document, relation: Relation) -> Checks:
    """The coefficient of variation (divisor n - 1) of the session values printed above it, in percent."""
    for table in map(document.table, relation.tables):
        inputs = sessions(document, table)
        for platform, text in cov_row(document, table).items():
            figure = cov_of(inputs[platform]).times(100.0)
            yield check_figure(document.name, table, "CoV", platform, "sd / mean of its sessions", text, figure, "%")


def sd_percents(document: Document, relation: Relation) -> Checks:
    """The last row is the standard deviation, the row above, in percent of the mean, the first row."""
    for table in map(document.table, relation.tables):
        mean_row, sd_row, percent_row = table.names()
        for column in table.figures():
            cells = printed(document, table, column)
            mean, sd = (number for row in (mean_row, sd_row) if (number := read(cells[row])) is not None)
            figure, what = sd.over(mean).times(100.0), "standard deviation / mean"
            yield check_figure(document.name, table, percent_row, column, what, cells[percent_row], figure, "%")


def welch_tests(document: Document, relation: Relation) -> Checks:
    """Welch's two-sided p value (Excel's TTEST, tails 2, type 3) of two platforms' session values."""
    table, source = document.table(relation.into), document.table(relation.of[0])
    inputs = sessions(document, source)
    for row, text in printed(document, table, relation.column).items():
        first, second = row.split("/")
        figure = welch_p_of(inputs[first], inputs[second])
        what = f"Welch's t on table {source.number}"
        yield check_figure(document.name, table, row, label(document, relation.column), what, text, figure, table.unit)


def unixbench_index(document: Document, relation: Relation) -> Checks:
    """Each index is 10 result / baseline, the score their geometric mean; baselines are constants of the suite."""
    for table in map(document.table, relation.tables):
        results, baselines = numbers(document, table, "RESULT"), numbers(document, table, "BASELINE")
        index = printed(document, table, "INDEX")
        for row, result in results.items():
            figure = result.times(10.0 / baselines[row].value)
            yield check_figure(document.name, table, row, "index", "10 result / baseline", index[row], figure, "index")
        tests = [number for row, number in numbers(document, table, "INDEX").items() if row in results]
        for row in index.keys() - results.keys():
            figure = along(geometric_mean, tests)
            what = f"geometric mean of {len(tests)} indices"
            yield check_figure(document.name, table, row, "index", what, index[row], figure, "index")


def means_of_runs(document: Document, relation: Relation) -> Checks:
    """Checks if values can be means of `count` scores with one decimal, as UnixBench prints them.

    Source of the idea: Brown and Heathers, "The GRIM test", Social Psychological and Personality Science 8(4), 2017.
    """
    step = Decimal(10 * relation.count)
    for table in map(document.table, relation.tables):
        for column in table.figures():
            cells = [text for row, text in table.column(column).items() if "%" not in text]
            # A cell without decimals dropped its zeros; it is a multiple of any step that divides one.
            misfits = [text for text in cells if (Decimal(text) * step) % 1 != 0]
            yield Check(
                document.name, table.number, table.page, "all sessions", label(document, column),
                f"means of {relation.count} scores of one decimal", ", ".join(misfits) or f"{len(cells)} values",
                None, None, None, table.unit, None, Verdict.of(not misfits),
            )  # fmt: skip


def not_printed(document: Document, relation: Relation) -> Checks:
    """Figures whose inputs the document does not print: counted, not guessed."""
    for table in map(document.table, relation.tables):
        for column in table.figures():
            for row, text in printed(document, table, column).items():
                yield Check(
                    document.name, table.number, table.page, row, label(document, column), "Welch's t by clients", text,
                    None, None, None, table.unit, rounding(text), Verdict.NOT_PRINTED,
                    relation.reason if text else "no figure can be read",
                )  # fmt: skip


def distinct(document: Document, relation: Relation) -> Checks:
    """Columns, and rows of one table, that repeat another to the last digit: they cannot be separate measurements.

    Yields only repeats, each against the first one that it repeats; it is unknown which of the two is the copy.
    """
    for repeat in repeated_columns(document, relation):
        what = f"repeats table {repeat.first_table.number} {label(document, repeat.first_column)}"
        yield _repeat(document, repeat.table, "all", label(document, repeat.column), what, repeat.count)
    for table in map(document.table, relation.tables):
        for early, late in itertools.combinations(table.rows, 2):
            cells, others = late[table.keys :], early[table.keys :]
            if len(cells) > 1 and cells == others and any(cells):
                what = f"repeats row {row_label(document, table, early)}"
                yield _repeat(document, table, row_label(document, table, late), "all", what, len(cells))


@dataclass(frozen=True, slots=True)
class RepeatedColumn:
    """A column whose `count` figures are those of an earlier one."""

    table: Table
    column: str
    first_table: Table
    first_column: str
    count: int


def repeated_columns(document: Document, relation: Relation) -> Iterator[RepeatedColumn]:
    """Every column of the relation's tables that repeats an earlier one, with the first one that it repeats."""
    earlier: list[tuple[Table, str, tuple[str, ...]]] = []
    for table in map(document.table, relation.tables):
        for column in table.figures():
            cells = tuple(table.column(column).values())
            first = next((other for other in earlier if repeats(cells, other[2])), None)
            if first is None:
                earlier.append((table, column, cells))
            else:
                yield RepeatedColumn(table, column, first[0], first[1], sum(map(bool, cells)))


def repeats(cells: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """True if two columns of equal length agree in all cells that both print, at least four of them."""
    if len(cells) != len(others):
        return False
    both = [(a, b) for a, b in zip(cells, others, strict=True) if a and b]
    return len(both) >= 4 and all(a == b for a, b in both)


def _repeat(document: Document, table: Table, row: str, column: str, what: str, count: int) -> Check:
    return Check(
        document.name, table.number, table.page, row, column, what, f"{count} figures",
        None, None, None, table.unit, None, Verdict.DOES_NOT_FOLLOW, "which of the two is the copy is not printed",
    )  # fmt: skip


def scaled(document: Document, relation: Relation) -> Checks:
    """`factor` times the inputs of the same row."""
    return _by_row(document, relation, "", math.prod)


def reciprocal(document: Document, relation: Relation) -> Checks:
    """`factor` over the inputs of the same row."""
    return _by_row(document, relation, "1 / ", lambda inputs: 1.0 / math.prod(inputs))


def complement(document: Document, relation: Relation) -> Checks:
    """`factor` times what the input of the same row lacks of 100 %."""
    return _by_row(document, relation, "100 - ", lambda inputs: 100.0 - math.prod(inputs))


def _by_row(document: Document, relation: Relation, sign: str, of: Callable[[Sequence[float]], float]) -> Checks:
    """The figures of a column from those of others in the same row; `of` is monotonic in each of its inputs."""
    table, factor = document.table(relation.into), float(relation.factor)
    sources = {name: columns(document, name)[0] for name in relation.of}
    inputs = {name: numbers(document, *source) for name, source in sources.items()}
    places = ["" if t is table else f"table {t.number} " for t, _ in sources.values()]
    names = " x ".join(f"{place}{label(document, c)}" for place, (_, c) in zip(places, sources.values(), strict=True))
    what = f"{'' if factor == 1.0 else f'{factor:g} x '}{f'({sign}{names})' if sign else names}"
    for row, text in printed(document, table, relation.column).items():
        if not text:
            continue
        ranges = [_range(inputs[name][row], exact=name in relation.exact) for name in relation.of]
        ends = [factor * of(corner) for corner in itertools.product(*ranges)]
        value = factor * of([inputs[name][row].value for name in relation.of])
        found = Number(value, min(ends), max(ends))
        yield check_figure(document.name, table, row, label(document, relation.column), what, text, found, table.unit)


def _range(number: Number, *, exact: bool) -> tuple[float, ...]:
    return (number.value,) if exact else (number.low, number.high)


def price_checks(document: Document, relation: Relation) -> Checks:
    """The hourly charges implied by the values, and each value from its score and the charge implied by the others."""
    medians_of = {(r.into, r.column): r.of[0] for r in document.relations if r.kind == "median"}
    return price_performance(document, relation, medians_of)


KINDS: dict[str, Callable[[Document, Relation], Checks]] = {
    "mean_of_runs": means_of_runs,
    "median": medians,
    "pooled_median": pooled_medians,
    "cov": covs,
    "sd_percent": sd_percents,
    "price_performance": price_checks,
    "unixbench_index": unixbench_index,
    "welch": welch_tests,
    "scaled": scaled,
    "reciprocal": reciprocal,
    "complement": complement,
    "not_printed": not_printed,
    "distinct": distinct,
}


_CHARGE_UNIT = "per hour, currency not printed"


@dataclass(frozen=True, slots=True)
class _Value:
    """One table of values: its figures and those of the divided score, by platform."""

    table: Table
    column: str
    figures: Mapping[str, Number]
    score_table: Table
    score_column: str
    scores: Mapping[str, Number]

    def charge(self, platform: str) -> Number:
        return self.scores[platform].over(self.figures[platform])


def price_performance(
    document: Document, relation: Relation, medians_of: Mapping[tuple[str, str], str]
) -> Iterator[Check]:
    """The checks of value tables that divide scores by the same unprinted hourly charges.

    `relation.tables` hold the values, `relation.of` the scores; `medians_of` names the session table behind a score
    column whose median can be recomputed. The divided score column is inferred: the choice under which the most
    platforms have one charge common to all tables.
    """
    values = _consistent(document, relation)
    for platform in values[0].figures:
        charges = [value.charge(platform) for value in values]
        agreed = agreement(charges)
        yield _charge_check(document, values, platform, charges, agreed)
        for place, value in enumerate(values):
            others = common([charges[i] for i in agreed if i != place])
            if others is None:
                continue
            yield from _value_checks(document, value, platform, others, medians_of)


def common(ranges: Sequence[Number]) -> Number | None:
    """The intersection of all ranges, with its middle as the value; None if it is empty or there are no ranges."""
    if not ranges:
        return None
    low, high = max(r.low for r in ranges), min(r.high for r in ranges)
    return Number((low + high) / 2.0, low, high) if low <= high else None


def agreement(ranges: Sequence[Number]) -> tuple[int, ...]:
    """The indices of the largest group of two or more ranges that intersect; empty if no two do."""
    for size in range(len(ranges), 1, -1):
        for group in itertools.combinations(range(len(ranges)), size):
            if common([ranges[i] for i in group]) is not None:
                return group
    return ()


def _consistent(document: Document, relation: Relation) -> list[_Value]:
    choices = itertools.product(*(columns(document, number) for number in relation.of))
    return max((_values(document, relation, choice) for choice in choices), key=_agreeing)


def _values(document: Document, relation: Relation, choice: Sequence[tuple[Table, str]]) -> list[_Value]:
    values = []
    for number, (score_table, score_column) in zip(relation.tables, choice, strict=True):
        table = document.table(number)
        (column,) = table.figures()
        figures, scores = numbers(document, table, column), numbers(document, score_table, score_column)
        values.append(_Value(table, column, figures, score_table, score_column, scores))
    return values


def _agreeing(values: list[_Value]) -> int:
    return sum(common([value.charge(platform) for value in values]) is not None for platform in values[0].figures)


def _charge_check(
    document: Document, values: list[_Value], platform: str, charges: list[Number], agreed: tuple[int, ...]
) -> Check:
    shared = common([charges[i] for i in agreed])
    odd = [
        f"table {value.table.number} implies {charge.value:.5g}"
        for place, (value, charge) in enumerate(zip(values, charges, strict=True))
        if place not in agreed
    ]
    scores = ", ".join(f"{v.score_table.number} {label(document, v.score_column)}" for v in values)
    return Check(
        document.name, ", ".join(v.table.number for v in values), ", ".join(v.table.page for v in values),
        platform, "charge", f"charge behind {scores}", "",
        shared.value if shared else None, shared.low if shared else None, shared.high if shared else None,
        _CHARGE_UNIT, None, Verdict.of(not odd), "; ".join(odd),
    )  # fmt: skip


def _value_checks(
    document: Document, value: _Value, platform: str, charge: Number, medians_of: Mapping[tuple[str, str], str]
) -> Iterator[Check]:
    text = printed(document, value.table, value.column)[platform]
    score = f"{value.score_table.number} {label(document, value.score_column)}"
    yield check_figure(
        document.name, value.table, platform, label(document, value.column), f"{score} / charge",
        text, value.scores[platform].over(charge), value.table.unit,
    )  # fmt: skip
    source = medians_of.get((value.score_table.number, value.score_column))
    if source is not None:
        middle = along(median, sessions(document, document.table(source))[platform])
        yield check_figure(
            document.name, value.table, platform, label(document, value.column), f"median of table {source} / charge",
            text, middle.over(charge), value.table.unit,
        )  # fmt: skip
