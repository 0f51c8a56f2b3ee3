"""The twelve tests of UnixBench and their index."""

from cloudcmp.catalog.tables.base import compute
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce, Suite

METRICS = (
    compute("unixbench_index", "index", Better.HIGHER, Reduce.MEDIAN, ("copies",), 900.0,
             "Geometric mean of the twelve UnixBench tests, each against its published baseline, times ten.",
             "Graphics; results of other versions or compilers are not comparable."),
)  # fmt: skip

PROBES = (
    Probe("unixbench", ("unixbench_index",), (Param("copies", ParamKind.COUNT, "1", "copies at once"),),
          "The twelve tests of UnixBench and their index.", "Graphics.", 1700.0, built=False),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
