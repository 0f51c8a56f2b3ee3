"""Resources with cloudcmp's tags, whether they are due, and the result of a sweep for them."""

import hashlib
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from cloudcmp.model.lease import TaggedResource
from cloudcmp.model.offering import Price

STUDY_DIGEST = "cloudcmp:study-digest"
"""The tag of a resource without tags whose name says of which study it is; no service stores it."""
DIGEST_DIGITS = 12
_SCHEMA, _STUDY = "1", "cloudcmp:study"
# The only format in which cloudcmp writes an expiry; any other text is not ours.
_EXPIRES = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


class Fate(StrEnum):
    """The fate of a leftover: it stays, it would be destroyed, it is gone, or it is still there."""

    KEPT = "kept"
    DUE = "due"
    DELETED = "deleted"
    LEFT = "left"


def tag(resource: TaggedResource, key: str) -> str | None:
    """The value of a tag; None if it is missing or appears twice."""
    values = [value for name, value in resource.tags if name == key]
    return values[0] if len(values) == 1 else None


def study_digest(study: str) -> str:
    """The last hexadecimal digits of each token of a study's leases, which follow from its tag."""
    return hashlib.sha256(study.encode()).hexdigest()[:DIGEST_DIGITS]


def named_by(resource: TaggedResource, study: str | None) -> TaggedResource:
    """The resource, with the tag of a study if its name says that it is that study's."""
    if study is None or tag(resource, STUDY_DIGEST) != study_digest(study):
        return resource
    return replace(resource, tags=(*resource.tags, (_STUDY, study)))


@dataclass(frozen=True, slots=True)
class Leftover:
    """A resource with cloudcmp's tags, what happens to it, and why."""

    provider: str
    found: TaggedResource
    fate: Fate
    why: str
    price: Price | None = None

    @property
    def study(self) -> str:
        """The study in its tag; empty if none."""
        return tag(self.found, _STUDY) or ""

    @property
    def expires(self) -> str:
        """Its expiry time as the tag states it; empty if none."""
        return tag(self.found, "cloudcmp:expires") or ""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a sweep; `elsewhere` counts resources of studies other than the requested one.

    `unlisted` are places that could not be listed. `skipped` are providers that were not queried, or where no clock is
    trustworthy and nothing may be destroyed; `faults` are those of them that make the sweep incomplete.
    """

    leftovers: tuple[Leftover, ...] = ()
    unlisted: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    elsewhere: int = 0

    @property
    def complete(self) -> bool:
        """True if every requested place was listed and nothing is left that should be gone."""
        return not (self.unlisted or self.faults or any(one.fate is Fate.LEFT for one in self.leftovers))

    def of(self, fate: Fate) -> tuple[Leftover, ...]:
        """The leftovers with one fate."""
        return tuple(one for one in self.leftovers if one.fate is fate)


def judge(resource: TaggedResource, study: str | None, now: float) -> tuple[Fate, str]:
    """The fate of a resource, and why: it is due only if its tags state so exactly as cloudcmp writes them.

    `now` in Unix seconds. A missing, repeated, misspelt or unknown tag keeps the resource.
    """
    doubt = _unreadable(resource)
    if doubt:
        return Fate.KEPT, doubt
    if study is not None:
        named = tag(resource, _STUDY) == study
        return (Fate.DUE, "its study was named") if named else (Fate.KEPT, "another study's")
    expires = _instant(tag(resource, "cloudcmp:expires"))
    if expires is None:
        return Fate.KEPT, "it does not say when it expires; name its study with --study"
    return (
        (Fate.DUE, "it has expired") if expires < now else (Fate.KEPT, "it has not expired; its study may be running")
    )


def _unreadable(resource: TaggedResource) -> str:
    """Why a resource's tags do not prove that it is ours; empty if they do."""
    schema = tag(resource, "cloudcmp:schema")
    if schema is None:
        return "it has no readable tag cloudcmp:schema: it is not ours"
    if schema != _SCHEMA:
        return f"its tags are of schema {schema!r}, which this version does not know"
    if not (tag(resource, _STUDY) or tag(resource, STUDY_DIGEST)):
        return "it has no readable tag cloudcmp:study"
    dated = any(key == "cloudcmp:expires" for key, _ in resource.tags)
    if dated and _instant(tag(resource, "cloudcmp:expires")) is None:
        return "its tag cloudcmp:expires cannot be read"
    return ""


def _instant(text: str | None) -> float | None:
    """The Unix time of a tag in our own form (UTC, RFC 3339, whole seconds); None for anything else."""
    if text is None or not _EXPIRES.fullmatch(text) or not text.isascii():
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
