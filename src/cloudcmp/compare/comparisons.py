"""Comparisons of every pair of candidates in every cell: effects, intervals, p values of the family, verdicts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloudcmp.compare.best import asks_for_the_best, best_codes, one_sided, questions_of
from cloudcmp.compare.comparability import Facts, Likeness, trial_params
from cloudcmp.compare.looks import looks_of, share_of, spent, until
from cloudcmp.compare.pairing import Launches, Rounds, figures_of, launches_of
from cloudcmp.compare.question import Question, Times
from cloudcmp.compare.table import CellTable, PairTable
from cloudcmp.compare.verdict import ALPHA, CODES, adjusted, bars_of, deciding, same_limit, sameness, verdicts_of
from cloudcmp.compare.winners import winner_of
from cloudcmp.cost import price_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Basis, Clause, Estimate, Verdict, Winner
from cloudcmp.stats.check import Floats

REPLICATION_UNKNOWN = "replication unknown"
"""Marks every comparison of a table that does not say which rows came from one launch."""
Bars = Mapping[tuple[str, int], Clause | None]
Marks = Mapping[tuple[str, int], tuple[str, ...]]
"""For a cell and a candidate, what a reader must know of its values beside any verdict."""
Spans = Mapping[tuple[str, int], tuple[float, float]]
"""For a cell and a candidate, the Unix times (s) of its first and its last measurement."""


_UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of candidates beside their values."""

    bars: Bars
    notes: tuple[str, ...]
    marks: Marks
    spans: Spans
    blocks_allowed: bool
    studies: Sequence[int]


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparisons and winners of a study by performance, and by work for money where prices are known."""

    pairs: PairTable
    winners: tuple[Winner, ...]
    money: PairTable
    money_winners: tuple[Winner, ...]


def compare(
    plan: Plan,
    estimates: Sequence[Estimate],
    metrics: Mapping[str, Metric],
    facts: Facts,
    *,
    replication_known: bool = True,
    marks: Marks | None = None,
    spans: Spans | None = None,
    blocks_allowed: bool = False,
    all_pairs: bool = False,
    studies: Sequence[int] | None = None,
) -> Compared:
    """Compare every pair of candidates in every cell, by performance and by work for money.

    Cells are in the order of `estimates`. Always pass all estimates of a study: the family of the verdicts is every
    pair in every deciding cell that the plan gives to both (see `deciding`, `adjusted`), and once more for money where
    both prices are known in one currency, whatever is shown later. `facts` holds, for each candidate's index, the facts
    that `comparability` compares. Without `replication_known` (a table that does not distinguish launches) every
    comparison is marked; `marks` are further ones. `spans` are known times of measurement: a pair with separate ones is
    marked, and without rounds barred from a verdict, unless `blocks_allowed`. `studies` has the number of each
    candidate's study, if the plan joins several: rounds pair only candidates of one study. With more than five
    candidates the questions of the deciding cells are which candidates may be the best (see `best_codes`), unless
    `all_pairs`.

    Work for money is the rate divided by the hourly price, for finishing times 1 / (time x price): a known price shifts
    the logarithms and adds no spread. `detectable` is on the scale of `effect` (a ratio above 1, or a difference),
    two-sided at 0.05 / family size. A comparison does not cover launches outside the measured rounds.
    """
    bars = bars_of(plan, estimates)
    by_cell: dict[str, list[Estimate]] = {}
    for one in estimates:
        by_cell.setdefault(one.cell, []).append(one)
    notes = () if replication_known else (REPLICATION_UNKNOWN,)
    of_study = studies if studies is not None else (0,) * len(plan.candidates)
    known = _Known(bars, notes, marks or {}, spans or {}, blocks_allowed, of_study)
    questions = _questions(plan, by_cell, metrics, facts, known)
    deciding_ones = {key: one for key, one in questions.items() if one.decides}
    others = {key: one for key, one in questions.items() if not one.decides}
    if asks_for_the_best(plan) and not all_pairs:
        family, alpha = sum(map(questions_of, deciding_ones.values())), 2.0 * ALPHA
        tables = _tables_of_the_best(plan, deciding_ones, family, deciding(plan, by_cell))
    else:
        family, alpha = sum(int(one.in_family.sum()) for one in deciding_ones.values()), ALPHA
        tables = _tables(plan, deciding_ones, family, decides=True)
    tables |= _tables(plan, others, sum(int(one.in_family.sum()) for one in others.values()), decides=False)
    pairs, money = (
        PairTable({text: tables[text, of] for text, of in questions if of is basis}, family, replication_known, alpha)
        for basis in (Basis.PERFORMANCE, Basis.MONEY)
    )
    winners = tuple(
        winner_of(plan, text, questions[text, Basis.PERFORMANCE].metric, some, pairs.of(text), bars)
        for text, some in by_cell.items()
    )
    money_winners = tuple(
        winner_of(plan, text, questions[text, Basis.MONEY].metric, per_money(plan, metrics, by_cell[text]),
                  money.of(text), bars, Basis.MONEY)
        for text in money.cells
    )  # fmt: skip
    return Compared(pairs, winners, money, money_winners)


def per_money(plan: Plan, metrics: Mapping[str, Metric], estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """Return the estimates of priced candidates in one cell, with their median as work for one unit of money."""
    found = []
    for one in estimates:
        price, metric = price_of(plan.candidates[one.candidate]), metrics[Cell.parse(one.cell).metric]
        if price is not None:
            work = one.median and (1.0 / one.median if metric.better is Better.LOWER else one.median)
            found.append(replace(one, median=work and work / float(price.amount)))
    return tuple(found)


def _questions(
    plan: Plan, by_cell: Mapping[str, list[Estimate]], metrics: Mapping[str, Metric], facts: Facts, known: _Known
) -> dict[tuple[str, Basis], Question]:
    margins, params = deciding(plan, by_cell), trial_params(plan)
    rounds = Rounds((one.session, one.round) for one in plan.launches if plan.stop is not None)
    seen, log_prices = looks_of(plan), log_prices_of(plan)
    questions = {}
    for text, unordered in by_cell.items():
        some = sorted(unordered, key=lambda one: one.candidate)
        cell = Cell.parse(text)
        metric = metrics[cell.metric]
        candidates = tuple(one.candidate for one in some)
        studies = [known.studies[at] for at in candidates]
        looks = [launches_of([until(one, keys) for one in some], metric.signed, rounds, studies) for keys in seen]
        likeness = Likeness.of(plan, cell, candidates, facts, params)
        bases = [(Basis.PERFORMANCE, metric, list(range(len(some))), looks)]
        priced = [at for at, one in enumerate(candidates) if one in log_prices]
        if text in margins and len(priced) > 1 and metric.is_work:
            sign = -1.0 if metric.better is Better.LOWER else 1.0
            prices = np.array([log_prices[candidates[at]] for at in priced])
            shifted = [one.among(priced).per_money(prices, sign) for one in looks]
            bases.append((Basis.MONEY, replace(metric, better=Better.HIGHER), priced, shifted))
        for basis, measured, places, launches in bases:
            questions[text, basis] = _question(
                plan, cell, basis, measured, margins.get(text), text in margins, [some[at] for at in places],
                known, likeness.among(places), launches,
            )  # fmt: skip
    return questions


def _question(
    plan: Plan, cell: Cell, basis: Basis, metric: Metric, margin: float | None, decides: bool, some: list[Estimate],
    known: _Known, likeness: Likeness, looks: Sequence[Launches],
) -> Question:  # fmt: skip
    text, candidates = str(cell), tuple(one.candidate for one in some)
    first, last = np.array([known.spans.get((text, at), _UNKNOWN) for at in candidates]).T
    times = Times(first, last, known.blocks_allowed)
    limit = same_limit(metric, margin)
    figures = [figures_of(one, every_look=plan.stop is not None, limit=limit) for one in looks]
    same = [sameness(one, metric, margin) for one in figures]
    bars = tuple(known.bars[text, at] for at in candidates)
    own_marks = tuple(known.marks.get((text, at), ()) for at in candidates)
    offered = np.array([one.offered for one in some], dtype=np.bool_)
    return Question.of(
        cell, basis, metric, decides, candidates, bars, own_marks, offered, likeness, known.notes, looks[-1],
        figures[-1], spent(plan, figures, [one.p for one in figures]), spent(plan, figures, same), times,
    )  # fmt: skip


def log_prices_of(plan: Plan) -> dict[int, float]:
    """Return the logarithm of each known hourly price; empty if they are in several currencies."""
    prices = {one.index: price for one in plan.candidates if not one.service and (price := price_of(one)) is not None}
    if len({price.currency for price in prices.values()}) > 1:
        return {}
    return {at: math.log(price.amount) for at, price in prices.items()}


def _tables(
    plan: Plan, questions: Mapping[tuple[str, Basis], Question], family: int, decides: bool
) -> dict[tuple[str, Basis], CellTable]:
    """Return the tables of the deciding cells, or of the others, corrected as one family of `family` questions."""
    level = ALPHA * (share_of(plan, len(plan.looks)) if decides else 1.0) / max(1, family)
    p_adjusted = _corrected(questions, [one.p for one in questions.values()], decides)
    p_same = _corrected(questions, [one.p_same for one in questions.values()], decides)
    return {key: _table(one, p_adjusted[key], p_same[key], level) for key, one in questions.items()}


def _tables_of_the_best(
    plan: Plan, questions: Mapping[tuple[str, Basis], Question], family: int, margins: Mapping[str, float | None]
) -> dict[tuple[str, Basis], CellTable]:
    """Return the tables of the deciding cells of many candidates, for a family of `family` one-sided questions."""
    level = ALPHA * share_of(plan, len(plan.looks)) / max(1, family)
    tables = {}
    for key, one in questions.items():
        p_adjusted = one_sided(one, family)
        codes = best_codes(one, p_adjusted, margins.get(key[0]), level)
        unknown, present = np.full(p_adjusted.shape, np.nan), np.ones(len(one.candidates), dtype=np.bool_)
        tables[key] = CellTable(key[0], True, one, p_adjusted, unknown, codes, 2.0 * level, present)
    return tables


def _corrected(
    questions: Mapping[tuple[str, Basis], Question], p_values: Sequence[Floats], decides: bool
) -> dict[tuple[str, Basis], Floats]:
    """Return p values that are corrected as one family, for each pair of each question; NaN outside the family."""
    members = [p[one.in_family] for p, one in zip(p_values, questions.values(), strict=True)]
    corrected = adjusted(np.concatenate([*members, np.empty(0)]), decides)
    found, first = {}, 0
    for key, one in questions.items():
        count = int(one.in_family.sum())
        found[key] = np.full(one.in_family.shape, np.nan)
        found[key][one.in_family] = corrected[first : first + count]
        first += count
    return found


def _table(one: Question, p_adjusted: Floats, p_same: Floats, level: float) -> CellTable:
    codes = np.zeros(one.in_family.shape, dtype=np.int8)
    if one.decides:
        codes = verdicts_of(one.figures, one.metric, p_adjusted, p_same)
        codes[one.barred | ~one.in_family] = CODES.index(Verdict.CANNOT_TELL)
    present = np.ones(len(one.candidates), dtype=np.bool_)
    return CellTable(str(one.cell), one.decides, one, p_adjusted, p_same, codes, level, present)
