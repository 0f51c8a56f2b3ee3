"""When a study stops measuring, and what it stopped measuring before."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.units import Money


class StopRule(StrEnum):
    """The rule by which a study decides after each round what is measured next."""

    CERTIFY = "certify"
    """Until one candidate is the best, or at most the tolerance behind it, with a probability of 95 %."""
    RANKING = "ranking"
    """Until every pair that differs by the tolerance or more is in order, with a probability of 95 %."""
    BUDGET = "budget"
    """Until further launches cost more than the expected loss that they can avoid."""


FIRST_STAGE = 10
"""The rounds from which `ranking` learns the spreads; it settles nothing before."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The rule of a study, with its figures.

    `tolerance` is a share: differences below it do not matter. `spend` is the money that the choice decides over, None
    for the other rules than `budget`.
    """

    rule: StopRule
    tolerance: float
    spend: Money | None = None


class EndReason(StrEnum):
    """Why a study with a rule needs no further round."""

    BEST = "BEST"
    """One candidate is the best, or at most the tolerance behind it."""
    TIE = "TIE"
    """So is this one, and the estimate of another, which may be better, is within the tolerance of it."""
    RANKED = "RANKED"
    """The order of all pairs is known, down to the tolerance."""
    REGRET = "REGRET"
    """Further launches cost more than the expected loss that they can avoid."""


class DropReason(StrEnum):
    """Why a candidate is no longer measured."""

    BEHIND = "BEHIND"
    """It is worse than the leader."""
    NOT_BETTER = "NOT_BETTER"
    """It is at most the tolerance better than the leader."""
    RANKED = "RANKED"
    """Its order against every other candidate is known, down to the tolerance."""
    NOT_WORTH_IT = "NOT_WORTH_IT"
    """Its further launches cost more than the expected loss that they can avoid."""
    DECIDED = "DECIDED"
    """Every measurement in which it was compared is decided."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that is not measured from a round on (0 being the first), and why.

    `against` is the leader of the last deciding cell in which it was in question. From round `back` on it is measured
    again, because another candidate leads; None: it is not.
    """

    candidate: int
    round: int
    reason: DropReason
    against: int
    back: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How one deciding cell stood when the study ended, best first.

    `leader` is the candidate that the rule names, `equals` are those that may be better than it and whose estimate is
    within the tolerance of it. `order` has all candidates that were compared. `regret` is the expected loss of taking
    the leader, as a share of what is paid; None for other rules than `budget`.
    """

    cell: str
    money: bool
    reason: EndReason
    leader: int
    equals: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    regret: float | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a study by its rule: after how many rounds of how many planned ones, and how each cell stood."""

    rounds: int
    planned: int
    standings: tuple[Standing, ...]
