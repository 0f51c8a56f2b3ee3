"""Finds and ends processes that still belong to a lease's folder, and no others."""

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
class Claim:
    """What the processes of a lease have in common: its token, or its folder (a descriptor), and that they are younger.

    `made_s` are the seconds since the boot that `boot_id` names at which the folder was made.
    """

    token: str
    folder: int
    boot_id: str
    made_s: float


def end_processes_of(claim: Claim, wait_s: float = 5.0) -> bool:
    """SIGKILL the processes of a lease, and wait; False when some will not go.

    A lease of another boot, or of one that is not known, has none: a number may be anybody's since.
    """
    if not claim.boot_id or claim.boot_id != boot_id():
        return True
    spared = _own_line()
    deadline = time.monotonic() + wait_s
    while True:
        left = [pid for pid in _pids() if pid not in spared and _belongs(pid, claim) and _end(pid, claim)]
        if not left:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)


def _pids() -> Iterator[int]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - a thousand Path objects for as many strings
        if name.isdigit():
            yield int(name)


def _own_line() -> set[int]:
    """This process and those that it descends from."""
    line, pid = set[int](), os.getpid()
    while pid > 0 and pid not in line:
        line.add(pid)
        try:
            pid = int(_fields(Path("/proc") / str(pid))[_PARENT])
        except OSError:
            break
    return line


def _belongs(pid: int, claim: Claim) -> bool:
    """Whether a live process of this user, no older than the folder, has the token, or works in the folder.

    Agents never have a terminal; a person who looks around in the folder does, and is left alone.
    """
    process = Path("/proc") / str(pid)
    try:
        fields = _fields(process)
        if fields[0] in {"Z", "X"} or not _is_young(fields, claim) or not _is_mine(process):
            return False
        if f"{VARIABLE}={claim.token}".encode() in (process / "environ").read_bytes().split(b"\0"):
            return True
        return fields[_TERMINAL] == "0" and _works_in(process, claim.folder)
    except OSError:
        return False


def _fields(process: Path) -> list[str]:
    """The fields of a process's stat from the third on; the second, its name, may hold anything."""
    return (process / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _is_young(fields: list[str], claim: Claim) -> bool:
    """Whether a process started when the folder was made or later, in ticks of the clock since the boot."""
    return int(fields[_STARTED]) >= int(claim.made_s * os.sysconf("SC_CLK_TCK"))


def _is_mine(process: Path) -> bool:
    """Whether a process is this user's by its real and its effective user."""
    for line in (process / "status").read_text(errors="replace").splitlines():
        if line.startswith("Uid:"):
            return {int(word) for word in line.split()[1:3]} == {os.geteuid()}
    return False


def _works_in(process: Path, folder: int) -> bool:
    """Whether a process works in a folder or below it, by device and inode: a path may mean another folder to it."""
    wanted = os.fstat(folder)
    here = os.open(process / "cwd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        while True:
            found = os.fstat(here)
            if os.path.samestat(found, wanted):
                return True
            above = os.open("..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = above
            if os.path.samestat(found, os.fstat(here)):
                return False  # the top
    finally:
        os.close(here)


def _end(pid: int, claim: Claim) -> bool:
    """Kill one process, sure of its identity through a descriptor; True while it may still be there."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if _belongs(pid, claim):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
