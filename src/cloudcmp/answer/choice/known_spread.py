"""How surely the variation of a choice is known: its interval, and what its launches cannot show."""

from collections.abc import Mapping

import numpy as np

from cloudcmp.answer.choice.field import Field
from cloudcmp.model.recommendation import KnownSpread
from cloudcmp.model.result import Bounds
from cloudcmp.units import format_quantity

_CHANCE = 0.05


def known_spreads(field: Field, row: int) -> tuple[KnownSpread, ...]:
    """Return the variations among the columns that decide, of one offering, each with its 95 % interval."""
    spreads = [one for one in field.columns.values() if one.freedom is not None and one.launches is not None]
    if not spreads:
        return ()
    from cloudcmp.stats.spread import spread_bounds  # scipy takes a third of a second: most questions need none

    found = []
    for one in spreads:
        value, freedom = float(one.value[row]), float(one.freedom[row]) if one.freedom is not None else np.nan
        interval = spread_bounds(value, freedom)
        launches = int(np.isfinite(one.launches[row]).sum()) if one.launches is not None else 0
        found.append(KnownSpread(one.name, one.unit, value, Bounds(interval.low, interval.high), launches,
                                 1.0 - _CHANCE ** (1.0 / launches)))  # fmt: skip
    return tuple(found)


def spread_words(one: KnownSpread, labels: Mapping[str, str]) -> str:
    """A variation with its interval, and the share of launches that may be of a level that none of them shows."""
    value, low, high = (format_quantity(number, one.unit) for number in (one.value, one.bounds.low, one.bounds.high))
    return (
        f"{labels.get(one.name, one.name)} {value} (95 % interval {low} to {high}); {one.launches} launches can "
        f"miss a level that up to {one.unseen * 100:.2g} % of all have"
    )
