"""Sizes of instance types that the list with their prices does not tell: by another list, or by Google's names."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cloudcmp.cost.shapes import shape_of
from cloudcmp.model.offering import Offering
from cloudcmp.model.price import Item
from cloudcmp.store.prices import PriceBook

Size = tuple[float | None, float | None]


def sized(offered: Sequence[Offering], book: PriceBook, provider: str) -> list[Offering]:
    """The same with sizes where they were unknown and another list tells them, of any region, or Google's own naming.

    A provider's type is of one size everywhere. Where two lists differ, it stays unknown.
    """
    wanted = {one.name for one in offered if one.vcpus is None or one.memory_gib is None}
    if not wanted:
        return list(offered)
    known = _known(wanted, book, provider)
    return [_with(one, known.get(one.name, (None, None))) for one in offered]


def _known(wanted: set[str], book: PriceBook, provider: str) -> dict[str, Size]:
    told: dict[str, tuple[set[float], set[float]]] = {name: (set(), set()) for name in wanted}
    for list_ in book.lists(provider, item=Item.INSTANCE):
        for one in book.sold(list_, provider):
            if one.name in told:
                _add(told[one.name], (one.vcpus, one.memory_gib))
    if provider == "gcp":
        for name, values in told.items():
            shape = shape_of(name)
            # A shared type is billed for a part of a processor, which is not the number that it shows.
            if shape is not None and shape.vcpus >= 1 and name != "e2-medium" and not any(values):
                _add(values, (shape.vcpus, shape.memory_gib))
    return {name: (_only(vcpus), _only(gib)) for name, (vcpus, gib) in told.items()}


def _add(values: tuple[set[float], set[float]], size: Size) -> None:
    for known, value in zip(values, size, strict=True):
        if value is not None:
            known.add(value)


def _only(values: Iterable[float]) -> float | None:
    found = list(values)
    return found[0] if len(found) == 1 else None


def _with(one: Offering, size: Size) -> Offering:
    vcpus, memory_gib = size
    return replace(
        one,
        vcpus=vcpus if one.vcpus is None else one.vcpus,
        memory_gib=memory_gib if one.memory_gib is None else one.memory_gib,
    )
