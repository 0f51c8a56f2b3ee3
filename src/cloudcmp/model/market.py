"""Offerings of many sources as one table of columns, from which an answer is chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cloudcmp.model.metric import Better

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COST = "cost"
"""The column of the price of one hour, in the market's currency."""
MACHINES = "machines"
"""The column of how many machines an offering is."""
TOTAL = "total "
"""The beginning of the name of a column that counts all machines of an offering."""
_COUNT = " x "


class OfferKey(NamedTuple):
    """What is sold: provider, region and name; an empty text is unknown."""

    provider: str
    region: str
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


def counted(name: str, machines: int) -> str:
    """The name of several machines of one offering: `m7i.large x 4`."""
    return f"{name}{_COUNT}{machines}" if machines > 1 else name


def single(name: str) -> tuple[str, int]:
    """The name of one machine, and how many machines a name stands for."""
    one, count, number = name.rpartition(_COUNT)
    return (one, int(number)) if count and number.isascii() and number.isdigit() else (name, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """One number of every offering: an advertised fact, a price or a measurement.

    `value` is NaN where it is unknown. `launches` has one row for each offering and one column for each round of a
    study, NaN where a round has no value; without it each value is a single one whose spread is unknown. `day` is the
    day of the measurement as an ordinal, NaN if unknown; it is None for advertised facts. `elsewhere` marks the values
    that were measured in another region. Values with the same number in `origin` are one measurement, which several
    offerings share; without it each is one of its own. With `freedom` the values are spreads of the launches, known as
    surely as spreads of normal values with so many degrees of freedom. `marks` are what a reader must know beside the
    value of some offerings.
    """

    name: str
    value: "NDArray[np.float64]"
    unit: str = ""
    better: Better | None = None
    launches: "NDArray[np.float64] | None" = None
    day: "NDArray[np.float64] | None" = None
    elsewhere: "NDArray[np.bool_] | None" = None
    origin: "NDArray[np.int64] | None" = None
    freedom: "NDArray[np.float64] | None" = None
    source: str = ""
    is_measured: bool = False
    marks: Mapping[OfferKey, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Texts:
    """One text of every offering; an empty one is unknown."""

    name: str
    value: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Market:
    """Offerings and their columns by name; `notes` say in words what was read differently than it was written.

    `currency` is that of the column `cost`, empty if no price is known. `simulated` are those with planted values.
    """

    keys: tuple[OfferKey, ...]
    columns: Mapping[str, Numbers | Texts]
    currency: str = ""
    notes: tuple[str, ...] = ()
    simulated: frozenset[OfferKey] = field(default=frozenset())
