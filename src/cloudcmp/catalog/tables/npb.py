"""The NAS parallel benchmarks."""

from collections.abc import Mapping

from cloudcmp.catalog.tables.base import choice, compute, suite, threads
from cloudcmp.model.metric import Better, Probe, Reduce

_CELL = ("benchmark", "class", "threads")

# Seconds of each class on one slow processor. More threads get the same: there may be no processors for them.
_SECONDS: Mapping[str, Mapping[str, float]] = {
    "bt": {"S": 0.1, "W": 2.0, "A": 40.0, "B": 150.0},
    "ep": {"S": 1.0, "W": 2.0, "A": 12.0, "B": 48.0},
    "cg": {"S": 0.2, "W": 0.6, "A": 4.0, "B": 150.0},
    "mg": {"S": 0.1, "W": 0.6, "A": 6.0, "B": 30.0},
    "ft": {"S": 0.3, "W": 0.6, "A": 10.0, "B": 120.0},
    "is": {"S": 0.1, "W": 0.3, "A": 2.0, "B": 8.0},
}


def _expected_s(filled: Mapping[str, str]) -> float:
    # Start, the wait for a quiet machine, the untimed first pass and the verification.
    return 0.2 + 1.1 * _SECONDS[filled["benchmark"]][filled["class"]]


METRICS = (
    compute("npb_op_per_s", "op/s", Better.HIGHER, Reduce.MEDIAN, _CELL, 1e9,
             "Rate of a NAS parallel benchmark by its own operation count, verified by its own norms.",
             "More than one machine, and any comparison with the rates of the original programs, which are other code."),
    compute("npb_time_s", "s", Better.LOWER, Reduce.MEDIAN, _CELL, 40.0,
             "Finishing time of a NAS parallel benchmark's timed part, verified by its own norms.",
             "Making the problem, the first pass and the verification, which the originals do not time either."),
)  # fmt: skip

PROBES = (
    Probe("npb", ("npb_op_per_s", "npb_time_s"),
          (choice("benchmark", "bt ep cg mg ft is", "which benchmark"), choice("class", "A S W B", "problem size", short="S"), threads()),
          "One run of a NAS parallel benchmark, written anew from its specification, with the published verification: "
          "bt is a flow on a cube by block tridiagonal systems, ep random pairs with logarithms and square roots in "
          "registers, cg conjugate gradients with a sparse matrix, mg multigrid on a cube, ft Fourier transforms of a "
          "box, is ranks of whole-number keys.",
          "More than one machine, the original programs.", 40.0, expected_s=_expected_s),
)  # fmt: skip

SUITES = (
    suite("npb", "NAS parallel benchmarks of classes S, W and A, on one processor and on all.",
          ("npb", {"benchmark": "bt ep cg mg ft is", "class": "S W A", "threads": "one all"})),
    suite("npb-b", "NAS parallel benchmarks of class B, on one processor and on all.",
          ("npb", {"benchmark": "bt ep cg mg ft is", "class": "B", "threads": "one all"})),
)  # fmt: skip
