"""Effects in words, always from the better candidate's side."""

from cloudcmp.model.result import Bounds, Comparison
from cloudcmp.units import format_quantity


def turned(one: Comparison, first: int) -> tuple[float, Bounds | None]:
    """Effect and 95 % interval of candidate `first` against the other; the comparison must have an effect."""
    if one.effect is None:
        raise ValueError("a comparison without an effect has no direction")
    if one.a == first:
        return one.effect, one.bounds
    bounds = one.bounds
    if one.by_difference:
        return -one.effect, bounds and Bounds(-bounds.high, -bounds.low, bounds.confidence)
    return 1.0 / one.effect, bounds and Bounds(1.0 / bounds.high, 1.0 / bounds.low, bounds.confidence)


def how_much(effect: float, unit: str, by_difference: bool) -> str:
    """`12.3 % higher`, `2.4 times as high`, `3 ms lower`; differences of shares are in percentage points."""
    if by_difference:
        points = f"{abs(effect) * 100:.3g} percentage points" if unit == "ratio" else format_quantity(abs(effect), unit)
        return f"{points} {'higher' if effect > 0 else 'lower'}"
    if effect >= 2.0 or effect <= 0.5:
        return f"{effect:.3g} times as high"
    return f"{abs(effect - 1.0) * 100:.1f} % {'higher' if effect > 1.0 else 'lower'}"


def span(bounds: Bounds, unit: str, by_difference: bool) -> str:
    """An interval's ends, the smaller change first: `10.1 % to 14.2 % higher`; each with its word where they differ."""
    low, high = (how_much(end, unit, by_difference) for end in (bounds.low, bounds.high))
    for word in (" percentage points higher", " percentage points lower", " higher", " lower", " times as high"):
        if low.endswith(word) and high.endswith(word):
            smaller, larger = (high, low) if "lower" in word else (low, high)
            return f"{smaller.removesuffix(word)} to {larger}"
    return f"{low} to {high}"


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""
