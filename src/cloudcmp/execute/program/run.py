"""Runs a program once and counts what it and its children take of this machine."""

import os
import resource
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from cloudcmp.errors import UserMistake
from cloudcmp.execute.program.hardware_counters import Perf, parse_perf
from cloudcmp.execute.program.process_tree import ProcessTree
from cloudcmp.model.demands import Counter, Missing, ProgramRun, ThreadTime

LOOK_S = 0.02
"""The time between two looks at the processes."""
_KIB = 1024
_IO = {"read_bytes": Counter.READ, "write_bytes": Counter.WRITTEN, "syscr": Counter.READS, "syscw": Counter.WRITES}
_NETWORK = Path("/proc/net/dev")
_RECEIVED, _SENT = 0, 8
_STANDARD_ERROR = 2


def run_program(command: Sequence[str], perf: Perf, *, look_s: float = LOOK_S) -> ProgramRun:
    """Run a program to its end and return its counters; what it prints goes to standard error.

    The totals are the kernel's own and include all children that were waited for. By thread, and by how many could run
    at once, is from looks every `look_s` seconds. What the program leaves running is not counted. Raises UserMistake
    for a program that cannot be started. Source of the counters: proc(5), getrusage(2).
    """
    with TemporaryDirectory(prefix="cloudcmp-") as folder:
        out = Path(folder) / "perf"
        network = _network()
        begin = time.perf_counter()
        try:
            process = subprocess.Popen(perf.around(command, out), stdout=_STANDARD_ERROR)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UserMistake.at(
                command[0], f"cannot be started: {reason}", "write the program and its arguments after --"
            ) from error
        tree, elapsed = _watched(process, begin, look_s)
        io, code, usage = _counts(process)
        text = out.read_text(encoding="utf-8", errors="replace") if out.exists() else ""
    return _summed(tree, elapsed, io, code, usage, _moved(network, _network()), parse_perf(text), perf.missing)


def _watched(process: subprocess.Popen[bytes], begin: float, look_s: float) -> tuple[ProcessTree, float]:
    """Look at a process until it ends, without reaping it; return what was seen and the time that it took."""
    tree, ended = ProcessTree(process.pid), threading.Event()

    def look() -> None:
        tree.look(begin)
        while not ended.wait(look_s):
            tree.look(time.perf_counter())
        tree.look(time.perf_counter())  # it is not reaped yet: the kernel still has its last figures

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        elapsed = time.perf_counter() - begin
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        ended.set()
        watcher.join()
    return tree, elapsed


def _counts(process: subprocess.Popen[bytes]) -> tuple[dict[Counter, float] | None, int, resource.struct_rusage]:
    """The counters of a process that has ended: of its files before it is reaped, the rest after that."""
    io: dict[Counter, float] | None = None
    with suppress(OSError, ValueError):
        lines = Path(f"/proc/{process.pid}/io").read_text(encoding="ascii").splitlines()
        found = dict(line.split(": ", 1) for line in lines)
        io = {counter: float(found[name]) for name, counter in _IO.items() if name in found}
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return io, process.returncode, usage


def _summed(
    tree: ProcessTree, elapsed: float, io: dict[Counter, float] | None, code: int, usage: resource.struct_rusage,
    moved: dict[Counter, float] | None, hardware: dict[Counter, float], lacking: Sequence[Missing],
) -> ProgramRun:  # fmt: skip
    counters: dict[Counter, float] = {
        Counter.ELAPSED: elapsed,
        Counter.USER: usage.ru_utime,
        Counter.SYSTEM: usage.ru_stime,
        Counter.VOLUNTARY: float(usage.ru_nvcsw),
        Counter.INVOLUNTARY: float(usage.ru_nivcsw),
        **(io or {}), **(moved or {}), **hardware,
    }  # fmt: skip
    if peak := _peak(tree, usage):
        counters[Counter.MEMORY] = peak
    seen = sum(tree.parallel_s.values())
    threads = tuple(ThreadTime(name, used) for name, used in tree.threads())
    unseen = max(0.0, usage.ru_utime + usage.ru_stime - sum(one.cpu_s for one in threads))
    if tree.knows_waits:
        counters[Counter.WAITED] = tree.waited_s
        counters[Counter.BLOCKED] = min(elapsed, max(0.0, tree.blocked_s - unseen))
    return ProgramRun(
        tuple(counters.items()), code, threads,
        tuple((many, used / seen) for many, used in sorted(tree.parallel_s.items())) if seen > 0 else ((1, 1.0),),
        unseen, (*_missing(counters), *lacking),
    )  # fmt: skip


def _missing(counters: dict[Counter, float]) -> Iterator[Missing]:
    reasons = {
        "the kernel counts no files of a process here": (*_IO.values(),),
        "the kernel does not say how long threads wait here": (Counter.WAITED, Counter.BLOCKED),
        "it ended before it was looked at": (Counter.MEMORY,),
        "the kernel does not count its interfaces here": (Counter.RECEIVED, Counter.SENT),
    }
    for why, some in reasons.items():
        if lacking := tuple(one for one in some if one not in counters):
            yield Missing(lacking, why)


def _peak(tree: ProcessTree, usage: resource.struct_rusage) -> float:
    """The largest memory of all processes together that was seen, or of the largest one by the kernel.

    The kernel's figure of a new process begins with this one's, so it counts only above that.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    largest = usage.ru_maxrss * _KIB
    return max(tree.peak_bytes, float(largest)) if largest > own else tree.peak_bytes


def _network() -> dict[Counter, float] | None:
    """Bytes that this machine's interfaces have received and sent, without loopback."""
    try:
        lines = _NETWORK.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    rows = [line.partition(":") for line in lines if ":" in line]
    numbers = [list(map(float, rest.split())) for name, _, rest in rows if name.strip() != "lo"]
    return {Counter.RECEIVED: sum(one[_RECEIVED] for one in numbers), Counter.SENT: sum(one[_SENT] for one in numbers)}


def _moved(before: dict[Counter, float] | None, after: dict[Counter, float] | None) -> dict[Counter, float] | None:
    if before is None or after is None:
        return None
    return {counter: max(0.0, after[counter] - before[counter]) for counter in after}
