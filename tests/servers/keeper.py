"""Keeps one server: ends it with whoever asked for it, at a signal, after its time, or when it takes too much memory.

    python keeper.py PARENT_PID LIMIT_S MEMORY_MIB FOLDER COMMAND...

The folder is removed at the end. It uses the standard library alone and starts in an instant. A server whose keeper is
killed is killed by the kernel.
"""

import contextlib
import ctypes
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_LOOK_MS = 1000
_LARGEST_FILE = 4 * 2**30


def _ready(keeper: int) -> None:
    """In the server's process, before its program: it dies with its keeper, and writes no huge file and no core."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))


def _resident_mib(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() // 2**20
    except OSError:
        return 0


def _kept(parent: int, limit_s: float, memory_mib: int, command: list[str]) -> str:
    """Run the server until there is a reason to end it, and tell that."""
    asked = os.pidfd_open(parent)
    if os.getppid() != parent:
        return "its parent ended before it began"
    ready = partial(_ready, os.getpid())
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0, preexec_fn=ready)  # noqa: PLW1509
    until = time.monotonic() + limit_s
    poll = select.poll()
    for each in (asked, os.pidfd_open(server.pid)):
        poll.register(each, select.POLLIN)
    try:
        while time.monotonic() < until:
            ended = [each for each, _ in poll.poll(_LOOK_MS)]
            if ended:
                return "its parent ended" if asked in ended else f"it exited with {server.wait()}"
            if _resident_mib(server.pid) > memory_mib:
                return f"it took more than {memory_mib} MiB"
        return f"its {limit_s:.0f} s are over"
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


if __name__ == "__main__":
    folder = sys.argv[4]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        print(_kept(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[5:]), file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
