"""Sums up the bill files of one study: each file, then all together; a line that is delivered twice counts once."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from cloudcmp.cost.billed import fields
from cloudcmp.cost.billed.fields import USED, Kind, Line, Tags
from cloudcmp.cost.billed.files import manifest, open_bill
from cloudcmp.cost.billed.formats import Format, Layout, Record, lines, tags_of
from cloudcmp.errors import UserMistake

Key = tuple[str, int]
Day = tuple[str, int]
_DAY_S = 86400
_MOST_TAGS = 200


def spellings(text: str) -> tuple[str, ...]:
    """Returns the two ways in which clouds store a tag's value: unchanged, or with the strictest cloud's letters."""
    return text, fields.label(text)


@dataclass(frozen=True, slots=True)
class StudyMarks:
    """How a study's lines are recognized: its tag, the ids of its leases (by `id_of`), and its slots."""

    studies: frozenset[str]
    ids: Mapping[str, Key]
    slots: Mapping[tuple[str, str], Key]

    @classmethod
    def of(
        cls, study: str, leased: Mapping[Key, str | None], spelled: Callable[[str], Iterable[str]] = spellings
    ) -> "StudyMarks":
        """Returns the marks for a study's tag and its leases with their ids, in each way that they are `spelled`."""
        ids = {id_of(one): key for key, one in leased.items() if one}
        slots = {(text, str(attempt)): (slot, attempt) for slot, attempt in leased for text in spelled(slot)}
        return cls(frozenset(spelled(study)), ids, slots)

    def owns(self, study: str) -> bool:
        """True if a tag is this study's."""
        return study in self.studies

    def key(self, resource: str, tags: Tags) -> Key | None:
        """Returns the lease of a line: by its resource's id, else by the tags of slot and attempt."""
        if resource and (key := self.ids.get(id_of(resource))):
            return key
        return self.slots.get((tags.slot, tags.attempt)) if tags.slot and self.owns(tags.study) else None


def id_of(resource: str) -> str:
    """Returns the last part of a resource's id in lower case: clouds write its path in several ways."""
    return resource.rstrip("/").rpartition("/")[2].lower()


@dataclass(slots=True)
class LineSum:
    """The sum of lines of one resource, kind and currency on one day."""

    amount: Decimal = Decimal(0)
    lines: int = 0
    first: float | None = None
    last: float | None = None
    what: str = ""

    def add(self, line: Line) -> None:
        """Adds a line."""
        self.amount += line.amount
        self.lines += 1
        self.what = self.what or line.what
        self.spans(line.start, line.end)

    def spans(self, first: float | None, last: float | None) -> None:
        """Widens the time that the lines cover."""
        if first is not None:
            self.first = first if self.first is None else min(self.first, first)
        if last is not None:
            self.last = last if self.last is None else max(self.last, last)


@dataclass(frozen=True, slots=True)
class SumKey:
    """The key of a sum; `key` is the lease, None if the ledger has none for it."""

    key: Key | None
    resource: str
    kind: Kind
    currency: str


@dataclass(slots=True)
class FileSums:
    """The sums of one file. `days` are all days in the file, `own` the study's sums by day.

    `identities` are those of the study's own lines, by day. Google's export never delivers a day again, so each of its
    lines counts as a day of its own.
    """

    path: Path
    format: Format
    modified: float
    listed: int = 0
    own: dict[tuple[Day, SumKey], LineSum] = field(default_factory=dict)
    days: set[Day] = field(default_factory=set)
    identities: dict[Day, set[bytes]] = field(default_factory=dict)
    others: dict[tuple[str, str], LineSum] = field(default_factory=dict)
    untagged: int = 0
    records: int = 0
    reach: float | None = None
    open_lines: int = 0
    tells: frozenset[str] = frozenset()


def sum_file(path: Path, wanted: StudyMarks, format: Format | None = None) -> FileSums:
    """Reads a bill file; raises UserMistake with the place of the first thing that cannot be read."""
    file = open_bill(path, format)
    if not file.has & {"resource", "tags", "study"}:
        what = "it has neither resource ids nor tags: no line can be assigned to this study"
        raise UserMistake.at(str(path), what, "export it with resource ids or with tags")
    count = FileSums(path, file.layout.format, path.stat().st_mtime, tells=file.has)
    for place, record in file.records:
        try:
            _add_record(count, wanted, file.layout, record)
        except ValueError as error:
            raise UserMistake.at(place, str(error), "fetch the file again") from None
    return count


def _add_record(count: FileSums, wanted: StudyMarks, layout: Layout, record: Record) -> None:
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
            _add_other_study(count, layout, record, tags)
        elif record.get("type", "").strip().lower() in {"tax", "credit", "refund"}:
            count.untagged += 1
        return
    for line in lines(layout, record, tags):
        same = hashlib.blake2b("\n".join(line.identity).encode(), digest_size=12).digest()
        if layout.format is Format.GCP:
            day = (same.hex(), 0)
            count.days.add(day)
        count.identities.setdefault(day, set()).add(same)
        item = SumKey(key, line.resource, line.kind, line.currency)
        count.own.setdefault((day, item), LineSum()).add(line)
        count.open_lines += line.kind in USED and line.invoiced is not True


def _add_other_study(count: FileSums, layout: Layout, record: Record, tags: Tags) -> None:
    for line in lines(layout, record, tags):
        place = (fields.label(tags.study), line.currency)
        if place in count.others or len(count.others) < _MOST_TAGS:
            count.others.setdefault(place, LineSum()).add(line)


@dataclass(frozen=True, slots=True)
class BilledItem:
    """The billed sum of one resource, kind and currency, with the time that it spans (Unix s)."""

    item: SumKey
    amount: Decimal
    lines: int
    first: float | None
    last: float | None
    what: str


@dataclass(frozen=True, slots=True)
class OtherStudy:
    """The billed sum of another study's tag."""

    study: str
    amount: Decimal
    currency: str
    lines: int


@dataclass(frozen=True, slots=True)
class BillContents:
    """All that the files say about a study.

    `reach` is the end of the last use in the files (Unix s); `invoiced` is True if each line of use is on an invoice;
    `notes` say how the files were read.
    """

    charged: tuple[BilledItem, ...]
    foreign: tuple[OtherStudy, ...]
    reach: float | None
    invoiced: bool
    notes: tuple[str, ...]
    formats: tuple[Format, ...]
    records: int


def read(paths: Sequence[Path], wanted: StudyMarks, format: Format | None = None) -> BillContents:
    """Reads bill files; manifests of AWS reports among them say which delivery is the newest.

    Raises UserMistake if there are only manifests, or if a file cannot be read.
    """
    manifests = {path: keys for path in dict.fromkeys(paths) if (keys := manifest(path)) is not None}
    files = [path for path in dict.fromkeys(paths) if path not in manifests]
    if not files:
        raise UserMistake.at("--bill", "only manifests were named", "name the files of the report too")
    files_sums = [sum_file(path, wanted, format) for path in files]
    for at, path in enumerate(sorted(manifests, key=lambda one: one.stat().st_mtime), 1):
        for one in files_sums:
            one.listed = at if _names_file(manifests[path], one.path, files) else one.listed
    return merge_files(files_sums)


def _names_file(keys: Sequence[str], path: Path, files: Sequence[Path]) -> bool:
    """True if a manifest names a file: by name and folder, by name alone if only one file has it."""
    alike = [one for one in files if one.name == path.name]
    ends = [key.rstrip("/").split("/")[-2:] for key in keys]
    return any(
        end[-1] == path.name and (len(alike) == 1 or len(end) < 2 or end[0] == path.absolute().parent.name)
        for end in ends
    )


def merge_files(files: Sequence[FileSums]) -> BillContents:
    """Returns the sum of the files, oldest first.

    Reports are cumulative: if newer files contain most of the study's lines of a file, then on their days only the
    newer ones count. Files with few or no common lines are parts of one bill, as are all files of one manifest. Raises
    UserMistake if a thing is billed in two formats.
    """
    _check_one_format(files)
    ordered = sorted(files, key=lambda one: (one.listed, one.modified, str(one.path)))
    sums: dict[SumKey, LineSum] = {}
    notes = list(_notes(files))
    for at, one in enumerate(ordered):
        newer = _redeliveries(one, ordered[at + 1 :])
        gone: set[Day] = set().union(*(other.days for other in newer))
        left = 0
        for (day, item), some in one.own.items():
            if day in gone:
                left += some.lines
                continue
            total = sums.setdefault(item, LineSum())
            total.amount += some.amount
            total.lines += some.lines
            total.what = total.what or some.what
            total.spans(some.first, some.last)
        if left:
            by = "its manifest" if newer[-1].listed > one.listed else "the time of its file"
            lines = f"{left} {'lines' if left > 1 else 'line'}"
            notes.append(f"{one.path}: {lines} left out, delivered again in {newer[-1].path} (newer by {by})")
    charged = (BilledItem(item, one.amount, one.lines, one.first, one.last, one.what) for item, one in sums.items())
    reaches = [one.reach for one in files if one.reach is not None]
    return BillContents(
        charged=tuple(sorted(charged, key=lambda one: (one.item.key or ("~", 0), one.item.kind, one.item.resource))),
        foreign=_other_studies(ordered),
        reach=max(reaches, default=None),
        invoiced=bool(sums) and not any(one.open_lines for one in files),
        notes=tuple(notes),
        formats=tuple(dict.fromkeys(one.format for one in ordered)),
        records=sum(one.records for one in files),
    )


def _redeliveries(one: FileSums, later: Sequence[FileSums]) -> list[FileSums]:
    """Returns the later files that deliver one again."""
    own: set[bytes] = set().union(*one.identities.values())
    redelivered, lines_of_file = [], {}
    for other in later:
        has: set[bytes] = set().union(*other.identities.values())
        if has & own and not (one.listed and one.listed == other.listed):
            redelivered.append(other)
            lines_of_file[id(other)] = has
    days: set[Day] = set().union(*(other.days for other in redelivered))
    there: set[bytes] = set().union(*(lines for day, lines in one.identities.items() if day in days))
    again = there & set().union(*lines_of_file.values())
    return redelivered if 2 * len(again) > len(there) else []


def _check_one_format(files: Sequence[FileSums]) -> None:
    """Raises UserMistake if the same machines, disks or traffic are in files of two formats."""
    first: dict[tuple[Key, Kind], FileSums] = {}
    for one in files:
        for _, item in one.own:
            if item.key is None or item.kind not in USED:
                continue
            other = first.setdefault((item.key, item.kind), one)
            if other.format is not one.format:
                what = f"it bills in {one.format} what {other.path} bills in {other.format}"
                raise UserMistake.at(str(one.path), what, "name the files of one format")


def _other_studies(ordered: Sequence[FileSums]) -> tuple[OtherStudy, ...]:
    """Returns each other study's sum, from the newest file that has it."""
    newest: dict[tuple[str, str], LineSum] = {}
    for one in ordered:
        newest.update(one.others)
    return tuple(OtherStudy(study, one.amount, code, one.lines) for (study, code), one in sorted(newest.items()))


def _notes(files: Sequence[FileSums]) -> list[str]:
    notes = []
    for one in files:
        if not one.tells & {"tags", "study"}:
            notes.append(
                f"{one.path}: no column of tags: lines are matched by resource ids; disks, addresses and leftovers "
                "may be missed: activate cloudcmp:study, cloudcmp:slot and cloudcmp:attempt as tags of the bill"
            )
        elif "resource" not in one.tells:
            notes.append(f"{one.path}: no column of resource ids: lines are matched by tags only")
        if not one.records:
            notes.append(f"{one.path}: it contains no lines")
    untagged = sum(one.untagged for one in files)
    if untagged:
        lines = f"{untagged} {'lines' if untagged > 1 else 'line'}"
        notes.append(
            f"{lines} of tax, credits or refunds have no tag: they belong to the whole account and are not shown"
        )
    return notes
