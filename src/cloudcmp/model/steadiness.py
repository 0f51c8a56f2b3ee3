"""How steady candidates are: between launches, inside them, and against each other."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.result import Bounds


class Steady(StrEnum):
    """The verdict on the steadiness of one candidate against another."""

    STEADIER = "steadier"
    LESS_STEADY = "less steady"
    AS_STEADY = "as steady"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class LaunchesNeeded:
    """The launches for an interval of the median within +- `share`; `measured` is true if launches were resampled for
    it, and false for the rule of thumb, because there are too few."""

    share: float
    launches: int
    measured: bool


@dataclass(frozen=True, slots=True)
class ModeFact:
    """What goes with two levels: a fact of the launches, its values at the lower and at the upper level, the share of
    launches that it puts on the right level, and the p value of so many, corrected for all facts that were tested."""

    fact: str
    low: tuple[str, ...]
    high: tuple[str, ...]
    share: float
    p: float = 1.0


@dataclass(frozen=True, slots=True)
class TwoLevels:
    """The two levels of a candidate's launches: their means, the share of launches in the upper, what goes with them,
    the best first, and the names of all facts that were tested."""

    low: float
    high: float
    share_high: float
    facts: tuple[ModeFact, ...]
    tested: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How steady a candidate is in one cell.

    `between` is the coefficient of variation of its `n` launch values, `within` that of runs inside a launch, each with
    its 95 % interval; of a metric that can be 0 they are standard deviations in its unit (`by_difference`). None is
    unknown.
    """

    candidate: int
    cell: str
    n: int
    by_difference: bool
    between: float | None
    between_bounds: Bounds | None
    within: float | None
    within_bounds: Bounds | None
    needed: tuple[LaunchesNeeded, ...]
    levels: TwoLevels | None


@dataclass(frozen=True, slots=True)
class SteadyPair:
    """The spread of candidate `a` between launches against that of `b`, in one cell.

    `ratio` is that of the standard deviations of the logarithms of launch values (of the values, if the metric can be
    0), with its 95 % interval. `p` is Brown and Forsythe's, `p_adjusted` is corrected for all pairs (Holm). `reason`
    is why the verdict is `cannot tell`.
    """

    cell: str
    a: int
    b: int
    ratio: float | None
    bounds: Bounds | None
    p: float | None
    p_adjusted: float | None
    verdict: Steady
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SteadinessView:
    """The steadiness of candidates in the deciding cells, and the verdicts on pairs."""

    figures: tuple[Steadiness, ...]
    pairs: tuple[SteadyPair, ...]

    def only(self, cells: Collection[str]) -> "SteadinessView":
        """Return what it says of some cells; the family of the correction stays."""
        return SteadinessView(
            tuple(one for one in self.figures if one.cell in cells),
            tuple(one for one in self.pairs if one.cell in cells),
        )
