"""Tasks with a finishing time: CloudCmp's, Delgado's pi, Rodamilans' N and a placement like SPEC's twolf."""

from collections.abc import Mapping
from math import log2

from cloudcmp.catalog.tables.base import choice, compute, suite, threads
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce

_CELL_S = 4.5e-4  # to place one of twolf's cells
_DIGITS_S = 6e-7  # of pi, for each digit and doubling of digits beyond ten thousand
_LOOP_S = 1.2e-4  # of an iteration


def _threads(filled: Mapping[str, str]) -> int:
    # More threads than processors take their turns; `all` are as many as there are.
    return int(filled["threads"]) if filled["threads"].isdigit() else 1


def _twolf_s(filled: Mapping[str, str]) -> float:
    return int(filled["cells"]) * _CELL_S * _threads(filled)


def _pi_s(filled: Mapping[str, str]) -> float:
    digits = int(filled["digits"])
    return 0.5 + digits * _DIGITS_S * max(1.0, log2(digits / 1e4))


def _loop_s(filled: Mapping[str, str]) -> float:
    return 0.2 + int(filled["iterations"]) * int(filled["loops"]) * _LOOP_S


METRICS = (
    compute("task_time_s", "s", Better.LOWER, Reduce.MEDIAN, ("task", "threads"), 8.0,
             "Finishing time of one benchmark task; with N threads at once, the amortised time of one.",
             "Start-up of the machine and of the agent."),
    compute("twolf_time_s", "s", Better.LOWER, Reduce.MEDIAN, ("cells", "threads"), 9.0,
             "Time of a standard-cell placement by simulated annealing, a task like SPEC's twolf, not SPEC's; with N threads at "
             "once, the amortised time of one.",
             "Anything that SPEC publishes."),
    compute("n_index", "index", Better.HIGHER, Reduce.MEDIAN, ("iterations", "loops"), 12.0,
             "Computing power as Rodamilans' N: a hundred times the floating-point operations of a dependent calculation that a "
             "clock cycle completes. The paper prints no formula: this one is ours, and its figures are not the paper's.",
             "Memory, threads and vector instructions."),
    compute("pi_time_s", "s", Better.LOWER, Reduce.MEDIAN, ("digits",), 1.0,
             "Time to compute decimal digits of pi on one processor.", "Memory beyond the cache, threads."),
)  # fmt: skip

PROBES = (
    Probe("task", ("task_time_s",),
          (choice("task", "cpu memory disk aes hash sign compress fft lu sor sparse monte_carlo serialise", "which task"), threads()),
          "One single-threaded benchmark task of under 30 s, alone or in N threads at once.", "Start-up.", 8.0, built=False),
    Probe("twolf", ("twolf_time_s",),
          (Param("cells", ParamKind.COUNT, "20000", "cells of the circuit; the schedule is fixed, so time grows with them", short="1000"), threads()),
          "Places a made circuit of standard cells in rows by simulated annealing; every machine makes the same moves, and "
          "the wire length must be the known one.", "SPEC's own program, vectors, bandwidth.", 10.0, expected_s=_twolf_s),
    Probe("loop", ("n_index",),
          (Param("iterations", ParamKind.COUNT, "200", "iterations in a loop"), Param("loops", ParamKind.COUNT, "10", "loops that are timed, one value each")),
          "Times loops of one dependent floating-point calculation, then the clock; it must end at its fixed point.",
          "Memory, threads, vectors.", 1.0, expected_s=_loop_s),
    Probe("pi", ("pi_time_s",), (Param("digits", ParamKind.COUNT, "524288", "decimal digits, the leading 3 among them", short="10000"),),
          "Computes digits of pi by Chudnovsky's series; a digest, or digits by another formula, must agree.",
          "Floating point, threads, memory beyond the caches.", 2.0, expected_s=_pi_s),
)  # fmt: skip

SUITES = (
    suite("pi", "Delgado's CPU task (2010, section 3.5.1): 524,288 digits of pi.", ("pi", {"digits": "524288"})),
    suite("n-metric", "Rodamilans' N (section 4.2): 200 iterations in each of 10 loops.",
          ("loop", {"iterations": "200", "loops": "10"})),
    suite("twolf-like", "A placement by annealing like SPEC's twolf (Rodamilans, section 4.2), alone and on all processors. Not SPEC's.",
          ("twolf", {"threads": "one all"})),
)  # fmt: skip
