"""The comparisons of a study as sequences that need not hold an object for each pair.

A study of 1,000 candidates has 499,500 pairs in each cell, of which a reader sees a few: what is asked of a pair is
asked by its two candidates, and a `Comparison` is made when it is.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence

from cloudcmp.model.result import Clause, Comparison, Verdict


class CellPairs(Sequence[Comparison]):
    """Every pair of candidates in one cell, in the order of the candidates: (0, 1), (0, 2), ..., (1, 2), ..."""

    cell: str
    decides: bool

    @abstractmethod
    def between(self, a: int, b: int) -> Comparison | None:
        """The comparison of two candidates as it is stored, whichever comes first in it; None where there is none.

        Its robust figures (`hodges_lehmann`, `cliffs_delta`), which are dear, are None: going through the pairs, or
        taking one by its place, gives them.
        """

    @abstractmethod
    def verdict(self, a: int, b: int) -> Verdict | None:
        """The verdict on `a` against `b`; None in an exploratory cell, and for a pair that is not here."""

    @abstractmethod
    def reason(self, a: int, b: int) -> str:
        """Why a pair that is here has no better verdict, empty where there is nothing to say."""

    @abstractmethod
    def spread(self, a: int, b: int) -> float | None:
        """The standard deviation of one difference of a pair, of logarithms unless by difference; None if unknown."""

    @abstractmethod
    def among(self, members: Collection[int]) -> "CellPairs":
        """The pairs of which both candidates are members."""

    @abstractmethod
    def settled(self) -> bool:
        """True if some pair is told apart, or is practically the same."""

    @abstractmethod
    def beaten(self) -> frozenset[int]:
        """The candidates that some verdict puts behind another."""

    @abstractmethod
    def undecided(self, members: Collection[int]) -> Iterator[tuple[int, int]]:
        """The pairs of members that cannot be told apart yet, in order."""

    @abstractmethod
    def clauses(self) -> Iterator[Clause]:
        """The parts of the reasons of the pairs in their order; one that says nothing new may be left out."""


class Pairs(Sequence[Comparison]):
    """Every pair in every cell, by cell in the order of the estimates; `family` counts the questions that decide.

    `replication_known` is whether the values of one launch are told apart from those of another.
    """

    family: int
    replication_known: bool = True

    @abstractmethod
    def of(self, cell: str) -> CellPairs:
        """The pairs of a cell; none where it has none."""

    @abstractmethod
    def only(self, cells: Collection[str]) -> "Pairs":
        """The pairs of some cells, with the family that the verdicts were corrected for."""

    @abstractmethod
    def worded(self, text: Callable[[str], str]) -> "Pairs":
        """The same with every reason and mark as `text` gives it."""
