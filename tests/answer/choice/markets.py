"""Markets for tests of the choice."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from cloudcmp.answer.choice.attributes import with_attributes
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts


def market(
    cost: Sequence[float],
    facts: Mapping[str, Sequence[float]] | None = None,
    measured: Mapping[str, Sequence[float]] | None = None,
    launches: Mapping[str, Sequence[Sequence[float]]] | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
    keys: Sequence[OfferKey] | None = None,
) -> Market:
    """A market of offerings of one cloud, with prices in USD; `launches` has the values of each by round."""
    named = tuple(keys or [OfferKey("cloud", "north", f"type-{at}") for at in range(len(cost))])
    columns: dict[str, Numbers | Texts] = {COST: Numbers(COST, np.array(cost, float), "1/h")}
    for name, values in (facts or {}).items():
        columns[name] = Numbers(name, np.array(values, float), "GiB" if name == "memory_gib" else "")
    for name, values in (measured or {}).items():
        columns[name] = Numbers(name, np.array(values, float), is_measured=True)
    for name, rows in (launches or {}).items():
        values = np.array(rows, float)
        mean = [
            math.exp(np.log(row[np.isfinite(row)]).mean()) if np.isfinite(row).any() else math.nan for row in values
        ]
        columns[name] = Numbers(name, np.array(mean), launches=values, is_measured=True)
    for name, words in (texts or {}).items():
        columns[name] = Texts(name, tuple(words))
    return with_attributes(Market(named, columns, "USD"))
