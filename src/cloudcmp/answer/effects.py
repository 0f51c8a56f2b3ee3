"""Effects and intervals in words, and short names of cells."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from cloudcmp.model.cell import Cell
from cloudcmp.model.result import Bounds, Comparison
from cloudcmp.units import format_quantity

T = TypeVar("T")

# Parameters that names always show, even if a study has only one value of them.
_ALWAYS = {"percentile", "threads"}


def short_names(cells: Iterable[str]) -> dict[str, str]:
    """Return a short name for each cell: metric, threads, percentile, and the parameters that distinguish it."""
    parsed = {text: Cell.parse(text) for text in cells}
    values: dict[tuple[str, str], set[str | None]] = {}
    for cell in parsed.values():
        for key, _ in cell.params:
            values.setdefault((cell.metric, key), set())
    for metric, key in values:
        values[metric, key] = {cell.get(key) for cell in parsed.values() if cell.metric == metric}
    names = {}
    for text, cell in parsed.items():
        params = [f"{key}={value}" for key, value in cell.params if key in _ALWAYS or len(values[cell.metric, key]) > 1]
        names[text] = f"{cell.metric} ({', '.join(params)})" if params else cell.metric
    return names


def turned(one: Comparison, first: int) -> tuple[float, Bounds | None]:
    """Return effect and 95 % interval of candidate `first` against the other.

    Raises ValueError if the comparison has no effect.
    """
    if one.effect is None:
        raise ValueError("a comparison without an effect has no direction")
    if one.a == first:
        return one.effect, one.bounds
    bounds = one.bounds
    if one.by_difference:
        return -one.effect, bounds and Bounds(-bounds.high, -bounds.low, bounds.confidence)
    return 1.0 / one.effect, bounds and Bounds(1.0 / bounds.high, 1.0 / bounds.low, bounds.confidence)


def how_much(effect: float, unit: str, by_difference: bool, other: str) -> str:
    """Describe an effect: `12.3 % higher than b`, `2.40 times as high as b`, `3 ms lower than b`.

    Shares differ in percentage points.
    """
    number, word = _parts(effect, unit, by_difference, _is_factor(effect))
    return f"{number} {word} {'as' if word == _TIMES else 'than'} {other}"


def how_much_work(effect: float, currency: str, other: str) -> str:
    """Describe a ratio of work for money: `12.3 % more work per USD than b`, `2.40 times the work per USD of b`."""
    if _is_factor(effect):
        return f"{_number(effect)} times the work per {currency} of {other}"
    return f"{abs(effect - 1.0) * 100:.1f} % {'more' if effect > 1.0 else 'less'} work per {currency} than {other}"


def how_much_cost(effect: float, other: str) -> str:
    """Describe a ratio of costs: `a task costs 12.3 % less than on b`, `a task costs 2.40 times as much as on b`."""
    if _is_factor(effect):
        return f"a task costs {_number(effect)} times as much as on {other}"
    return f"a task costs {abs(effect - 1.0) * 100:.1f} % {'more' if effect > 1.0 else 'less'} than on {other}"


def span(bounds: Bounds, effect: float, unit: str, by_difference: bool) -> str:
    """Describe an interval, the smaller change first: `10.1 % to 14.2 % higher`.

    If the ends have different directions, each gets its own word. Ratios are written like the effect itself: as changes
    up to a factor of two, as factors beyond.
    """
    low, high = (_parts(end, unit, by_difference, _is_factor(effect)) for end in (bounds.low, bounds.high))
    if low[1] != high[1]:
        return f"{' '.join(low)} to {' '.join(high)}"
    smaller, larger = (high, low) if low[1] == "lower" else (low, high)
    return f"{smaller[0].removesuffix(_POINTS)} to {larger[0]} {larger[1]}"


_TIMES = "times as high"
_POINTS = " percentage points"


def _parts(effect: float, unit: str, by_difference: bool, factor: bool) -> tuple[str, str]:
    """Return the number with its unit, and the word for its direction."""
    if by_difference:
        points = f"{abs(effect) * 100:.3g}{_POINTS}" if unit == "ratio" else format_quantity(abs(effect), unit)
        return points, "higher" if effect > 0 else "lower"
    if factor:
        return _number(effect), _TIMES
    return f"{abs(effect - 1.0) * 100:.1f} %", "higher" if effect > 1.0 else "lower"


def _number(effect: float) -> str:
    return f"{effect:.2f}" if 0.1 <= effect < 100.0 else f"{effect:.3g}"


def _is_factor(effect: float) -> bool:
    return effect >= 2.0 or effect <= 0.5


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def leading(items: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """Return the first items, and the number of the others: none, or at least two.

    A line about a single one that is left out would take the room of that one.
    """
    shown = items if len(items) <= most + 1 else items[:most]
    return shown, len(items) - len(shown)


def chance_words(chance: float) -> str:
    """Describe a probability no more exactly than it is known: `about 80 %`, `over 95 %`."""
    return "over 95 %" if chance > 0.95 else f"about {max(5, round(chance * 20) * 5)} %"
