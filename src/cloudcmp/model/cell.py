"""Cells: the units of comparison."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from cloudcmp.errors import UserMistake

_RESERVED = set("=; \t\n")


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """A metric together with its canonical parameters, both as text.

    `params` is sorted by key. The text form is `metric key=value;key=value`.
    """

    metric: str
    params: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, metric: str, params: Mapping[str, str]) -> "Cell":
        """The cell of a metric and its parameters; raises UserMistake for text that `parse` could not read back."""
        for part in (metric, *params.keys(), *params.values()):
            if not part or _RESERVED & set(part):
                raise UserMistake.at("cell", f"{part!r} is empty or holds one of '=; '", "use plain words")
        return cls(metric, tuple(sorted(params.items())))

    @classmethod
    def parse(cls, text: str) -> "Cell":
        """The cell of a text form; raises UserMistake for any other text."""
        return _parsed(text)

    @property
    def params_text(self) -> str:
        """The parameters as `key=value;key=value`."""
        return ";".join(f"{key}={value}" for key, value in self.params)

    def get(self, key: str) -> str | None:
        """The value of one parameter, None if the cell has no such parameter."""
        return dict(self.params).get(key)

    def __str__(self) -> str:
        return f"{self.metric} {self.params_text}" if self.params else self.metric


@lru_cache(maxsize=4096)  # a study has a few hundred cells, and names them a hundred thousand times
def _parsed(text: str) -> Cell:
    metric, _, rest = text.strip().partition(" ")
    return Cell.of(metric, parse_params(rest))


def parse_params(text: str) -> dict[str, str]:
    """The parameters of `key=value;key=value`; raises UserMistake for a missing `=` or a key given twice."""
    params: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(";"))):
        key, equals, value = item.partition("=")
        if not equals or key in params:
            raise UserMistake.at(
                "cell", f"{item!r} is not key=value, or is given twice", "write metric key=value;key=value"
            )
        params[key] = value
    return params
