"""Tasks with a finishing time: CloudCmp's, Delgado's pi, Rodamilans' N and a placement like SPEC's twolf."""

from collections.abc import Mapping
from math import log2

from cloudcmp.catalog.tables.base import choice, compute, suite, threads
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce

_CELL_S = 4.5e-4  # to place one of twolf's cells
_DIGITS_S = 6e-7  # for each digit of pi and doubling of digits beyond ten thousand
_LOOP_S = 1.2e-4  # for an iteration
# CloudCmp's tasks at full size, on an average machine; `all` threads share one disk.
_TASKS_S = {"cpu": 5.0, "disk": 8.0}
_TASK_S = 3.0
_SMALL_S = 0.3
# For each task: the work of one pass, passes at full and at small size, and the reference of its result.
TASK_WORK = {
    "cpu": (
        "the ten tasks from `aes` to `serialise`, one after the other, a quarter of the passes of each",
        0,
        0,
        "those of its parts",
    ),
    "memory": (
        "128 MiB of 8-byte words: 2^21 exclusive-ors in random places, a sum of all words, the same once more",
        16,
        1,
        "both sums",
    ),
    "disk": (
        "64 files of 16 KiB, each with fsync, one of 4 MiB, each MiB with O_DSYNC, an fsync of the folder; all read back past "
        "the page cache, and removed",
        8,
        1,
        "what was written",
    ),
    "aes": (
        "1 MiB encrypted with AES-256 in CBC mode, and decrypted",
        512,
        16,
        "OpenSSL's ciphertext, and the plain text",
    ),
    "hash": ("SHA-256 and SHA-512 of 1 MiB", 384, 16, "OpenSSL's digests"),
    "sign": ("64 messages of 256 B signed with Ed25519, and the signatures verified", 256, 8, "OpenSSL's signatures"),
    "compress": (
        "1 MiB of made-up text deflated at zlib's level 6, and inflated",
        24,
        4,
        "a digest of the deflated text, and the text",
    ),
    "fft": (
        "2^16 complex numbers transformed forth and back, radix 2, in place",
        256,
        8,
        "the numbers, Parseval's theorem, three bins by their definition",
    ),
    "lu": (
        "a dense system of order 512 solved by LU with partial pivoting, plain loops",
        48,
        4,
        "a scaled residual below 16",
    ),
    "sor": (
        "768 sweeps of successive over-relaxation over 128 x 128 points",
        32,
        4,
        "the exact solution, to 1e-9 of its largest value",
    ),
    "sparse": (
        "16 products of a sparse matrix and a vector, 65,536 rows of 8 entries",
        80,
        4,
        "the product in another order, to 1e-9",
    ),
    "monte_carlo": ("2^22 points drawn, those in a quarter circle counted", 96, 4, "the exact count"),
    "serialise": (
        "4,096 records written as JSON (949 KiB) and read back",
        160,
        8,
        "the text as Python writes it, and the records",
    ),
}
_TASKS = " ".join(TASK_WORK)


def _threads(filled: Mapping[str, str]) -> int:
    # More threads than processors take turns; `all` equals the number of processors.
    return int(filled["threads"]) if filled["threads"].isdigit() else 1


def _task_s(filled: Mapping[str, str]) -> float:
    alone = _SMALL_S if filled["size"] == "small" else _TASKS_S.get(filled["task"], _TASK_S)
    shared = filled["task"] == "disk" and filled["threads"] == "all"
    return alone * (2.5 if shared else _threads(filled))


def _twolf_s(filled: Mapping[str, str]) -> float:
    return int(filled["cells"]) * _CELL_S * _threads(filled)


def _pi_s(filled: Mapping[str, str]) -> float:
    digits = int(filled["digits"])
    return 0.5 + digits * _DIGITS_S * max(1.0, log2(digits / 1e4))


def _loop_s(filled: Mapping[str, str]) -> float:
    return 0.2 + int(filled["iterations"]) * int(filled["loops"]) * _LOOP_S


METRICS = (
    compute("task_time_s", "s", Better.LOWER, Reduce.MEDIAN, ("size", "task", "threads"), 2.0,
             "Finishing time of one benchmark task; with N threads at once, each with a task of its own, the last one's end over N.",
             "Start-up of the machine and of the agent; one task that is spread over several threads."),
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
          (choice("task", _TASKS, "which task; below, what each one does"),
           choice("size", "full small", "full: 0.5 to 8 s on a processor of 2024; small: fewer of the same passes", short="small"),
           threads()),
          "One single-threaded benchmark task of the kinds that CloudCmp took from SPECjvm2008, alone or in N threads at once; "
          "the same work on every machine, held against a known answer.",
          "SPEC's own programs; one task that is spread over several threads.", 3.0, expected_s=_task_s),
    Probe("twolf", ("twolf_time_s",),
          (Param("cells", ParamKind.COUNT, "20000", "cells of the circuit; the schedule is fixed, so time grows with them", short="1000"), threads()),
          "Places a made circuit of standard cells in rows by simulated annealing; every machine makes the same moves, and "
          "the wire length must be the known one.", "SPEC's own program, vectors, bandwidth.", 10.0, expected_s=_twolf_s,
          no_peer="SPEC's 300.twolf is not free, and this placement is none of its circuits"),
    Probe("loop", ("n_index",),
          (Param("iterations", ParamKind.COUNT, "200", "iterations in a loop"), Param("loops", ParamKind.COUNT, "10", "loops that are timed, one value each")),
          "Times loops of one dependent floating-point calculation, then the clock; it must end at its fixed point.",
          "Memory, threads, vectors.", 1.0, expected_s=_loop_s),
    Probe("pi", ("pi_time_s",), (Param("digits", ParamKind.COUNT, "524288", "decimal digits, the leading 3 among them", short="10000"),),
          "Computes digits of pi by Chudnovsky's series; a digest, or digits by another formula, must agree.",
          "Floating point, threads, memory beyond the caches.", 2.0, expected_s=_pi_s),
)  # fmt: skip

SUITES = (
    suite("cloudcmp", "CloudCmp's finishing times (IMC 2010, section 4.1): every task alone, and in as many threads as there are processors.",
          ("task", {"task": _TASKS, "threads": "one all"})),
    suite("pi", "Delgado's CPU task (2010, section 3.5.1): 524,288 digits of pi.", ("pi", {"digits": "524288"})),
    suite("n-metric", "Rodamilans' N (section 4.2): 200 iterations in each of 10 loops.",
          ("loop", {"iterations": "200", "loops": "10"})),
    suite("twolf-like", "A placement by annealing like SPEC's twolf (Rodamilans, section 4.2), alone and on all processors. Not SPEC's.",
          ("twolf", {"threads": "one all"})),
)  # fmt: skip
