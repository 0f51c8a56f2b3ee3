"""The answer about service levels: claims, credits, utility, and money against nines."""

from dataclasses import dataclass

from cloudcmp.model.credits import CreditFinding
from cloudcmp.model.nines import NinesFinding
from cloudcmp.model.service_level import Claim, ClaimFinding, Requirement
from cloudcmp.model.utility import LevelAnswer, UtilityAnswer


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """A claim without samples, and what would prove it."""

    claim: Claim
    requirement: Requirement
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceUse:
    """A folder of evidence as a source: `failed` of all its samples failed.

    Those that are `unsigned`, of which `unsigned_failed` failed, are in lines that no watcher signed which wrote them,
    and are `counted` only if that was asked for.
    """

    source: str
    samples: int
    failed: int
    unsigned: int
    unsigned_failed: int
    counted: bool


@dataclass(frozen=True, slots=True)
class SlaAnswer:
    """Everything that was asked of some sources about service levels; what was not asked is empty or None.

    `confidence` is that of each bound. `evidence` are the sources that are folders of evidence.
    """

    confidence: float
    claims: tuple[ClaimFinding, ...] = ()
    planned: tuple[PlannedClaim, ...] = ()
    credits: tuple[CreditFinding, ...] = ()
    utility: UtilityAnswer | None = None
    levels: LevelAnswer | None = None
    nines: tuple[NinesFinding, ...] = ()
    evidence: tuple[EvidenceUse, ...] = ()
    simulated: bool = False
    notes: tuple[str, ...] = ()
    sentence: str = ""
