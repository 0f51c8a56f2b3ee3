"""Look-ups in the tables: the parameters, cells and expected time of probes, settings of tools, metrics of commands."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from cloudcmp.catalog.parameters import canonical_of, hint
from cloudcmp.catalog.tables import LOAD_START_S, METRICS, PERCENTILES, PROBES, SUITES
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import BESIDE, NEIGHBOUR, NO_LOAD, Role
from cloudcmp.model.cell import Cell
from cloudcmp.model.command import Command, CommandMetric
from cloudcmp.model.metric import Group, Metric, Probe, Reduce
from cloudcmp.model.tool import PairRun, Tool
from cloudcmp.tools import TOOLS
from cloudcmp.tools.page import word

# For each trial: start of the agent's process, its wait for a quiet machine and its own clean-up.
_OVERHEAD_S = 0.05

# These need the guest's uptime; without it, the start of its kernel is unknown.
_OF_UPTIME = ("provisioning_latency_s", "booting_latency_s")

# The bytes of a datagram's number and time of sending; a smaller one has neither jitter nor order.
_STAMPED_BYTES = 20
_OF_STAMPS = ("udp_jitter_s", "udp_reordered_ratio")


def probe_of(name: str) -> Probe:
    """The probe of a name; raises UserMistake with the nearest name."""
    if name not in PROBES:
        raise UserMistake.at("probe", f"unknown probe {name!r}", hint(name, PROBES, "cloudcmp list probes"))
    return PROBES[name]


def suite_of(name: str) -> tuple[tuple[str, dict[str, tuple[str, ...]]], ...]:
    """The probes of a suite, each with its parameters' values; raises UserMistake with the nearest name."""
    if name not in SUITES:
        raise UserMistake.at("suite", f"unknown suite {name!r}", hint(name, SUITES, "cloudcmp list suites"))
    return tuple((probe, dict(params)) for probe, params in SUITES[name].probes)


def canonical(probe: Probe, key: str, text: str) -> str:
    """One parameter's value as canonical text in base units; raises UserMistake with the expected kind."""
    return canonical_of(f"probe {probe.name}", probe.params, key, text, f"cloudcmp list probes {probe.name}")


def fill(name: str, params: Mapping[str, str]) -> dict[str, str]:
    """All parameters of a probe as canonical text in base units, sorted by name, defaults filled in.

    Those of a neighbour stay as they are, because any probe may have one. Raises UserMistake for an unknown probe, an
    unknown parameter or a value of another kind.
    """
    probe = probe_of(name)
    beside = {key: params[key] for key in BESIDE if key in params}
    written = {key: canonical(probe, key, text) for key, text in params.items() if key not in beside}
    own = {param.name: written.get(param.name, param.default) for param in probe.params}
    return dict(sorted((own | beside).items()))


def cells_of(name: str, params: Mapping[str, str]) -> tuple[Cell, ...]:
    """The cells that a probe gives with these parameters; a percentile metric gives one for each of 50, 95, 99."""
    return tuple(_cells(probe_of(name), fill(name, params)))


def _cells(probe: Probe, filled: Mapping[str, str]) -> Iterator[Cell]:
    if probe.name == TOOL:
        yield from tool_cells(filled["tool"], filled["settings"], filled["path"])
        return
    implied = {(param.name, param.default) for param in probe.params if param.implied}
    for metric in map(METRICS.__getitem__, probe.metrics):
        if metric.name in _OF_STAMPS and int(filled["size_bytes"]) < _STAMPED_BYTES:
            continue
        if metric.name in _OF_UPTIME and filled["os"] == "windows":
            continue
        keys = (*metric.params, *BESIDE)
        known = {key: filled[key] for key in keys if key in filled and (key, filled[key]) not in implied}
        named = dict(metric.free)
        free = [key for key in metric.params if key not in filled]
        for values in itertools.product(*(named.get(key, PERCENTILES) for key in free)):
            yield Cell.of(metric.name, known | dict(zip(free, values, strict=True)))


def expected_s(name: str, filled: Mapping[str, str]) -> float:
    """The expected seconds of one trial, with start and clean-up."""
    probe = probe_of(name)
    if probe.by_controller:
        return probe.typical_s
    overhead_s = float(filled.get("warmup_s", "0")) + _OVERHEAD_S * max(1, probe.agents_of(filled))
    overhead_s += LOAD_START_S if filled.get(NEIGHBOUR, NO_LOAD) != NO_LOAD else 0.0
    if name == TOOL:
        return expected_of(filled["tool"], filled["settings"]) + overhead_s
    if probe.expected_s is not None:
        return probe.expected_s(filled) + overhead_s
    return float(filled.get("duration_s", probe.typical_s)) + overhead_s


def refusal(name: str, params: Mapping[str, str]) -> tuple[str, str]:
    """The fault of a probe's combined parameters, and the advice; two empty texts if they fit."""
    check = probe_of(name).refusal
    return check(fill(name, params)) if check is not None else ("", "")


def once_a_launch(metric: str) -> bool:
    """True if a metric has one value per launch because the controller times it."""
    return metric in _once_a_launch()


@cache
def _once_a_launch() -> frozenset[str]:
    return frozenset(metric for probe in PROBES.values() if probe.by_controller for metric in probe.metrics)


COMMAND = "command"
"""The probe that runs the user's own commands."""


def metrics_with(commands: Iterable[Command]) -> dict[str, Metric]:
    """The table of metrics with those of commands, by name."""
    return METRICS | {one.name: _metric(one) for command in commands for one in command.told}


def command_cells(command: Command) -> tuple[Cell, ...]:
    """The cells of a command besides its finishing time."""
    return tuple(Cell.of(one.name, {COMMAND: command.name}) for one in command.told)


def _metric(own: CommandMetric) -> Metric:
    return Metric(
        own.name, own.unit, own.better, Group.COMPUTE, Reduce.MEDIAN, (COMMAND,),
        "A figure that a command tells of itself.", "What the command does not say.", 1.0, own.signed,
    )  # fmt: skip


TOOL = "tool"
"""The probe that runs a tool; the agent runs it as a command."""

APART = frozenset({COMMAND, TOOL, NEIGHBOUR, "traffic"})
"""The probes that a study does not name under `probe`: each has a key of its own."""

DEFAULT = "default"
"""The text of settings that are all defaults."""

UNKNOWN_SETTINGS = "untold"
"""The text of the settings of an imported run whose output states none."""

_BETWEEN = set(",\x00\n")


def tool_of(name: str) -> Tool:
    """The tool of a name; raises UserMistake with the nearest name."""
    if name not in TOOLS:
        raise UserMistake.at("tool", f"unknown tool {name!r}", hint(name, TOOLS, "cloudcmp list tools"))
    return TOOLS[name]


def tool_settings(name: str, params: Mapping[str, str]) -> dict[str, str]:
    """All settings of a tool as canonical text in base units, sorted by name, defaults filled in.

    Raises UserMistake for an unknown tool, an unknown parameter, or a value of another kind.
    """
    tool = tool_of(name)
    written = {}
    for key, text in params.items():
        written[key] = canonical_of(f"tool {name}", tool.params, key, text, f"cloudcmp list tools {name}")
        if _BETWEEN & set(written[key]):
            raise UserMistake.at(f"tool {name}", f"{key}: {text!r} holds a comma", "use a value without one")
    return {param.name: written.get(param.name, param.default) for param in sorted(tool.params, key=lambda p: p.name)}


def settings_text(name: str, settings: Mapping[str, str]) -> str:
    """The settings of a tool as one word of a cell: `key:value,...` without defaults, or `default`."""
    defaults = {param.name: param.default for param in tool_of(name).params}
    other = sorted((key, value) for key, value in settings.items() if defaults[key] != value)
    return ",".join(f"{key}:{value}" for key, value in other) or DEFAULT


def settings_of(name: str, text: str) -> dict[str, str]:
    """All settings of a tool from the text of `settings_text`; raises UserMistake for a text of another form."""
    items = [] if text == DEFAULT else [item.partition(":") for item in text.split(",")]
    if any(not key or not colon or not value for key, colon, value in items) or len({i[0] for i in items}) < len(items):
        raise UserMistake.at(f"tool {name}", f"settings: {text!r} is not key:value,key:value", "or write default")
    return tool_settings(name, {key: value for key, _, value in items})


def output_settings_text(settings: Mapping[str, str]) -> str:
    """The settings that an output states, as one word of a cell, or `untold`.

    Characters that a cell cannot hold become `_`.
    """
    return ",".join(f"{word(key)}:{word(value)}" for key, value in sorted(settings.items())) or UNKNOWN_SETTINGS


def measure_cell(name: str, settings: str, measure: str, metric: str, path: str = "") -> Cell:
    """The cell of one measure of a tool with these settings, as text; with the path of a tool between two machines."""
    params = {"measure": measure, "settings": settings, "tool": name}
    return Cell.of(metric, params | ({"path": path} if path else {}))


def tool_cells(name: str, text: str, path: str) -> tuple[Cell, ...]:
    """The cells that a tool gives with these settings, as text; `path` is ignored for a tool of one machine."""
    tool, settings = tool_of(name), settings_of(name, text)
    text = settings_text(name, settings)
    path = path if tool.pair else ""
    return tuple(measure_cell(name, text, one.name, one.metric, path) for one in tool.measures(settings))


def pair_run(probe: str, params: Mapping[str, str]) -> PairRun | None:
    """What a trial of a tool between two machines needs; None for any other trial."""
    tool = TOOLS.get(params.get(TOOL, "")) if probe == TOOL else None
    if tool is None or tool.pair is None:
        return None
    return tool.pair(settings_of(tool.name, params.get("settings", DEFAULT)))


def roles_of(probe: str, params: Mapping[str, str]) -> tuple[Role, ...]:
    """The roles of a trial with these parameters: a tool between two machines has a server beside its client."""
    return (Role.SERVER, Role.CLIENT) if pair_run(probe, params) else PROBES[probe].roles_of(params)


def expected_of(name: str, text: str) -> float:
    """The expected seconds of one run of a tool."""
    return tool_of(name).typical_s(settings_of(name, text))
