"""The comparisons of a study as sequences that need not hold an object for each pair.

A study of 1,000 candidates has 499,500 pairs in each cell, and a reader looks at a few: pairs are looked up by their
two candidates, and a `Comparison` is created on request.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from cloudcmp.model.result import Clause, Comparison, Estimate, Outlook, Verdict, Winner


class CellPairs(Sequence[Comparison]):
    """Every pair of candidates in one cell, in the order of the candidates: (0, 1), (0, 2), ..., (1, 2), ..."""

    cell: str
    decides: bool

    @abstractmethod
    def between(self, a: int, b: int) -> Comparison | None:
        """The comparison of two candidates in its stored order; None if there is none.

        Its robust figures (`hodges_lehmann`, `cliffs_delta`), which are slow to compute, are None; iteration and
        indexing compute them.
        """

    @abstractmethod
    def verdict(self, a: int, b: int) -> Verdict | None:
        """The verdict on `a` against `b`; None in an exploratory cell, and for an unknown pair."""

    @abstractmethod
    def reason(self, a: int, b: int) -> str:
        """Why a pair has no better verdict; may be empty."""

    @abstractmethod
    def spread(self, a: int, b: int) -> float | None:
        """The standard deviation of one difference of a pair, of logarithms unless by difference; None if unknown."""

    @abstractmethod
    def among(self, members: Collection[int]) -> "CellPairs":
        """The pairs whose candidates are both members."""

    @abstractmethod
    def settled(self) -> bool:
        """True if some pair is distinguished, or practically the same."""

    @abstractmethod
    def beaten(self) -> frozenset[int]:
        """The candidates that some verdict ranks below another."""

    @abstractmethod
    def undecided(self, members: Collection[int]) -> Iterator[tuple[int, int]]:
        """The undecided pairs of members, in order."""

    @abstractmethod
    def clauses(self) -> Iterator[Clause]:
        """The parts of the pairs' reasons, in order; repeated ones may be left out."""


class Pairs(Sequence[Comparison]):
    """Every pair in every cell, by cell in the order of the estimates; `family` counts the deciding questions.

    `alpha` is the two-sided error rate of one question alone. `replication_known` is true if each value's launch is
    known.
    """

    family: int
    alpha: float = 0.05
    replication_known: bool = True

    @abstractmethod
    def of(self, cell: str) -> CellPairs:
        """The pairs of a cell; may be empty."""

    @property
    @abstractmethod
    def cells(self) -> Collection[str]:
        """The cells that `of` knows."""

    @abstractmethod
    def only(self, cells: Collection[str]) -> "Pairs":
        """The pairs of some cells; the family stays the one used for the correction of the verdicts."""

    @abstractmethod
    def worded(self, text: Callable[[str], str]) -> "Pairs":
        """The pairs with every reason and mark converted by `text`."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """All figures of a study that reports show, computed once from the store.

    `money` and `money_winners` compare work for money, in the deciding cells where prices are known.
    """

    estimates: tuple[Estimate, ...]
    comparisons: Pairs
    winners: tuple[Winner, ...]
    money: Pairs
    money_winners: tuple[Winner, ...] = ()
    answer: tuple[str, ...] = ()
    outlooks: tuple[Outlook, ...] = ()
