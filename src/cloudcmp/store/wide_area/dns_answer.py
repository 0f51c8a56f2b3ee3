"""The question and the addresses in a DNS message (RFC 1035), read from untrusted bytes."""

import base64
import binascii
import ipaddress
from dataclasses import dataclass

_HEADER = 12
_A, _AAAA = 1, 28
_MOST_LABELS = 128
_MOST_RECORDS = 512


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """The name that was asked for, in lower case without a last dot, and the addresses of the answer."""

    name: str
    addresses: tuple[str, ...]


def decode(text: str) -> DnsAnswer | None:
    """Read a message in base64; None if it is none, or has no question.

    Records that begin before the message breaks off count. Addresses of the answer section only, of any owner: a
    resolver follows aliases.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(data) < _HEADER:
        return None
    questions, records = int.from_bytes(data[4:6]), int.from_bytes(data[6:8])
    if questions < 1:
        return None
    found = _name(data, _HEADER)
    if found is None:
        return None
    name, at = found
    at += 4
    for _ in range(min(questions, _MOST_RECORDS) - 1):
        if (more := _name(data, at)) is None:
            return DnsAnswer(name, ())
        at = more[1] + 4
    return DnsAnswer(name, tuple(_addresses(data, at, min(records, _MOST_RECORDS))))


def _addresses(data: bytes, at: int, records: int) -> list[str]:
    found: list[str] = []
    for _ in range(records):
        owner = _name(data, at)
        if owner is None or owner[1] + 10 > len(data):
            break
        at = owner[1]
        kind, size = int.from_bytes(data[at : at + 2]), int.from_bytes(data[at + 8 : at + 10])
        body = data[at + 10 : at + 10 + size]
        if (kind, len(body)) in {(_A, 4), (_AAAA, 16)}:
            found.append(str(ipaddress.ip_address(body)))
        at += 10 + size
    return found


def _name(data: bytes, at: int) -> tuple[str, int] | None:
    """A name that may be compressed, and the place after it; None if it is none."""
    labels: list[str] = []
    after: int | None = None
    for _ in range(_MOST_LABELS):
        if at >= len(data):
            return None
        size = data[at]
        if size == 0:
            return ".".join(labels).lower(), at + 1 if after is None else after
        if size >= 0xC0:
            if at + 1 >= len(data):
                return None
            after = at + 2 if after is None else after
            at = (size & 0x3F) << 8 | data[at + 1]
        elif size < 0x40:
            labels.append(data[at + 1 : at + 1 + size].decode("ascii", "replace"))
            at += 1 + size
        else:
            return None
    return None
