"""Chooses the offering that meets every need at the best value of an objective, and says how sure that is."""

import difflib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.around import family, fronts_of, ladder_of, margins_of, misses_of
from cloudcmp.answer.choice.attributes import BURSTABLE
from cloudcmp.answer.choice.chances import OUT_OF_QUESTION, Chances, chances, least_chance, plausible
from cloudcmp.answer.choice.field import Field, field_of, pick_of, slack
from cloudcmp.answer.choice.known_spread import known_spreads
from cloudcmp.answer.choice.lookup import better_of
from cloudcmp.answer.choice.needs import Need, Op
from cloudcmp.answer.choice.objective import Objective
from cloudcmp.model.market import Market, Numbers, Texts, single
from cloudcmp.model.metric import Better
from cloudcmp.model.recommendation import Count, Distance, Miss, NoChoice, Pick, Recommendation, Used
from cloudcmp.model.result import Bounds

CONFIDENCE = 0.95
"""Of recommendations, at least this share meets every need."""
_SHOWN = 10
_DOUBTFUL = 3
_SEED = 1
_FEWEST = 2
_NEAREST = 6


@dataclass(frozen=True, slots=True, eq=False)
class _Ranking:
    """The offerings that could be the best, best first by their values, with their chances if a spread is known.

    `regions` are for each of them, in order, the rows of its type that share its measurements; `place` is the place of
    a row in the chances.
    """

    field: Field
    regions: Mapping[int, Sequence[int]]
    found: Chances | None
    place: Mapping[int, int]

    def meets(self, row: int) -> float | None:
        """The chance that an offering meets every need; None if no spread is known."""
        return None if self.found is None else float(self.found.meets[self.place[row]])

    def pick(self, row: int) -> Pick:
        """One offering with its chances: that of being the best is of all its regions."""
        same = self.regions[row]
        pick = replace(pick_of(self.field, row), regions=len(same))
        if self.found is None:
            return pick
        best = sum(float(self.found.best[self.place[one]]) for one in same)
        return replace(pick, meets=self.meets(row), best=best, near_best=float(self.found.near_best[self.place[row]]))

    def sure(self, confidence: float) -> Iterator[int]:
        """Yield the offerings that meet every need surely enough; by their values if no spread is known.

        The best objective is asked first, and each that is in question but not sure leaves less for the next. So all
        together err no more often than allowed, however many are near a limit.
        """
        asked, meeting = 1, self.field.meeting
        for row in self.regions:
            meets = self.meets(row)
            if meets is None:
                if meeting[row]:
                    yield row
            elif meets >= least_chance(confidence, asked):
                yield row
            elif meets > OUT_OF_QUESTION:
                asked += 1

    def distance(self, chosen: int, second: int) -> Distance:
        """How far behind the choice another offering is."""
        ratio = math.exp(float(self.field.score[chosen] - self.field.score[second]))
        if self.found is None:
            return Distance(ratio, None)
        drawn = np.exp(self.found.score[self.place[chosen]] - self.found.score[self.place[second]])
        low, high = np.quantile(drawn, (0.025, 0.975))
        return Distance(ratio, Bounds(float(low), float(high)))


def recommend(
    market: Market, objective: Objective, needs: Sequence[Need], *, confidence: float = CONFIDENCE,
    spread: float | None = None, allow_burstable: bool = False,
) -> Recommendation:  # fmt: skip
    """Choose the offering with the best objective of those that meet every need.

    Of all recommendations, at least the share `confidence` really meets every need.

    `market` has the columns of `with_attributes`. `spread` is the coefficient of variation (0.05 is 5 %) of values that
    are single; without it such values are taken as they are, and chances are unknown. An offering without a fact or a
    measurement that decides is never chosen, and a burstable one only if `allow_burstable`.

    The chances are about the true mean of each measurement, not about a single machine; prices count as certain. They
    assume a flat prior: of many offerings with one value each, the best value is overstated.

    Raises UserMistake for a name that no column has, and for a need that does not fit its column.
    """
    field = field_of(market, objective, needs)
    allow_burstable |= any(one.name == BURSTABLE and one.op is Op.IS and "yes" in one.values for one in field.needs)
    eligible = np.full(len(market.keys), allow_burstable) | ~field.burstable
    burstable = ~eligible
    single = _single(field) if spread is None else np.zeros(len(market.keys), np.bool_)
    if (field.certain & eligible & ~single).any():  # beside others with launches, a single value cannot win
        eligible &= ~single
    ranking = _ranking(field, eligible, spread)
    allowed = _one_number_each(field, ranking.sure(confidence))
    chosen, second = (*allowed[:2], None, None)[:2]
    flagged, untold = _best_of(field, burstable, chosen), _best_of(field, ~eligible & ~burstable, chosen)
    doubtful = tuple(_doubtful(ranking, chosen, set(allowed), 1 - confidence))
    other = _other_family(field, allowed)
    return Recommendation(
        objective=objective.text,
        most=objective.most,
        needs=tuple(one.text for one in needs),
        used=tuple(_used(field)),
        currency=market.currency,
        offered=len(market.keys),
        meeting=int(field.meeting.sum()),
        counts=tuple(_counts(field)),
        picks=tuple(ranking.pick(at) for at in allowed[:_SHOWN]),
        no_choice=None if allowed else _why_none(field, flagged, doubtful=bool(doubtful) or untold is not None),
        distance=None if chosen is None or second is None else ranking.distance(chosen, second),
        other_family=None if other is None else ranking.pick(other),
        other_distance=None if chosen is None or other is None else ranking.distance(chosen, other),
        flagged=flagged,
        untold=untold,
        doubtful=doubtful[:_DOUBTFUL],
        misses=misses_of(field, chosen),
        margins=() if chosen is None else margins_of(field, chosen, second),
        fronts=fronts_of(field, eligible),
        ladder=() if chosen is None else ladder_of(field, chosen),
        confidence=confidence,
        spread=spread,
        simulated=bool(market.simulated),
        single=int((field.meeting & ~eligible & ~burstable).sum()),
        marks=() if chosen is None else _marks(field, chosen),
        spreads=() if chosen is None else known_spreads(field, chosen),
        notes=market.notes,
    )


def _ranking(field: Field, eligible: NDArray[np.bool_], spread: float | None) -> _Ranking:
    rows, found = _candidates(field, eligible, spread)
    place = {row: at for at, row in enumerate(rows.tolist())}
    order = sorted(place, key=lambda row: (-float(field.score[row]), field.market.keys[row]))
    return _Ranking(field, _cheapest_regions(field, order), found, place)


def _cheapest_regions(field: Field, order: Sequence[int]) -> dict[int, list[int]]:
    """The best row of each type, in order, with the rows of the type that share its measurements."""
    measured = [one for one in field.columns.values() if one.is_measured]
    first: dict[tuple[object, ...], int] = {}
    kept: dict[int, list[int]] = {}
    for row in order:
        key = field.market.keys[row]
        origins = (row if one.origin is None else int(one.origin[row]) for one in measured)
        kept.setdefault(first.setdefault((key.provider, key.name, *origins), row), []).append(row)
    return kept


def _one_number_each(field: Field, rows: Iterable[int]) -> list[int]:
    """The rows, each offering with its best number of machines only."""
    best: dict[tuple[str, str, str], int] = {}
    for row in rows:
        key = field.market.keys[row]
        best.setdefault((key.provider, key.region, single(key.name)[0]), row)
    return list(best.values())


def _other_family(field: Field, allowed: Sequence[int]) -> int | None:
    """The best offering of another family than the choice's, if the runner-up is of the same one."""
    if len(allowed) < 2 or not family(field, allowed[0]) or family(field, allowed[1]) != family(field, allowed[0]):
        return None
    return next((row for row in allowed[2:] if family(field, row) != family(field, allowed[0])), None)


def _best_of(field: Field, kind: NDArray[np.bool_], chosen: int | None) -> Pick | None:
    """The offering of a kind that meets the needs by its values and would be chosen; None without."""
    rows = np.flatnonzero(field.meeting & kind)
    if chosen is not None:
        rows = rows[field.score[rows] > field.score[chosen]]
    return pick_of(field, int(rows[np.argmax(field.score[rows])])) if len(rows) else None


def _candidates(
    field: Field, eligible: NDArray[np.bool_], spread: float | None
) -> tuple[NDArray[np.int64], Chances | None]:
    """The rows that could be the best, and their chances; None if the spread of a measurement is unknown."""
    if spread is None and _single(field)[field.certain & eligible].any():
        return np.flatnonzero(field.meeting & eligible), None
    rows = np.flatnonzero(field.certain & eligible)
    columns = {name: _rows(column, rows) for name, column in field.columns.items()}
    found = rows[plausible(field.objective, columns, field.doubts, field.meeting[rows], spread)]
    return found, chances(field.objective, field.columns, field.doubts, found, spread, _SEED)


def _rows(column: Numbers, rows: NDArray[np.int64]) -> Numbers:
    launches = None if column.launches is None else column.launches[rows]
    freedom = None if column.freedom is None else column.freedom[rows]
    return replace(column, value=column.value[rows], launches=launches, freedom=freedom, day=None, elsewhere=None)


def _single(field: Field) -> NDArray[np.bool_]:
    """The offerings of which a measurement is a single value, whose spread is unknown."""
    single = np.zeros(len(field.market.keys), np.bool_)
    for one in field.columns.values():
        if one.is_measured:
            single |= True if one.launches is None else np.isfinite(one.launches).sum(axis=1) < _FEWEST
    return single


def _marks(field: Field, row: int) -> tuple[str, ...]:
    """What a reader must know beside an offering's values, each once."""
    key = field.market.keys[row]
    texts = (text for one in field.columns.values() for text in one.marks.get(key, ()))
    return tuple(dict.fromkeys(texts))


def _doubtful(ranking: _Ranking, chosen: int | None, sure: Collection[int], least: float) -> Iterator[Miss]:
    """Yield the offerings with a better objective than the choice that may, or may not, meet the needs."""
    field = ranking.field
    for row in ranking.regions:
        if chosen is not None and field.score[row] <= field.score[chosen]:
            return
        meets = ranking.meets(row)
        if meets is not None and row not in sure and meets > least:
            need = min(field.doubts, key=lambda one: slack(field, one, row))
            yield Miss(ranking.pick(row), need.text, need.name, float(field.columns[need.name].value[row]), meets)


def _counts(field: Field) -> Iterator[Count]:
    """Yield what each need excludes, and how many offerings have no objective."""
    missed = np.sum([~one.yes for one in field.met], axis=0) if field.met else np.zeros(len(field.score), np.int64)
    has_objective = np.isfinite(field.score)
    for one in field.met:
        alone = has_objective & (missed == 1) & ~one.yes
        yield Count(one.need.text, int((~one.yes & ~one.unknown).sum()), int(one.unknown.sum()), int(alone.sum()),
                    _unnamed(field, one.need))  # fmt: skip
    for name, _ in field.objective.factors:
        value = field.columns[name].value
        unknown = ~np.isfinite(value)
        none = ~(value > 0)
        yield Count(name, int((~unknown & none).sum()), int(unknown.sum()), int((none & (missed == 0)).sum()))


def _unnamed(field: Field, need: Need) -> tuple[str, ...]:
    """The values of a column of texts, the nearest first, if a need that asks for some names none of them."""
    column = field.market.columns.get(need.name)
    if not isinstance(column, Texts) or need.op is Op.IS_NOT:
        return ()
    known = sorted({one for one in column.value if one})
    if {one.casefold() for one in known} & {one.casefold() for one in need.values}:
        return ()
    near = difflib.get_close_matches(need.values[0], known, _NEAREST, cutoff=0.0)
    return tuple([*near, *(one for one in known if one not in near)][:_NEAREST])


def _used(field: Field) -> Iterator[Used]:
    """Yield the columns that decide; one against its direction says so."""
    powers = dict(field.objective.factors)
    for name, column in field.columns.items():
        better = better_of(column)
        against = (
            name in powers
            and better is not None
            and (better is Better.HIGHER) != ((powers[name] > 0) == field.objective.most)
        )
        yield Used(name, column.unit, column.is_measured, against=against)


def _why_none(field: Field, flagged: Pick | None, *, doubtful: bool) -> NoChoice:
    if doubtful:
        return NoChoice.NOT_SURE
    if flagged is not None:
        return NoChoice.BURSTABLE_ONLY
    known = np.isfinite(field.score)
    for one in field.met:
        known = known & ~one.unknown
    return NoChoice.NONE_MEETS if known.any() else NoChoice.NONE_KNOWN
