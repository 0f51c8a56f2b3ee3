"""Values of price-performance without printed prices: the charges that they imply, held against one another."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.analysis.published.number import Number, along
from cloudcmp.analysis.published.reading import columns, label, numbers, printed, sessions
from cloudcmp.analysis.published.verdict import Check, Verdict, check_figure
from cloudcmp.published import Document, Relation, Table
from cloudcmp.stats.describe import median

_CHARGE_UNIT = "per hour, currency not printed"


@dataclass(frozen=True, slots=True)
class _Value:
    """One table of values: its figures and those of the score that was divided, by platform."""

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
    column where its median can be recomputed. Which score column was divided is found: the choice under which the most
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
    """What all ranges share, its middle as the value; None when they share nothing or there are none."""
    if not ranges:
        return None
    low, high = max(r.low for r in ranges), min(r.high for r in ranges)
    return Number((low + high) / 2.0, low, high) if low <= high else None


def agreement(ranges: Sequence[Number]) -> tuple[int, ...]:
    """The places of the largest group of two or more ranges that share something; empty when no two do."""
    for size in range(len(ranges), 1, -1):
        for group in itertools.combinations(range(len(ranges)), size):
            if common([ranges[i] for i in group]) is not None:
                return group
    return ()


def _consistent(document: Document, relation: Relation) -> list[_Value]:
    choices = itertools.product(*(columns(document, number) for number in relation.of))
    return max((_values(document, relation, choice) for choice in choices), key=_agreeing)


def _values(document: Document, relation: Relation, choice: Sequence[tuple[Table, str]]) -> list[_Value]:
    found = []
    for number, (score_table, score_column) in zip(relation.tables, choice, strict=True):
        table = document.table(number)
        (column,) = table.figures()
        figures, scores = numbers(document, table, column), numbers(document, score_table, score_column)
        found.append(_Value(table, column, figures, score_table, score_column, scores))
    return found


def _agreeing(values: list[_Value]) -> int:
    return sum(common([value.charge(platform) for value in values]) is not None for platform in values[0].figures)


def _charge_check(
    document: Document, values: list[_Value], platform: str, charges: list[Number], agreed: tuple[int, ...]
) -> Check:
    found = common([charges[i] for i in agreed])
    odd = [
        f"table {value.table.number} implies {charge.value:.5g}"
        for place, (value, charge) in enumerate(zip(values, charges, strict=True))
        if place not in agreed
    ]
    scores = ", ".join(f"{v.score_table.number} {label(document, v.score_column)}" for v in values)
    return Check(
        document.name, ", ".join(v.table.number for v in values), ", ".join(v.table.page for v in values),
        platform, "charge", f"charge behind {scores}", "",
        found.value if found else None, found.low if found else None, found.high if found else None,
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
