"""The statistics behind a document's tables, recomputed: one function for each kind of relation, one table of kinds."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from cloudcmp.analysis.published.number import (
    Number,
    along,
    cov_of,
    pooled_median_bounds,
    read,
    rounding,
    welch_p_of,
)
from cloudcmp.analysis.published.prices import price_performance
from cloudcmp.analysis.published.reading import cov_row, label, numbers, printed, row_label, sessions
from cloudcmp.analysis.published.verdict import Check, Verdict, check_figure
from cloudcmp.published import Document, Relation, Table
from cloudcmp.stats.describe import geometric_mean, median

Checks = Iterator[Check]


def medians(document: Document, relation: Relation) -> Checks:
    """The median of a platform's session values, all of which are printed."""
    table, source = document.table(relation.into), document.table(relation.of[0])
    inputs = sessions(document, source)
    for row, text in printed(document, table, relation.column).items():
        found, what = along(median, inputs[row]), f"median of table {source.number}"
        yield check_figure(document.name, table, row, label(document, relation.column), what, text, found, table.unit)


def pooled_medians(document: Document, relation: Relation) -> Checks:
    """The median over single values of which only the medians by session are printed: refuted at most."""
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
            found = cov_of(inputs[platform]).times(100.0)
            yield check_figure(document.name, table, "CoV", platform, "sd / mean of its sessions", text, found, "%")


def welch_tests(document: Document, relation: Relation) -> Checks:
    """Welch's two-sided p value (Excel's TTEST, tails 2, type 3) of two platforms' session values."""
    table, source = document.table(relation.into), document.table(relation.of[0])
    inputs = sessions(document, source)
    for row, text in printed(document, table, relation.column).items():
        first, second = row.split("/")
        found = welch_p_of(inputs[first], inputs[second])
        what = f"Welch's t on table {source.number}"
        yield check_figure(document.name, table, row, label(document, relation.column), what, text, found, table.unit)


def unixbench_index(document: Document, relation: Relation) -> Checks:
    """Each index is 10 result / baseline, the score their geometric mean; baselines are constants of the suite."""
    for table in map(document.table, relation.tables):
        results, baselines = numbers(document, table, "RESULT"), numbers(document, table, "BASELINE")
        index = printed(document, table, "INDEX")
        for row, result in results.items():
            found = result.times(10.0 / baselines[row].value)
            yield check_figure(document.name, table, row, "index", "10 result / baseline", index[row], found, "index")
        tests = [number for row, number in numbers(document, table, "INDEX").items() if row in results]
        for row in index.keys() - results.keys():
            found = along(geometric_mean, tests)
            what = f"geometric mean of {len(tests)} indices"
            yield check_figure(document.name, table, row, "index", what, index[row], found, "index")


def means_of_runs(document: Document, relation: Relation) -> Checks:
    """Whether values can be means of `count` scores with one decimal, as UnixBench prints them.

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
    """Columns, and rows of one table, that repeat another to the last digit: not the measurements that they are called.

    Only repeats are yielded, each against the first that it repeats; which of the two is the copy is not known.
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
    """Every column of the relation's tables that repeats one before it, with the first that it repeats."""
    seen: list[tuple[Table, str, tuple[str, ...]]] = []
    for table in map(document.table, relation.tables):
        for column in table.figures():
            cells = tuple(table.column(column).values())
            first = next((other for other in seen if repeats(cells, other[2])), None)
            if first is None:
                seen.append((table, column, cells))
            else:
                yield RepeatedColumn(table, column, first[0], first[1], sum(map(bool, cells)))


def repeats(cells: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether two columns of equal length agree in all cells that both print, at least four of them."""
    if len(cells) != len(others):
        return False
    both = [(a, b) for a, b in zip(cells, others, strict=True) if a and b]
    return len(both) >= 4 and all(a == b for a, b in both)


def _repeat(document: Document, table: Table, row: str, column: str, what: str, count: int) -> Check:
    return Check(
        document.name, table.number, table.page, row, column, what, f"{count} figures",
        None, None, None, table.unit, None, Verdict.DOES_NOT_FOLLOW, "which of the two is the copy is not printed",
    )  # fmt: skip


def price_checks(document: Document, relation: Relation) -> Checks:
    """The hourly charges that the values imply, and each value from its score and the charge that the others imply."""
    medians_of = {(r.into, r.column): r.of[0] for r in document.relations if r.kind == "median"}
    return price_performance(document, relation, medians_of)


KINDS: dict[str, Callable[[Document, Relation], Checks]] = {
    "mean_of_runs": means_of_runs,
    "median": medians,
    "pooled_median": pooled_medians,
    "cov": covs,
    "price_performance": price_checks,
    "unixbench_index": unixbench_index,
    "welch": welch_tests,
    "not_printed": not_printed,
    "distinct": distinct,
}
