"""A market as one question sees it: the numbers that decide, and who meets the needs by them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.attributes import BURSTABLE
from cloudcmp.answer.choice.chances import point_score
from cloudcmp.answer.choice.lookup import column_of, numbers_of
from cloudcmp.answer.choice.needs import Met, Need, bound_need, met
from cloudcmp.answer.choice.objective import Objective
from cloudcmp.model.market import COST, Market, Numbers, Texts
from cloudcmp.model.recommendation import Pick


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A market seen by one question: its numbers that decide, and which offerings meet the needs by their values.

    `score` is the logarithm of the objective, more is better. `burstable` is true where it is known to be.
    """

    market: Market
    objective: Objective
    needs: tuple[Need, ...]
    columns: Mapping[str, Numbers]
    met: tuple[Met, ...]
    score: NDArray[np.float64]
    burstable: NDArray[np.bool_]

    @property
    def meeting(self) -> NDArray[np.bool_]:
        """The offerings that meet every need, and have an objective."""
        every = np.isfinite(self.score)
        for one in self.met:
            every = every & one.yes
        return every

    @property
    def certain(self) -> NDArray[np.bool_]:
        """The offerings that meet every need on facts and prices, and have an objective."""
        every = np.isfinite(self.score)
        for one in self.met:
            if not self.is_measured(one.need):
                every = every & one.yes
        return every

    @property
    def doubts(self) -> tuple[Need, ...]:
        """The needs on measurements, which are uncertain."""
        return tuple(one for one in self.needs if self.is_measured(one))

    def is_measured(self, need: Need) -> bool:
        """True if the column of a need was measured, and is no advertised fact or price."""
        column = self.columns.get(need.name)
        return column is not None and column.is_measured


def field_of(market: Market, objective: Objective, needs: Sequence[Need]) -> Field:
    """Return the field of a question.

    Raises UserMistake for a name that no column has, and for a need that does not fit its column.
    """
    where = "--maximise" if objective.most else "--minimise"
    factors = [(numbers_of(market, name, where), power) for name, power in objective.factors]
    objective = replace(objective, factors=tuple((one.name, power) for one, power in factors))
    bound = tuple(bound_need(one, market) for one in needs)
    columns = {one.name: one for one, _ in factors}
    for need in bound:
        column = column_of(market, need.name, "--require")
        if isinstance(column, Numbers):
            columns.setdefault(column.name, column)
    price = market.columns.get(COST)
    if isinstance(price, Numbers):
        columns.setdefault(COST, price)
    burst = market.columns[BURSTABLE]
    words = burst.value if isinstance(burst, Texts) else ()
    return Field(
        market, objective, bound, columns, tuple(met(one, market) for one in bound),
        point_score(objective, columns), np.array([one == "yes" for one in words], np.bool_),
    )  # fmt: skip


def pick_of(field: Field, row: int) -> Pick:
    """One offering, without chances."""
    columns = list(field.columns.values())
    days = [one.day[row] for one in columns if one.is_measured and one.day is not None and not math.isnan(one.day[row])]
    launches = [_launches(one, row) for one in columns if one.is_measured]
    score = float(field.score[row])
    burst = field.market.columns[BURSTABLE]
    word = burst.value[row] if isinstance(burst, Texts) else ""
    return Pick(
        key=field.market.keys[row],
        values=tuple(_known(float(one.value[row])) for one in columns),
        objective=math.exp(score if field.objective.most else -score) if math.isfinite(score) else math.nan,
        burstable={"yes": True, "no": False}.get(word),
        elsewhere=any(one.elsewhere is not None and bool(one.elsewhere[row]) for one in columns),
        day=date.fromordinal(int(min(days))) if days else None,
        price_day=_price_day(field, row),
        launches=min(launches, default=1),
    )


def _price_day(field: Field, row: int) -> date | None:
    price = field.columns.get(COST)
    if price is None or price.day is None or math.isnan(price.day[row]):
        return None
    return date.fromordinal(int(price.day[row]))


def _launches(column: Numbers, row: int) -> int:
    return 1 if column.launches is None else int(np.isfinite(column.launches[row]).sum())


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def slack(field: Field, need: Need, row: int) -> float:
    """By which share of its limit an offering's number is on the good side of a need; negative if it misses it."""
    value, limit = float(field.columns[need.name].value[row]), need.number or 0.0
    gap = value - limit if need.is_least else limit - value
    return gap / abs(limit) if limit else gap
