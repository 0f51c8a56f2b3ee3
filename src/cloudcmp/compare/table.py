"""The comparisons of a study in columns: arrays over all pairs; a `Comparison` is created on access."""

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import numpy.typing as npt

from cloudcmp.compare.pairing import Flags, pairs_of, place_of, robust_of
from cloudcmp.compare.question import Question
from cloudcmp.compare.verdict import ALPHA, CODES
from cloudcmp.model.pairs import CellPairs, Pairs
from cloudcmp.model.result import Bounds, Clause, Comparison, NoVerdict, Verdict
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.stats.check import Floats, Integers
from cloudcmp.stats.evidence import fixed_level
from cloudcmp.stats.power import detectable_log_difference

POWER = 0.8
# exp() beyond this leaves the range of floats.
_LARGEST_LOG = 700.0
# The number of comparisons that an iteration over all pairs creates at once.
_AT_ONCE = 4096
_APART = "measured at different times"
_IN_WORDS = {
    NoVerdict.BLOCKS: f"{_APART} and without common rounds: --allow-blocks compares them all the same",
    NoVerdict.NOT_COMPARABLE: "no rounds with both, or a value of 0 or below",
    NoVerdict.TOO_WIDE: "interval too wide",
    NoVerdict.TOO_WIDE_FOR_ALL: "interval too wide after correction for all questions",
}
_BETTER, _WORSE, _SAME, _CANNOT_TELL = (CODES.index(one) for one in Verdict)


@dataclass(frozen=True, slots=True, eq=False)
class CellTable(CellPairs):
    """The pairs of one cell in columns of shape (pairs,): NaN is unknown, a verdict is its index in `CODES`.

    `present` flags the candidates that this table shows; `level` is the p value below which the first of the questions
    that are corrected together is decided.
    """

    cell: str
    decides: bool
    question: Question
    p_adjusted: Floats
    p_same: Floats
    codes: npt.NDArray[np.int8]
    level: float
    present: Flags
    text: Callable[[str], str] = str

    def __len__(self) -> int:
        count = int(self.present.sum())
        return count * (count - 1) // 2

    @overload
    def __getitem__(self, at: int) -> Comparison: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Comparison, ...]: ...
    def __getitem__(self, at: int | slice) -> Comparison | tuple[Comparison, ...]:
        chosen = self._chosen()[at]
        return tuple(self._made(chosen)) if isinstance(at, slice) else next(self._made(np.array([chosen])))

    def __iter__(self) -> Iterator[Comparison]:
        chosen = self._chosen()
        for first in range(0, len(chosen), _AT_ONCE):
            yield from self._made(chosen[first : first + _AT_ONCE])

    def between(self, a: int, b: int) -> Comparison | None:
        """Return the comparison of two candidates as stored, without its robust figures; None if there is none."""
        at = self._at(a, b)
        return None if at is None else next(self._made(np.array([at]), robust=False))

    def reason(self, a: int, b: int) -> str:
        """Return why a pair of this table is undecided; empty if it is decided."""
        at = self._at(a, b)
        return "" if at is None else self._reason(at)

    def verdict(self, a: int, b: int) -> Verdict | None:
        """Return the verdict on `a` against `b`; None in an exploratory cell, and for a pair that is not shown."""
        at = self._at(a, b)
        code = 0 if at is None else int(self.codes[at])
        if a > b:
            code = {_BETTER: _WORSE, _WORSE: _BETTER}.get(code, code)
        return CODES[code]

    def spread(self, a: int, b: int) -> float | None:
        """Return the standard deviation of one difference (of logarithms, unless by difference); None if unknown."""
        at = self._at(a, b)
        return None if at is None else _known(float(self.question.figures.spread[at]))

    def among(self, members: Collection[int]) -> "CellTable":
        """Return the pairs whose candidates are both members."""
        wanted = set(members)
        kept = np.array([one in wanted for one in self.question.candidates], dtype=np.bool_)
        return self if kept.all() else replace(self, present=self.present & kept)

    def worded(self, text: Callable[[str], str]) -> "CellTable":
        """Return a copy whose reasons and marks are changed by `text`."""
        own = self.text
        return replace(self, text=lambda reason: text(own(reason)))

    def settled(self) -> bool:
        """True if some pair is better, worse or practically the same."""
        return bool(np.isin(self.codes[self._chosen()], (_BETTER, _WORSE, _SAME)).any())

    def beaten(self) -> frozenset[int]:
        """Return the candidates that some verdict puts behind another."""
        chosen, (first, second) = self._chosen(), self._pairs
        codes = self.codes[chosen]
        behind = np.concatenate((second[chosen[codes == _BETTER]], first[chosen[codes == _WORSE]]))
        return frozenset(self.question.candidates[at] for at in np.unique(behind).tolist())

    def undecided(self, members: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield the undecided pairs of members, in order."""
        some, (first, second) = self.among(members), self._pairs
        chosen = some._chosen()
        chosen = chosen[self.codes[chosen] == _CANNOT_TELL]
        names = self.question.candidates
        return ((names[a], names[b]) for a, b in zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))

    def clauses(self) -> Iterator[Clause]:
        """Yield the parts of the pairs' reasons in order; most repeated ones are left out."""
        for at in self._representatives():
            yield from (
                replace(one, subject=self.text(one.subject), text=self.text(one.text)) for one in self._clauses(at)
            )

    @property
    def _pairs(self) -> tuple[Integers, Integers]:
        return pairs_of(len(self.question.candidates))

    def _chosen(self) -> Integers:
        """Return the positions of the pairs that are shown."""
        first, second = self._pairs
        if self.present.all():
            return np.arange(len(first))
        return np.flatnonzero(self.present[first] & self.present[second])

    def _at(self, a: int, b: int) -> int | None:
        """Return the position of a pair; None if it is not shown."""
        names = self.question.candidates
        i, j = (bisect.bisect_left(names, one) for one in (min(a, b), max(a, b)))
        if a == b or j >= len(names) or (names[i], names[j]) != (min(a, b), max(a, b)):
            return None
        return place_of(i, j, len(names)) if self.present[i] and self.present[j] else None

    def _representatives(self) -> list[int]:
        """Return positions of pairs that together have every part of every reason, the first pair for each."""
        question, (first, second) = self.question, self._pairs
        here = np.flatnonzero(self.present)
        if len(here) < 2:
            return []
        count, start = len(question.candidates), int(here[0])
        chosen_first = {place_of(start, int(at if at != start else here[1]), count) for at in here if question.bars[at]}
        able = np.array([not bar for bar in question.bars], dtype=np.bool_)
        chosen = self._chosen()
        chosen = chosen[able[first[chosen]] & able[second[chosen]]]
        _, at = np.unique(self._kinds_of_reason(chosen), return_index=True)
        return sorted(chosen_first | set(chosen[at].tolist()))

    def _kinds_of_reason(self, at: Integers) -> Integers:
        """Return a number for each pair without a barred candidate: pairs with equal numbers have equal reasons."""
        figures, (first, second), kinds = self.question.figures, self._pairs, self.question.likeness.kinds
        n, base = np.minimum(figures.n[at], FEWEST_LAUNCHES), int(kinds.max(initial=0)) + 1
        alone = self._alone(at)
        settled = (self.codes[at] != _CANNOT_TELL) & (n > 0)
        open_ = np.where(settled, 4 * FEWEST_LAUNCHES + 4, 4 * n + 2 * figures.by_rounds[at] + alone)
        blocks = self.question.times.barred(first[at], second[at], figures.by_rounds[at])
        open_ = np.where(blocks, 4 * FEWEST_LAUNCHES + 5, open_)
        return np.where(self.question.likeness.refused[at], -1 - kinds[first[at]] * base - kinds[second[at]], open_)

    def _alone(self, at: Integers) -> Flags:
        """True for each pair that would have a verdict if it were the only question, and this the only look."""
        question = self.question
        return (question.figures.p[at] < ALPHA) | (question.spent_same[at] < ALPHA)

    def _no_verdict(self, at: int) -> NoVerdict | None:
        """Return why a pair is undecided; None if it is decided."""
        question, n = self.question, int(self.question.figures.n[at])
        if bars := self._bars(at):
            return NoVerdict.TOO_FEW if all(bar.lacks_launches for bar in bars) else NoVerdict.BARRED
        if question.likeness.refused[at]:
            return NoVerdict.UNLIKE
        if n == 0:
            return NoVerdict.NOT_COMPARABLE
        if question.times.barred(*self._ends(at), question.figures.by_rounds[[at]])[0]:
            return NoVerdict.BLOCKS
        return self._too_little(at, n) if question.in_family[at] and self.codes[at] == _CANNOT_TELL else None

    def _too_little(self, at: int, n: int) -> NoVerdict:
        """Return why the figures of a comparable pair do not decide it."""
        if n < FEWEST_LAUNCHES:
            return NoVerdict.TOO_FEW
        return NoVerdict.TOO_WIDE_FOR_ALL if self._alone(np.array([at]))[0] else NoVerdict.TOO_WIDE

    def _clauses(self, at: int) -> tuple[Clause, ...]:
        """Return the reason of a pair in words, a clause for each part."""
        if bars := self._bars(at):
            return bars
        match self._no_verdict(at):
            case None:
                return ()
            case NoVerdict.UNLIKE:
                first, *rest = self.question.likeness.refusal(*self._places(at))
                subject = f"unlike: {first.subject}" if first.subject else "unlike"
                return Clause(subject, first.text), *rest
            case NoVerdict.TOO_FEW:
                figures = self.question.figures
                noun = "rounds with both" if figures.by_rounds[at] else "launches"
                return (Clause("", f"{int(figures.n[at])} of at least {FEWEST_LAUNCHES} {noun}"),)
            case plain:
                return (Clause("", _IN_WORDS[plain]),)

    def _reason(self, at: int) -> str:
        return self.text("; ".join(map(str, self._clauses(at))))

    def _bars(self, at: int) -> tuple[Clause, ...]:
        """Return what bars the candidates of a pair from a verdict."""
        return tuple(bar for place in self._places(at) if (bar := self.question.bars[place]))

    def _ends(self, at: int) -> tuple[Integers, Integers]:
        first, second = self._pairs
        return first[[at]], second[[at]]

    def _places(self, at: int) -> tuple[int, int]:
        first, second = self._pairs
        return int(first[at]), int(second[at])

    def _marks(self, at: int) -> tuple[str, ...]:
        question, figures = self.question, self.question.figures
        marks = list(question.likeness.marks(*self._places(at)))
        if figures.n[at] and not figures.by_rounds[at]:
            marks.append("no rounds: Welch's t decides")
        if question.times.apart(*self._ends(at))[0]:
            marks.append(_APART)
        marks += question.notes
        marks += dict.fromkeys(mark for place in self._places(at) for mark in question.own_marks[place])
        if figures.spread[at] == 0.0:
            marks.append("no spread at all: coarse or copied values")
        return tuple(map(self.text, marks))

    def _made(self, at: Integers, *, robust: bool = True) -> Iterator[Comparison]:
        """Yield the comparisons at some positions, with their robust figures if `robust`."""
        figures, signed, (first, second) = self.question.figures, self.question.metric.signed, self._pairs
        unknown = (np.full(at.shape, np.nan),) * 2
        extra = robust_of(self.question.launches, first[at], second[at], figures.by_rounds[at]) if robust else unknown
        columns = (
            at, first[at], second[at], figures.n[at], figures.by_rounds[at], figures.centre[at], figures.half_95[at],
            figures.half_90[at], figures.p[at], self.p_adjusted[at], figures.p_welch[at], figures.spread[at],
            self.codes[at], self.question.in_family[at], self.p_same[at], *extra,
        )  # fmt: skip
        names = self.question.candidates
        for row in zip(*(column.tolist() for column in columns), strict=True):
            pair, a, b, n, by_rounds, centre, half_95, half_90, p, p_adjusted, p_welch, spread, code, member = row[:14]
            p_same, middle, delta = row[14:]
            known = n > 0
            yield Comparison(
                cell=self.cell,
                a=names[a],
                b=names[b],
                n=n,
                decides=self.decides,
                by_difference=signed,
                effect=_shown(centre, signed) if known else None,
                bounds=_bounds(centre, half_95, 0.95, signed),
                bounds_90=_bounds(centre, half_90, 0.90, signed),
                p_paired=_known(p) if by_rounds else None,
                p_adjusted=_known(p_adjusted),
                p_welch=_known(p_welch),
                hodges_lehmann=_shown(middle, signed) if known and robust else None,
                cliffs_delta=delta if known and robust else None,
                detectable=self._detectable(n, spread) if member and known else None,
                verdict=CODES[code],
                reason=self._reason(pair),
                no_verdict=self._no_verdict(pair),
                marks=self._marks(pair),
                p_same=_known(p_same),
                basis=self.question.basis,
            )

    def _detectable(self, n: int, spread: float) -> float | None:
        if math.isnan(spread):
            return None
        factor = _detectable_factor(n, fixed_level(n, self.level) if self.question.figures.every_look else self.level)
        # A spread of 0 gives no detectable difference, and a log difference above 700 is no finite ratio.
        if factor is None or spread == 0.0:
            return None
        difference = factor * spread
        if self.question.metric.signed:
            return difference
        return math.exp(difference) if difference < _LARGEST_LOG else None


class PairTable(Pairs):
    """The comparisons of all pairs of a study, with a table for each cell."""

    def __init__(
        self, tables: Mapping[str, CellTable], family: int, replication_known: bool = True, alpha: float = ALPHA
    ) -> None:
        self.family = family
        self.alpha = alpha
        self.replication_known = replication_known
        self._tables = dict(tables)
        self._ends = list(itertools.accumulate(map(len, self._tables.values())))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Comparison]:
        return itertools.chain.from_iterable(self._tables.values())

    @overload
    def __getitem__(self, at: int) -> Comparison: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Comparison, ...]: ...
    def __getitem__(self, at: int | slice) -> Comparison | tuple[Comparison, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(*at.indices(len(self))))
        place = range(len(self))[at]
        cell = bisect.bisect_right(self._ends, place)
        return list(self._tables.values())[cell][place - (self._ends[cell - 1] if cell else 0)]

    def of(self, cell: str) -> CellTable:
        """Return the pairs of a cell."""
        return self._tables[cell]

    @property
    def cells(self) -> Collection[str]:
        """The cells with pairs."""
        return self._tables.keys()

    def only(self, cells: Collection[str]) -> "PairTable":
        """Return the pairs of some cells; the family of their correction stays."""
        return self._of({cell: table for cell, table in self._tables.items() if cell in cells})

    def worded(self, text: Callable[[str], str]) -> "PairTable":
        """Return a copy whose reasons and marks are changed by `text`."""
        words = functools.cache(text)
        return self._of({cell: table.worded(words) for cell, table in self._tables.items()})

    def _of(self, tables: Mapping[str, CellTable]) -> "PairTable":
        return PairTable(tables, self.family, self.replication_known, self.alpha)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _shown(difference: float, by_difference: bool) -> float:
    return difference if by_difference else math.exp(difference)


def _bounds(centre: float, half: float, confidence: float, by_difference: bool) -> Bounds | None:
    low, high = centre - half, centre + half
    if math.isnan(low):
        return None
    if by_difference:
        return Bounds(low, high, confidence)
    # An interval beyond the range of floats (two launches orders of magnitude apart) is no bound.
    if max(abs(low), abs(high)) > _LARGEST_LOG:
        return None
    return Bounds(math.exp(low), math.exp(high), confidence)


@functools.lru_cache(maxsize=4096)
def _detectable_factor(n: int, level: float) -> float | None:
    """Return the detectable difference in standard deviations of one difference; equal for all pairs of a plan."""
    return detectable_log_difference(1.0, n, level, POWER) if level > 0.0 else None
