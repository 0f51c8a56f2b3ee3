"""Evidence for tests: a folder of samples by a watcher whose clock is given, and its judges."""

import subprocess
import sys
from functools import cache
from pathlib import Path

from cloudcmp.agent.signatures import SigningKey, is_signed
from cloudcmp.model.watch import WatchTerms
from cloudcmp.store.watch import lines
from cloudcmp.store.watch.heads import NAMESPACE
from cloudcmp.store.watch.log import EvidenceLog
from cloudcmp.store.watch.read import FILE, Forged, read_evidence

TERMS = WatchTerms("http://service.test/", every_s=60.0, timeout_s=10.0)
START = 1_760_000_000.0


@cache
def signer(seed: bytes = b"w" * 32) -> SigningKey:
    """A user's key."""
    return SigningKey(seed)


def judge(message: bytes, signature: bytes, key: str) -> bool:
    """True if a message is signed."""
    return is_signed(message, signature, key, NAMESPACE)


def opened(folder: Path, at: float = START, terms: WatchTerms = TERMS) -> EvidenceLog:
    """The log of a folder, as its watcher opens it."""
    return EvidenceLog.open(folder, terms, signer(), at)


def written(folder: Path, samples: int = 12, heads_at: tuple[int, ...] = (6,)) -> Path:
    """A folder with good samples and signed heads after some of them and the last."""
    log = opened(folder)
    log.append("start", START, mono=100.0, boot="b", for_s=3600.0, found=log.found, signed=log.signed)
    for number in range(samples):
        at = START + 60.0 * number
        log.append("sample", at, mono=at - START + 100.0, ok=True, response_s=0.01 + number / 1000, reason="")
        if number + 1 in heads_at:
            log.sign(at)
    log.append("stop", START + 60.0 * samples, mono=60.0 * samples + 100.0, why="finished")
    log.sign(START + 60.0 * samples)
    log.close()
    return folder


def appended(folder: Path, samples: int = 3) -> None:
    """Lines of failed samples that fit the chain, by somebody who has the folder and no key."""
    raw = (folder / FILE).read_bytes().splitlines(keepends=True)
    for _ in range(samples):
        at = START + 60.0 * len(raw)
        fields = {"mono": at - START, "ok": False, "reason": "refused"}
        raw.append(lines.encode(len(raw) + 1, lines.digest(raw[-1]), "sample", at, fields))
    (folder / FILE).write_bytes(b"".join(raw))


def faults(folder: Path) -> list[str]:
    """What our reader says of a folder: a line for each fault, none if all is well."""
    try:
        read_evidence(folder, judge)
    except Forged as forged:
        return [fault.line() for fault in forged.faults]
    return []


def by_program(folder: Path, program: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What the program beside the evidence says, run as a process of its own that cannot import cloudcmp."""
    command = [sys.executable, "-I", str(program or folder / "verify.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
