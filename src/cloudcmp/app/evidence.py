"""Reads evidence of watches, with the signatures judged."""

from pathlib import Path

from cloudcmp.agent.signatures import fingerprint, is_signed
from cloudcmp.model.watch import Evidence
from cloudcmp.store.watch.heads import NAMESPACE
from cloudcmp.store.watch.read import Forged, is_evidence, read_evidence, read_for_claims

__all__ = ["Forged", "evidence_for_claims", "evidence_in", "is_evidence", "signer_of"]


def evidence_in(folder: Path) -> Evidence:
    """The evidence in a folder, whole; raises UserMistake with a fault for each line and head that is not as written.

    Raises StorageFault for a folder that cannot be read.
    """
    return read_evidence(folder, _is_signed)


def evidence_for_claims(folder: Path) -> Evidence:
    """The evidence in a folder, for claims about its samples.

    Raises as `evidence_in` does, and UserMistake if the watcher's clock was set by more than one interval.
    """
    return read_for_claims(folder, _is_signed)


def signer_of(evidence: Evidence) -> str:
    """The fingerprint of the key that signed the evidence, as `ssh-keygen -l` shows it.

    Evidence that was read has a head that verifies with this key.
    """
    return fingerprint(evidence.key)


def _is_signed(message: bytes, signature: bytes, key: str) -> bool:
    return is_signed(message, signature, key, NAMESPACE)
