"""The fields of a bill's lines, parsed from text: amounts, times, tags, kinds. All functions raise ValueError."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any


class Kind(StrEnum):
    """What a line of a bill is for. The last four are not usage."""

    MACHINE = "machine"
    DISK = "disk"
    ADDRESS = "address"
    TRAFFIC = "traffic"
    OTHER = "other"
    CREDIT = "credit"
    REFUND = "refund"
    TAX = "tax"
    ADJUSTMENT = "adjustment"


USED = (Kind.MACHINE, Kind.DISK, Kind.ADDRESS, Kind.TRAFFIC, Kind.OTHER)
"""The kinds of usage, which an estimate can contain."""


@dataclass(frozen=True, slots=True)
class Tags:
    """The cloudcmp tags of a line: study, slot and attempt, each empty if absent."""

    study: str = ""
    slot: str = ""
    attempt: str = ""


NO_TAGS = Tags()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a bill.

    `resource` is the provider's id, if any; `what` is the provider's name of the charge. `start`, `end` (Unix s) and
    `invoiced` are None if the format lacks them. Lines with the same `identity` in two files are one line.
    """

    resource: str
    kind: Kind
    what: str
    amount: Decimal
    currency: str
    start: float | None
    end: float | None
    tags: Tags = NO_TAGS
    account: str = ""
    invoiced: bool | None = None
    identity: tuple[str, ...] = ()


_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[^A-Za-z0-9]+")
_OWN_TAG = re.compile(r"(?:resource_?tags_)?(?:user_)?cloudcmp_(study|slot|attempt)")
_OTHER_LETTERS = re.compile(r"[^a-z0-9_-]+")
_CURRENCY = re.compile(r"[A-Z]{3}")
_AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_AMOUNT = re.compile(r"[+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")
_LABEL_MAX = 63
_LARGEST = Decimal(10) ** 15

# Providers' names of things on their bills; the first match counts.
_KIND_WORDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.MACHINE, re.compile(r"boxusage|spotusage|dedicatedusage|hostusage|cpucredits|ebsoptimized")),
    (Kind.TRAFFIC, re.compile(r"data ?transfer|egress|ingress|bandwidth|(?:in|out|regional)-bytes")),
    (Kind.ADDRESS, re.compile(r"public ?ip|publicipaddresses|elastic ?ip|ip address|external ip|static ip")),
    (Kind.DISK, re.compile(r"ebs:|snapshot|disk|\bpd\b|local ssd|volume|provisioned storage")),
    (Kind.MACHINE, re.compile(r"virtual ?machine|instance")),
)


@lru_cache(maxsize=8192)
def plain_name(header: str) -> str:
    """Returns a column's name in lower case with underscores.

    `lineItem/UsageType`, `line_item_usage_type` and `LineItemUsageType` are the same.
    """
    return _BETWEEN.sub("_", _WORDS.sub("_", header.strip())).strip("_").lower()


def amount(text: str) -> Decimal:
    """Parses money with its sign; rejects NaN, infinity and more than 10^15."""
    stripped = text.strip()
    value = Decimal(stripped) if _AMOUNT.fullmatch(stripped) else None
    if value is None or abs(value) > _LARGEST:
        raise ValueError(f"{text[:40]!r} is no amount of money")
    return value


def currency(text: str) -> str:
    """Parses the three letters of a currency."""
    code = text.strip().upper()
    if not _CURRENCY.fullmatch(code):
        raise ValueError(f"{text[:40]!r} is no currency")
    return code


@lru_cache(maxsize=65536)
def seconds(text: str) -> float | None:
    """Parses a time as bills write it, ISO 8601 or month/day/year, in UTC; None if empty."""
    stripped = text.strip()
    if not stripped:
        return None
    american = _AMERICAN.fullmatch(stripped)
    plain = f"{american[3]}-{int(american[1]):02}-{int(american[2]):02}" if american else stripped
    try:
        moment = datetime.fromisoformat(plain.removesuffix(" UTC"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:40]!r} is no date or time") from None


def tags_in(text: str) -> Tags:
    """Parses our tags from a column with all tags.

    That is a JSON object, the inside of one (Azure), or a list of objects with `key` and `value` (Google Cloud).
    """
    if "cloudcmp" not in text:  # fast path for most lines of a bill
        return NO_TAGS
    try:
        value = json.loads(text if text.lstrip()[:1] in {"{", "["} else f"{{{text}}}")
        pairs = dict(_own_tags(value))
    except (ValueError, RecursionError, TypeError):
        raise ValueError(f"its tags cannot be read: {text[:60]!r}") from None
    return Tags(pairs.get("study", ""), pairs.get("slot", ""), pairs.get("attempt", ""))


def _own_tags(tags: Any) -> Iterator[tuple[str, str]]:
    pairs = tags.items() if isinstance(tags, dict) else ((one["key"], one["value"]) for one in tags)
    for key, value in pairs:
        ours = _OWN_TAG.fullmatch(plain_name(str(key)))
        if ours and value is not None:
            yield ours[1], str(value)


def own_tag_column(name: str) -> str | None:
    """Returns which of our tags a column contains, by its plain name; None if none."""
    ours = _OWN_TAG.fullmatch(name)
    return ours[1] if ours else None


@lru_cache(maxsize=8192)
def label(text: str) -> str:
    """Returns a tag's value as the strictest cloud stores it: lower case letters, digits, dashes, at most 63."""
    return _OTHER_LETTERS.sub("-", text.strip().lower())[:_LABEL_MAX]


@lru_cache(maxsize=8192)
def kind_of(words: str) -> Kind:
    """Returns the kind of a charge from the provider's name for it."""
    lower = words.lower()
    return next((kind for kind, pattern in _KIND_WORDS if pattern.search(lower)), Kind.OTHER)
