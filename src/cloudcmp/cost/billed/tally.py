"""What one file of a bill says of one study: its own lines summed up, and what of others it is well to know.

Nothing is kept of lines that are not the study's own but counts: a file of any length takes the same memory.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from cloudcmp.cost.billed import fields
from cloudcmp.cost.billed.files import opened
from cloudcmp.cost.billed.formats import Format, Layout, Record, lines, tags_of
from cloudcmp.cost.billed.line import USED, Kind, Line, Tags
from cloudcmp.errors import UserMistake

Key = tuple[str, int]
Day = tuple[str, int]
_DAY_S = 86400
_MOST_TAGS = 200


def spellings(text: str) -> tuple[str, ...]:
    """How clouds keep a tag's value: as it is, or in the letters of the strictest."""
    return text, fields.label(text)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a study's own lines are known by: its tag, the ids of what it leased (by `id_of`), and the slots."""

    studies: frozenset[str]
    ids: Mapping[str, Key]
    slots: Mapping[tuple[str, str], Key]

    @classmethod
    def of(
        cls,
        study: str,
        leased: Mapping[Key, str | None],
        spelled: Callable[[str], Iterable[str]] = spellings,
    ) -> "Wanted":
        """For a study's tag and its leases with their ids, where known; in each way that they are `spelled`."""
        ids = {id_of(one): key for key, one in leased.items() if one}
        slots = {(text, str(attempt)): (slot, attempt) for slot, attempt in leased for text in spelled(slot)}
        return cls(frozenset(spelled(study)), ids, slots)

    def owns(self, study: str) -> bool:
        """Whether a tag is this study's."""
        return study in self.studies

    def key(self, resource: str, tags: Tags) -> Key | None:
        """The lease that a line is of: by its resource's id, else by the tags of slot and attempt."""
        if resource and (found := self.ids.get(id_of(resource))):
            return found
        return self.slots.get((tags.slot, tags.attempt)) if tags.slot and self.owns(tags.study) else None


def id_of(resource: str) -> str:
    """The last part of a resource's id in small letters: clouds write its path in several ways."""
    return resource.rstrip("/").rpartition("/")[2].lower()


@dataclass(slots=True)
class Sum:
    """Lines of one resource, kind and currency on one day."""

    amount: Decimal = Decimal(0)
    lines: int = 0
    first: float | None = None
    last: float | None = None
    what: str = ""

    def add(self, line: Line) -> None:
        """Count a line in."""
        self.amount += line.amount
        self.lines += 1
        self.what = self.what or line.what
        self.spans(line.start, line.end)

    def spans(self, first: float | None, last: float | None) -> None:
        """Widen the time that the lines cover."""
        if first is not None:
            self.first = first if self.first is None else min(self.first, first)
        if last is not None:
            self.last = last if self.last is None else max(self.last, last)


@dataclass(frozen=True, slots=True)
class Item:
    """What sums are kept apart by; `key` is the lease, None where no lease of the ledger is known for it."""

    key: Key | None
    resource: str
    kind: Kind
    currency: str


@dataclass(slots=True)
class Tally:
    """One file's count. `days` are all that the file covers, `own` the study's sums by day.

    `identities` are those of the study's own lines, by day. Google's export adds lines and never delivers a day anew:
    of it each of the study's own lines is a day of its own.
    """

    path: Path
    format: Format
    modified: float
    listed: int = 0
    own: dict[tuple[Day, Item], Sum] = field(default_factory=dict)
    days: set[Day] = field(default_factory=set)
    identities: dict[Day, set[bytes]] = field(default_factory=dict)
    others: dict[tuple[str, str], Sum] = field(default_factory=dict)
    untagged: int = 0
    records: int = 0
    reach: float | None = None
    open_lines: int = 0
    tells: frozenset[str] = frozenset()


def tally(path: Path, wanted: Wanted, format: Format | None = None) -> Tally:
    """Read a file of a bill through; raises UserMistake with the place of the first thing that cannot be read."""
    file = opened(path, format)
    if not file.has & {"resource", "tags", "study"}:
        what = "it tells neither resource ids nor tags: no line can be told to be this study's"
        raise UserMistake.at(str(path), what, "export it with resource ids or with tags")
    count = Tally(path, file.layout.format, path.stat().st_mtime, tells=file.has)
    for place, record in file.records:
        try:
            _count(count, wanted, file.layout, record)
        except ValueError as error:
            raise UserMistake.at(place, str(error), "fetch the file again") from None
    return count


def _count(count: Tally, wanted: Wanted, layout: Layout, record: Record) -> None:
    count.records += 1
    start = fields.seconds(record.get("start", ""))
    end = fields.seconds(record["end"]) if "end" in record else start
    day = (record.get("account", ""), int((start or 0.0) // _DAY_S))
    if layout.format is not Format.GCP:
        count.days.add(day)
    if end is not None and (count.reach is None or end > count.reach):
        count.reach = end
    tags, resource = tags_of(record), record.get("resource", "")
    key = wanted.key(resource, tags) if resource or tags.slot else None
    if key is None and not (tags.study and wanted.owns(tags.study)):
        if tags.study:
            _other(count, layout, record, tags)
        elif record.get("type", "").strip().lower() in {"tax", "credit", "refund"}:
            count.untagged += 1
        return
    for line in lines(layout, record, tags):
        same = hashlib.blake2b("\n".join(line.identity).encode(), digest_size=12).digest()
        if layout.format is Format.GCP:
            day = (same.hex(), 0)
            count.days.add(day)
        count.identities.setdefault(day, set()).add(same)
        item = Item(key, line.resource, line.kind, line.currency)
        count.own.setdefault((day, item), Sum()).add(line)
        count.open_lines += line.kind in USED and line.invoiced is not True


def _other(count: Tally, layout: Layout, record: Record, tags: Tags) -> None:
    for line in lines(layout, record, tags):
        place = (fields.label(tags.study), line.currency)
        if place in count.others or len(count.others) < _MOST_TAGS:
            count.others.setdefault(place, Sum()).add(line)
