"""Finds the offering nearest to a match, and its differences."""

import math
from collections.abc import Iterable

from cloudcmp.model.offering import Match, Offering

# Categories of instances that may stand for each other: their memory per processor is adjacent.
_ADJACENT = {frozenset({"compute", "general"}), frozenset({"general", "memory"})}
# Another category, or an unknown one, weighs as much as 50 % more processors: exp(0.4) = 1.5.
_OTHER_CATEGORY = 0.4


def distance(asked: Match, sold: Offering) -> float | None:
    """The distance of an offering from a match, None if it cannot stand for it.

    |ln(vcpus / asked)| + |ln(memory / asked)|, plus 0.4 for an adjacent or unknown category; properties that the match
    does not name do not count. An offering cannot stand for a match if a requested size of it is unknown.
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
    """The offering at the smallest distance, among equals the cheapest, then the first by name; None for none."""
    reachable = [(found, sold) for sold in offerings if (found := distance(asked, sold)) is not None]
    return min(reachable, key=lambda pair: (round(pair[0], 9), *_price(pair[1])))[1] if reachable else None


def _price(sold: Offering) -> tuple[float, str, str, str]:
    """The sort key among equally near offerings; its last part makes the result independent of the list's order."""
    amount = math.inf if sold.price is None else float(sold.price.amount_per_hour)
    return amount, sold.region, sold.name, repr(sold)


def differences(asked: Match, sold: Offering) -> tuple[str, ...]:
    """The differences between an offering and a match, in words."""
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
