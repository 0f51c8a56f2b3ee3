"""Recommends an offering: the cheapest that is fast enough, or the best by an objective, from any mix of sources."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from cloudcmp.answer.choice.attributes import with_attributes
from cloudcmp.answer.choice.classes import needs_of
from cloudcmp.answer.choice.join import joined
from cloudcmp.answer.choice.lookup import split_variation
from cloudcmp.answer.choice.needs import Need, Op, parse_need
from cloudcmp.answer.choice.objective import Objective, parse_objective
from cloudcmp.answer.choice.prices import without_odd_prices
from cloudcmp.answer.choice.recommend import CONFIDENCE
from cloudcmp.answer.choice.recommend import recommend as choose
from cloudcmp.answer.choice.sentences import with_sentences
from cloudcmp.answer.choice.several import check_totals, several_of
from cloudcmp.answer.choice.small_and_large import with_several_machines
from cloudcmp.app.option_values import parsed
from cloudcmp.catalog import METRICS
from cloudcmp.catalog.cities import known_cities, position_of
from cloudcmp.catalog.parameters import hint
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, TOTAL, Market
from cloudcmp.model.price import Purchase
from cloudcmp.model.recommendation import Recommendation
from cloudcmp.report.words import CellNames
from cloudcmp.store.offer_table import is_offer_table, read_offers
from cloudcmp.units import Money, parse_price_per_hour, parse_ratio

BOOK = "prices"
"""The source that is the price book of this computer."""
NEAR_KM = 1000.0
"""Regions within this distance are near: the round trip in fibre is at least 10 ms for it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the sources: an objective, needs as text, and what may be assumed.

    `spread` is the coefficient of variation of values that are single, as `5 %`; `near` a city within `within_km`;
    `like` a machine than which none may be worse in the columns `on`; `application` a class whose needs count too. A
    candidate may be up to `machines` of an offering; the columns in `adds` are declared to add up.
    """

    objective: Objective
    require: tuple[str, ...] = ()
    budget: str | None = None
    near: str | None = None
    within_km: float = NEAR_KM
    confidence: float = CONFIDENCE
    spread: str | None = None
    allow_burstable: bool = False
    like: str | None = None
    on: tuple[str, ...] = ()
    application: str | None = None
    machines: int = 1
    adds: tuple[str, ...] = ()


def question(
    minimise: str | None = None, maximise: str | None = None, require: Sequence[str] = (), *,
    budget: str | None = None, near: str | None = None, within_km: float = NEAR_KM, confidence: float = CONFIDENCE,
    spread: str | None = None, allow_burstable: bool = False, like: str | None = None, on: Sequence[str] = (),
    application: str | None = None, machines: int = 1, adds: Sequence[str] = (),
) -> Question:  # fmt: skip
    """The question of some options; without an objective, the least cost.

    Raises UserMistake for two objectives, for a confidence or a distance that is none, and for columns that add up over
    one machine.
    """
    if minimise and maximise:
        raise UserMistake.at("--maximise", "there is another objective, --minimise", "join them: 'speed / cost'")
    if not 0.5 <= confidence < 1:
        raise UserMistake.at("--confidence", f"{confidence} is not between 0.5 and 1", "write e.g. 0.95")
    if adds and machines == 1:
        raise UserMistake.at("--adds", "columns add up over several machines only", "give --machines too, such as 8")
    if not within_km > 0:
        raise UserMistake.at("--within-km", f"{within_km} is no distance", "write e.g. 1000")
    objective = parse_objective(maximise, most=True) if maximise else parse_objective(minimise or COST, most=False)
    return Question(
        objective,
        tuple(require),
        budget,
        near,
        within_km,
        confidence,
        spread,
        allow_burstable,
        like,
        tuple(on),
        application,
        machines,
        tuple(adds),
    )


def recommend(
    sources: Sequence[str], asked: Question, *, purchase: Purchase = Purchase.ON_DEMAND, today: date | None = None,
    progress: Callable[[str], None] = lambda _: None, anonymise: bool = False,
) -> Recommendation:  # fmt: skip
    """Recommend an offering of some sources: folders of studies, tables, or `prices` for the price book.

    `anonymise` replaces the names of providers, regions and offerings in the answer, in the order of the sources.

    Raises UserMistake for a source that cannot be read, a name that no source has, and a need that does not fit.
    """
    needs = [parse_need(one) for one in asked.require]
    names = [*(one.name for one in needs), *(name for name, _ in asked.objective.factors)]
    market = sold(sources, near=asked.near, purchase=purchase, progress=progress, variation=names)
    if asked.near:
        needs.append(Need(f"{asked.near} within {asked.within_km:g} km", "distance_km", Op.AT_MOST,
                          (f"{asked.within_km:g}",)))  # fmt: skip
    if asked.budget:
        needs.append(_budget(asked.budget, market))
    if asked.application:
        of_class = needs_of(asked.application, market)
        needs += of_class.needs
        market = replace(market, notes=(*market.notes, *of_class.notes))
    if asked.like:
        from cloudcmp.app.like import needs_like

        wanted = needs_like(asked.like, market, asked.on, progress)
        needs += wanted.needs
        market = replace(market, notes=(*market.notes, *wanted.notes))
    measured, sold_keys = None, market.keys
    if asked.machines != 1:
        market, measured = several_of(market, asked.machines, asked.adds)
        check_totals(market, asked.objective, needs)
    found = choose(
        market, asked.objective, needs, confidence=asked.confidence, spread=spread_of(asked.spread),
        allow_burstable=asked.allow_burstable,
    )  # fmt: skip
    if measured is not None:
        found = with_several_machines(found, market, asked.machines, measured)
    found = with_sentences(found, today or datetime.now(UTC).date(), _labels(found))
    if not anonymise:
        return found
    from cloudcmp.report.anonymity import of_market

    return of_market(sold_keys, sources).rewritten(found)


def _labels(found: Recommendation) -> dict[str, str]:
    """The names of the measured cells for people; columns of tables keep theirs."""
    cells = {one.name: split_variation(one.name.removeprefix(TOTAL)) for one in found.used}
    measured = {name: parts for name, parts in cells.items() if parts[1].split(" ")[0] in METRICS}
    names = CellNames(cell for _, cell in measured.values())
    labels = {name: f"{kind}{names.short(cell)}" for name, (kind, cell) in measured.items()}
    return {name: f"{TOTAL}{label}" if name.startswith(TOTAL) else label for name, label in labels.items()}


def sold(
    sources: Sequence[str], *, near: str | None = None, purchase: Purchase = Purchase.ON_DEMAND,
    progress: Callable[[str], None] = lambda _: None, variation: Collection[str] | None = (),
) -> Market:  # fmt: skip
    """What the sources know of all offerings, with the facts that follow from their names and places.

    `variation` are names of which some may ask how much a measurement varies; with None, that of each is a column.
    """
    if not sources:
        raise UserMistake.at("recommend", "no source is named", "name a study, a table, or prices")
    markets = []
    for source in sources:
        progress(f"reading {source}")
        markets.append(_market(source, purchase, variation))
    whole = joined(markets)
    return with_attributes(without_odd_prices(whole) if purchase is Purchase.ON_DEMAND else whole, _position(near))


def _market(source: str, purchase: Purchase, variation: Collection[str] | None) -> Market:
    path = Path(source)
    if source == BOOK and not path.exists():
        return _book(purchase)
    if path.is_file() and is_offer_table(path):
        return read_offers(path, purchase)
    return _study(source, purchase, variation)


def _study(source: str, purchase: Purchase, variation: Collection[str] | None) -> Market:
    # What reads studies takes a second to load, and tables of offerings need none of it.
    from cloudcmp.answer.choice.from_study import market_of
    from cloudcmp.answer.choice.operation_prices import with_operation_prices
    from cloudcmp.answer.choice.variation import with_variation
    from cloudcmp.app.other_prices import priced
    from cloudcmp.app.several import folders_of
    from cloudcmp.app.study_view import Measured, noted
    from cloudcmp.app.tool_files import ImportOptions
    from cloudcmp.store import StudyStore

    with folders_of([source], ImportOptions()) as (folder,), StudyStore.open(folder, write=False) as store:
        plan = noted(store)
        if purchase is not Purchase.ON_DEMAND:
            plan = priced(plan, reprice=False, purchase=purchase, terms=None)
        measured = Measured.of(store, plan, drawn=False)
        virtual = plan.imported or any(one.simulated for one in plan.candidates)
        day = math.nan if virtual else float(datetime.fromtimestamp(store.created_at, UTC).toordinal())
    market = market_of(plan.candidates, measured.estimates, measured.metrics, day, source, measured.marks)
    market = with_variation(market, plan, measured.metrics, measured.values.values, variation)
    found = with_operation_prices(market, plan, source)
    if measured.replication_known:
        return found
    note = f"{source} does not say which values came from one launch: chances look more certain than they are"
    return replace(found, notes=(*found.notes, note))


def _book(purchase: Purchase) -> Market:
    from cloudcmp.answer.choice.from_study import market_of_offerings
    from cloudcmp.cost.offering_prices import book_offerings
    from cloudcmp.store.prices import PriceBook

    with PriceBook() as book:
        providers = dict.fromkeys(provider for provider, _ in book.places())
    offerings = [one for provider in providers for one in book_offerings(provider, purchase=purchase)]
    if not offerings:
        raise UserMistake.at(BOOK, "the price book is empty", "cloudcmp fetch PROVIDER --region REGION")
    return market_of_offerings(offerings, "the price book")


def _budget(text: str, market: Market) -> Need:
    try:
        money: Money = parse_price_per_hour(text)
    except ValueError as error:
        raise UserMistake.at("--budget", *str(error).split("; ", 1)) from None
    if market.currency and money.currency != market.currency:
        what = f"the budget is in {money.currency} and the prices are in {market.currency}"
        raise UserMistake.at("--budget", what, f"write it in {market.currency}")
    return Need(f"cost <= {money.amount} {money.currency}/h", COST, Op.AT_MOST, (str(money.amount),))


def spread_of(text: str | None) -> float | None:
    """The coefficient of variation in a text such as `5 %`; raises UserMistake for any other one."""
    if text is None:
        return None
    spread = parsed("--spread", text, parse_ratio)
    if not 0 < spread < 1:
        raise UserMistake.at("--spread", f"{text!r} is not between 0 and 100 %", "write e.g. '5 %'")
    return spread


def _position(near: str | None) -> tuple[float, float] | None:
    if near is None:
        return None
    at = position_of(near)
    if at is None:
        advice = hint(near.casefold(), known_cities()) or "name a larger city"
        raise UserMistake.at("--region-near", f"no city {near!r} is known here", f"{advice}; or write 59.3,18.1")
    return at
