"""Formats numbers for readers: one unit for a cell, three digits, intervals that match their value."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeGuard

from cloudcmp.model.result import Bounds, Comparison
from cloudcmp.units import format_in, format_quantity, format_ratio, scale_of

UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit in which all values of one cell are shown: value / factor is in `unit`."""

    factor: float
    unit: str

    @classmethod
    def of(cls, values: list[float], unit: str) -> "Scale":
        """Choose the unit for the values of a cell by their median magnitude, so that it suits all of them."""
        sizes = sorted(abs(value) for value in values if math.isfinite(value) and value != 0)
        return cls(*scale_of(sizes[len(sizes) // 2] if sizes else 0.0, unit))

    def number(self, value: float | None) -> str:
        """A value in this unit without its name; a dash if unknown."""
        return UNKNOWN if not known(value) else format_in(value, self.factor, "")

    def quantity(self, value: float | None) -> str:
        """A value with this unit; a dash if unknown."""
        return UNKNOWN if not known(value) else format_in(value, self.factor, self.unit)

    def interval(self, bounds: Bounds | None) -> str:
        """Both ends of an interval in this unit."""
        if bounds is None or not known(bounds.low) or not known(bounds.high):
            return UNKNOWN
        return f"{self.number(bounds.low)} to {self.number(bounds.high)}"

    def shown(self, value: float | None) -> float | None:
        """A value in this unit as a number for a figure; None if unknown."""
        return value / self.factor if known(value) else None


_TASKS = (
    (1.0, "task"), (1e3, "1000 tasks"), (1e6, "million tasks"), (1e9, "billion tasks"), (1e12, "trillion tasks"),
)  # fmt: skip


def cost_scale(costs: Collection[float], currency: str) -> Scale:
    """The unit of the costs of one task, of a number of tasks that costs a readable amount: `USD per million tasks`."""
    low = min(costs, default=1.0)
    factor, many = next((pair for pair in _TASKS if low * pair[0] >= 0.1), _TASKS[-1])
    return Scale(1 / factor, f"{currency} per {many}")


def work_scale(work: Collection[float], unit: str) -> Scale:
    """The unit of work for one unit of money, with a prefix: `Pflop/USD`."""
    scale = Scale.of(list(work), "op/s")  # which has prefixes, as all counts of work
    return Scale(scale.factor, scale.unit.removesuffix("op/s") + unit)


def known(value: float | None) -> TypeGuard[float]:
    """True if there is a finite value."""
    return value is not None and math.isfinite(value)


def ratio(value: float | None, like: float | None = None) -> str:
    """Format a ratio: as a change in percent up to a factor of two, else as a factor; `like` chooses the form."""
    if not known(value):
        return UNKNOWN
    near = 0.5 <= (like if known(like) else value) <= 2
    text = format_ratio(value) if near else f"×{format_in(value, 1.0, '')}"
    return "0.0 %" if text in {"+0.0 %", "-0.0 %"} else text


def signed(value: float | None, unit: str) -> str:
    """A difference with its sign and unit."""
    if not known(value):
        return UNKNOWN
    text = f"{'+' if value > 0 else ''}{format_quantity(value, unit)}"
    return text.replace("%", "points") if unit == "ratio" else text  # percentages differ by percentage points


def effect(comparison: Comparison, unit: str, *, turned: bool = False) -> str:
    """Format the effect of a comparison, a against b, or b against a if `turned`."""
    value = comparison.effect
    if not known(value):
        return UNKNOWN
    if comparison.by_difference:
        return signed(-value if turned else value, unit)
    return ratio(1 / value if turned and value else value)


def effect_bounds(comparison: Comparison, bounds: Bounds | None, unit: str) -> str:
    """Format an interval of the effect in the form of the effect itself."""
    if bounds is None:
        return UNKNOWN
    if comparison.by_difference:
        return f"{signed(bounds.low, unit)} to {signed(bounds.high, unit)}"
    return f"{ratio(bounds.low, comparison.effect)} to {ratio(bounds.high, comparison.effect)}"


def change(comparison: Comparison, turned: bool, unit: str) -> str:
    """Format an effect with its 95 % interval in little room: `+93 % (+86 to +101)`, `×3.4 (3.1 to 3.8)`."""
    effect_, bounds = comparison.effect, comparison.bounds
    if not known(effect_):
        return UNKNOWN
    low, high = (None, None) if bounds is None else (bounds.low, bounds.high)
    if comparison.by_difference:
        sign = -1.0 if turned else 1.0
        ends = sorted(sign * end for end in (low, high) if known(end))
        text = signed(sign * effect_, unit)
        return f"{text} ({' to '.join(signed(end, unit) for end in ends)})" if ends else text
    if turned:
        effect_, low, high = 1 / effect_, high and 1 / high, low and 1 / low
    if not (known(low) and known(high)):
        return plain_change(effect_, unit, signed_=False)
    if not _in_percent(effect_):
        low_text, high_text = format_in(low, 1.0, ""), format_in(high, 1.0, "")
        return f"{plain_change(effect_, unit, signed_=False)} ({low_text} to {high_text})"
    digits = 0 if max(abs(one - 1) for one in (effect_, low, high)) >= 0.1 else 1
    texts = [f"{(one - 1) * 100:+.{digits}f}" for one in (effect_, low, high)]
    return f"{texts[0]} % ({texts[1]} to {texts[2]})"


def plain_change(effect: float, unit: str, *, signed_: bool) -> str:
    """Format an effect without an interval in the form of `change`."""
    if signed_:
        return signed(effect, unit)
    if not _in_percent(effect):
        return f"×{format_in(effect, 1.0, '')}"
    return f"{(effect - 1) * 100:+.{0 if abs(effect - 1) >= 0.1 else 1}f} %"


def _in_percent(effect: float) -> bool:
    return 0.4 <= effect <= 2.5


def detectable(comparison: Comparison, unit: str) -> str:
    """Format the smallest true effect that the launches could have detected, without sign."""
    value = comparison.detectable
    if not known(value):
        return UNKNOWN
    return format_quantity(value, unit) if comparison.by_difference else ratio(value).removeprefix("+")


def probability(value: float | None) -> str:
    """Format a p value: three decimals, never a plain zero."""
    if not known(value):
        return UNKNOWN
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def share(value: float | None) -> str:
    """A share in percent."""
    return UNKNOWN if not known(value) or not known(value * 100) else f"{value * 100:.1f} %"


def plain(value: float | None) -> str:
    """A number without a unit, two decimals."""
    return UNKNOWN if not known(value) else f"{value:.2f}"
