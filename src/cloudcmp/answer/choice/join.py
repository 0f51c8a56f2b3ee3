"""Several markets as one: prices of one list, measurements of another, facts of a third."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts

T = TypeVar("T", bound=np.generic)

_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class _Place:
    """For each offering of the whole its row in one market (-1 without), and whether that is of another region.

    `rounds` are the rounds of all markets, of which those of this one are at `begin`: no two markets share a round.
    """

    row: NDArray[np.int64]
    elsewhere: NDArray[np.bool_]
    begin: int = 0
    rounds: int = 0


def joined(markets: Sequence[Market]) -> Market:
    """Return all offerings of some markets with the columns of all.

    An offering is the same in two markets if its provider, region and name are. What a market knows of an offering in
    one region only, apart from its price, is also used in the regions where another market sells it, and marked as
    measured elsewhere. Of a column that two markets have, the first that knows a value counts.

    Raises UserMistake if prices are in different currencies.
    """
    if len(markets) == 1:
        return markets[0]
    currencies = dict.fromkeys(one.currency for one in markets if one.currency)
    if len(currencies) > 1:
        what = f"prices are in {' and '.join(currencies)}"
        raise UserMistake.at("recommend", what, "exchange rates are not known here: give prices of one currency")
    keys = _keys(markets)
    widths = [_rounds(one) for one in markets]
    places = [replace(_place(one, keys), begin=sum(widths[:at]), rounds=sum(widths)) for at, one in enumerate(markets)]
    columns: dict[str, Numbers | Texts] = {}
    for market, place in zip(markets, places, strict=True):
        for column in market.columns.values():
            moved = _moved(column, place)
            known = columns.get(column.name)
            columns[column.name] = moved if known is None else _merged(known, moved)
    notes = tuple(note for one in markets for note in one.notes)
    simulated = frozenset(key for one in markets for key in one.simulated)
    return Market(keys, columns, next(iter(currencies), ""), notes, simulated)


def _keys(markets: Sequence[Market]) -> tuple[OfferKey, ...]:
    """Every offering once; one without a region is left out where another market names regions of it."""
    every = dict.fromkeys(key for one in markets for key in one.keys)
    placed = {(provider, name) for provider, region, name in every if region}
    return tuple(key for key in every if key.region or (key.provider, key.name) not in placed)


def _rounds(market: Market) -> int:
    numbers = (one.launches for one in market.columns.values() if isinstance(one, Numbers))
    return max((one.shape[1] for one in numbers if one is not None), default=0)


def _place(market: Market, keys: Sequence[OfferKey]) -> _Place:
    own = {key: at for at, key in enumerate(market.keys)}
    anywhere: dict[tuple[str, str], int] = {}
    for (provider, _, name), at in own.items():
        kind = provider, name
        anywhere[kind] = _NOWHERE if kind in anywhere else at  # of two regions neither is the other's
    rows = np.empty(len(keys), np.int64)
    elsewhere = np.zeros(len(keys), np.bool_)
    for at, key in enumerate(keys):
        row = own.get(key)
        if row is None:
            row = anywhere.get((key.provider, key.name), _NOWHERE)
            elsewhere[at] = row != _NOWHERE and bool(market.keys[row].region)
        rows[at] = row
    return _Place(rows, elsewhere)


def _moved(column: Numbers | Texts, place: _Place) -> Numbers | Texts:
    """A column in the rows of the whole; a price stays in its own region."""
    if isinstance(column, Texts):
        texts = np.array([*column.value, ""], object)  # the last one stands for the row -1
        return replace(column, value=tuple(texts[place.row].tolist()))
    known = place.row >= 0
    if column.name == COST:
        known &= ~place.elsewhere
    return replace(
        column,
        value=_taken(column.value, place.row, known),
        day=None if column.day is None else _taken(column.day, place.row, known),
        launches=None if column.launches is None else _launches(column.launches, place, known),
        freedom=None if column.freedom is None else _taken(column.freedom, place.row, known),
        elsewhere=place.elsewhere & known if column.is_measured else None,
        origin=place.row if column.is_measured else None,
    )


def _launches(launches: NDArray[np.float64], place: _Place, known: NDArray[np.bool_]) -> NDArray[np.float64]:
    width = launches.shape[1]
    moved = np.full((len(known), max(place.rounds, width)), np.nan)
    moved[:, place.begin : place.begin + width] = np.where(known[:, None], launches[place.row], np.nan)
    return moved


def _taken(values: NDArray[np.float64], rows: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(known, values[rows], np.nan)


def _merged(first: Numbers | Texts, second: Numbers | Texts) -> Numbers | Texts:
    """The values of the first, and of the second where the first knows none; of two kinds, the first alone."""
    if isinstance(first, Texts):
        if not isinstance(second, Texts):
            return first
        return replace(first, value=tuple(a or b for a, b in zip(first.value, second.value, strict=True)))
    if isinstance(second, Texts) or (first.launches is None) != (second.launches is None) or first.unit != second.unit:
        return first
    known = np.isfinite(first.value)
    return replace(
        first,
        value=np.where(known, first.value, second.value),
        day=_either(known, first.day, second.day, np.float64(np.nan)),
        launches=_either_launches(known, first.launches, second.launches),
        freedom=_either(known, first.freedom, second.freedom, np.float64(np.nan)),
        elsewhere=_either(known, first.elsewhere, second.elsewhere, np.False_),
        origin=None,
        marks={**second.marks, **first.marks},
        is_measured=first.is_measured or second.is_measured,
    )


def _either(known: NDArray[np.bool_], a: NDArray[T] | None, b: NDArray[T] | None, nothing: T) -> NDArray[T] | None:
    """The values of the first where it is known, else of the second, with `nothing` for a column that is not there."""
    if a is None and b is None:
        return None
    empty = np.full(len(known), nothing)
    return np.where(known, empty if a is None else a, empty if b is None else b)


def _either_launches(
    known: NDArray[np.bool_], a: NDArray[np.float64] | None, b: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    return None if a is None or b is None else np.where(known[:, None], a, b)
