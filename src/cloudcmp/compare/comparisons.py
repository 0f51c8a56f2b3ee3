"""Every pair of candidates in every cell: effects with intervals, p values of the whole family, verdicts."""

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
"""The mark of every comparison of a table that does not say which rows came from one launch."""
Bars = Mapping[tuple[str, int], Clause | None]


def compare(
    plan: Plan,
    estimates: Sequence[Estimate],
    metrics: Mapping[str, Metric],
    facts: Facts,
    *,
    replication_known: bool = True,
) -> tuple[PairTable, tuple[Winner, ...]]:
    """Set every pair of candidates against each other in every cell, by cell as in `estimates`; and who wins each cell.

    Give all estimates of a study, always: the family of the verdicts is every pair in every deciding cell that the plan
    gives to both (see `deciding`, `adjusted`), whatever is shown of it later. `facts` holds for each candidate's index
    what `comparability` looks at. Without `replication_known` (a table that does not tell launches apart) every
    comparison is marked so.
    `detectable` is on the scale of `effect` (a ratio above 1, or a difference), two-sided at 0.05 / family size.
    A comparison says nothing of launches outside the rounds that were measured.
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
        asked = sum(int(one.asked.sum()) for one in some.values())
        tables |= _answered(some, asked, decides)
        family += asked if decides else 0
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


def _answered(questions: Mapping[str, Question], family: int, decides: bool) -> dict[str, CellTable]:
    """The tables of the cells that decide, or of those that do not: one family of `family` questions."""
    asked = [one.p[one.asked] for one in questions.values()]
    corrected = adjusted(np.concatenate([*asked, np.empty(0)]), decides)
    tables, first = {}, 0
    for text, one in questions.items():
        p = np.full(one.asked.shape, np.nan)
        count = int(one.asked.sum())
        p[one.asked] = corrected[first : first + count]
        first += count
        tables[text] = _table(text, one, p, family)
    return tables


def _table(text: str, one: Question, p_adjusted: Floats, family: int) -> CellTable:
    codes = np.zeros(one.asked.shape, dtype=np.int8)
    if one.decides:
        codes = verdicts_of(one.figures, one.metric, one.margin, p_adjusted)
        codes[one.barred | ~one.asked] = CODES.index(Verdict.CANNOT_TELL)
    return CellTable(text, one.decides, one, p_adjusted, codes, family, np.ones(len(one.candidates), dtype=np.bool_))
