"""Comparisons of every pair of candidates in every cell: effects, intervals, p values of the family, verdicts."""

from collections.abc import Mapping, Sequence

import numpy as np

from cloudcmp.compare.comparability import Facts, Likeness, trial_params
from cloudcmp.compare.pairing import Rounds, figures_of, launches_of
from cloudcmp.compare.table import CellTable, PairTable, Question
from cloudcmp.compare.verdict import CODES, adjusted, bars_of, deciding, verdicts_of
from cloudcmp.compare.winners import winner_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Clause, Estimate, Verdict, Winner
from cloudcmp.stats.check import Floats

REPLICATION_UNKNOWN = "replication unknown"
"""Marks every comparison of a table that does not say which rows came from one launch."""
Bars = Mapping[tuple[str, int], Clause | None]


def compare(
    plan: Plan,
    estimates: Sequence[Estimate],
    metrics: Mapping[str, Metric],
    facts: Facts,
    *,
    replication_known: bool = True,
) -> tuple[PairTable, tuple[Winner, ...]]:
    """Compare every pair of candidates in every cell; returns the comparisons, and the winners of each cell.

    Cells are in the order of `estimates`. Always pass all estimates of a study: the family of the verdicts is every
    pair in every deciding cell that the plan gives to both (see `deciding`, `adjusted`), whatever is shown later.
    `facts` holds, for each candidate's index, the facts that `comparability` compares. Without `replication_known` (a
    table that does not distinguish launches) every comparison is marked.

    `detectable` is on the scale of `effect` (a ratio above 1, or a difference), two-sided at 0.05 / family size. A
    comparison does not cover launches outside the measured rounds.
    """
    bars = bars_of(plan, estimates)
    by_cell: dict[str, list[Estimate]] = {}
    for one in estimates:
        by_cell.setdefault(one.cell, []).append(one)
    notes = () if replication_known else (REPLICATION_UNKNOWN,)
    questions = _questions(plan, by_cell, metrics, facts, bars, notes)
    tables: dict[str, CellTable] = {}
    family = 0
    for decides in (True, False):
        some = {text: one for text, one in questions.items() if one.decides is decides}
        size = sum(int(one.in_family.sum()) for one in some.values())
        tables |= _tables(some, size, decides)
        family += size if decides else 0
    table = PairTable({text: tables[text] for text in questions}, family, replication_known)
    winners = tuple(
        winner_of(plan, text, metrics[Cell.parse(text).metric], some, table.of(text), bars)
        for text, some in by_cell.items()
    )
    return table, winners


def _questions(
    plan: Plan, by_cell: Mapping[str, list[Estimate]], metrics: Mapping[str, Metric], facts: Facts, bars: Bars,
    notes: tuple[str, ...],
) -> dict[str, Question]:  # fmt: skip
    margins, params, rounds = deciding(plan, by_cell), trial_params(plan), Rounds()
    questions = {}
    for text, unordered in by_cell.items():
        some = sorted(unordered, key=lambda one: one.candidate)
        cell = Cell.parse(text)
        metric, candidates = metrics[cell.metric], tuple(one.candidate for one in some)
        launches = launches_of(some, metric.signed, rounds)
        questions[text] = Question.of(
            cell, metric, text in margins, margins.get(text), candidates, tuple(bars[text, at] for at in candidates),
            np.array([one.offered for one in some], dtype=np.bool_),
            Likeness.of(plan, cell, candidates, facts, params), notes, launches, figures_of(launches),
        )  # fmt: skip
    return questions


def _tables(questions: Mapping[str, Question], family: int, decides: bool) -> dict[str, CellTable]:
    """Return the tables of the deciding cells, or of the others, corrected as one family of `family` questions."""
    p_values = [one.p[one.in_family] for one in questions.values()]
    corrected = adjusted(np.concatenate([*p_values, np.empty(0)]), decides)
    tables, first = {}, 0
    for text, one in questions.items():
        p = np.full(one.in_family.shape, np.nan)
        count = int(one.in_family.sum())
        p[one.in_family] = corrected[first : first + count]
        first += count
        tables[text] = _table(text, one, p, family)
    return tables


def _table(text: str, one: Question, p_adjusted: Floats, family: int) -> CellTable:
    codes = np.zeros(one.in_family.shape, dtype=np.int8)
    if one.decides:
        codes = verdicts_of(one.figures, one.metric, one.margin, p_adjusted)
        codes[one.barred | ~one.in_family] = CODES.index(Verdict.CANNOT_TELL)
    return CellTable(text, one.decides, one, p_adjusted, codes, family, np.ones(len(one.candidates), dtype=np.bool_))
