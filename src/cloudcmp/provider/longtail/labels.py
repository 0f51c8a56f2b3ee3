"""Our tags as plain words, for clouds without key-value tags.

A resource has one record, `cloudcmp:KEY:VALUE:KEY:VALUE...`, in which every byte except lower-case letters, digits and
dashes is written `_` and two hexadecimal digits; capitals too, since some clouds ignore case. A record that is longer
than a cloud's words is cut into pieces that hold its digest.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MACHINE, FIREWALL = "cloudcmp", "cloudcmp-fw"
"""The first word of a machine's record, and of a firewall's: at some clouds a machine has its firewall's as well."""
_OURS = "cloudcmp:"
_TOKEN, _NAME, _REGION = "@token", "@name", "@region"
_DIGEST = 6
_PIECE = rf"([0-9a-f]{{{_DIGEST}}})-(\d{{1,2}})of(\d{{1,2}}):"
_PLAIN = re.compile(rb"[a-z0-9-]")
_ESCAPED = re.compile(r"(?:[a-z0-9-]|_[0-9a-f]{2})*")


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a resource: tags, token, and name and region if the cloud does not keep them."""

    tags: tuple[tuple[str, str], ...]
    token: str | None = None
    name: str | None = None
    region: str | None = None


def write(record: Record, max_length: int, prefix: str = MACHINE) -> tuple[str, ...]:
    """The record in words of at most `max_length` characters; `max_length` must be 40 or more."""
    text = _text(record)
    whole = f"{prefix}:{text}"
    if len(whole) <= max_length:
        return (whole,)
    room = max_length - len(f"{prefix}-{'0' * _DIGEST}-00of00:")
    chunks = [text[at : at + room] for at in range(0, len(text), room)]
    digest, count = _digest(text), len(chunks)
    return tuple(f"{prefix}-{digest}-{number}of{count}:{chunk}" for number, chunk in enumerate(chunks, 1))


def has_prefix(word: str, prefix: str) -> bool:
    """True if a word is a record with a mark, or a piece of one."""
    return word.startswith(f"{prefix}:") or re.match(rf"{prefix}-{_PIECE}", word) is not None


def read(words: Iterable[str], prefix: str = MACHINE) -> Record | None:
    """The record in a resource's words, None if there is no complete one."""
    pieces: dict[tuple[str, int], dict[int, str]] = {}
    for word in words:
        if word.startswith(f"{prefix}:"):
            return _record(word.removeprefix(f"{prefix}:"))
        match = re.fullmatch(rf"{prefix}-{_PIECE}(.*)", word)
        if match:
            pieces.setdefault((match[1], int(match[3])), {})[int(match[2])] = match[4]
    for (digest, count), parts in pieces.items():
        text = "".join(parts.get(number, "?") for number in range(1, count + 1))
        if _digest(text) == digest:
            return _record(text)
    return None


def to_pairs(words: Iterable[str]) -> dict[str, str]:
    """The words as key-value labels; a value gets a letter at each end, where it must not have a dot."""
    return {key: f"v{text.replace(':', '.')}v" for key, _, text in (word.partition(":") for word in words)}


def from_pairs(pairs: Mapping[str, str]) -> tuple[str, ...]:
    """The words that `to_pairs` wrote; foreign labels become words that begin no record."""
    return tuple(f"{key}:{value[1:-1].replace('.', ':')}" for key, value in pairs.items())


def _text(record: Record) -> str:
    pairs = [(_short(key), value) for key, value in record.tags]
    own = ((_TOKEN, record.token), (_NAME, record.name), (_REGION, record.region))
    pairs += [(key, value) for key, value in own if value is not None]
    return ":".join(_escape(word) for pair in pairs for word in pair)


def _record(text: str) -> Record | None:
    words = text.split(":") if text else []
    if len(words) % 2 or not all(_ESCAPED.fullmatch(word) for word in words):
        return None
    try:
        plain = [_unescape(word) for word in words]
    except UnicodeDecodeError:
        return None
    pairs: Sequence[tuple[str, str]] = list(zip(plain[::2], plain[1::2], strict=True))
    own = dict(pairs)
    tags = tuple(sorted((_long(key), value) for key, value in pairs if key not in {_TOKEN, _NAME, _REGION}))
    return Record(tags, own.get(_TOKEN), own.get(_NAME), own.get(_REGION))


def _short(key: str) -> str:
    """Our key without its prefix; any other one after a `~`."""
    rest = key.removeprefix(_OURS)
    return rest if key.startswith(_OURS) and not rest.startswith(("~", "@")) else f"~{key}"


def _long(short: str) -> str:
    return short[1:] if short.startswith("~") else f"{_OURS}{short}"


def _escape(text: str) -> str:
    bytes_ = (bytes([one]) for one in text.encode())
    return "".join(one.decode() if _PLAIN.fullmatch(one) else f"_{one[0]:02x}" for one in bytes_)


def _unescape(text: str) -> str:
    return re.sub(rb"_([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), text.encode()).decode()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def digest(text: str) -> str | None:
    """A word that identifies a text without revealing it, None for an empty text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else None
