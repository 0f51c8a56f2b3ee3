"""A requirement on two candidates, such as `large not worse than small by 5 %`, judged by the measured intervals."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.result import Comparison

_FORM = re.compile(
    r"\s*(?P<a>.+?)\s+(?P<what>not worse than|better than|same as)\s+(?P<b>.+?)"
    r"(?:\s+by\s+(?P<share>\d+(?:\.\d+)?)\s*%)?(?:\s+in\s+(?P<cell>.+?))?\s*"
)
EXAMPLE = "large not worse than small by 5 %"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What must hold of candidate `a` against `b`: `what` by a share (0.05 is 5 %), in one cell or metric or in all."""

    a: str
    what: str
    b: str
    share: float
    cell: str | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a requirement holds in one cell, and its figures in words; None if the data cannot tell."""

    cell: str
    holds: bool | None
    why: str


def parse(text: str) -> Requirement:
    """Parse `A not worse than B by 5 %`, `A better than B [by 5 %]` or `A same as B by 3 %`, each with `in CELL`.

    Raises ValueError for any other text.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no requirement; write e.g. '{EXAMPLE}'")
    share = float(found["share"] or 0) / 100
    if found["what"] == "same as" and not 0 < share < 1:
        raise ValueError(f"{text!r} does not say how close; write e.g. 'large same as small by 3 %'")
    if share >= 1:
        raise ValueError(f"{text!r}: a share of 100 % or more is none; write e.g. '{EXAMPLE}'")
    return Requirement(found["a"], found["what"], found["b"], share, found["cell"])


def judge(wanted: Requirement, metric: Metric, one: Comparison, *, turned: bool) -> Judgement:
    """Judge a requirement in one cell by the 95 % interval of the effect; `turned` if the pair is stored as b, a.

    It holds if the whole interval meets it, and fails if the whole interval misses it; otherwise the data cannot tell.
    Intervals are those of single comparisons: several requirements are not corrected for each other.
    """
    bounds = one.bounds
    if one.by_difference or bounds is None:
        return Judgement(one.cell, None, "no interval of a ratio")
    low, high = (1 / bounds.high, 1 / bounds.low) if turned else (bounds.low, bounds.high)
    if metric.better is Better.LOWER:  # as a ratio of goodness
        low, high = 1 / high, 1 / low
    why = f"{(low - 1) * 100:+.1f} to {(high - 1) * 100:+.1f} % (95 % interval, n = {one.n})"
    least, most = _range(wanted)
    if least <= low and high <= most:
        return Judgement(one.cell, True, why)
    return Judgement(one.cell, False if high < least or low > most else None, why)


def _range(wanted: Requirement) -> tuple[float, float]:
    """The ratios of goodness that meet a requirement."""
    if wanted.what == "better than":
        return 1 + wanted.share, float("inf")
    if wanted.what == "not worse than":
        return 1 - wanted.share, float("inf")
    return 1 - wanted.share, 1 + wanted.share


def verdict_of(judgements: Sequence[Judgement]) -> bool | None:
    """True if all hold, False if one fails, None if none fails and one cannot be told."""
    if any(one.holds is False for one in judgements):
        return False
    return True if judgements and all(one.holds for one in judgements) else None
