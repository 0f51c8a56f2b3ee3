"""The evidence that a resource is gone, collected from look-ups until enough of them agree."""

from dataclasses import dataclass

from cloudcmp.errors import CloudcmpError, NoCredentials
from cloudcmp.provision.ledger import Patience

_RENEWED_S = 60.0  # credentials that refresh themselves have done so by then; all others are waited for in vain


class GoneWatch:
    """Collects the answers of look-ups of one resource; `agree` counts those in a row that call it gone, from `first`.

    `seen_at` is when it was last not reported gone (Unix s).
    """

    def __init__(self, made_at: float, patience: Patience) -> None:
        self._made_at = made_at
        self._patience = patience
        self.seen_at: float | None = None
        self.agree = 0
        self.first = 0.0
        self.evidence: str | None = None

    def record(self, evidence: str | None, asked_at: float, moment: float) -> None:
        """Adds one answer: when it was asked for (Unix s) and when it came (monotonic s)."""
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
class LastFault:
    """The last fault of the calls for one resource, and since when the credentials are refused (monotonic s)."""

    fault: Exception | None = None
    refused_since: float | None = None

    def record(self, moment: float, *results: Exception | None) -> None:
        """Adds the results of one round of calls, None for each that worked; they replace an earlier fault."""
        faults = [one for one in results if one is not None]
        refusals = [one for one in faults if isinstance(one, NoCredentials)]
        self.fault = next(reversed(refusals or faults), None)
        if not refusals and len(faults) < len(results):
            self.refused_since = None
        elif refusals and self.refused_since is None:
            self.refused_since = moment

    def refused(self, moment: float, give_up_s: float) -> bool:
        """True if the credentials have been refused for so long that nothing will renew them."""
        if self.refused_since is None or not isinstance(self.fault, NoCredentials):
            return False
        return moment - self.refused_since >= min(give_up_s, _RENEWED_S)

    @property
    def why(self) -> str:
        """The fault in words."""
        return "it is still there" if self.fault is None else fault_text(self.fault)


def fault_text(fault: Exception) -> str:
    """Describes any exception of a provider: one that is not ours must not keep other resources from being ended."""
    return str(fault) if isinstance(fault, CloudcmpError) else f"{type(fault).__name__}: {fault}"
