"""Signed heads of a file of evidence: each is a few lines that name the digest of its first lines, and a signature.

A head is the file `heads/<lines>`, its signature `heads/<lines>.sig`. With the public key in `allowed_signers`, stock
OpenSSH verifies it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from cloudcmp.store.faults import storage
from cloudcmp.store.files import write_durably

FOLDER = "heads"
SIGNERS = "allowed_signers"
NAMESPACE = "cloudcmp-watch"
WATCHER = "watcher"
"""The name of the signer in `allowed_signers`."""
_FIRST = "cloudcmp watch head 1"
_KEY = "ssh-ed25519 [A-Za-z0-9+/=]{68}"
_SIGNERS = re.compile(f'{WATCHER} namespaces="{NAMESPACE}" ({_KEY})\n')
_NAME = re.compile(r"\d{9}")
_TEXT = re.compile(rf"{_FIRST}\nlines (\d{{1,9}})\nsha256 ([0-9a-f]{{64}})\nat (\S{{1,40}})\nkey ({_KEY})\n")
_LONGEST_BYTES = 4096


class Signer(Protocol):
    """What signs heads: its public key in OpenSSH's form, and signatures for a namespace."""

    @property
    def public(self) -> str:
        """The public key."""
        ...

    def sign(self, message: bytes, namespace: str) -> bytes:
        """The signature of a message, armoured."""
        ...


@dataclass(frozen=True, slots=True)
class Head:
    """A head: the first `lines` lines of the evidence have the digest `sha256`, signed with `key`."""

    lines: int
    sha256: str
    key: str
    text: bytes
    signature: bytes


def write_head(folder: Path, lines: int, sha256: str, at: float, signer: Signer) -> None:
    """Signs the first `lines` lines of the evidence in a folder, durably; the signature comes last.

    `sha256` is the digest of those lines, `at` the time in seconds since 1970. Raises StorageFault.
    """
    moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    text = f"{_FIRST}\nlines {lines}\nsha256 {sha256}\nat {moment}\nkey {signer.public}\n".encode()
    path = folder / FOLDER / f"{lines:09d}"
    write_durably(path, text)
    write_durably(path.with_suffix(".sig"), signer.sign(text, NAMESPACE))


def write_signers(folder: Path, signer: Signer) -> None:
    """Writes the file that tells OpenSSH whose signatures to believe."""
    write_durably(folder / SIGNERS, f'{WATCHER} namespaces="{NAMESPACE}" {signer.public}\n'.encode())


def read_signers(folder: Path) -> str:
    """The one public key in the file of signers; empty if the file is anything else than what a watcher writes."""
    found = _SIGNERS.fullmatch(_small(folder / SIGNERS).decode("ascii", "replace"))
    return found[1] if found else ""


def discard_unsigned(folder: Path) -> None:
    """Removes heads without a signature, which a watcher leaves that dies while it signs."""
    with storage(folder / FOLDER):
        names = {path.name for path in (folder / FOLDER).iterdir()}
        for name in names:
            if name.endswith(".part") or (_NAME.fullmatch(name) and f"{name}.sig" not in names):
                (folder / FOLDER / name).unlink()


def last_head(folder: Path) -> Head | None:
    """The last head that can be read; None if there is none. Does not check its signature."""
    heads = folder / FOLDER
    paths = sorted((one for one in heads.iterdir() if _NAME.fullmatch(one.name)), reverse=True)
    return next((head for head in map(_read, paths) if head is not None), None)


def is_own(head: Head, signer: Signer) -> bool:
    """True if a signer made the signature of a head: a signature of Ed25519 has no other form (RFC 8032)."""
    return head.key == signer.public and head.signature == signer.sign(head.text, NAMESPACE)


def read_heads(folder: Path) -> Iterator[tuple[Path, Head | None]]:
    """The heads in a folder by their number of lines, each with its path; None for one that cannot be read as one.

    A head without a signature says nothing: a watcher that dies while it signs leaves one.
    """
    heads = folder / FOLDER
    for path in sorted(one for one in heads.iterdir() if _NAME.fullmatch(one.stem)) if heads.is_dir() else []:
        if path.suffix == ".sig":
            yield path.with_suffix(""), _read(path.with_suffix(""))


def _read(path: Path) -> Head | None:
    text, signature = _small(path), _small(path.with_suffix(".sig"))
    found = _TEXT.fullmatch(text.decode("ascii", "replace"))
    if found is None or int(found[1]) != int(path.name):
        return None
    return Head(int(found[1]), found[2], found[4], text, signature)


def _small(path: Path) -> bytes:
    """The content of a small plain file; empty if it is none."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size > _LONGEST_BYTES:
        return b""
    with storage(path):
        return path.read_bytes()
