"""Several small machines against one large: what they do at equal cost, and what they cost at equal finishing time."""

import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace

from cloudcmp.answer.choice.around import family_of
from cloudcmp.model.market import COST, TOTAL, Market, Numbers, OfferKey, counted, single
from cloudcmp.model.recommendation import Addition, Against, Distance, Miss, Pick, Recommendation, Several

_LARGE = 5
_ROUNDING = 1e-9


def with_several_machines(
    found: Recommendation, market: Market, most: int, measured: Container[OfferKey]
) -> Recommendation:
    """Return the recommendation with one machine of the choice against large ones, by the first total that decides.

    Equal finishing time is that of work which divides: as much work a second. If a total decides, no chance is left: it
    would hold only if the totals do. `measured` are the machines of which several were measured together.
    """
    of = next((one.name for one in found.used if one.name.startswith(TOTAL)), "")
    choice = found.choice
    small = None if choice is None else choice.key._replace(name=single(choice.key.name)[0])
    addition = Addition.MEASURED if small in measured else Addition.ASSUMED
    if not of:
        return replace(found, several=Several(most, addition, "", small, ()))
    against = () if small is None else tuple(_against(found, market, of, small, most))
    return replace(_without_chances(found), several=Several(most, addition, of, small, against))


def _against(found: Recommendation, market: Market, of: str, small: OfferKey, most: int) -> Iterator[Against]:
    cost, work = market.columns.get(COST), market.columns[of]
    if not isinstance(cost, Numbers) or not isinstance(work, Numbers):
        return
    row = {key: at for at, key in enumerate(market.keys)}
    price = {key: float(cost.value[at]) for key, at in row.items()}
    total = {key: float(work.value[at]) for key, at in row.items()}
    groups = [small._replace(name=counted(small.name, count)) for count in range(1, most + 1)]
    if not (price[small] > 0 and total[small] > 0):
        return
    for large in _large(found, total, price, small):
        share = price[large] / price[small]
        count = math.floor(share + _ROUNDING)
        equal_cost = count if 1 <= count <= most else None
        equal_work = next(
            (at for at, key in enumerate(groups, 1) if total[key] >= total[large] * (1 - _ROUNDING)), None
        )
        yield Against(
            large,
            share,
            total[large] / total[small],
            equal_cost,
            None if equal_cost is None else total[groups[equal_cost - 1]] / total[large],
            equal_work,
            None if equal_work is None else price[groups[equal_work - 1]] / price[large],
        )


def _large(
    found: Recommendation, total: Mapping[OfferKey, float], price: Mapping[OfferKey, float], small: OfferKey
) -> list[OfferKey]:  # fmt: skip
    """Larger single machines: the choice's own family in its region, and the best single one that meets the needs."""
    family = family_of(small)
    own = [
        key for key in total
        if key[:2] == small[:2] and single(key.name)[1] == 1 and family and family_of(key) == family
        and total[key] > total[small] and price[key] > price[small]
    ]  # fmt: skip
    kept = sorted(own, key=lambda key: price[key])[:_LARGE]
    best = next((one.key for one in found.picks if single(one.key.name)[1] == 1 and one.key != small), None)
    if best is not None and best not in kept and total[best] > total[small] and price[best] > 0:
        kept.insert(0, best)
    return kept


def _without_chances(found: Recommendation) -> Recommendation:
    def pick(one: Pick) -> Pick:
        return replace(one, meets=None, best=None, near_best=None)

    def bare(one: Distance | None) -> Distance | None:
        return None if one is None else replace(one, bounds=None)

    def miss(one: Miss) -> Miss:
        return replace(one, pick=pick(one.pick), chance=None)

    return replace(
        found,
        picks=tuple(map(pick, found.picks)),
        other_family=None if found.other_family is None else pick(found.other_family),
        flagged=None if found.flagged is None else pick(found.flagged),
        distance=bare(found.distance),
        other_distance=bare(found.other_distance),
        doubtful=tuple(map(miss, found.doubtful)),
        misses=tuple(map(miss, found.misses)),
        fronts=tuple(replace(one, picks=tuple(map(pick, one.picks))) for one in found.fronts),
    )
