"""Finds and ends the processes that belong to a lease's folder, and no others."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.provider.local.card import boot_id

VARIABLE = "CLOUDCMP_LEASE"
_PARENT, _TERMINAL, _STARTED = 1, 4, 19  # fields of /proc/PID/stat after the name, see proc_pid_stat(5)


@dataclass(frozen=True, slots=True)
class ProcessFilter:
    """A lease's token and folder (a descriptor), which was created `made_s` seconds after the boot `boot_id`."""

    token: str
    folder: int
    boot_id: str
    made_s: float


def end_processes_of(lease: ProcessFilter, wait_s: float = 5.0) -> bool:
    """Kills the processes of a lease of this boot, and waits; False if some do not end."""
    if not lease.boot_id or lease.boot_id != boot_id():
        return True
    ancestors = _ancestors()
    deadline = time.monotonic() + wait_s
    while True:
        alive = [pid for pid in _pids() if pid not in ancestors and _matches(pid, lease) and _end(pid, lease)]
        if not alive:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)


def _pids() -> Iterator[int]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - a thousand Path objects for as many strings
        if name.isdigit():
            yield int(name)


def _ancestors() -> set[int]:
    """This process and its ancestors."""
    ancestors, pid = set[int](), os.getpid()
    while pid > 0 and pid not in ancestors:
        ancestors.add(pid)
        try:
            pid = int(_fields(Path("/proc") / str(pid))[_PARENT])
        except OSError:
            break
    return ancestors


def _matches(pid: int, lease: ProcessFilter) -> bool:
    """True for a live process of this user with the token, or in the folder without a terminal, if younger than it."""
    process = Path("/proc") / str(pid)
    try:
        fields = _fields(process)
        if fields[0] in {"Z", "X"} or not _is_young(fields, lease) or not _is_mine(process):
            return False
        if f"{VARIABLE}={lease.token}".encode() in (process / "environ").read_bytes().split(b"\0"):
            return True
        return fields[_TERMINAL] == "0" and _works_in(process, lease.folder)
    except OSError:
        return False


def _fields(process: Path) -> list[str]:
    """The fields of a process's stat from the third on; the second, its name, may contain anything."""
    return (process / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _is_young(fields: list[str], lease: ProcessFilter) -> bool:
    """True if a process started when the folder was created or later, in clock ticks since the boot."""
    return int(fields[_STARTED]) >= int(lease.made_s * os.sysconf("SC_CLK_TCK"))


def _is_mine(process: Path) -> bool:
    """True if both the real and the effective user of a process is this one."""
    for line in (process / "status").read_text(errors="replace").splitlines():
        if line.startswith("Uid:"):
            return {int(word) for word in line.split()[1:3]} == {os.geteuid()}
    return False


def _works_in(process: Path, folder: int) -> bool:
    """True if a process works in or below a folder, by device and inode: its paths may mean other folders."""
    target = os.fstat(folder)
    descriptor = os.open(process / "cwd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        while True:
            current = os.fstat(descriptor)
            if os.path.samestat(current, target):
                return True
            parent = os.open("..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = parent
            if os.path.samestat(current, os.fstat(descriptor)):
                return False  # the root
    finally:
        os.close(descriptor)


def _end(pid: int, lease: ProcessFilter) -> bool:
    """Kills one process, identified through a descriptor; True while it may still exist."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if _matches(pid, lease):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
