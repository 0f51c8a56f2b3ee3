"""Says what would save money in a fleet: which machines move where, how surely, and what to measure first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

from cloudcmp.answer.choice.needs import Need, Op, parse_need
from cloudcmp.answer.choice.recommend import CONFIDENCE
from cloudcmp.answer.fleet.answer import fleet_answer
from cloudcmp.answer.fleet.sentences import with_cautions
from cloudcmp.answer.fleet.space import FleetQuestion
from cloudcmp.app.option_values import parsed
from cloudcmp.app.recommend import NEAR_KM, sold, spread_of
from cloudcmp.cost.inventory import read_inventory
from cloudcmp.errors import UserMistake
from cloudcmp.model.fleet import FEW, FleetAnswer
from cloudcmp.model.market import COST, Market, Numbers
from cloudcmp.model.price import Purchase
from cloudcmp.units import Money, parse_ratio

HEADROOM = "30 %"
"""What is added to the use of a machine, unless another share is asked for."""


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """The files of a fleet, and what is asked about it; shares as text, such as `30 %`."""

    files: tuple[Path, ...]
    utilisation: Path | None = None
    metric: str | None = None
    on: tuple[str, ...] = ()
    headroom: str = HEADROOM
    architecture: bool = False
    provider: bool = False
    region: bool = False
    require: tuple[str, ...] = ()
    near: str | None = None
    within_km: float = NEAR_KM
    confidence: float = CONFIDENCE
    spread: str | None = None
    allow_burstable: bool = False


def fleet(
    sources: Sequence[str], asked: FleetRequest, *, purchase: Purchase = Purchase.ON_DEMAND, today: date | None = None,
    study: Path | None = None, progress: Callable[[str], None] = lambda _: None,
) -> FleetAnswer:  # fmt: skip
    """Answer a request from some sources: folders of studies, tables, or `prices` for the price book.

    `study` is a new file for the study that measures what settles most of the undecided money.

    Raises UserMistake for a file that cannot be read, a name that no source has, and a share that is none.
    """
    question = FleetQuestion(
        metric=asked.metric,
        on=asked.on,
        headroom=_headroom(asked.headroom),
        architecture=asked.architecture,
        provider=asked.provider,
        region=asked.region,
        require=tuple(_needs(asked)),
        confidence=_confidence(asked.confidence),
        spread=spread_of(asked.spread),
        allow_burstable=asked.allow_burstable,
    )
    for path in asked.files:
        progress(f"reading {path}")
    inventory = read_inventory(asked.files, asked.utilisation)
    market = sold(sources, near=asked.near, purchase=purchase, progress=progress)
    found = with_cautions(fleet_answer(inventory, market, question, today or datetime.now(UTC).date()))
    if study is not None:
        _write_study(study, found, market)
    return found


def _write_study(path: Path, found: FleetAnswer, market: Market) -> None:
    """Write the study of the first measurements; raises UserMistake if there are none, or if the file exists."""
    from cloudcmp.app.start import write_new
    from cloudcmp.study.fleet_study import Offered, study_text

    few = found.measurements[:FEW]
    if not few:
        raise UserMistake.at("--study", "no measurement would settle anything", "leave it out")
    cost = market.columns[COST]
    prices = dict(zip(market.keys, cost.value.tolist(), strict=True)) if isinstance(cost, Numbers) else {}
    keys = dict.fromkeys(key for one in few for key in (one.of, one.to))
    offered = [Offered(key, prices.get(key, 0.0)) for key in keys]
    price = Money(sum((one.price.amount for one in few), Decimal(0)), found.currency)
    write_new(path, study_text(offered, found.metric, max(one.launches for one in few), price))


def _needs(asked: FleetRequest) -> list[Need]:
    needs = [parse_need(one) for one in asked.require]
    if asked.near:
        needs.append(Need(f"{asked.near} within {asked.within_km:g} km", "distance_km", Op.AT_MOST,
                          (f"{asked.within_km:g}",)))  # fmt: skip
    return needs


def _headroom(text: str) -> float:
    share = parsed("--headroom", text, parse_ratio)
    if not 0 <= share <= 10:
        raise UserMistake.at("--headroom", f"{text!r} is not between 0 and 1000 %", "write e.g. '30 %'")
    return share


def _confidence(chance: float) -> float:
    if not 0.5 <= chance < 1:
        raise UserMistake.at("--confidence", f"{chance} is not between 0.5 and 1", "write e.g. 0.95")
    return chance
