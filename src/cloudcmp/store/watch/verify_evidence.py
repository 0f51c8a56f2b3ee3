#!/usr/bin/env python3
"""Verifies a folder of evidence of `cloudcmp watch`, without cloudcmp: Python's standard library and ssh-keygen.

    python3 verify.py [FOLDER] [FINGERPRINT]

FOLDER is that of this file if none is named. FINGERPRINT (SHA256:...) is the signer's, from somewhere else than this
folder. Do not run a copy that came with evidence that you doubt: take the program from cloudcmp's own source.

Exit code 0: every line is as it was written, in its place, and was signed by the watcher that wrote it. 1: it says
which is not. A line that is only chained fits the one before it; anyone with the folder could have written it.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def line_faults(path: Path, digests: dict[int, str], keys: list[str], starts: dict[int, int]) -> Iterator[str]:
    """Yield what is wrong with the first bad line.

    Fills `digests` with the digest of the first n lines, by n; `keys` with the signer's key of the first line; and
    `starts` with the number of lines that each watcher found, by the line in which it started.
    """
    prev, whole = "0" * 64, hashlib.sha256()
    for number, raw in enumerate(path.open("rb"), 1):
        found = re.fullmatch(rb'(\{.*),"sum":"([0-9a-f]{16})"\}\n', raw, re.DOTALL)
        if found is None or hashlib.sha256(found[1]).hexdigest()[:16] != found[2].decode():
            if raw.endswith(b"\n"):
                yield f"line {number} was changed: its bytes do not fit its own digest"
            else:
                say(f"note: line {number} is incomplete; it was not acknowledged")
            return
        try:
            content = json.loads(raw)
            place, before, kind, key = content["n"], content["prev"], content["kind"], content.get("key")
        except (ValueError, KeyError, TypeError, AttributeError):
            yield f"line {number} is none that a watcher writes"
            return
        if place != number:
            yield f"line {number} was written as line {place}: lines were removed, added or reordered"
            return
        if before != prev:
            yield f"line {number} does not follow line {number - 1}: one of them was replaced"
            return
        prev = hashlib.sha256(raw).hexdigest()
        whole.update(raw)
        digests[number] = whole.hexdigest()
        keys += [key] if number == 1 else []
        if kind == "start":
            found_lines = content.get("found", 0 if number == 2 else number - 1)
            starts[number] = found_lines if isinstance(found_lines, int) else number - 1


def unsigned_spans(starts: dict[int, int], heads: list[int], lines: int) -> dict[int, int]:
    """The last by the first line of each span that no head covers, or only one of a later watcher, which found it."""
    ends = {max((head for head in heads if head < start), default=0): min(starts[start], start - 1) for start in starts}
    ends[max(heads, default=0)] = lines
    return {head + 1: ends[head] for head in sorted(ends) if head < ends[head]}


def is_plain(signature: bytes) -> bool:
    """True if a signature is in the one form that OpenSSH writes: base64 also has other forms of the same bytes."""
    try:
        text = base64.b64encode(base64.b64decode(b"".join(signature.splitlines()[1:-1])))
    except ValueError:
        return False
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return signature == b"\n".join([b"-----BEGIN SSH SIGNATURE-----", *lines, b"-----END SSH SIGNATURE-----", b""])


def head_fault(folder: Path, head: Path, digests: dict[int, str]) -> str:
    """What is wrong with a signed head; empty if nothing is."""
    if not head.is_file():
        return "is missing"
    if not is_plain(Path(f"{head}.sig").read_bytes()):
        return "its signature is not in the form in which OpenSSH writes one"
    command = ["ssh-keygen", "-Y", "verify", "-f", str(folder / "allowed_signers"), "-I", "watcher"]
    command += ["-n", "cloudcmp-watch", "-s", f"{head}.sig"]
    if subprocess.run(command, input=head.read_bytes(), capture_output=True, check=False).returncode:
        return "its signature does not verify"
    fields = dict(line.split(" ", 1) for line in head.read_text(encoding="ascii").splitlines())
    lines = int(fields["lines"])
    if lines not in digests:
        return f"line {lines} was signed, and there are {len(digests)} good lines"
    return "" if digests[lines] == fields["sha256"] else f"lines 1 to {lines} are not those that were signed"


def fingerprint(key: str) -> str:
    """The fingerprint of a public key."""
    shown = subprocess.run(["ssh-keygen", "-l", "-f", "-"], input=key, capture_output=True, text=True, check=False)
    return next((word for word in shown.stdout.split() if word.startswith("SHA256:")), "unknown")


def main(folder: Path, expected: str) -> int:
    """Print what is wrong, and return the exit code."""
    if not all((folder / name).is_file() for name in ("evidence.jsonl", "allowed_signers")):
        say(f"BAD: {folder} holds no evidence: evidence.jsonl or allowed_signers is missing")
        return 1
    digests: dict[int, str] = {}
    keys: list[str] = []
    starts: dict[int, int] = {}
    bad = [f"evidence.jsonl: {fault}" for fault in line_faults(folder / "evidence.jsonl", digests, keys, starts)]
    heads = sorted(one.with_suffix("") for one in (folder / "heads").glob("*.sig"))
    faults = {head: head_fault(folder, head, digests) for head in heads}
    bad += [f"heads/{head.name}: {fault}" for head, fault in faults.items() if fault]
    key = " ".join((folder / "allowed_signers").read_text(encoding="ascii", errors="replace").split()[2:])
    signer = fingerprint(key)
    if keys and keys[0] != key:
        bad.append("allowed_signers: the key is not that of the first line")
    if expected and signer != expected:
        bad.append(f"allowed_signers: the key is {signer}, not {expected}")
    if not heads:
        bad.append("heads: there is no signed head")
    for line in bad:
        say(f"BAD: {line}")
    signed = [int(head.name) for head, fault in faults.items() if not fault]
    spans = unsigned_spans(starts, signed, len(digests))
    for first, last in spans.items():
        say(f"UNSIGNED: lines {first} to {last} are chained only: anyone with the folder could have written them")
    say(f"{len(digests)} chained lines, {len(heads)} heads; signed up to line {max(signed, default=0)} by {signer}")
    return 1 if bad or spans else 0


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(Path(given[0]) if given else Path(__file__).parent, given[1] if len(given) > 1 else ""))
