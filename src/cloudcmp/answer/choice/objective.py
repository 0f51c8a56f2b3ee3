"""What is to be least or most: one column, or a product of powers of several, such as `speed^2 / cost`."""

import re
from dataclasses import dataclass

from cloudcmp.errors import UserMistake

_OPERATOR = re.compile(r"\s+([*/])\s+")
_FACTOR = re.compile(r"(?P<name>.+?)\s*(?:\^\s*(?P<power>\d+(?:\.\d+)?|\.\d+))?")
_PER = re.compile(r"cost\s+per\s+(?P<name>.+)")
EXAMPLE = "cost / stressng_best_n"
_LARGEST = 100.0
_LEFT_OVER = re.compile(r"\^|(?:^|\s)[*/](?:\s|$)")


@dataclass(frozen=True, slots=True)
class Objective:
    """A product of powers of columns, to be made least or most.

    The exponents are the declared weights: only their ratios to each other decide, and the units of the columns do not.
    """

    text: str
    factors: tuple[tuple[str, float], ...]
    most: bool

    @property
    def word(self) -> str:
        """The word for its best value."""
        return "most" if self.most else "least"


def parse_objective(text: str, *, most: bool) -> Objective:
    """Parse `NAME`, `cost per NAME`, or names with `^POWER` joined by ` * ` and ` / `.

    Raises UserMistake for any other text, and for a name given twice.
    """
    where = "--maximise" if most else "--minimise"
    per = _PER.fullmatch(text.strip())
    first, *rest = _OPERATOR.split(f"cost / {per['name']}" if per else text.strip())
    factors: dict[str, float] = {}
    for operator, part in zip(("*", *rest[::2]), (first, *rest[1::2]), strict=True):
        found = _FACTOR.fullmatch(part)
        power = float(found["power"] or 1.0) if found else 0.0
        if found is None or not 0 < power <= _LARGEST or _LEFT_OVER.search(found["name"]):
            raise UserMistake.at(where, f"{part!r} is no column with a power above 0", f"write e.g. '{EXAMPLE}'")
        if found["name"] in factors:
            raise UserMistake.at(where, f"{found['name']!r} is named twice", "write its power, such as speed^2")
        factors[found["name"]] = power if operator == "*" else -power
    return Objective(text.strip(), tuple(factors.items()), most)
