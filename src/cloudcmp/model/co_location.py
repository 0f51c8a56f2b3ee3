"""Signs that the two machines of a launch are on one host."""

from dataclasses import dataclass
from enum import StrEnum


class Sign(StrEnum):
    """What says that the two machines of a launch are on one host."""

    RATE = "more than the promised network"
    """They exchange more than the highest rate that is promised of their network: what reaches it did not go through a
    network card, or the provider delivers more than it promises.
    """
    ROUND_TRIP = "a round trip far below the others"
    """Their round trip is less than half of that of the candidate's other launches: a hint with an unknown error."""


@dataclass(frozen=True, slots=True)
class CoLocation:
    """A sign that the first two machines of one launch are on one host.

    The launch is that of `round` in `session`. `value` is what it measured in `cell`, in the unit of its metric, and
    `limit` what it passed: the highest promised rate, or half of the other launches' median. `n` is the number of the
    candidate's launches in which the same was measured.
    """

    candidate: int
    round: int
    session: str | None
    sign: Sign
    cell: str
    value: float
    limit: float
    n: int
