"""What is seen of something that was asked to go, until it is believed to be gone."""

from dataclasses import dataclass

from cloudcmp.errors import CloudcmpError, NoCredentials
from cloudcmp.provision.ledger import Patience

_RENEWED_S = 60.0  # credentials that refresh themselves have done so by then; all others are waited for in vain


class Watch:
    """What look-ups say of something that must go, until enough of them `agree`; `first` is when they began to.

    `seen_at` is when it was last not said to be gone (Unix s).
    """

    def __init__(self, made_at: float, patience: Patience) -> None:
        self._made_at = made_at
        self._patience = patience
        self.seen_at: float | None = None
        self.agree = 0
        self.first = 0.0
        self.evidence: str | None = None

    def told(self, evidence: str | None, asked_at: float, moment: float) -> None:
        """One answer, to a question asked at a time (Unix s), and when it came (monotonic s)."""
        if evidence is None:
            self.seen_at, self.agree = asked_at, 0
            return
        if self.seen_at is None and asked_at - self._made_at < self._patience.settle_s:
            return  # it may be too new to be seen
        self.first = self.first if self.agree else moment
        self.agree += 1
        if self.agree >= self._patience.sightings:
            self.evidence = evidence


@dataclass(slots=True)
class Last:
    """What went wrong when something was last asked for, and since when the credentials are not taken (monotonic s)."""

    fault: Exception | None = None
    refused_since: float | None = None

    def told(self, moment: float, *answers: Exception | None) -> None:
        """What came of the calls of one round, None for one that worked: what went wrong before is over then."""
        faults = [one for one in answers if one is not None]
        refusals = [one for one in faults if isinstance(one, NoCredentials)]
        self.fault = next(reversed(refusals or faults), None)
        if not refusals and len(faults) < len(answers):
            self.refused_since = None
        elif refusals and self.refused_since is None:
            self.refused_since = moment

    def refused(self, moment: float, give_up_s: float) -> bool:
        """Whether the credentials were not taken for so long that they are not renewed any more."""
        if self.refused_since is None or not isinstance(self.fault, NoCredentials):
            return False
        return moment - self.refused_since >= min(give_up_s, _RENEWED_S)

    @property
    def why(self) -> str:
        """The same in words."""
        return "it is still there" if self.fault is None else told(self.fault)


def told(fault: Exception) -> str:
    """What a provider raised, in words: whatever it is, what others still have to end must not wait for it."""
    return str(fault) if isinstance(fault, CloudcmpError) else f"{type(fault).__name__}: {fault}"
