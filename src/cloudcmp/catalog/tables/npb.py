"""The NAS parallel benchmarks."""

from cloudcmp.catalog.tables.base import choice, compute, threads
from cloudcmp.model.metric import Better, Probe, Reduce, Suite

METRICS = (
    compute("npb_op_per_s", "op/s", Better.HIGHER, Reduce.MEDIAN, ("benchmark", "class", "threads"), 1e9,
             "Rate of a NAS parallel benchmark by its own operation count, verified by its own norms.",
             "More than one machine."),
)  # fmt: skip

PROBES = (
    Probe("npb", ("npb_op_per_s",),
          (choice("benchmark", "bt ep cg mg ft is", "which benchmark"), choice("class", "B S W A", "problem size", short="S"), threads()),
          "A NAS parallel benchmark with its own verification.", "More than one machine.", 300.0, built=False),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
