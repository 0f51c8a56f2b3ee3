"""Which offering is most like what was asked for, and how it differs."""

import math
from collections.abc import Iterable

from cloudcmp.model.offering import Match, Offering

# Which kinds of instance may stand for each other: those whose memory for each processor is next to each other.
_ADJACENT = {frozenset({"compute", "general"}), frozenset({"general", "memory"})}
# Another kind, or an unknown one, weighs as much as half as many processors again: exp(0.4) = 1.5.
_OTHER_CATEGORY = 0.4


def distance(asked: Match, sold: Offering) -> float | None:
    """How far an offering is from a match, None where it cannot stand for it.

    |ln(vcpus / asked)| + |ln(memory / asked)|, plus 0.4 where the category is an adjacent or an unknown one; what was
    not asked for does not count. An offering whose asked-for size is unknown cannot stand for it.
    """
    total = 0.0
    for wanted, had in ((asked.vcpus, sold.vcpus), (asked.memory_gib, sold.memory_gib)):
        if wanted is None:
            continue
        if not had:
            return None
        total += abs(math.log(had / wanted))
    if asked.category is None or asked.category == sold.category:
        return total
    if sold.category is None or frozenset({asked.category, sold.category}) in _ADJACENT:
        return total + _OTHER_CATEGORY
    return None


def nearest_offering(asked: Match, offerings: Iterable[Offering]) -> Offering | None:
    """The offering at the least distance, the cheaper and then the first by name among equals; None for none."""
    reachable = [(found, sold) for sold in offerings if (found := distance(asked, sold)) is not None]
    return min(reachable, key=lambda pair: (round(pair[0], 9), *_price(pair[1])))[1] if reachable else None


def _price(sold: Offering) -> tuple[float, str, str, str]:
    """What decides among the equally near; the last part only so that the order of a list never does."""
    amount = math.inf if sold.price is None else float(sold.price.amount_per_hour)
    return amount, sold.region, sold.name, repr(sold)


def differences(asked: Match, sold: Offering) -> tuple[str, ...]:
    """How an offering differs from what was asked for, in words."""
    found = []
    if asked.vcpus is not None and sold.vcpus != asked.vcpus:
        found.append(f"{_number(sold.vcpus)} vCPUs instead of {_number(asked.vcpus)}")
    if asked.memory_gib is not None and sold.memory_gib != asked.memory_gib:
        found.append(f"{_number(sold.memory_gib)} GiB of memory instead of {_number(asked.memory_gib)}")
    if asked.category is not None and sold.category != asked.category:
        found.append(f"category {sold.category or 'unknown'} instead of {asked.category}")
    return tuple(found)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
