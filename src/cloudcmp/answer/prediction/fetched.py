"""Files that users fetch: from which vantage points, and what of them was measured."""

from collections.abc import Iterator
from dataclasses import replace

from cloudcmp.answer.prediction.columns import parsed
from cloudcmp.model.application import Application, CellWish, Demand, Part, Way
from cloudcmp.model.market import Market

_RTT, _VANTAGE = "wan_rtt_s", "vantage"


def with_vantages(application: Application, market: Market) -> Application:
    """Return the application as the market's vantage points see it.

    A part from everywhere becomes a part for each vantage point, all of equal weight. A demand whose whole was measured
    is one such measurement. Without a vantage point in the market a part stays as it is: nothing measures it.
    """
    vantages = sorted({params[_VANTAGE] for metric, params in map(parsed, market.columns)
                       if metric == _RTT and _VANTAGE in params})  # fmt: skip
    parts = [one for part in application.parts for one in _from_each(part, vantages)]
    settled = (replace(one, demands=tuple(_measured(demand, market) for demand in one.demands)) for one in parts)
    return replace(application, parts=tuple(settled))


def _from_each(part: Part, vantages: list[str]) -> Iterator[Part]:
    if not part.from_everywhere or not vantages:
        yield part
        return
    for name in vantages:
        demands = tuple(replace(one, cell=_from(one.cell, name), whole=_from(one.whole, name)) for one in part.demands)
        yield replace(part, name=f"{part.name} from {name}", demands=demands, weight=part.weight / len(vantages))


def _from(wish: CellWish | None, vantage: str) -> CellWish | None:
    return replace(wish, must=(*wish.must, (_VANTAGE, vantage))) if wish else None


def _measured(demand: Demand, market: Market) -> Demand:
    # By its exact name: pages of another kind have one parameter more, and a size that says nothing of them.
    if demand.whole is None or str(demand.whole) not in market.columns:
        return demand
    return replace(demand, way=Way.COUNT, amount=1.0, cell=demand.whole, whole=None)
