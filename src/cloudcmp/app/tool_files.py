"""Reads files that other tools wrote into rows of a tidy table."""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import BinaryIO, cast

from cloudcmp.catalog import METRICS, READERS, hint, measure_cell, output_settings_text
from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.metric import Better
from cloudcmp.model.offering import COPIES
from cloudcmp.model.tool import Measure, Reader, Reading, Report, UnclearOutput
from cloudcmp.model.trial import Outcome
from cloudcmp.store.tidy import number_text
from cloudcmp.store.tidy_dialect import is_header
from cloudcmp.tools import pkb
from cloudcmp.tools.page import document, entry, word

TABLE, SAMPLES = "table", "pkb"
FORMATS = (TABLE, SAMPLES, *READERS)
COLUMNS = ("provider", "region", "offering", "instance", "time", "metric", "params", "unit", "value", "outcome")
VERSION = ".tool_version"
"""The end of the column with the version of a tool."""

_MOST_BYTES = 64 * 2**20
_MOST_FAULTS = 20
_GZIP = b"\x1f\x8b"
_BROKEN = (gzip.BadGzipFile, EOFError, zlib.error)
# <vendor>_<server>__<task>__stdout, as Spare Cores' outputs are named in one folder.
_SPARE_CORES = re.compile(r"([a-z]+)_(.+)__(\w+)__stdout")
_BY_NAME = "stressngfull"
"""The task whose output has no names: two columns of numbers."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file, and the offering from `NAME=FILE`; None if not given."""

    path: Path
    offering: str | None


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The user's options for all files: their format (None: by content), and the offering that they measure.

    `allow_blocks` gives verdicts on sides that were measured at different times, without rounds that pair them.
    `better` is the direction of metrics for which a table says none.
    """

    format: str | None = None
    offering: str | None = None
    provider: str | None = None
    region: str | None = None
    allow_blocks: bool = False
    better: Better | None = None


@dataclass(frozen=True, slots=True)
class _SpareCoresOutput:
    """An output in Spare Cores' collection; `meta` is the file that says how the run ended."""

    provider: str
    offering: str
    task: str
    meta: Path


@dataclass(slots=True)
class ToolRows:
    """The rows of all files, each with its place, and notes on what was not read.

    `facts` are further columns by offering (provider, region, name): versions of tools, and the number of copied files.
    """

    rows: list[tuple[str, list[str]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    formats: set[str] = field(default_factory=set)
    facts: dict[tuple[str, ...], dict[str, dict[str, None]]] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)

    def add_fact(self, offering: tuple[str, ...], name: str, value: str) -> None:
        """Adds a value of a column of an offering."""
        self.facts.setdefault(offering, {}).setdefault(name, {})[value] = None

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, list[str]]]]:
        """The columns and rows of a tidy table."""
        names = sorted({name for some in self.facts.values() for name in some})
        rows = []
        for place, cells in self.rows:
            known = self.facts.get(tuple(cells[:3]), {})
            rows.append((place, [*cells, *(" and ".join(sorted(known.get(name, ()))) for name in names)]))
        return (*COLUMNS, *names), rows


def parse_file(text: str) -> NamedFile:
    """Parse `FILE`, or `OFFERING=FILE` if no file has that whole name."""
    offering, equals, path = text.partition("=")
    return (
        NamedFile(Path(path), offering)
        if equals and offering and path and not Path(text).exists()
        else NamedFile(Path(text), None)
    )


def is_table(files: Sequence[NamedFile], options: ImportOptions) -> bool:
    """True if there is one file and it is a tidy table; raises UserMistake if its format is ambiguous."""
    if len(files) != 1 or files[0].offering or options.offering:
        return False
    return not files[0].path.is_file() or format_of(files[0].path, options) == TABLE


def format_of(path: Path, options: ImportOptions) -> str:
    """The format of a file: as given, else by content. Raises UserMistake with the candidates."""
    if options.format is not None:
        if options.format not in FORMATS:
            raise UserMistake.at(
                "--format",
                f"unknown format {options.format!r}",
                hint(options.format, FORMATS, "cloudcmp import --help"),
            )
        return options.format
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise UserMistake.at(str(path), "is empty", "name the text that a tool wrote")
    if start == b"PAR1":
        return TABLE
    if (kept := _spare_cores(path)) and kept.task == _BY_NAME:
        return _BY_NAME
    first = next((line for line in _lines(path, 64) if line.strip()), "")
    if pkb.looks_like(first):
        return SAMPLES
    fits = [TABLE] if is_header(first) else []
    # All readers take longer to look at a large table than it takes to read it.
    if not (fits and path.suffix in {".csv", ".tsv"}):
        with suppress(UnclearOutput):
            text = _text(path)
            fits += [name for name, reader in READERS.items() if reader.looks_like(text)]
    if len(fits) > 1:
        raise UserMistake.at(str(path), f"can be read as {' and as '.join(fits)}", "say which with --format")
    if not fits and path.suffix in {".csv", ".tsv", ".parquet"}:
        return TABLE
    if not fits:
        raise UserMistake.at(str(path), "is neither a tidy table nor a known output", f"known are {', '.join(READERS)}")
    return fits[0]


def read_files(files: Sequence[NamedFile], options: ImportOptions) -> ToolRows:
    """The rows of all files; each file is a launch, or holds samples that name theirs.

    Raises UserMistake with every fault: an output that is cut or ambiguous is not imported.
    """
    found = ToolRows()
    _copies(files, found)
    for file in files:
        try:
            _add(file, options, found)
        except UserMistake as error:
            found.faults += error.faults
        except OSError as error:
            found.faults.append(
                Fault(str(file.path), (error.strerror or "cannot be read").lower(), "name another file")
            )
    if found.faults:
        raise UserMistake(*_first(found.faults))
    if not found.rows:
        raise UserMistake.at(str(files[0].path), "holds nothing that can be compared", "; ".join(found.notes[:3]))
    found.notes += _several_versions(found)
    return found


def _first(faults: list[Fault]) -> list[Fault]:
    hidden = len(faults) - _MOST_FAULTS
    more = [Fault("", f"{hidden} more faults are not shown", "fix these first")] if hidden > 0 else []
    return [*faults[:_MOST_FAULTS], *more]


def _copies(files: Sequence[NamedFile], found: ToolRows) -> None:
    """Add a fault for a file that is named twice, and a note for a copy, which is no second launch."""
    by_digest: dict[str, Path] = {}
    for file in files:
        if not file.path.is_file():
            continue
        with file.path.open("rb") as opened:
            first = by_digest.setdefault(file_digest(opened, "sha256").hexdigest(), file.path)
        if first is not file.path and first.samefile(file.path):
            found.faults.append(Fault(str(file.path), "is named twice", "name each file once"))
        elif first is not file.path:
            found.notes.append(f"{file.path}: the same bytes as {first}: a copy is no launch of its own")
            found.copies[str(file.path)] = str(first)


def _add(file: NamedFile, options: ImportOptions, found: ToolRows) -> None:
    if not file.path.is_file():
        other = "is no plain file" if file.path.exists() else "no such file"
        what = "is a folder" if file.path.is_dir() else other
        raise UserMistake.at(str(file.path), what, "name output files of a tool")
    format_ = format_of(file.path, options)
    found.formats.add(format_)
    if format_ == TABLE:
        raise UserMistake.at(str(file.path), "is a tidy table", "import it alone: cloudcmp import FILE")
    if format_ == SAMPLES:
        _add_samples(file.path, options, found)
    else:
        _add_output(file, options, found, READERS[format_])


def _add_output(file: NamedFile, options: ImportOptions, found: ToolRows, reader: Reader) -> None:
    try:
        reports, begun = reader.reports(_text(file.path)), _begun(file.path)
    except UnclearOutput as unsure:
        next_ = "leave the file out, or run the tool again"
        raise UserMistake.at(str(file.path), f"{reader.name}: {unsure}", next_) from None
    provider, given = _source(file, options, {report.offering for report in reports})
    for report in reports:
        place = (provider, options.region or "", given or report.offering)
        if str(file.path) in found.copies:
            found.add_fact(place, COPIES, file.path.name)
        if report.version:
            found.add_fact(place, f"{report.tool}{VERSION}", word(report.version))
        results: list[tuple[Measure | Reading, str, str]] = [
            (one, number_text(one.value), "") for one in report.readings
        ]
        results += [(one, "", Outcome.FAILED.value) for one in report.failed]
        for one, value, outcome in results:
            name = one.measure if isinstance(one, Reading) else one.name
            cell = measure_cell(report.tool, output_settings_text(report.settings), name, one.metric)
            row = [*place, str(file.path), begun, one.metric, cell.params_text, METRICS[one.metric].unit]
            found.rows.append((str(file.path), [*row, value, outcome]))
        if report.unread:
            found.notes.append(f"{file.path}: not read: {', '.join(report.unread)}")
    found.notes += _several_runs(file.path, reports)


def _several_runs(path: Path, reports: Sequence[Report]) -> list[str]:
    """A note on how many runs of a tool a file holds; empty if each is the only one with its settings."""
    runs = Counter((one.offering, one.tool, output_settings_text(one.settings)) for one in reports)
    (_, tool, _), most = runs.most_common(1)[0]
    if most == 1:
        return []
    failed = sum(bool(one.failed) for one in reports)
    rest = f"; failed runs in the file: {failed}" if failed else ""
    return [f"{path}: {most} runs of {tool} with the same settings, each a value of its own, all of one launch{rest}"]


def _source(file: NamedFile, options: ImportOptions, named: set[str]) -> tuple[str, str]:
    """Provider and offering of a file: as given, or by the name of a Spare Cores output.

    `named` are the machines that the output itself names: without a given offering each is one, and "" is returned.
    """
    kept = _spare_cores(file.path)
    offering = file.offering or options.offering or (kept.offering if kept else "")
    if not offering and "" in named:
        raise UserMistake.at(
            str(file.path), "does not say which offering was measured", "add --offering NAME, or write NAME=FILE"
        )
    if offering and len(named) > 1:
        systems = ", ".join(sorted(named)[:5])
        raise UserMistake.at(
            str(file.path), f"tells of {len(named)} systems: {systems}", "write FILE alone: each becomes an offering"
        )
    return options.provider or (kept.provider if kept else "imported"), offering


def _spare_cores(path: Path) -> _SpareCoresOutput | None:
    """Parse a file's name in Spare Cores' collection: in one folder, or as `vendor/server/task/stdout`."""
    match = _SPARE_CORES.fullmatch(path.name)
    if match:
        return _SpareCoresOutput(
            match[1], match[2], match[3], path.with_name(path.name.removesuffix("stdout") + "meta.json")
        )
    parts = path.absolute().parts
    if path.name == "stdout" and path.with_name("meta.json").is_file() and len(parts) > 4:
        return _SpareCoresOutput(parts[-4], parts[-3], parts[-2], path.with_name("meta.json"))
    return None


def _begun(path: Path) -> str:
    """The start of a run by Spare Cores' metadata, or ""; raises UnclearOutput if the run failed."""
    kept = _spare_cores(path)
    if kept is None or not kept.meta.is_file():
        return ""
    meta = document(_text(kept.meta))
    if entry(meta, "exit_code") != 0:
        raise UnclearOutput(f"{kept.meta.name} says that the run ended with {str(meta['exit_code'])[:20]}")
    return str(meta.get("start", ""))


def _add_samples(path: Path, options: ImportOptions, found: ToolRows) -> None:
    left: Counter[str] = Counter()
    known: set[str] = set()
    decimal = 0
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            one = pkb.sample(line)
        except UnclearOutput as unsure:
            found.faults.append(Fault(f"{path}:{number}", str(unsure), "fix or remove the line"))
            continue
        if isinstance(one, str):
            left[one] += 1
        elif one.id and one.id in known:
            left["repeated, with the same sample_uri"] += 1
        else:
            known.add(one.id)
            decimal += one.unit.lower() in pkb.DECIMAL
            found.rows.append((f"{path}:{number}", _sample_row(one, options)))
    found.notes += [f"{path}: {count} samples left out: {why}" for why, count in left.most_common(10)]
    if len(left) > 10:
        found.notes.append(f"{path}: {sum(left.values())} samples left out in all, of {len(left)} kinds")
    if decimal:
        found.notes.append(f"{path}: {decimal} samples are in KB, MB or GB a second, taken as powers of ten")


def _sample_row(one: pkb.Sample, options: ImportOptions) -> list[str]:
    cell = measure_cell(one.tool, one.settings, one.measure, one.metric)
    place = [options.provider or one.provider, options.region or one.region, options.offering or one.offering, one.run]
    at = "" if one.time is None else number_text(one.time)
    return [*place, at, one.metric, cell.params_text, METRICS[one.metric].unit, number_text(one.value), ""]


def _several_versions(found: ToolRows) -> list[str]:
    """Notes on tools with several versions."""
    of: dict[str, dict[str, None]] = {}
    for columns in found.facts.values():
        for name, values in columns.items():
            if name.endswith(VERSION):
                of.setdefault(name.removesuffix(VERSION), {}).update(values)
    several = ((tool, versions) for tool, versions in of.items() if len(versions) > 1)
    return [f"{tool}: versions {', '.join(versions)} are not comparable" for tool, versions in several]


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    return cast(BinaryIO, gzip.open(path, "rb")) if packed else path.open("rb")


def _lines(path: Path, most: int | None = None) -> Iterator[str]:
    """The lines of a file, gzip or not, one after the other; raises UserMistake for what is no UTF-8 text."""
    number = 0
    stream = _open(path)
    try:
        with stream:
            for number, line in enumerate(iter(lambda: stream.readline(_MOST_BYTES + 1), b""), 1):
                if most is not None and number > most:
                    return
                if len(line) > _MOST_BYTES:
                    what = f"is longer than {_MOST_BYTES >> 20} MiB in one line"
                    raise UserMistake.at(f"{path}:{number}", what, "name the text that a tool wrote")
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise UserMistake.at(f"{path}:{number}", "is not UTF-8 text", "name the text that a tool wrote") from None
    except _BROKEN:
        raise UserMistake.at(f"{path}:{number + 1}", "the gzip file is cut or broken", "fetch it again") from None


def _text(path: Path) -> str:
    """The whole text of a file of up to 64 MiB; raises UnclearOutput for a larger one."""
    parts, size = [], 0
    for line in _lines(path):
        size += len(line)
        if size > _MOST_BYTES:
            raise UnclearOutput(f"the output is larger than {_MOST_BYTES >> 20} MiB")
        parts.append(line)
    return "".join(parts)
