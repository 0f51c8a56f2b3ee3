"""The twelve tests of UnixBench and their index."""

from collections.abc import Mapping
from math import ceil

from cloudcmp.catalog.tables.base import compute, suite
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce

# The original's own short names, in its order.
_TESTS = "dhry2reg whetstone-double execl fstime fsbuffer fsdisk pipe context1 spawn shell1 shell8 syscall"


def _expected_s(filled: Mapping[str, str]) -> float:
    duration_s, often = float(filled["duration_s"]), int(filled["passes"])
    seldom = ceil(3 * often / 10)
    # Five short tests, of which Whetstone first tries its length; five of three lengths, three of them with files that
    # are written and read before; two of six. Each copy takes a moment to start.
    passes_s = often * 5.6 * duration_s + seldom * (5 * 3.0 + 3 * 0.4 + 2 * 6.0) * duration_s
    return 0.5 + passes_s + (5 * often + 7 * seldom) * 0.01 * int(filled["copies"])


METRICS = (
    compute("unixbench_index", "index", Better.HIGHER, Reduce.MEDIAN, ("copies",), 900.0,
             "Geometric mean of the indices of twelve UnixBench tests, copies of each running at once.",
             "Graphics. Indices of UnixBench 4 or 6, of other compilers, or of the original program are not comparable."),
    compute("unixbench_test_index", "index", Better.HIGHER, Reduce.MEDIAN, ("copies", "test"), 900.0,
             "Ten times the score of one UnixBench test over that of its published baseline, a SPARCstation 20-61.",
             "What the test is not about. Dhrystone and Whetstone measure the agent's compiler as well, execl its binary, the "
             "shell scripts the machine's own tools.", test=_TESTS),
)  # fmt: skip

PROBES = (
    Probe("unixbench", ("unixbench_index", "unixbench_test_index"),
          (Param("copies", ParamKind.COUNT, "1", "copies of each test at once, 256 at most"),
           Param("duration_s", ParamKind.SECONDS, "10", "length of a short test's pass; fork, exec and file copies take 3 of them, shells 6", short="0.05"),
           Param("passes", ParamKind.COUNT, "10", "passes of a short test; the others have 3 for each 10; the worst third is dropped", short="1")),
          "The twelve tests of UnixBench 5, written anew, each in fresh processes; their final values, counters and copies "
          "are verified. The scores in their own units are among the facts.",
          "Graphics; the original's compiler, sleeps and text.", 1450.0, expected_s=_expected_s),
)  # fmt: skip

SUITES = (
    suite("unixbench", "Deval's (2017, section 5.1.1): the twelve tests of UnixBench, one copy and eight at once. Graphics are left out.",
          ("unixbench", {"copies": "1 8"})),
)  # fmt: skip
