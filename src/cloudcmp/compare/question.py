"""The questions of a study before their correction: one for each cell, by performance and by work for money."""

from dataclasses import dataclass

import numpy as np

from cloudcmp.compare.comparability import Likeness
from cloudcmp.compare.pairing import Figures, Flags, Launches, pairs_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.result import Basis, Clause
from cloudcmp.stats.check import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """The time span in which each candidate of a cell was measured, Unix time (s), shape (candidates,); NaN if unknown.

    Candidates with separate spans get no verdict without rounds, unless `allowed`: what changed between the spans would
    count as a difference between the candidates.
    """

    first: Floats
    last: Floats
    allowed: bool

    def apart(self, a: Integers, b: Integers) -> Flags:
        """True for each pair whose spans do not overlap."""
        return (self.last[a] < self.first[b]) | (self.last[b] < self.first[a])

    def barred(self, a: Integers, b: Integers, by_rounds: Flags) -> Flags:
        """True for each pair that gets no verdict because of its times."""
        return self.apart(a, b) & ~by_rounds if not self.allowed else np.zeros(a.shape, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One cell before the correction of its family.

    `candidates` are in order. For each, `bars` says why it can neither win nor lose in this cell (None if it can),
    `own_marks` what marks its pairs, and `offered` whether the plan gives it the cell. `notes` are marks of every pair.
    `spent` and `spent_same` are the p values of a difference and of sameness over all looks at the study.
    """

    cell: Cell
    basis: Basis
    metric: Metric
    decides: bool
    candidates: tuple[int, ...]
    bars: tuple[Clause | None, ...]
    own_marks: tuple[tuple[str, ...], ...]
    offered: Flags
    likeness: Likeness
    notes: tuple[str, ...]
    launches: Launches
    figures: Figures
    spent: Floats
    spent_same: Floats
    times: Times
    barred: Flags
    in_family: Flags

    @classmethod
    def of(
        cls, cell: Cell, basis: Basis, metric: Metric, decides: bool, candidates: tuple[int, ...],
        bars: tuple[Clause | None, ...], own_marks: tuple[tuple[str, ...], ...], offered: Flags, likeness: Likeness,
        notes: tuple[str, ...], launches: Launches, figures: Figures, spent: Floats, spent_same: Floats, times: Times,
    ) -> "Question":  # fmt: skip
        """Create a question with two flags for each pair: `barred` pairs get no verdict, `in_family` pairs are
        tested."""
        first, second = pairs_of(len(candidates))
        able = np.array([not bar for bar in bars], dtype=np.bool_)
        barred = ~(able[first] & able[second]) | likeness.refused | (figures.n == 0)
        barred |= times.barred(first, second, figures.by_rounds)
        in_family = offered[first] & offered[second]
        return cls(cell, basis, metric, decides, candidates, bars, own_marks, offered, likeness, notes, launches,
                   figures, spent, spent_same, times, barred, in_family)  # fmt: skip

    @property
    def p(self) -> Floats:
        """The p values of a difference in their family; NaN counts as 1. Only deciding cells pay for several looks."""
        return np.where(self.barred, np.nan, self.spent if self.decides else self.figures.p)

    @property
    def p_same(self) -> Floats:
        """The p values of sameness in their family; NaN counts as 1."""
        return np.where(self.barred, np.nan, self.spent_same)
