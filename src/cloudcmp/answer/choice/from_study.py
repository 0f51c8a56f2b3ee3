"""The candidates of a study as a market."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloudcmp.cost import price_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts, counted
from cloudcmp.model.metric import Metric
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.result import Estimate

SERVICE = "service"
"""The column of the kind of service; empty for a machine."""
_Moments = dict[tuple[int, str | None, int], int]


def market_of(
    candidates: Sequence[Candidate], estimates: Sequence[Estimate], metrics: Mapping[str, Metric], day: float,
    source: str, marks: Mapping[tuple[str, int], tuple[str, ...]],
) -> Market:  # fmt: skip
    """Return what a study knows of its candidates: prices, facts, and each cell with its values by round.

    A value is the mean of the launches: the geometric one, unless the metric can be 0 or negative. A candidate that
    failed in more than 10 % of a cell's trials has no value of it. `day` is the ordinal of the day when the study
    began, NaN if unknown. `marks` are what a reader must know beside the values of a cell and a candidate.

    Raises UserMistake if prices are in different currencies.
    """
    keys = tuple(key_of(one) for one in candidates)
    columns: dict[str, Numbers | Texts] = {
        one.name: one for one in _facts([one.offering for one in candidates], source)
    }
    if any(one.service is not None for one in candidates):
        kinds = tuple(one.service.kind.value if one.service is not None else "" for one in candidates)
        columns[SERVICE] = Texts(SERVICE, kinds, source)
    currency = _price(candidates, columns, source)
    by_cell: dict[str, list[Estimate]] = {}
    for one in estimates:
        by_cell.setdefault(one.cell, []).append(one)
    moments: _Moments = {}
    for one in estimates:
        for moment in _moments(one):
            moments.setdefault(moment, len(moments))
    notes = []
    for cell, some in by_cell.items():
        metric = metrics[Cell.parse(cell).metric]
        failing = [one for one in some if one.offered and one.n_started and one.n_ok < 0.9 * one.n_started]
        notes += [f"{candidates[one.candidate].id} failed in {one.n_started - one.n_ok} of {one.n_started} trials of "
                  f"{cell}: its value does not count" for one in failing]  # fmt: skip
        kept = [one for one in some if one not in failing]
        own = {keys[at]: texts for (name, at), texts in marks.items() if name == cell}
        columns[cell] = replace(_cell(cell, metric, kept, _Times(len(keys), moments, day), source), marks=own)
    simulated = frozenset(key for key, one in zip(keys, candidates, strict=True) if one.simulated)
    return Market(keys, columns, currency, tuple(notes), simulated)


def market_of_offerings(offerings: Sequence[Offering], source: str) -> Market:
    """Return offerings with their facts and prices, of the currency that most have; nothing in it was measured."""
    columns: dict[str, Numbers | Texts] = {one.name: one for one in _facts(offerings, source)}
    prices = [one.price for one in offerings if one.price is not None]
    known = [one.currency for one in prices]
    currency = max(known, key=known.count) if known else ""
    notes: tuple[str, ...] = ()
    if other := sum(one != currency for one in known):
        notes = (f"{other} prices are not in {currency}: they count as unknown",)
    amounts = [_amount(one, currency) for one in offerings]
    days = [math.nan if price is None or price.as_of is None else float(price.as_of.toordinal())
            for price in (one.price for one in offerings)]  # fmt: skip
    columns[COST] = Numbers(COST, np.array(amounts, np.float64), "1/h", day=np.array(days, np.float64), source=source)
    return Market(tuple(OfferKey(one.provider, one.region, one.name) for one in offerings), columns, currency, notes)


def _amount(one: Offering, currency: str) -> float:
    price = one.price
    return float(price.amount_per_hour) if price is not None and price.currency == currency else math.nan


def key_of(one: Candidate) -> OfferKey:
    """The name of a candidate; a service has its own, so that it is not taken for the machine that asks it."""
    sold, service = one.offering, one.service
    if service is not None:
        kind = f"{service.api} {service.kind.value}".lstrip()
        return OfferKey(service.provider, service.region, f"{service.name or kind} from {sold.name}")
    name = f"{sold.name}+{one.volume}" if one.volume else sold.name
    return OfferKey(sold.provider, sold.region, counted(name, one.count))


def _facts(offerings: Sequence[Offering], source: str) -> Iterator[Numbers | Texts]:
    for name, unit in (("vcpus", ""), ("memory_gib", "GiB")):
        facts = [getattr(one, name) for one in offerings]
        yield Numbers(name, np.array([math.nan if fact is None else fact for fact in facts], np.float64), unit,
                      source=source)  # fmt: skip
    yield Texts("category", tuple(one.category or "" for one in offerings), source)
    attributes = [dict(one.attributes) for one in offerings]
    for name in dict.fromkeys(name for some in attributes for name in some):
        texts = [some.get(name, "") for some in attributes]
        numbers = [_number(text) for text in texts]
        if any(text and math.isnan(number) for text, number in zip(texts, numbers, strict=True)):
            yield Texts(name, tuple(texts), source)
        else:
            yield Numbers(name, np.array(numbers, np.float64), source=source)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _price(candidates: Sequence[Candidate], columns: dict[str, Numbers | Texts], source: str) -> str:
    prices = [price_of(one) for one in candidates]
    currencies = dict.fromkeys(one.currency for one in prices if one is not None)
    if len(currencies) > 1:
        what = f"the study's prices are in {' and '.join(currencies)}"
        raise UserMistake.at(source, what, "exchange rates are not known here: use --terms, or a table of prices")
    if currencies:
        amounts = [math.nan if one is None else float(one.amount) for one in prices]
        columns[COST] = Numbers(COST, np.array(amounts, np.float64), "1/h", source=source)
    return next(iter(currencies), "")


@dataclass(frozen=True, slots=True)
class _Times:
    """The number of offerings, the columns of the moments of launches, and the day of the study."""

    offerings: int
    moments: _Moments
    day: float


def _moments(one: Estimate) -> list[tuple[int, str | None, int]]:
    """The moment of each launch: its session and round; without rounds, those of a candidate are shared with none."""
    if None in one.rounds:
        return [(one.candidate, None, at) for at in range(len(one.values))]
    return [(-1, session, at or 0) for session, at in zip(one.sessions, one.rounds, strict=True)]


def _cell(cell: str, metric: Metric, some: Sequence[Estimate], times: _Times, source: str) -> Numbers:
    launches = np.full((times.offerings, len(times.moments)), np.nan)
    for one in some:
        launches[one.candidate, [times.moments[at] for at in _moments(one)]] = one.values
    known = np.isfinite(launches)
    n = np.maximum(known.sum(axis=1), 1)
    positive = not metric.signed and not (launches <= 0).any()
    filled = np.where(known, np.log(np.where(known, launches, 1.0)) if positive else launches, 0.0)
    mean = filled.sum(axis=1) / n
    value = np.where(known.any(axis=1), np.exp(mean) if positive else mean, np.nan)
    return Numbers(
        cell,
        np.asarray(value),
        metric.unit,
        metric.better,
        launches,
        np.asarray(np.where(known.any(axis=1), times.day, np.nan)),
        source=source,
        is_measured=True,
    )
