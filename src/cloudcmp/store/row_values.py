"""The types of the values in stored rows. A study's folder may come from a stranger, and SQLite keeps any type.

Each function returns its value, and raises ValueError or TypeError for a value that a store does not write.
"""

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

LARGEST_COUNT = 2**31 - 1
_FIRST, _LAST = -62135596800.0, 253402300799.0  # Unix seconds of the years 1 and 9999, which a date can name
_LARGEST_AMOUNT, _MOST_DIGITS = Decimal(10) ** 15, 100
_DEEPEST = 24


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"text is needed, not {type(value).__name__}")
    return value


def name(value: object) -> str:
    """A text that can be a part of a path or of a command."""
    if "\0" in text(value):
        raise ValueError("a name holds no NUL")
    return text(value)


def optional_name(value: object) -> str | None:
    """A name, or None."""
    return None if value is None else name(value)


def count(value: object) -> int:
    """A whole number from 0 that fits the files of samples."""
    if not isinstance(value, int):
        raise TypeError(f"a whole number is needed, not {type(value).__name__}")
    if not 0 <= value <= LARGEST_COUNT:
        raise ValueError(f"{value} is no count")
    return value


def number(value: object) -> float:
    """A finite number."""
    if not isinstance(value, int | float):
        raise TypeError(f"a number is needed, not {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError("a finite number is needed")
    return float(value)


def moment(value: object) -> float:
    """A Unix time (s) within the years that a date can represent."""
    if not _FIRST <= number(value) <= _LAST:
        raise ValueError(f"{value} is no time")
    return number(value)


def amount(value: object) -> Decimal:
    """Money from its text, within bounds that keep sums and products exact enough."""
    parsed = Decimal(text(value))
    exponent = parsed.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > _MOST_DIGITS or abs(parsed) >= _LARGEST_AMOUNT:
        raise ValueError("is no amount of money")
    return parsed


def optional_digest(value: object) -> str | None:
    """A SHA-256 digest in hexadecimal, or None."""
    if value is None:
        return None
    if len(text(value)) != 64 or not set(text(value)) <= set("0123456789abcdef"):
        raise ValueError("is no SHA-256 digest")
    return text(value)


def facts(value: object) -> str:
    """The JSON text of an object of facts; empty for none."""
    written = text(value)
    if not written:
        return written
    parsed = json.loads(written)
    if not isinstance(parsed, dict):
        raise TypeError("facts are no object")
    if written.count("{") + written.count("[") > _DEEPEST and not _is_shallow(parsed, _DEEPEST):
        raise ValueError("facts are nested too deeply")
    return written


def _is_shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, Mapping | list):
        return True
    within = value.values() if isinstance(value, Mapping) else value
    return levels > 0 and all(_is_shallow(one, levels - 1) for one in within)
