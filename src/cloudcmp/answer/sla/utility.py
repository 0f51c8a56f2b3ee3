"""The offering of most utility within a budget, over measured candidates, and what would change the choice."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.chances import DRAWS, drawn_values
from cloudcmp.answer.choice.lookup import better_of, numbers_of
from cloudcmp.answer.choice.needs import Met, Need, Op, bound_need, met, number_of, parse_need
from cloudcmp.answer.sla.curves import menasce_ngo, sigmoid
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey
from cloudcmp.model.metric import Better
from cloudcmp.model.result import Bounds
from cloudcmp.model.utility import (
    BudgetStep,
    Curve,
    UtilityAnswer,
    UtilityOption,
    UtilityQuestion,
    UtilityTerm,
    WeightRange,
)

Floats = NDArray[np.float64]

WHERE = "--utility"


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """A term with its column, and the midpoint in the unit of the column."""

    term: UtilityTerm
    column: Numbers
    midpoint: float

    def utility(self, values: Floats) -> Floats:
        """The weighted utility of values, shape as `values`."""
        if self.term.curve is Curve.SIGMOID:
            falls = _direction(self.term, self.column) is Better.LOWER
            return self.term.weight * sigmoid(values, self.midpoint, self.term.slope, falls=falls)
        return self.term.weight * menasce_ngo(values, self.term.curve, self.term.scale)


def most_useful(question: UtilityQuestion, market: Market) -> UtilityAnswer:
    """The offering of most utility within the budget that meets every need by its values.

    Its uncertainty is that of the launches: utilities of plausible true values, drawn together for all offerings. An
    offering with an unknown value of a term or, under a budget, an unknown price is left out.

    Raises UserMistake for a column that no source has, a midpoint of another unit, a budget in another currency.
    """
    terms = [_bound(one, market) for one in question.terms]
    budget = _budget(question, market)
    needs = [met(bound_need(parse_need(text), market), market) for text in question.require]
    values = np.stack([one.column.value for one in terms], axis=1)
    known = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
    cost = _costs(market)
    if budget is not None:
        known = known & np.isfinite(cost)
    left = tuple(_left_out(terms, market, known, values))
    rows = _rows(known, terms)
    parts = np.stack([one.utility(values[rows, at]) for at, one in enumerate(terms)], axis=1)
    drawn = sum(one.utility(drawn_values(one.column, rows, None, 1 + at)) for at, one in enumerate(terms))
    assert isinstance(drawn, np.ndarray)  # there is a term
    sure = [at for at, one in enumerate(terms) if one.column.launches is not None]
    within = np.ones(len(rows), np.bool_) if budget is None else cost[rows] <= budget
    meets = np.array([[one.yes[row] for one in needs] for row in rows], np.bool_).reshape(len(rows), len(needs))
    possible = within & meets.all(axis=1)
    best = _chances(drawn, possible) if sure else None
    options = tuple(
        _option(market, int(row), at, parts, values, drawn if sure else None, cost, within, needs, best)
        for at, row in enumerate(rows)
    )
    order = sorted(range(len(rows)), key=lambda at: (not possible[at], -options[at].utility, str(options[at].key)))
    ranked = tuple(options[at] for at in order)
    choice = ranked[0] if possible[order[0]] else None
    usable = [one for one, at in zip(ranked, order, strict=True) if possible[at]]
    return UtilityAnswer(
        question.terms, tuple(one.column.unit for one in terms), question.budget, market.currency, choice, ranked,
        tuple(_weight_ranges(question.terms, usable)) if len(question.terms) > 1 and usable else (),
        tuple(_steps([options[at] for at in range(len(rows)) if meets[at].all()])),
        left, bool(market.simulated & {one.key for one in options}), market.notes,
    )  # fmt: skip


def _rows(known: NDArray[np.bool_], terms: Sequence[_Term]) -> NDArray[np.int64]:
    """The offerings whose values are known; raises UserMistake if there is none."""
    rows = np.flatnonzero(known)
    if not len(rows):
        what = f"no offering has a value of {', '.join(one.column.name for one in terms)}"
        raise UserMistake.at(WHERE, what, "name sources that measured them")
    return rows


def _bound(term: UtilityTerm, market: Market) -> _Term:
    column = numbers_of(market, term.of, WHERE)
    if term.curve is not Curve.SIGMOID:
        return _Term(term, column, 0.0)
    if _direction(term, column) is None:
        what = f"nobody knows whether more of {column.name!r} is better"
        raise UserMistake.at(WHERE, what, f"write 'better: higher' or 'better: lower' in {term.name}")
    midpoint = number_of(Need(f"midpoint: {term.midpoint}", term.of, Op.IS, (term.midpoint,)), column, WHERE)
    if not midpoint > 0:
        raise UserMistake.at(
            WHERE, f"the midpoint {term.midpoint!r} of {term.name} is not above zero", "write e.g. 2 ms"
        )
    return _Term(term, column, midpoint)


def _direction(term: UtilityTerm, column: Numbers) -> Better | None:
    return better_of(column) or term.better


def _budget(question: UtilityQuestion, market: Market) -> float | None:
    if question.budget is None:
        return None
    if market.currency and question.budget.currency != market.currency:
        what = f"the budget is in {question.budget.currency} and the prices are in {market.currency}"
        raise UserMistake.at(WHERE, what, f"write it in {market.currency}")
    if COST not in market.columns:
        raise UserMistake.at(WHERE, "there is a budget, and no source has a price", "leave it out, or add `prices`")
    return float(question.budget.amount)


def _costs(market: Market) -> Floats:
    column = market.columns.get(COST)
    return column.value if isinstance(column, Numbers) else np.full(len(market.keys), np.nan)


def _left_out(
    terms: Sequence[_Term], market: Market, known: NDArray[np.bool_], values: Floats
) -> Iterator[tuple[OfferKey, str]]:
    for row in np.flatnonzero(~known):
        lacking = [one.column.name for at, one in enumerate(terms) if not math.isfinite(values[row, at])]
        yield market.keys[row], ", ".join(lacking) or COST


def _chances(drawn: Floats, possible: NDArray[np.bool_]) -> Floats:
    """For each offering the share of draws in which it has most utility of those that are possible."""
    chances = np.zeros(len(drawn))
    if possible.any():
        first = np.where(possible[:, None], drawn, -np.inf).argmax(axis=0)
        np.add.at(chances, first, 1.0 / DRAWS)
    return chances


def _option(
    market: Market, row: int, at: int, parts: Floats, values: Floats, drawn: Floats | None, cost: Floats,
    within: NDArray[np.bool_], needs: Sequence[Met], best: Floats | None,
) -> UtilityOption:  # fmt: skip
    unknown = any(bool(one.unknown[row]) for one in needs)
    bounds = None
    if drawn is not None:
        low, high = np.quantile(drawn[at], (0.025, 0.975)).tolist()
        bounds = Bounds(low, high)
    return UtilityOption(
        market.keys[row], float(parts[at].sum()), bounds, tuple(parts[at].tolist()), tuple(values[row].tolist()),
        float(cost[row]) if math.isfinite(cost[row]) else None, bool(within[at]),
        None if unknown else all(bool(one.yes[row]) for one in needs),
        None if best is None or not within[at] else float(best[at]),
    )  # fmt: skip


def _weight_ranges(terms: Sequence[UtilityTerm], usable: Sequence[UtilityOption]) -> Iterator[WeightRange]:
    """For each term the weights between which the first of the usable options stays first.

    With weight w of the term and the others in proportion, an option's utility is w u + (1 - w) r: a line in w, so two
    options change places at most once.
    """
    first = usable[0]
    for at, term in enumerate(terms):
        low, high, below, above = 0.0, 1.0, None, None
        u, r = _line(first, at, term.weight)
        for one in usable[1:]:
            other_u, other_r = _line(one, at, term.weight)
            slope = (u - r) - (other_u - other_r)
            if slope == 0.0:
                continue
            meeting = (other_r - r) / slope
            if term.weight <= meeting < high:
                high, above = meeting, one.key
            elif low < meeting < term.weight:
                low, below = meeting, one.key
        yield WeightRange(term.name, term.weight, low, high, below, above)


def _line(one: UtilityOption, at: int, weight: float) -> tuple[float, float]:
    """The unweighted utility of a term, and that of the others by their own weights."""
    rest = one.utility - one.parts[at]
    return one.parts[at] / weight, rest / (1.0 - weight) if weight < 1.0 else 0.0


def _steps(options: Sequence[UtilityOption]) -> Iterator[BudgetStep]:
    """The best offering at each budget, from the least price upwards."""
    last: BudgetStep | None = None
    priced = [(one.cost, one) for one in options if one.cost is not None]
    for cost, one in sorted(priced, key=lambda pair: (pair[0], -pair[1].utility)):
        if last is None or one.utility > last.utility:
            per_point = None if last is None else (cost - last.budget) / (one.utility - last.utility) / 100
            last = BudgetStep(cost, one.key, one.utility, per_point)
            yield last
