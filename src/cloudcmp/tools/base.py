"""Helpers of the tool tables: readings, measures, parameters and shell words."""

import math
import shlex

from cloudcmp.model.metric import Param, ParamKind
from cloudcmp.model.tool import Measure, Reading, Settings, UnclearOutput

RATE, BYTES, FLOPS = "tool_op_per_s", "tool_bytes_per_s", "tool_flop_per_s"
LATENCY, TIME, INDEX = "tool_latency_s", "tool_time_s", "tool_index"
RATIO, LOSS, JITTER = "tool_ratio", "tool_loss_ratio", "tool_jitter_s"
PENALTY = "tool_penalty_index"
KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30


def reading(name: str, metric: str, value: float) -> Reading:
    """A reading in the unit of its metric; raises UnclearOutput for a figure that is not finite."""
    if not math.isfinite(value):
        raise UnclearOutput(f"{name}: the figure is too large to be one")
    return Reading(name, value, metric)


def measures(**named: str) -> tuple[Measure, ...]:
    """Measures and their metrics."""
    return tuple(Measure(name, metric) for name, metric in named.items())


def choice(name: str, words: str, doc: str) -> Param:
    """A parameter with a choice of words; the first one is the default."""
    choices = tuple(words.split())
    return Param(name, ParamKind.CHOICE, choices[0], doc, choices)


def count(name: str, default: str, doc: str, short: str | None = None, words: tuple[str, ...] = ()) -> Param:
    """A parameter: a whole number of at least 1."""
    return Param(name, ParamKind.COUNT, default, doc, words, short)


def at_once(
    name: str = "threads", doc: str = "how many work at once: all (one for each processor), or a number"
) -> Param:
    """A parameter: the number of concurrent workers."""
    return Param(name, ParamKind.COUNT, "1", doc, ("all",))


def size(name: str, default: str, doc: str, short: str | None = None) -> Param:
    """A parameter: a number of bytes."""
    return Param(name, ParamKind.BYTES, default, doc, short=short)


def duration(default: str, short: str = "1", doc: str = "length of the measured phase") -> Param:
    """A parameter: the length of the measurement."""
    return Param("duration_s", ParamKind.SECONDS, default, doc, short=short)


PATH = Param(
    "path", ParamKind.TEXT, "loopback", "where the two machines are: loopback (both ends on one), zone, region, ..."
)
"""The parameter of a tool between two machines; it is a parameter of the trial, not one of its settings."""


def path(name: str, default: str, doc: str) -> Param:
    """A parameter: a path on the measured machine."""
    return Param(name, ParamKind.TEXT, default, doc)


def processors(settings: Settings, name: str = "threads") -> str:
    """The number of concurrent workers, as text for a shell."""
    return '"$(nproc)"' if settings[name] == "all" else settings[name]


def whole_seconds(settings: Settings, name: str = "duration_s") -> str:
    """A duration rounded up to whole seconds, at least one."""
    return str(max(1, -int(-float(settings[name]) // 1)))


def quoted(settings: Settings, name: str) -> str:
    """A setting quoted as one word for a shell."""
    return shlex.quote(settings[name])
