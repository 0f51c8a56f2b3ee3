"""The entries `command` of a study: the user's own commands, and the metrics in their output."""

import hashlib
import json
import re
from pathlib import Path as File
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from cloudcmp.catalog import METRICS
from cloudcmp.catalog.parameters import canonical_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.command import Command, CommandMetric, ShippedFile
from cloudcmp.model.metric import Better, Param, ParamKind
from cloudcmp.study import quantities
from cloudcmp.study import value_schemas as schemas
from cloudcmp.study.faults import Faults, Path, shown
from cloudcmp.study.shape import Duration, Line, Shape, Word, fit
from cloudcmp.study.tree import Tree

_JOB_BYTES = 60_000  # of the 64 KiB limit of a job
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_METRIC = re.compile(r"[a-z][a-z0-9_]{0,63}")
_UNIT = re.compile(r"[A-Za-z]{1,16}(/s)?")
# Other units of quantities with a base unit: values are stored in base units, whatever the command prints.
_SCALED = {
    "ms": "s and scale: 0.001", "us": "s and scale: 0.000001", "ns": "s and scale: 1e-9", "min": "s and scale: 60",
    "h": "s and scale: 3600", "kb": "B and scale: 1000", "mb": "B and scale: 1000000", "gb": "B and scale: 1e9",
    "kib": "B and scale: 1024", "mib": "B and scale: 1048576", "gib": "B and scale: 1073741824",
    "mflop": "flop/s and scale: 1e6", "gflop": "flop/s and scale: 1e9",
}  # fmt: skip
_PATH_STEP = re.compile(r"[^.\[\]]+")
_REGEX_CHARS = 500
_METRICS_MAX = 50
THREADS = Param("threads", ParamKind.THREADS, "all", "one, all, or a number", ("one", "all"))


def _label(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"{shown(value)} cannot name a command; use letters, digits, - and _")
    return value


def _metric_name(value: object) -> str:
    if not isinstance(value, str) or not _METRIC.fullmatch(value):
        raise ValueError(f"{shown(value)} cannot name a metric; write e.g. frames_per_s")
    if value in METRICS:
        raise ValueError(f"{shown(value)} is a metric of cloudcmp's own; write another name, e.g. my_{value}"[:150])
    return value


def _unit(value: object) -> str:
    if not isinstance(value, str) or not _UNIT.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a unit; write e.g. s, B/s, ratio or frames/s")
    base = _SCALED.get(value.removesuffix("/s").lower())
    if base:
        rate = value.endswith("/s") and "/s" not in base
        raise ValueError(f"{shown(value)} is no base unit; write unit: {base.replace(' ', '/s ', 1) if rate else base}")
    return value


def _regex(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _REGEX_CHARS:
        raise ValueError(f"{shown(value)} is no text of at most {_REGEX_CHARS} characters; write e.g. 'took (.+) s'")
    try:
        groups = re.compile(value).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{shown(value)} is no regular expression: {error}; see Python's re") from error
    if groups != 1:
        raise ValueError(f"{shown(value)} has {groups} groups; write one, around the number; others as (?:...)")
    return value


def _json(value: object) -> str:
    text = re.sub(r"\[(\d+)\]", r".\1", value) if isinstance(value, str) else ""
    if not text or len(text) > _REGEX_CHARS or not all(_PATH_STEP.fullmatch(step) for step in text.split(".")):
        raise ValueError(f"{shown(value)} is no path; write keys and indices with dots, e.g. results.0.mean")
    return text


def _scale(value: object) -> float:
    text = str(value)
    try:
        number = float(text) if isinstance(value, str) or quantities.is_number(value) else 0.0
    except ValueError:
        number = 0.0
    if not 1e-30 < number < 1e30:
        raise ValueError(f"{shown(value)} is not a number above 0; write e.g. 0.001")
    return number


def _exactly(pattern: re.Pattern[str]) -> schemas.Schema:
    return {"type": "string", "pattern": f"^(?:{pattern.pattern})$"}


_PATH: schemas.Schema = {"type": "string", "minLength": 1, "maxLength": _REGEX_CHARS}


class MetricShape(Shape):
    """A metric in a command's output."""

    name: Annotated[str, BeforeValidator(_metric_name), WithJsonSchema(_exactly(_METRIC))]
    unit: Annotated[str, BeforeValidator(_unit), WithJsonSchema(_exactly(_UNIT))]
    better: Literal["higher", "lower"]
    regex: Annotated[str, BeforeValidator(_regex), WithJsonSchema(_PATH)] | None = None
    json_: Annotated[str, BeforeValidator(_json), WithJsonSchema(_PATH)] | None = Field(None, alias="json")
    scale: Annotated[float, BeforeValidator(_scale), WithJsonSchema(schemas.QUANTITY)] = 1.0
    signed: Literal[True] | None = None


class CommandShape(Shape):
    """The value of `command`."""

    name: Annotated[str, BeforeValidator(_label), WithJsonSchema(_exactly(_NAME))]
    run: Line
    setup: Line | None = None
    warmup: Line | None = None
    check: Line | None = None
    expected: Duration = 30.0
    limit: Duration | None = None
    setup_limit: Duration = 600.0
    threads: Word = "all"
    files: list[Any] = Field(default_factory=list)
    image: Word | None = None
    metrics: list[Any] = Field(default_factory=list)


def command(data: Any, path: Path, tree: Tree, faults: Faults) -> Command | None:
    """The command at a path of the file, None if it is wrong; adds each fault."""
    shape = fit(CommandShape, tree, data, path, faults)
    listed = data.get("metrics") if isinstance(data, dict) else None
    metrics = listed if isinstance(listed, list) else []
    parsed = [_command_metric(one, (*path, "metrics", number), tree, faults) for number, one in enumerate(metrics)]
    if shape is None:
        return None
    files = shipped(shape.files, (*path, "files"), tree, faults)
    image = one_shipped(shape.image, (*path, "image"), tree, faults) if shape.image else None
    threads = _threads(shape.threads, (*path, "threads"), tree, faults)
    names = [one.name if one else "" for one in parsed]
    for number, one in enumerate(parsed):
        if one is not None and one.name in names[:number]:
            place = tree.place((*path, "metrics", number, "name"))
            faults.add(place, f"{shown(one.name)} was named before", "name each metric once")
            return None
    if len(json.dumps([shape.run, shape.setup, shape.warmup, shape.check])) > _JOB_BYTES:
        faults.add(tree.place(path), f"its lines take more than {_JOB_BYTES} bytes in a job", "put them into files")
        return None
    if len(parsed) > _METRICS_MAX:
        faults.add(tree.place((*path, "metrics")), f"more than {_METRICS_MAX} metrics", "keep those that decide")
        return None
    if None in parsed or threads is None or files is None or (shape.image and image is None):
        return None
    return Command(
        name=shape.name,
        run=shape.run,
        setup=shape.setup or "",
        warmup=shape.warmup or "",
        check=shape.check or "",
        threads=threads,
        expected_s=shape.expected,
        limit_s=shape.limit or max(60.0, 5 * shape.expected),
        setup_limit_s=shape.setup_limit,
        told=tuple(one for one in parsed if one is not None),
        files=files,
        image=image,
        folder=str(faults.folder.resolve()) if files or image else "",
    )


def _threads(text: str, path: Path, tree: Tree, faults: Faults) -> str | None:
    try:
        return canonical_of("command", [THREADS], "threads", text, "cloudcmp list probes command")
    except UserMistake as error:
        faults.add_text(tree.place(path), error.faults[0].what, "write threads: all")
        return None


def _command_metric(data: Any, path: Path, tree: Tree, faults: Faults) -> CommandMetric | None:
    shape = fit(MetricShape, tree, data, path, faults)
    if shape is None:
        return None
    place, ending = tree.place(path), ending_of(shape.unit)
    if (shape.regex is None) == (shape.json_ is None):
        faults.add(place, "a metric is found by one of regex and json", "write e.g. regex: 'took ([0-9.]+) s'")
        return None
    if not f"_{shape.name}".endswith(ending):
        what = f"{shown(shape.name)} does not end with its unit {shape.unit}"
        faults.add(tree.place((*path, "name")), what, f"write e.g. {shape.name[:20].rstrip('_')}{ending}")
        return None
    better, signed = Better(shape.better), shape.signed is True
    return CommandMetric(shape.name, shape.unit, better, shape.regex, shape.json_, shape.scale, signed)


def ending_of(unit: str) -> str:
    """The ending of the name of a metric in a unit: `_bytes_per_s` for `B/s`."""
    return "_" + re.sub(r"^B(?=$|/)", "bytes", unit).lower().replace("/", "_per_")


FILE_BYTES = 1 << 30
ALL_BYTES = 2 << 30
_FILES_MAX = 200
_NEXT = "name a file beside the study, e.g. bin/mine"


def shipped(items: list[Any], path: Path, tree: Tree, faults: Faults) -> tuple[ShippedFile, ...] | None:
    """The files of a list, with their digests; None if one is wrong; adds each fault."""
    if len(items) > _FILES_MAX:
        faults.add(tree.place(path), f"more than {_FILES_MAX} files", "pack them into one, and unpack it in setup:")
        return None
    checked = [one_shipped(item, (*path, number), tree, faults) for number, item in enumerate(items)]
    files = tuple(one for one in checked if one is not None)
    if len({one.path for one in files}) < len(files):
        faults.add(tree.place(path), "a file is named twice", "name each once")
        return None
    if sum(one.size_bytes for one in files) > ALL_BYTES:
        faults.add(tree.place(path), f"the files are larger than {ALL_BYTES >> 30} GiB", "have setup: fetch them")
        return None
    return files if len(files) == len(items) else None


def one_shipped(item: Any, path: Path, tree: Tree, faults: Faults) -> ShippedFile | None:
    """A file in the study's folder; None if it is missing, not a file, outside the folder or too large."""
    place = tree.place(path)
    if not isinstance(item, str) or not item.strip() or not item.isprintable() or len(item) > 400:
        faults.add(place, f"{shown(item)} is not a file's name", _NEXT)
        return None
    named = File(item)
    if named.is_absolute() or ".." in named.parts or not named.parts:
        faults.add(place, f"{shown(item)} is not within the study's folder", _NEXT)
        return None
    measured = _measured(faults.folder.resolve(), named)
    if isinstance(measured, ShippedFile):
        return measured
    faults.add(place, f"{shown(item)} {measured[0]}", measured[1])
    return None


def _measured(folder: File, named: File) -> ShippedFile | tuple[str, str]:
    """The current state of a file in a folder, or its fault and the advice."""
    try:
        real = (folder / named).resolve(strict=True)
        if not real.is_relative_to(folder):
            return "leads out of the study's folder", "copy the file into it"
        if not real.is_file():
            return "is not a file", "name files, or pack a folder into one"
        size = real.stat().st_size
        if size > FILE_BYTES:
            return f"is larger than {FILE_BYTES >> 30} GiB", "have setup: fetch it"
        with real.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError, RuntimeError) as error:
        reason = (getattr(error, "strerror", None) or "it cannot be read").lower()
        return f"cannot be taken: {reason}", _NEXT
    return ShippedFile(named.as_posix(), digest, size)
