"""Finds and ends processes that still belong to a lease's folder, whoever started them."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "CLOUDCMP_LEASE"


def end_processes_of(folder: Path, token: str, wait_s: float = 5.0) -> bool:
    """SIGKILL every process that works in `folder` or carries the token, and wait; False when some will not go."""
    deadline = time.monotonic() + wait_s
    while True:
        left = [pid for pid in _pids() if _belongs(pid, folder, token) and _end(pid, folder, token)]
        if not left:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)


def _pids() -> Iterator[int]:
    own = os.getpid()
    for name in os.listdir("/proc"):  # noqa: PTH208 - a thousand Path objects for as many strings
        if name.isdigit() and int(name) != own:
            yield int(name)


def _belongs(pid: int, folder: Path, token: str) -> bool:
    """Whether a live process was started with the token, or works in the folder."""
    try:
        process = Path("/proc") / str(pid)
        if f"{VARIABLE}={token}".encode() in (process / "environ").read_bytes().split(b"\0"):
            return not _is_zombie(process)
        return (process / "cwd").readlink().is_relative_to(folder) and not _is_zombie(process)
    except OSError:
        return False


def _is_zombie(process: Path) -> bool:
    return (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] in {"Z", "X"}


def _end(pid: int, folder: Path, token: str) -> bool:
    """Kill one process, sure of its identity through a descriptor; True while it may still be there."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if _belongs(pid, folder, token):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
