"""Finds and ends processes that still belong to a lease's folder, whoever started them."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "CLOUDCMP_LEASE"


def end_processes_of(folder: Path, token: str, wait_s: float = 5.0) -> bool:
    """SIGKILL the processes of a lease, and wait; False when some will not go."""
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
    """Whether a live process was started with the token, or works in the folder and has no terminal.

    Agents never have one; a person who looks around in the folder does, and is left alone.
    """
    process = Path("/proc") / str(pid)
    try:
        state, terminal = _state_and_terminal(process)
        if state in {"Z", "X"}:
            return False
        if f"{VARIABLE}={token}".encode() in (process / "environ").read_bytes().split(b"\0"):
            return True
        return terminal == "0" and (process / "cwd").readlink().is_relative_to(folder)
    except OSError:
        return False


def _state_and_terminal(process: Path) -> tuple[str, str]:
    """The third and seventh field of a process's stat; its second, the name, may hold anything."""
    fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return fields[0], fields[4]


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
