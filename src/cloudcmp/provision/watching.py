"""What is seen of something that was asked to go, until it is believed to be gone."""

from dataclasses import dataclass

from cloudcmp.provision.ledger import Patience


class Watch:
    """What look-ups say of something that must go, until enough of them `agree`; `first` is when they began to.

    `seen_at` is when it was last seen there (Unix s).
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
    """What kept a machine from being seen gone, when it was last asked for."""

    why: str = "it is still there"
    fault: Exception | None = None
