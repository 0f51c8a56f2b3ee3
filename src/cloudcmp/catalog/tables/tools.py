"""Metrics of third-party tools, one for each unit, and the probe that runs them."""

from dataclasses import replace

from cloudcmp.catalog.tables.base import choice
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce, Suite
from cloudcmp.tools import TOOLS
from cloudcmp.tools.base import PATH


def _metric(name: str, unit: str, better: Better, typical: float, doc: str, *, signed: bool = False) -> Metric:
    """A metric whose cells name a tool, its settings and its figure, and the path of a tool between two machines."""
    return Metric(name, unit, better, Group.COMPUTE, Reduce.MEDIAN, ("measure", "path", "settings", "tool"), doc,
                  "What the tool leaves out; two tools' figures of one name are not the same thing.", typical, signed)  # fmt: skip


METRICS = (
    _metric("tool_time_s", "s", Better.LOWER, 1e1, "How long a tool took for its work, as it says itself."),
    _metric("tool_latency_s", "s", Better.LOWER, 1e-3, "A response time that a tool tells, a mean or at a percentile."),
    _metric("tool_op_per_s", "op/s", Better.HIGHER, 1e4, "Operations a second that a tool tells, of the kind that it counts."),
    _metric("tool_bytes_per_s", "B/s", Better.HIGHER, 1e8, "Bytes a second that a tool tells, or that follow from its figures."),
    _metric("tool_flop_per_s", "flop/s", Better.HIGHER, 1e10, "Floating-point operations a second that a tool tells."),
    _metric("tool_ratio", "ratio", Better.HIGHER, 0.5, "A share that a tool tells, of which more is better."),
    _metric("tool_loss_ratio", "ratio", Better.LOWER, 1e-2, "A share of what was lost or failed, as a tool tells it.", signed=True),
    _metric("tool_jitter_s", "s", Better.LOWER, 1e-4, "How much the delay of packets varied, as a tool tells it.", signed=True),
    _metric("tool_index", "index", Better.HIGHER, 5e2, "A score, or a figure in a unit of the tool's own, of which more is better."),
    _metric("tool_penalty_index", "index", Better.LOWER, 5e2, "A figure in a unit of the tool's own, of which less is better."),
)  # fmt: skip

PROBES = (
    Probe("tool", tuple(metric.name for metric in METRICS),
          (Param("tool", ParamKind.CHOICE, next(iter(TOOLS)), "which tool", tuple(TOOLS)),
           Param("settings", ParamKind.TEXT, "default", "its settings, key:value,key:value"),
           choice("install", "no yes", "whether the machine's package manager may install it"),
           replace(PATH, implied=True)),
          "Runs a tool of others in an empty folder, and reads what it said.", "The tool's own start.", 60.0, by="command",
          no_peer="it runs the tools of others themselves"),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
