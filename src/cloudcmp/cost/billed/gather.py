"""What the files of a bill say of one study: each file summed up, then all as one; lines delivered twice count once."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from cloudcmp.cost.billed import fields
from cloudcmp.cost.billed.fields import USED, Kind, Line, Tags
from cloudcmp.cost.billed.files import manifest, opened
from cloudcmp.cost.billed.formats import Format, Layout, Record, lines, tags_of
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


@dataclass(frozen=True, slots=True)
class Charged:
    """What was billed for one resource, kind and currency, with the time that it spans (Unix s)."""

    item: Item
    amount: Decimal
    lines: int
    first: float | None
    last: float | None
    what: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """What was billed for things that bear another study's tag."""

    study: str
    amount: Decimal
    currency: str
    lines: int


@dataclass(frozen=True, slots=True)
class Billed:
    """All that the files say of a study.

    `reach` is the end of the last use that any line of the files tells of (Unix s), `invoiced` whether each line of use
    is on an invoice, `notes` what a reader must know of how the files were read.
    """

    charged: tuple[Charged, ...]
    foreign: tuple[Foreign, ...]
    reach: float | None
    invoiced: bool
    notes: tuple[str, ...]
    formats: tuple[Format, ...]
    records: int


def read(paths: Sequence[Path], wanted: Wanted, format: Format | None = None) -> Billed:
    """Read the files of a bill; manifests of AWS reports among them say which delivery is the newest.

    Raises UserMistake where nothing but manifests is named, or a file cannot be read.
    """
    manifests = {path: keys for path in dict.fromkeys(paths) if (keys := manifest(path)) is not None}
    files = [path for path in dict.fromkeys(paths) if path not in manifests]
    if not files:
        raise UserMistake.at("--bill", "only manifests were named", "name the files of the report too")
    found = [tally(path, wanted, format) for path in files]
    for at, path in enumerate(sorted(manifests, key=lambda one: one.stat().st_mtime), 1):
        for one in found:
            one.listed = at if _lists(manifests[path], one.path, files) else one.listed
    return gather(found)


def _lists(keys: Sequence[str], path: Path, files: Sequence[Path]) -> bool:
    """Whether a manifest names a file: by name and folder, by name alone where only one file has it."""
    alike = [one for one in files if one.name == path.name]
    ends = [key.rstrip("/").split("/")[-2:] for key in keys]
    return any(
        end[-1] == path.name and (len(alike) == 1 or len(end) < 2 or end[0] == path.absolute().parent.name)
        for end in ends
    )


def gather(found: Sequence[Tally]) -> Billed:
    """The sum of the files, oldest first.

    A file was delivered again where newer ones hold most of its lines of the study, of the days that they cover:
    reports are cumulative, so on each of these days the newer ones alone count. Files with no line in common, or with
    a few (the two directions of traffic are told apart by little), are parts of one bill, as all of one manifest are.
    Raises UserMistake for what is billed in two formats.
    """
    _in_one_format(found)
    ordered = sorted(found, key=lambda one: (one.listed, one.modified, str(one.path)))
    sums: dict[Item, Sum] = {}
    notes = list(_notes(found))
    for at, one in enumerate(ordered):
        newer = _newer(one, ordered[at + 1 :])
        gone: set[Day] = set().union(*(other.days for other in newer))
        left = 0
        for (day, item), some in one.own.items():
            if day in gone:
                left += some.lines
                continue
            total = sums.setdefault(item, Sum())
            total.amount += some.amount
            total.lines += some.lines
            total.what = total.what or some.what
            total.spans(some.first, some.last)
        if left:
            by = "its manifest" if newer[-1].listed > one.listed else "the time of its file"
            lines = f"{left} {'lines' if left > 1 else 'line'}"
            notes.append(f"{one.path}: {lines} left out, delivered again in {newer[-1].path} (newer by {by})")
    charged = (Charged(item, one.amount, one.lines, one.first, one.last, one.what) for item, one in sums.items())
    reaches = [one.reach for one in found if one.reach is not None]
    return Billed(
        charged=tuple(sorted(charged, key=lambda one: (one.item.key or ("~", 0), one.item.kind, one.item.resource))),
        foreign=_foreign(ordered),
        reach=max(reaches, default=None),
        invoiced=bool(sums) and not any(one.open_lines for one in found),
        notes=tuple(notes),
        formats=tuple(dict.fromkeys(one.format for one in ordered)),
        records=sum(one.records for one in found),
    )


def _newer(one: Tally, later: Sequence[Tally]) -> list[Tally]:
    """The later files in which one was delivered again."""
    own: set[bytes] = set().union(*one.identities.values())
    found, held = [], {}
    for other in later:
        has: set[bytes] = set().union(*other.identities.values())
        if has & own and not (one.listed and one.listed == other.listed):
            found.append(other)
            held[id(other)] = has
    days: set[Day] = set().union(*(other.days for other in found))
    there: set[bytes] = set().union(*(lines for day, lines in one.identities.items() if day in days))
    again = there & set().union(*held.values())
    return found if 2 * len(again) > len(there) else []


def _in_one_format(found: Sequence[Tally]) -> None:
    """Raises UserMistake where the same machines, disks or traffic stand in files of two formats."""
    first: dict[tuple[Key, Kind], Tally] = {}
    for one in found:
        for _, item in one.own:
            if item.key is None or item.kind not in USED:
                continue
            other = first.setdefault((item.key, item.kind), one)
            if other.format is not one.format:
                what = f"it bills in {one.format} what {other.path} bills in {other.format}"
                raise UserMistake.at(str(one.path), what, "name the files of one format")


def _foreign(ordered: Sequence[Tally]) -> tuple[Foreign, ...]:
    """Each other study's sum as the newest file that has it tells it: what was delivered twice is not doubled."""
    newest: dict[tuple[str, str], Sum] = {}
    for one in ordered:
        newest.update(one.others)
    return tuple(Foreign(study, one.amount, code, one.lines) for (study, code), one in sorted(newest.items()))


def _notes(found: Sequence[Tally]) -> list[str]:
    notes = []
    for one in found:
        if not one.tells & {"tags", "study"}:
            notes.append(
                f"{one.path}: no column of tags: lines are known by resource ids alone; disks, addresses and leftovers "
                "may be missed: activate cloudcmp:study, cloudcmp:slot and cloudcmp:attempt as tags of the bill"
            )
        elif "resource" not in one.tells:
            notes.append(f"{one.path}: no column of resource ids: lines are known by tags alone")
        if not one.records:
            notes.append(f"{one.path}: no line of a bill is in it")
    untagged = sum(one.untagged for one in found)
    if untagged:
        lines = f"{untagged} {'lines' if untagged > 1 else 'line'}"
        notes.append(f"{lines} of tax, credits or refunds bear no tag: they are the whole account's, and not shown")
    return notes
