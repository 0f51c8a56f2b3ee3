"""Input checks shared by all statistics, with one-line error messages."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

# Squares and products of four such values stay finite; no measured quantity in SI units comes near it.
LARGEST = 1e75


def finite(x: npt.ArrayLike, name: str) -> Floats:
    """Checks `x` and returns it as a one-dimensional float array.

    `name` is the argument's name in the message.
    Raises ValueError if `x` is empty, not one-dimensional, or holds NaN, an infinity or a magnitude above 1e75.
    """
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{name}: {values.ndim} dimensions; give a flat array of values")
    if values.size == 0:
        raise ValueError(f"{name}: no values; leave out what was not measured before asking for a statistic")
    sound = np.abs(values) <= LARGEST
    if not sound.all():
        at = int(np.argmin(sound))
        raise ValueError(
            f"{name}: value {at + 1} of {values.size} is {values[at]}; "
            f"keep failed measurements out, a value must be finite and below {LARGEST:g}"
        )
    return values


def fraction(value: float, name: str) -> float:
    """Returns `value` if it lies strictly between 0 and 1; raises ValueError otherwise (and for NaN)."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name}: {value} is not between 0 and 1; write 0.95 for 95 %")
    return float(value)


def is_constant(values: Floats) -> bool:
    """True if all values are the same float, so that rounding in a mean cannot invent a spread."""
    return bool(values.min() == values.max())
