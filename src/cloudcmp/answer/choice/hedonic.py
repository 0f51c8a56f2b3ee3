"""The price of an offering for what it is: a hedonic fit of prices by sizes, measurements and providers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloudcmp.answer.choice.attributes import BURSTABLE
from cloudcmp.answer.choice.lookup import numbers_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts
from cloudcmp.model.result import Bounds
from cloudcmp.stats.check import Floats
from cloudcmp.stats.robust import LinearFit, fit_linear

SIZES = ("vcpus", "memory_gib")
CONFIDENCE = 0.95
_FEWEST_OF_PROVIDER = 3


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the fit: a column, whose `value` is the exponent of the price, or a provider, whose `value` is the
    ratio of its prices to those of the base provider; with its 95 % interval."""

    name: str
    is_provider: bool
    value: float
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class PricedOffer:
    """An offering with its price an hour and the expected one, whose interval holds 95 % of single prices.

    `ratio` is price over expected price. `burstable` is None if unknown.
    """

    key: OfferKey
    price: float
    expected: float
    bounds: Bounds
    ratio: float
    burstable: bool | None

    @property
    def is_dear(self) -> bool:
        """True if the price is above the interval."""
        return self.price > self.bounds.high

    @property
    def is_cheap(self) -> bool:
        """True if the price is below the interval."""
        return self.price < self.bounds.low


@dataclass(frozen=True, slots=True)
class PriceModel:
    """A hedonic fit. `n` offerings are behind it; `typical` is the ratio within which two thirds of prices lie.

    `offers` are the fitted ones and the burstable ones, which are no part of the fit, the dearest for what it is first.
    `left_out` says what is not among them, and `base` is the provider that the others are compared with.
    """

    currency: str
    base: str
    columns: tuple[str, ...]
    terms: tuple[Term, ...]
    offers: tuple[PricedOffer, ...]
    n: int
    typical: float
    explained: float
    left_out: tuple[str, ...]
    simulated: bool
    notes: tuple[str, ...] = ()

    @property
    def dear(self) -> tuple[PricedOffer, ...]:
        """The offerings above their interval, the dearest for what it is first."""
        return tuple(one for one in self.offers if one.is_dear)

    @property
    def cheap(self) -> tuple[PricedOffer, ...]:
        """The offerings below their interval, the cheapest for what it is first."""
        return tuple(one for one in reversed(self.offers) if one.is_cheap)


def price_model(market: Market, on: Sequence[str] = ()) -> PriceModel:
    """Fit log price by log vCPUs, log memory, the logs of the columns `on`, and a level for each provider.

    Each type counts once, at its lowest price over regions. The fit is Huber's, so that the odd prices that it is to
    find do not move it. Burstable offerings, which sell a share, are no part of the fit; they are compared with it and
    flagged. Those with GPUs are left out. A dear offering may be worth it by what no column names: disks, networks,
    support, licences. One in twenty is outside its interval by chance alone.

    Raises UserMistake for a column that no source has or that is no number, and for too few offerings.
    Source: Rosen, "Hedonic prices and implicit markets", Journal of Political Economy 82, 1974.
    """
    where = "cloudcmp prices"
    named = [*(one for one in SIZES if one in market.columns), *on]
    columns = list({one.name: one for one in (numbers_of(market, name, where) for name in named)}.values())
    if not columns:
        raise UserMistake.at(where, "no source has vcpus or memory_gib", "name a column with --on")
    price = numbers_of(market, COST, where).value
    known, left_out = _known(market, price, columns)
    rows = _once(market.keys, price, known)
    burst = _burst(market)
    fitted = [at for at in rows if burst[at] is not True]
    providers, base, few = _providers(market, fitted)
    fitted = [at for at in fitted if market.keys[at].provider not in few]
    shown = [at for at in rows if market.keys[at].provider in providers]
    if few:
        left_out.append(
            f"{len(few)} providers with fewer than {_FEWEST_OF_PROVIDER} offerings: {', '.join(sorted(few))}"
        )
    dummies = [one for one in providers if one != base]
    matrix = _matrix(market, columns, dummies)
    logs = np.log(np.where(price > 0, price, 1.0))
    try:
        fit = fit_linear(matrix[fitted], logs[fitted])
    except ValueError as error:
        raise UserMistake.at(where, *str(error).split("; ", 1)) from None
    names = ["", *(one.name for one in columns), *dummies]
    return PriceModel(
        currency=market.currency,
        base=base,
        columns=tuple(one.name for one in columns),
        terms=tuple(_terms(fit, names, len(columns))),
        offers=_offers(market, fit, matrix, price, shown, burst),
        n=len(fitted),
        typical=float(np.exp(fit.scale)),
        explained=_explained(logs[fitted], fit),
        left_out=tuple(left_out),
        simulated=bool(market.simulated),
        notes=market.notes,
    )


def _known(market: Market, price: Floats, columns: Sequence[Numbers]) -> tuple[list[int], list[str]]:
    """The offerings with a price and all columns, and what the others lack."""
    usable = np.isfinite(price) & (price > 0)
    left_out = [f"{int((~usable).sum())} without a price"] if not usable.all() else []
    gpus = market.columns.get("gpu_count")
    if isinstance(gpus, Numbers):
        some = usable & (gpus.value > 0)
        left_out += [f"{int(some.sum())} with GPUs"] if some.any() else []
        usable &= ~some
    for one in columns:
        lacks = usable & ~(np.isfinite(one.value) & (one.value > 0))
        left_out += [f"{int(lacks.sum())} without {one.name}"] if lacks.any() else []
        usable &= ~lacks
    return np.flatnonzero(usable).tolist(), left_out


def _once(keys: Sequence[OfferKey], price: Floats, known: Sequence[int]) -> list[int]:
    """Each type of a provider once, in the region where it costs least."""
    cheapest: dict[tuple[str, str], int] = {}
    for at in known:
        key = (keys[at].provider, keys[at].name)
        if key not in cheapest or price[at] < price[cheapest[key]]:
            cheapest[key] = at
    return list(cheapest.values())


def _burst(market: Market) -> list[bool | None]:
    column = market.columns.get(BURSTABLE)
    words = column.value if isinstance(column, Texts) else ("",) * len(market.keys)
    return [{"yes": True, "no": False}.get(word) for word in words]


def _providers(market: Market, fitted: Sequence[int]) -> tuple[list[str], str, set[str]]:
    """The providers with enough offerings, the one with the most, and those with too few."""
    counts: dict[str, int] = {}
    for at in fitted:
        counts[market.keys[at].provider] = counts.get(market.keys[at].provider, 0) + 1
    kept = [one for one, count in counts.items() if count >= _FEWEST_OF_PROVIDER]
    if not kept:
        raise UserMistake.at("cloudcmp prices", "too few offerings have a price and a size", "name a larger table")
    return kept, max(kept, key=lambda one: counts[one]), set(counts) - set(kept)


def _matrix(market: Market, columns: Sequence[Numbers], dummies: Sequence[str]) -> Floats:
    providers = np.array([key.provider for key in market.keys])
    logs = [np.log(np.where(one.value > 0, one.value, np.nan)) for one in columns]
    levels = [(providers == one).astype(np.float64) for one in dummies]
    return np.column_stack([np.ones(len(market.keys)), *logs, *levels])


def _terms(fit: LinearFit, names: Sequence[str], columns: int) -> list[Term]:
    terms = []
    ends = zip(names, fit.coefficients.tolist(), fit.half_widths(CONFIDENCE).tolist(), strict=True)
    for at, (name, value, half) in enumerate(ends):
        low, high = value - half, value + half
        if 1 <= at <= columns:
            terms.append(Term(name, False, value, Bounds(low, high, CONFIDENCE)))
        elif at:
            bounds = Bounds(float(np.exp(low)), float(np.exp(high)), CONFIDENCE)
            terms.append(Term(name, True, float(np.exp(value)), bounds))
    return terms


def _offers(
    market: Market, fit: LinearFit, matrix: Floats, price: Floats, shown: Sequence[int], burst: Sequence[bool | None]
) -> tuple[PricedOffer, ...]:  # fmt: skip
    expected, half = fit.predict(matrix[shown], CONFIDENCE)
    offers = [
        PricedOffer(
            market.keys[at],
            float(price[at]),
            float(np.exp(centre)),
            Bounds(float(np.exp(centre - width)), float(np.exp(centre + width)), CONFIDENCE),
            float(price[at] / np.exp(centre)),
            burst[at],
        )
        for at, centre, width in zip(shown, expected.tolist(), half.tolist(), strict=True)
    ]
    return tuple(sorted(offers, key=lambda one: (-one.ratio, one.key)))


def _explained(logs: Floats, fit: LinearFit) -> float:
    """The share of the variance of log prices that the fit explains; not robust, as it counts every offering."""
    total = float(((logs - logs.mean()) ** 2).sum())
    return 1.0 - float(((logs - fit.fitted) ** 2).sum()) / total if total > 0 else 0.0
