"""The lines of a file of evidence: each holds its number, the digest of the line before, and a digest of itself.

A line is a JSON object of the keys `n`, `prev`, `kind`, `at` and those of its kind, and `sum` as the last. `prev` is
the SHA-256 of the whole line before with its end of line, and zeros in the first. `sum` is the beginning of the SHA-256
of all bytes of the line before the comma of `sum`: it tells a line that was written whole from a torn or changed one,
also where no later line does.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

LONGEST_BYTES = 16 * 1024
NO_LINE = "0" * 64
_SUM_DIGITS = 16
_WHOLE = re.compile(rb'(\{.*),"sum":"([0-9a-f]{16})"\}\n', re.DOTALL)


class LineFault(ValueError):
    """A line that is not as it was written, or not in its place; the text says how."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is whole and in its place; `fields` are those of its kind."""

    number: int
    kind: str
    at: float
    fields: Mapping[str, Any]

    def number_of(self, key: str) -> float | None:
        """A field that is a number or missing; raises LineFault for anything else."""
        value = self.fields.get(key)
        if value is not None and not _is_number(value):
            raise LineFault(f"its {key} is no number")
        return value

    def text_of(self, key: str) -> str:
        """A field that is a text, empty if missing; raises LineFault for anything else."""
        value = self.fields.get(key, "")
        if not isinstance(value, str):
            raise LineFault(f"its {key} is no text")
        return value


def encode(number: int, prev: str, kind: str, at: float, fields: Mapping[str, object]) -> bytes:
    """A line, with its end of line."""
    content = {"n": number, "prev": prev, "kind": kind, "at": round(at, 6), **fields}
    body = json.dumps(content, separators=(",", ":"), allow_nan=False)[:-1].encode()
    return body + b',"sum":"' + _sum(body).encode() + b'"}\n'


def decode(raw: bytes, number: int, prev: str) -> Line:
    """The line of these bytes, which must be the `number`th (from 1), after one with the digest `prev`.

    Raises LineFault.
    """
    if not raw.endswith(b"\n"):
        raise LineFault("is incomplete: it has no end")
    whole = _WHOLE.fullmatch(raw)
    if whole is None or _sum(whole[1]) != whole[2].decode():
        raise LineFault("was changed: its bytes do not fit its own digest")
    try:
        content = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise LineFault("is no JSON") from error
    found, kind, at = (content.pop(key, None) for key in ("n", "kind", "at"))
    before = content.pop("prev", None)
    content.pop("sum")
    if not isinstance(kind, str) or not _is_number(at) or not isinstance(before, str):
        raise LineFault("lacks its kind, its time or the digest of the line before")
    if found != number:
        raise LineFault(f"is the line that was written as number {found}: lines were removed, added or reordered")
    if before != prev:
        raise LineFault(f"does not follow line {number - 1}: that one was replaced, or this one is from elsewhere")
    return Line(number, kind, float(at), content)


def digest(raw: bytes) -> str:
    """The SHA-256 of a line, as hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()


def raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of an opened file with their ends; one that is too long comes in pieces."""
    return iter(lambda: file.readline(LONGEST_BYTES), b"")


def chain(file: BinaryIO, seen: Callable[[int, bytes], None] = lambda _number, _raw: None) -> Iterator[Line]:
    """The lines of an opened file, each checked with its place; `seen` receives each raw line first.

    Raises LineFault at the first bad one, with its number in `args[1]`.
    """
    prev = NO_LINE
    for number, raw in enumerate(raw_lines(file), 1):
        seen(number, raw)
        try:
            line = decode(raw, number, prev)
        except LineFault as fault:
            raise LineFault(str(fault), number) from fault
        prev = digest(raw)
        yield line


def _sum(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:_SUM_DIGITS]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
