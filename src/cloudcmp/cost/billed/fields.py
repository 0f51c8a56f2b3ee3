"""A line of a bill and its fields, read from text: amounts, times, tags, and what is charged. All raise ValueError."""

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
    """What a line of a bill is for. The last four are no use of anything: they stand apart from what was used."""

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
"""The kinds that an estimate can be set beside."""


@dataclass(frozen=True, slots=True)
class Tags:
    """What a line's tags say of cloudcmp: study, slot and attempt, each empty where it is not there."""

    study: str = ""
    slot: str = ""
    attempt: str = ""


NO_TAGS = Tags()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a bill.

    `resource` is the provider's id, empty where the line is of none; `what` the provider's own words for what is
    charged; `start` and `end` Unix seconds, None where the line does not tell; `invoiced` whether it is on an invoice
    already, None where the format does not tell; `identity` tells whether two files hold the same line.
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
_OURS = re.compile(r"(?:resource_?tags_)?(?:user_)?cloudcmp_(study|slot|attempt)")
_OTHER_LETTERS = re.compile(r"[^a-z0-9_-]+")
_CURRENCY = re.compile(r"[A-Z]{3}")
_AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_AMOUNT = re.compile(r"[+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")
_LABEL_MAX = 63
_LARGEST = Decimal(10) ** 15

# What providers call the things on their bills; the first that is found counts.
_KIND_WORDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.MACHINE, re.compile(r"boxusage|spotusage|dedicatedusage|hostusage|cpucredits|ebsoptimized")),
    (Kind.TRAFFIC, re.compile(r"data ?transfer|egress|ingress|bandwidth|(?:in|out|regional)-bytes")),
    (Kind.ADDRESS, re.compile(r"public ?ip|publicipaddresses|elastic ?ip|ip address|external ip|static ip")),
    (Kind.DISK, re.compile(r"ebs:|snapshot|disk|\bpd\b|local ssd|volume|provisioned storage")),
    (Kind.MACHINE, re.compile(r"virtual ?machine|instance")),
)


@lru_cache(maxsize=8192)
def plain_name(header: str) -> str:
    """A column's name in small letters with underscores, in whichever spelling it came.

    `lineItem/UsageType`, `line_item_usage_type` and `LineItemUsageType` are the same.
    """
    return _BETWEEN.sub("_", _WORDS.sub("_", header.strip())).strip("_").lower()


def amount(text: str) -> Decimal:
    """Money as it is written, with its sign; not NaN, not infinite, not beyond 10^15."""
    stripped = text.strip()
    value = Decimal(stripped) if _AMOUNT.fullmatch(stripped) else None
    if value is None or abs(value) > _LARGEST:
        raise ValueError(f"{text[:40]!r} is no amount of money")
    return value


def currency(text: str) -> str:
    """A currency by its three letters."""
    code = text.strip().upper()
    if not _CURRENCY.fullmatch(code):
        raise ValueError(f"{text[:40]!r} is no currency")
    return code


@lru_cache(maxsize=65536)
def seconds(text: str) -> float | None:
    """Unix seconds of a time as bills write it: ISO 8601 or month/day/year, in UTC; None for none."""
    stripped = text.strip()
    if not stripped:
        return None
    american = _AMERICAN.fullmatch(stripped)
    plain = f"{american[3]}-{int(american[1]):02}-{int(american[2]):02}" if american else stripped
    try:
        found = datetime.fromisoformat(plain.removesuffix(" UTC"))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:40]!r} is no date or time") from None


def tags_in(text: str) -> Tags:
    """Our tags in a column that holds all tags.

    That is a JSON object, the inside of one (Azure), or a list of objects with `key` and `value` (Google Cloud).
    """
    if "cloudcmp" not in text:  # nearly every line of a bill: no need to understand it
        return NO_TAGS
    try:
        found = json.loads(text if text.lstrip()[:1] in {"{", "["} else f"{{{text}}}")
        pairs = dict(_ours(found))
    except (ValueError, RecursionError, TypeError):
        raise ValueError(f"its tags cannot be read: {text[:60]!r}") from None
    return Tags(pairs.get("study", ""), pairs.get("slot", ""), pairs.get("attempt", ""))


def _ours(found: Any) -> Iterator[tuple[str, str]]:
    pairs = found.items() if isinstance(found, dict) else ((one["key"], one["value"]) for one in found)
    for key, value in pairs:
        ours = _OURS.fullmatch(plain_name(str(key)))
        if ours and value is not None:
            yield ours[1], str(value)


def own_column(name: str) -> str | None:
    """Which of our tags a column of its own holds, by its plain name; None where none."""
    ours = _OURS.fullmatch(name)
    return ours[1] if ours else None


@lru_cache(maxsize=8192)
def label(text: str) -> str:
    """A tag's value as the strictest of clouds keeps it: small letters, digits, dashes, at most 63."""
    return _OTHER_LETTERS.sub("-", text.strip().lower())[:_LABEL_MAX]


@lru_cache(maxsize=8192)
def kind_of(words: str) -> Kind:
    """What is charged, by what the provider calls it."""
    lower = words.lower()
    return next((kind for kind, pattern in _KIND_WORDS if pattern.search(lower)), Kind.OTHER)
