"""Reads evidence of watches, with the signatures judged."""

from pathlib import Path

from cloudcmp.agent.signatures import fingerprint, is_signed
from cloudcmp.model.watch import Evidence, Watched
from cloudcmp.store.watch.heads import NAMESPACE
from cloudcmp.store.watch.read import is_evidence, read_evidence, read_watched

__all__ = ["evidence_in", "is_evidence", "signer_of", "watched_in"]


def evidence_in(folder: Path) -> Evidence:
    """The evidence in a folder, whole; raises UserMistake with a fault for each line and head that is not as written.

    Raises StorageFault for a folder that cannot be read.
    """
    return read_evidence(folder, _is_signed)


def watched_in(folder: Path) -> Watched:
    """The samples of a service in a folder of evidence, in order of time, for claims about them.

    Raises as `evidence_in` does, and UserMistake if the watcher's clock was set by more than one interval.
    """
    return read_watched(folder, _is_signed)


def signer_of(evidence: Evidence) -> str:
    """The fingerprint of the key that signed the evidence, as `ssh-keygen -l` shows it.

    Evidence that was read has a head that verifies with this key.
    """
    return fingerprint(evidence.key)


def _is_signed(message: bytes, signature: bytes, key: str) -> bool:
    return is_signed(message, signature, key, NAMESPACE)
