"""The comparisons of a view that a test makes up, as they stand in a list."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from cloudcmp.model.pairs import CellPairs, Pairs
from cloudcmp.model.result import Clause, Comparison, Verdict

TURNED = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}


class ListedCell(CellPairs):
    """The pairs of one cell."""

    def __init__(self, cell: str, pairs: Iterable[Comparison]) -> None:
        self.cell = cell
        self._pairs = tuple(pairs)
        self.decides = any(one.decides for one in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, at: Any) -> Any:
        return self._pairs[at]

    def between(self, a: int, b: int) -> Comparison | None:
        return next((one for one in self._pairs if {one.a, one.b} == {a, b}), None)

    def verdict(self, a: int, b: int) -> Verdict | None:
        found = self.between(a, b)
        if found is None or found.verdict is None:
            return None
        return found.verdict if found.a == a else TURNED.get(found.verdict, found.verdict)

    def reason(self, a: int, b: int) -> str:
        found = self.between(a, b)
        return found.reason if found else ""

    def spread(self, a: int, b: int) -> float | None:
        return None

    def among(self, members: Collection[int]) -> "ListedCell":
        return ListedCell(self.cell, (one for one in self._pairs if one.a in members and one.b in members))

    def settled(self) -> bool:
        return any(one.verdict not in (None, Verdict.CANNOT_TELL) for one in self._pairs)

    def beaten(self) -> frozenset[int]:
        apart = [one for one in self._pairs if one.verdict in TURNED]
        return frozenset(one.b if one.verdict is Verdict.BETTER else one.a for one in apart)

    def undecided(self, members: Collection[int]) -> Iterator[tuple[int, int]]:
        return ((one.a, one.b) for one in self.among(members) if one.verdict is Verdict.CANNOT_TELL)

    def clauses(self) -> Iterator[Clause]:
        return (Clause("", one.reason) for one in self._pairs if one.reason)


class Listed(Pairs):
    """The pairs of all cells."""

    def __init__(self, pairs: Iterable[Comparison] = ()) -> None:
        self._pairs = tuple(pairs)
        self.family = sum(one.decides for one in self._pairs)
        self._cells: dict[str, list[Comparison]] = {}
        for one in self._pairs:
            self._cells.setdefault(one.cell, []).append(one)

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, at: Any) -> Any:
        return self._pairs[at]

    def of(self, cell: str) -> ListedCell:
        return ListedCell(cell, self._cells.get(cell, ()))

    @property
    def cells(self) -> Collection[str]:
        return self._cells.keys()

    def only(self, cells: Collection[str]) -> "Listed":
        return Listed(one for one in self._pairs if one.cell in cells)

    def worded(self, text: Callable[[str], str]) -> "Listed":
        return Listed(
            dataclasses.replace(one, reason=text(one.reason), marks=tuple(map(text, one.marks))) for one in self._pairs
        )
