"""Tasks with a finishing time: CloudCmp's, Delgado's pi, Rodamilans' N and a placement like SPEC's twolf."""

from cloudcmp.catalog.tables.base import choice, compute, threads
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce, Suite

METRICS = (
    compute("task_time_s", "s", Better.LOWER, Reduce.MEDIAN, ("task", "threads"), 8.0,
             "Finishing time of one benchmark task; with N threads at once, the amortised time of one.",
             "Start-up of the machine and of the agent."),
    compute("twolf_time_s", "s", Better.LOWER, Reduce.MEDIAN, ("threads",), 300.0,
             "Time of a standard-cell placement by simulated annealing, a task like SPEC's twolf, not SPEC's.",
             "Anything that SPEC publishes."),
    compute("n_index", "index", Better.HIGHER, Reduce.MEDIAN, ("iterations", "loops"), 100.0,
             "Computing power as Rodamilans' N: floating-point loops timed and set against the processor's clock.",
             "Memory, threads and vector instructions."),
    compute("pi_time_s", "s", Better.LOWER, Reduce.MEDIAN, ("digits",), 1.0,
             "Time to compute decimal digits of pi on one processor.", "Memory beyond the cache, threads."),
)  # fmt: skip

PROBES = (
    Probe("task", ("task_time_s",),
          (choice("task", "cpu memory disk aes hash sign compress fft lu sor sparse monte_carlo serialise", "which task"), threads()),
          "One single-threaded benchmark task of under 30 s, alone or in N threads at once.", "Start-up.", 8.0, built=False),
    Probe("twolf", ("twolf_time_s",), (threads(),),
          "Standard-cell placement by simulated annealing.", "SPEC's own program.", 300.0, built=False),
    Probe("loop", ("n_index",),
          (Param("iterations", ParamKind.COUNT, "200", "iterations in a loop"), Param("loops", ParamKind.COUNT, "10", "loops that are timed")),
          "Times loops of one floating-point calculation.", "Threads.", 1.0, built=False),
    Probe("pi", ("pi_time_s",), (Param("digits", ParamKind.COUNT, "524288", "decimal digits"),),
          "Computes digits of pi.", "Threads.", 2.0, built=False),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
