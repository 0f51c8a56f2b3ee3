"""What the tables of tools are written with."""

import math
import shlex

from cloudcmp.model.metric import Param, ParamKind
from cloudcmp.model.tool import Measure, Reading, Settings, Unsure

RATE, BYTES, FLOPS = "tool_op_per_s", "tool_bytes_per_s", "tool_flop_per_s"
LATENCY, TIME, INDEX = "tool_latency_s", "tool_time_s", "tool_index"
RATIO, LOSS = "tool_ratio", "tool_loss_ratio"
KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30


def reading(name: str, metric: str, value: float) -> Reading:
    """A reading; the metric says its unit. Raises Unsure for a figure beyond all numbers."""
    if not math.isfinite(value):
        raise Unsure(f"{name}: the figure is too large to be one")
    return Reading(name, value, metric)


def measures(**named: str) -> tuple[Measure, ...]:
    """Measures and their metrics."""
    return tuple(Measure(name, metric) for name, metric in named.items())


def choice(name: str, words: str, doc: str) -> Param:
    """One of some words, the first of which is the default."""
    choices = tuple(words.split())
    return Param(name, ParamKind.CHOICE, choices[0], doc, choices)


def count(name: str, default: str, doc: str, short: str | None = None, words: tuple[str, ...] = ()) -> Param:
    """A whole number of at least 1."""
    return Param(name, ParamKind.COUNT, default, doc, words, short)


def at_once(
    name: str = "threads", doc: str = "how many work at once: all (one for each processor), or a number"
) -> Param:
    """How many work at once."""
    return Param(name, ParamKind.COUNT, "1", doc, ("all",))


def size(name: str, default: str, doc: str, short: str | None = None) -> Param:
    """A number of bytes."""
    return Param(name, ParamKind.BYTES, default, doc, short=short)


def duration(default: str, short: str = "1", doc: str = "length of the measured phase") -> Param:
    """How long the tool measures."""
    return Param("duration_s", ParamKind.SECONDS, default, doc, short=short)


def path(name: str, default: str, doc: str) -> Param:
    """Where something is on the measured machine."""
    return Param(name, ParamKind.TEXT, default, doc)


def processors(settings: Settings, name: str = "threads") -> str:
    """How many work at once, for a shell."""
    return '"$(nproc)"' if settings[name] == "all" else settings[name]


def whole_seconds(settings: Settings, name: str = "duration_s") -> str:
    """A duration for a tool that takes whole seconds, at least one: never shorter than it was asked for."""
    return str(max(1, -int(-float(settings[name]) // 1)))


def quoted(settings: Settings, name: str) -> str:
    """A text for a shell, as one word that it does not interpret."""
    return shlex.quote(settings[name])
