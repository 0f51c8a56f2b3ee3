"""What bears our tags: whether it is due, and what is told of it."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from cloudcmp.model.lease import Found
from cloudcmp.model.offering import Price
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.units import Money, format_money

SCHEMA = "1"
_LONGEST = 500
# The one form in which we write it. Whatever else stands there was not written by us.
_EXPIRES = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


class Fate(StrEnum):
    """What is done with a leftover: nothing, it would be destroyed, it was seen gone, or it is still there."""

    KEPT = "kept"
    DUE = "due"
    DELETED = "deleted"
    LEFT = "left"


_WORDS = {Fate.KEPT: "kept", Fate.DUE: "would go", Fate.DELETED: "gone", Fate.LEFT: "still there"}


@dataclass(frozen=True, slots=True)
class Leftover:
    """A resource that bears our tags: whose it is, since when it should be gone, and what is done with it and why."""

    provider: str
    found: Found
    fate: Fate
    why: str
    price: Price | None = None

    @property
    def study(self) -> str:
        """The study that its tag names, empty where it names none."""
        return tag(self.found, "cloudcmp:study") or ""

    @property
    def expires(self) -> str:
        """When its tag says that it should be gone, as it stands there."""
        return tag(self.found, "cloudcmp:expires") or ""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep came to; `elsewhere` counts what belongs to studies that were not asked for.

    `unlisted` are places that could not be listed, `skipped` providers that were not asked, or where nothing may be
    destroyed because no clock can be trusted; `faults` are those of them that count.
    """

    leftovers: tuple[Leftover, ...] = ()
    unlisted: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    elsewhere: int = 0

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for was listed, and nothing is left that should have gone."""
        return not (self.unlisted or self.faults or any(one.fate is Fate.LEFT for one in self.leftovers))

    def of(self, fate: Fate) -> tuple[Leftover, ...]:
        """The leftovers of one fate."""
        return tuple(one for one in self.leftovers if one.fate is fate)


def judge(found: Found, study: str | None, now: float) -> tuple[Fate, str]:
    """Whether a resource is due, and why: only where its tags say so in the very words that we write.

    `now` in Unix seconds. Missing, doubled, misspelt and unknown tags keep it, whatever else is said.
    """
    doubt = _unreadable(found)
    if doubt:
        return Fate.KEPT, doubt
    if study is not None:
        named = tag(found, "cloudcmp:study") == study
        return (Fate.DUE, "its study was named") if named else (Fate.KEPT, "another study's")
    expires = _instant(tag(found, "cloudcmp:expires"))
    if expires is None:
        return Fate.KEPT, "it does not say when it expires; name its study with --study"
    return (
        (Fate.DUE, "it has expired") if expires < now else (Fate.KEPT, "it has not expired; its study may be running")
    )


def _unreadable(found: Found) -> str:
    """Why a resource's tags do not make it ours, empty where they do."""
    schema = tag(found, "cloudcmp:schema")
    if schema is None:
        return "it has no readable tag cloudcmp:schema: it is not ours"
    if schema != SCHEMA:
        return f"its tags are of schema {schema!r}, which this version does not know"
    if not tag(found, "cloudcmp:study"):
        return "it has no readable tag cloudcmp:study"
    said = any(key == "cloudcmp:expires" for key, _ in found.tags)
    if said and _instant(tag(found, "cloudcmp:expires")) is None:
        return "its tag cloudcmp:expires cannot be read"
    return ""


def tag(found: Found, key: str) -> str | None:
    """The value of a tag, None where it is missing or stands there twice."""
    values = [value for name, value in found.tags if name == key]
    return values[0] if len(values) == 1 else None


def _instant(text: str | None) -> float | None:
    """The Unix time of a tag in our own form (UTC, RFC 3339, whole seconds), None for anything else."""
    if text is None or not _EXPIRES.fullmatch(text) or not text.isascii():
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def lines(swept: Swept) -> tuple[str, ...]:
    """A line for each that was found, machines first: what it is, and what is done with it."""
    return tuple(f"{_WORDS[one.fate]}: {line(one)}" for one in swept.leftovers)


def told(swept: Swept, *, delete: bool) -> tuple[str, ...]:
    """What a sweep came to, in sentences: what was not asked first, what comes next last."""
    due, gone = len(swept.of(Fate.DUE)), len(swept.of(Fate.DELETED))
    lines = [one for one in swept.skipped if one not in swept.faults]
    if swept.elsewhere:
        lines.append(f"{swept.elsewhere} of other studies: see them without --study.")
    if not swept.leftovers and swept.complete:
        return (*lines, "Nothing bears our tags where we could look.")
    if delete:
        return (*lines, f"{gone} destroyed and seen gone, {len(swept.of(Fate.LEFT))} left, "
                        f"{len(swept.of(Fate.KEPT))} kept.")  # fmt: skip
    next_ = "; add --delete to do it" if due else ""
    return (*lines, f"DRY RUN: {due} would be destroyed, {len(swept.of(Fate.KEPT))} kept{next_}.")


def faults(swept: Swept) -> tuple[str, ...]:
    """A line for each place that could not be listed and each thing that is left."""
    return (
        *(f"not listed: {one}" for one in swept.unlisted),
        *swept.faults,
        *(f"left: {line(one)}" for one in swept.of(Fate.LEFT)),
    )


def line(one: Leftover) -> str:
    """A leftover as one line: where and what it is, whose, what it costs, and why it is still there."""
    found = one.found
    told = (f"study {one.study or 'unknown'}", f"expires {one.expires or 'unknown'}", found.state, _per_hour(one))
    return one_line(
        f"{one.provider}/{found.region} {found.kind} {found.cloud_id}: {', '.join(told)}: {one.why}", _LONGEST
    )


def as_data(swept: Swept, *, delete: bool) -> dict[str, object]:
    """What was found as a JSON document's data."""
    found = [
        {
            "provider": one.provider,
            "region": one.found.region,
            "kind": one.found.kind,
            "id": one.found.cloud_id,
            "study": one.study or None,
            "expires": one.expires or None,
            "state": one.found.state,
            "price": one.price,
            "fate": one.fate,
            "why": one.why,
        }
        for one in swept.leftovers
    ]
    return {"dry_run": not delete, "found": found, "elsewhere": swept.elsewhere,
            "unlisted": swept.unlisted, "skipped": swept.skipped}  # fmt: skip


def _per_hour(one: Leftover) -> str:
    if one.price is None:
        return "price unknown"
    return f"{format_money(Money(one.price.amount_per_hour, one.price.currency))}/h"
