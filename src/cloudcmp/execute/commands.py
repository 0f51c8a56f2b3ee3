"""Trials of commands and tools: the job for the agent, the files that it needs, and the values in its output."""

import asyncio
import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from cloudcmp.catalog import COMMAND, DEFAULT, TOOL, measure_cell, settings_of, settings_text, tool_of
from cloudcmp.errors import Fault, ProviderFault, UserMistake
from cloudcmp.execute import regex_extract
from cloudcmp.model.cast import LOOPBACK
from cloudcmp.model.cell import Cell
from cloudcmp.model.command import Command, CommandMetric, ShippedFile
from cloudcmp.model.plan import Plan, PlannedTrial
from cloudcmp.model.protocol import AcceptsFiles, Instance
from cloudcmp.model.tool import PairRun, Settings, Tool, UnclearOutput
from cloudcmp.model.trial import Outcome, Sample, TrialResult
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.values import LARGEST_VALUE
from cloudcmp.units import format_quantity

_MANAGERS = {"debian": "apt-get", "fedora": "dnf", "alpine": "apk"}
_PAIR_MARGIN_S = 10.0  # for a peer that answers late
_HELD_BACK = 0.97  # of the caps' rate: a network that reaches so much may be faster
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PROGRAM = re.compile(r"[A-Za-z0-9_.+-]+(?=\s|$)")


@dataclass(frozen=True, slots=True)
class CommandJob:
    """The agent's job for a trial, and the cells for which the agent itself sends samples.

    `path` is that of a tool between two machines, empty for any other.
    """

    trial: PlannedTrial
    cells: tuple[str, ...]
    command: Command | None = None
    tool: Tool | None = None
    settings: Settings = field(default_factory=dict)
    path: str = ""

    @property
    def files(self) -> dict[str, Path]:
        """The files that the machine needs besides the agent, by their name in the folder for test files."""
        own = self.command
        if own is None:
            return {}
        files = {f"files/{own.name}/{one.path}": Path(own.folder) / one.path for one in own.files}
        return files | ({f"images/{own.name}.tar": Path(own.folder) / own.image.path} if own.image else {})


def command_job(trial: PlannedTrial, commands: Sequence[Command]) -> CommandJob | None:
    """The agent's job for a trial of a command or of a tool; None for any other trial.

    Raises UserMistake for a command that is missing from the plan, and for an unknown tool or setting.
    """
    if trial.probe == TOOL:
        return _tool_job(trial)
    if trial.probe != COMMAND:
        return None
    name = dict(trial.params).get(COMMAND, "")
    own = next((one for one in commands if one.name == name), None)
    if own is None:
        raise UserMistake.at(f"trial {trial.index}", "the plan does not hold its command", "begin a new study")
    params = {
        COMMAND: own.name,
        "run": own.run,
        "setup": own.setup,
        "warmup": own.warmup,
        "check": own.check,
        "threads": own.threads,
        "image": "yes" if own.image else "no",
        "limit_s": f"{own.limit_s:g}",
        "setup_limit_s": f"{own.setup_limit_s:g}",
    }
    cells = (f"command_time_s {COMMAND}={own.name}",)
    return CommandJob(replace(trial, params=tuple(params.items())), cells, own)


def _tool_job(trial: PlannedTrial) -> CommandJob:
    params = dict(trial.params)
    tool = tool_of(params.get(TOOL, ""))
    settings = settings_of(tool.name, params.get("settings", DEFAULT))
    line, pair = tool.command(settings), tool.pair(settings) if tool.pair else None
    named = ((_MANAGERS[system], package) for system, package in tool.packages if system in _MANAGERS)
    command_params = {
        COMMAND: tool.name,
        "run": line,
        "program": word[0] if (word := _PROGRAM.match(line)) else "",
        "packages": " ".join(f"{manager}={package}" for manager, package in named),
        "install": params.get("install", "no"),
        "limit_s": f"{trial.deadline_s:g}",
    }
    if pair:
        command_params |= _pair_params(pair, tool.typical_s(settings))
    cells = (f"command_time_s {COMMAND}={tool.name}",)
    command_trial = replace(trial, probe=COMMAND, params=tuple(command_params.items()))
    path = params.get("path", LOOPBACK) if pair else ""
    return CommandJob(command_trial, cells, tool=tool, settings=settings, path=path)


def _pair_params(pair: PairRun, typical_s: float) -> dict[str, str]:
    """The parameters of both agents of a tool between two machines: neither line lives much longer than it sends."""
    return {
        "serve": pair.serve,
        "bulk_s": f"{pair.bulk_s:g}",
        "rate_bytes_per_s": "max" if pair.rate_bytes_per_s == math.inf else f"{pair.rate_bytes_per_s:.0f}",
        "packet_bytes": str(pair.packet_bytes),
        "packets": str(pair.packets),
        "spacing_s": f"{pair.spacing_s:g}",
        "limit_s": f"{typical_s + _PAIR_MARGIN_S:g}",
    }


async def upload_files(job: CommandJob, instance: Instance, there: set[str]) -> None:
    """Uploads the job's files to a machine, except those that are `there`.

    Raises ProviderFault, OSError, and UserMistake for a file that was changed since it was planned.
    """
    todo = {name: file for name, file in job.files.items() if name not in there}
    if todo and not isinstance(instance, AcceptsFiles):
        raise ProviderFault.at("machine", "no files can be brought to it", "leave files out, or take another provider")
    if todo and job.command and isinstance(instance, AcceptsFiles):
        await asyncio.to_thread(check_command, job.command)
        await instance.upload(todo)
        there.update(todo)


async def parse_result(
    job: CommandJob, trial: PlannedTrial, result: TrialResult, texts: Mapping[str, str]
) -> TrialResult:
    """The result with the values in the texts; `invalid` if one of the trial's cells is in doubt."""
    result = replace(result, texts=tuple(texts.items()))
    if result.outcome is not Outcome.OK:
        return result
    try:
        values = await _values(job, result, texts.get("stdout", ""))
        result = _with_version(job, result, texts.get("stdout", ""))
    except UnclearOutput as doubt:
        return replace(result, outcome=Outcome.INVALID, samples=(), why=str(doubt))
    if why := _held_back(result, values):
        return replace(result, outcome=Outcome.ABORTED, samples=(), why=why)
    ended_s = result.samples[-1].t_s
    samples = [*result.samples] if job.command else []  # only the tool's own figures
    for cell, value in values.items():
        samples.append(Sample(len(samples), cell.metric, cell.params_text, ended_s, value, None))
    measured = {f"{one.metric} {one.params}" for one in samples}
    if measured != set(trial.cells):
        unexpected = sorted(measured ^ set(trial.cells))[0]
        return replace(result, outcome=Outcome.INVALID, samples=(), why=f"{unexpected} was not what the trial measures")
    return replace(result, samples=tuple(samples))


async def _values(job: CommandJob, result: TrialResult, stdout: str) -> dict[Cell, float]:
    """The values of the cells in an output; raises UnclearOutput."""
    own = job.command
    if own is None or own.told:
        _refuse_parts(result)
    if job.tool is not None:
        name, settings = job.tool.name, settings_text(job.tool.name, job.settings)
        readings = job.tool.read(stdout, job.settings)
        return {measure_cell(name, settings, one.measure, one.metric, job.path): one.value for one in readings}
    if own is None:
        return {}
    values = await metric_values(own.told, stdout)
    return {Cell.of(metric, {COMMAND: own.name}): value for metric, value in values.items()}


def _held_back(result: TrialResult, values: Mapping[Cell, float]) -> str:
    """Why a tool between two machines shows the caps on traffic and not the network; empty if it does not."""
    cap = json.loads(result.facts).get("notes", {}).get("rate_cap_bytes_per_s")
    fastest = max((value for cell, value in values.items() if cell.metric == "tool_bytes_per_s"), default=0.0)
    if not isinstance(cap, int | float) or fastest < _HELD_BACK * cap:
        return ""
    return f"the caps' rate of {format_quantity(cap, 'B/s')} held it back: raise caps: rate, or name a lower rate"


def _with_version(job: CommandJob, result: TrialResult, stdout: str) -> TrialResult:
    """The result with the version in the tool's output among its notes."""
    if job.tool is None:
        return result
    facts = json.loads(result.facts)
    versions = dict.fromkeys(one.version for one in job.tool.reader.reports(stdout) if one.tool == job.tool.name)
    facts["notes"] = {**facts.get("notes", {}), "tool_version": one_line(", ".join(filter(None, versions)))}
    return replace(result, facts=json.dumps(facts, sort_keys=True, separators=(",", ":")))


def _refuse_parts(result: TrialResult) -> None:
    """Raises UnclearOutput for an output that was cut or is not UTF-8."""
    notes = json.loads(result.facts).get("notes", {})
    if notes.get("stdout_cut"):
        raise UnclearOutput("the output is longer than 1 MiB and was cut: print less, or what matters alone")
    if notes.get("stdout_not_utf8"):
        raise UnclearOutput("the output is not UTF-8")


def check_unchanged(plan: Plan) -> None:
    """Raises UserMistake with a line for each file that is gone or was changed since it was planned.

    Also for a path that leads out of the study's folder: its copy would lead out of the machine's folder as well.
    """
    if all(candidate.simulated for candidate in plan.candidates):
        return
    faults = [fault for command in plan.commands for fault in _changed(command)]
    if faults:
        raise UserMistake(*faults)


def check_command(command: Command) -> None:
    """Raises UserMistake as `check_unchanged` does, for the files of one command."""
    faults = _changed(command)
    if faults:
        raise UserMistake(*faults)


def _changed(command: Command) -> list[Fault]:
    if not _NAME.fullmatch(command.name):
        return [Fault(f"command {command.name!r}", "it cannot name a folder of files", "begin a new study")]
    files = (*command.files, *((command.image,) if command.image else ()))
    return [fault for one in files if (fault := _file_fault(Path(command.folder), one)) is not None]


def _file_fault(folder: Path, one: ShippedFile) -> Fault | None:
    path = folder / one.path
    if Path(one.path).is_absolute() or ".." in Path(one.path).parts:
        return Fault(repr(one.path), "it leads out of the study's folder", "begin a new study")
    next_ = "put back what it was, or begin a new study"
    try:
        if not path.resolve(strict=True).is_relative_to(folder.resolve(strict=True)):
            return Fault(str(path), "it leads out of the study's folder", "copy the file into it")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        reason = getattr(error, "strerror", None) or "cannot be read"
        return Fault(str(path), f"a file of the study: {reason.lower()}", next_)
    return None if digest == one.sha256 else Fault(str(path), "it was changed since the study was planned", next_)


_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_WALL_S = 60.0
_SHOWN = 40


async def metric_values(metrics: Sequence[CommandMetric], text: str) -> dict[str, float]:
    """The value of each metric in its unit, from a command's standard output.

    Raises UnclearOutput, with one line, for a metric that is not found, has several values, is no number, is not
    finite, or is 0 or less and not signed.
    """
    patterns = [one.regex for one in metrics if one.regex is not None]
    matches = iter(await _matches(patterns, text) if patterns else ())
    document = _document(text) if any(one.json is not None for one in metrics) else None
    numbers = {}
    for one in metrics:
        number = number_in(one, next(matches)) if one.regex is not None else number_at_path(one, document)
        numbers[one.name] = _scaled(one, number)
    return numbers


def number_in(metric: CommandMetric, texts: Sequence[str]) -> float:
    """The number that all matches agree on; raises UnclearOutput."""
    if not texts:
        raise UnclearOutput(f"{metric.name}: {metric.regex!r} is found nowhere in the output")
    unexpected = next((text for text in texts if not _NUMBER.fullmatch(text.strip())), None)
    if unexpected is not None:
        raise UnclearOutput(f"{metric.name}: {unexpected[:_SHOWN]!r} is not a number")
    number = float(texts[0])
    if other := next((text for text in texts if float(text) != number), None):
        raise UnclearOutput(f"{metric.name}: the output says {texts[0].strip()} and {other.strip()}")
    return number


def number_at_path(metric: CommandMetric, document: object) -> float:
    """The number at a dotted path of keys and indices; raises UnclearOutput."""
    here = document
    steps = (metric.json or "").split(".")
    for depth, step in enumerate(steps):
        if isinstance(here, dict) and step in here:
            here = here[step]
        elif isinstance(here, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(here):
            here = here[int(step)]
        else:
            raise UnclearOutput(f"{metric.name}: the output has no {'.'.join(steps[: depth + 1])!r}")
    if isinstance(here, bool) or not isinstance(here, int | float):
        raise UnclearOutput(f"{metric.name}: {metric.json!r} is {str(here)[:_SHOWN]!r}, not a number")
    try:
        return float(here)
    except OverflowError:
        raise UnclearOutput(f"{metric.name}: {metric.json!r} is too large") from None


def _scaled(metric: CommandMetric, number: float) -> float:
    value = number * metric.scale
    if not math.isfinite(value):
        raise UnclearOutput(f"{metric.name}: {number:g} times {metric.scale:g} is not finite")
    if abs(value) >= LARGEST_VALUE:
        raise UnclearOutput(f"{metric.name}: {value:g} is too large")
    if not metric.signed and value <= 0:
        raise UnclearOutput(f"{metric.name}: it cannot be {value:g}; write signed: true if it can")
    return value


def _document(text: str) -> object:
    """The output as JSON; raises UnclearOutput for other text, a repeated key, and numbers that are not finite."""

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        fields = dict(items)
        if len(fields) != len(items):
            raise UnclearOutput("the output is JSON that holds a key twice")
        return fields

    def refuse(name: str) -> object:
        raise UnclearOutput(f"the output is JSON that holds {name}")

    try:
        document: object = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise UnclearOutput("the output is not one JSON document") from error
    return document


async def _matches(patterns: Sequence[str], text: str) -> list[list[str]]:
    """The matches of each pattern, by a program that is killed if it takes too long; raises UnclearOutput."""
    request = json.dumps({"text": text, "patterns": patterns}).encode()
    finder = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(Path(regex_extract.__file__)),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_WALL_S):
            output, _ = await finder.communicate(request)
    except TimeoutError:
        output = b""
    finally:
        with suppress(ProcessLookupError):
            finder.kill()
        await finder.wait()
    if not output:
        raise UnclearOutput(f"an expression took more than {regex_extract.CPU_S} s in the output; write a simpler one")
    answer = json.loads(output)
    if isinstance(answer, str):
        raise UnclearOutput(f"the output cannot be searched: {answer}")
    return [[str(text) for text in texts] for texts in answer]
