"""Reads the file that describes a content delivery network: its hits, its distance and its prices."""

from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.model.placement import Delivery, PriceTier
from cloudcmp.study import quantities
from cloudcmp.study.faults import Faults, shown
from cloudcmp.study.shape import Duration, Positive, Shape, Share, Word, fit
from cloudcmp.study.tree import read_tree

_MOST_BYTES = 2**16
_EXAMPLE = "write e.g. hit_ratio: 90 %"


def _volume(value: object) -> float:
    if not quantities.is_number(value) or float(str(value)) < 0:
        raise ValueError(f"{shown(value)} is no volume in GB; write e.g. from_gb: 10000")
    return float(str(value))


def _day(value: object) -> str:
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise ValueError(f"{shown(value)} is no day; write e.g. as_of: 2026-01-31") from None


class TierShape(Shape):
    """One entry of `prices`."""

    from_gb: Annotated[float, BeforeValidator(_volume)] = 0.0
    per_gb: Positive


class DeliveryShape(Shape):
    """The keys of the file."""

    name: Word
    hit_ratio: Share
    edge: Duration
    prices: list[TierShape] = Field(min_length=1)
    currency: Annotated[str, BeforeValidator(quantities.currency)] = "USD"
    origin_per_gb: Positive | None = None
    source: Word = "given"
    as_of: Annotated[str, BeforeValidator(_day)] = ""
    example: bool = False


def read_delivery(path: Path) -> Delivery:
    """The delivery network of a file; raises UserMistake with every fault, `file:line:column: what; what next`."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except (FileNotFoundError, IsADirectoryError) as error:
        what = (error.strerror or "").lower()
        raise UserMistake.at(str(path), what, f"{_EXAMPLE}, edge: 12 ms and prices: [{{per_gb: 0.08}}]") from None
    except OSError as error:
        raise OutsideFault.at(str(path), error.strerror or str(error), "make the file readable") from None
    faults = Faults(str(path))
    tree = read_tree(content, faults, _EXAMPLE)
    shape = None
    if isinstance(tree.data, dict):
        shape = fit(DeliveryShape, tree, tree.data, (), faults)
    elif tree.data is not None:
        faults.add((1, 1), "a delivery network is made of key: value lines", _EXAMPLE)
    if shape is not None:
        begins = [one.from_gb for one in shape.prices]
        if begins[0] != 0 or any(after <= before for before, after in pairwise(begins)):
            faults.add(tree.place(("prices",)), "the tiers do not begin at 0 and rise", "write e.g. from_gb: 0 first")
        if shape.hit_ratio >= 1:
            faults.add(tree.place(("hit_ratio",)), "every request is a hit", "write a share below 1, such as 95 %")
    faults.raise_any()
    assert shape is not None  # else there was a fault
    return Delivery(
        shape.name, shape.hit_ratio, shape.edge, tuple(PriceTier(one.from_gb, one.per_gb) for one in shape.prices),
        shape.currency, shape.source, shape.as_of, shape.origin_per_gb, shape.example,
    )  # fmt: skip
