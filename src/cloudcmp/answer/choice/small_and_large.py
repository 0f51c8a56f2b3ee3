"""Several small machines against one large: what they do at equal cost, and what they cost at equal finishing time."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from cloudcmp.answer.choice.around import family_of
from cloudcmp.model.market import COST, TOTAL, Market, Numbers, OfferKey, counted, single
from cloudcmp.model.recommendation import Addition, Against, Distance, Miss, Pick, Recommendation, Several

_SHOWN = 5
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
    one = None if choice is None else choice.key._replace(name=single(choice.key.name)[0])
    addition = Addition.MEASURED if one in measured else Addition.ASSUMED
    if not of:
        return replace(found, several=Several(most, addition, "", ()))
    against = () if choice is None else tuple(_against(found, market, of, choice.key, most))
    return replace(_without_chances(found), several=Several(most, addition, of, against))


@dataclass(frozen=True, slots=True)
class _Machines:
    """The price and the total of every candidate, and the most machines of one."""

    price: Mapping[OfferKey, float]
    total: Mapping[OfferKey, float]
    most: int

    def is_less(self, a: OfferKey, b: OfferKey) -> bool:
        """True if the first costs less and does less than the second."""
        return 0 < self.price[a] < self.price[b] and 0 < self.total[a] < self.total[b]

    def family(self, of: OfferKey) -> list[OfferKey]:
        """The single machines of the same family and region that have a price and a total, cheapest first."""
        own = family_of(of)
        return sorted(
            (key for key in self.total if key[:2] == of[:2] and single(key.name)[1] == 1 and own
             and family_of(key) == own and self.price[key] > 0 and self.total[key] > 0),
            key=lambda key: self.price[key],
        )  # fmt: skip


def _against(found: Recommendation, market: Market, of: str, choice: OfferKey, most: int) -> Iterator[Against]:
    cost, work = market.columns.get(COST), market.columns[of]
    if not isinstance(cost, Numbers) or not isinstance(work, Numbers):
        return
    price, total = cost.value.tolist(), work.value.tolist()
    known = _Machines(dict(zip(market.keys, price, strict=True)), dict(zip(market.keys, total, strict=True)), most)
    name, count = single(choice.name)
    one = choice._replace(name=name)
    smaller = [key for key in known.family(one) if known.is_less(key, one)]
    if count == 1 and smaller:
        yield from (_pair(known, key, one) for key in smaller[-_SHOWN:])
        return
    larger = [key for key in known.family(one) if known.is_less(one, key)][:_SHOWN]
    best = next((pick.key for pick in found.picks if single(pick.key.name)[1] == 1), one)
    if best not in larger and known.is_less(one, best):
        larger.insert(0, best)
    yield from (_pair(known, one, key) for key in larger)


def _pair(known: _Machines, small: OfferKey, large: OfferKey) -> Against:
    share = known.price[large] / known.price[small]
    count = math.floor(share + _ROUNDING)
    groups = [small._replace(name=counted(small.name, number)) for number in range(1, known.most + 1)]
    enough = known.total[large] * (1 - _ROUNDING)
    equal_cost = count if count <= known.most else None
    equal_work = next((at for at, key in enumerate(groups, 1) if known.total[key] >= enough), None)
    return Against(
        small,
        large,
        share,
        known.total[large] / known.total[small],
        equal_cost,
        None if equal_cost is None else known.total[groups[equal_cost - 1]] / known.total[large],
        equal_work,
        None if equal_work is None else known.price[groups[equal_work - 1]] / known.price[large],
    )


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
        doubtful=tuple(_first_of_each(map(miss, found.doubtful))),
        misses=tuple(map(miss, found.misses)),
        fronts=tuple(replace(one, picks=tuple(map(pick, one.picks))) for one in found.fronts),
    )


def _first_of_each(misses: Iterable[Miss]) -> Iterator[Miss]:
    """Yield one number of machines of each offering."""
    first: dict[OfferKey, Miss] = {}
    for one in misses:
        key = one.pick.key
        first.setdefault(key._replace(name=single(key.name)[0]), one)
    yield from first.values()
