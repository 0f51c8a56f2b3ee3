"""Named places at which a test may kill the process, to show what the disk holds then."""

import os
import signal

CRASH_POINTS: tuple[str, ...] = (
    "create.folder_made",
    "create.before_tables",
    "create.after_tables",
    "create.before_commit",
    "create.after_commit",
    "create.renamed",
    "open.locked",
    "open.before_sweep",
    "sweep.before_unlink",
    "lease.before_commit",
    "lease.after_commit",
    "launch.before_commit",
    "launch.after_commit",
    "begin.before_commit",
    "begin.after_commit",
    "file.before_write",
    "file.before_fsync",
    "file.before_rename",
    "file.before_folder_fsync",
    "file.after_folder_fsync",
    "finish.before_commit",
    "finish.after_commit",
    "interrupt.before_commit",
    "interrupt.after_commit",
    "meta.before_commit",
    "meta.after_commit",
    "compact.before_commit",
    "compact.after_commit",
    "compact.after_sweep",
)
"""Every name, in the order in which a study meets them first."""

MIGRATION_CRASH_POINTS = ("migrate.before_commit", "migrate.after_commit")
"""Crash points that only a study of an earlier schema passes, when it is first opened to be written."""

_passed: dict[str, int] = {}


def crash_point(name: str) -> None:
    """SIGKILL this process when `CLOUDCMP_CRASH_AT` is `name:n` and this is the n-th passing (from 1)."""
    wanted = os.environ.get("CLOUDCMP_CRASH_AT")
    if wanted is None:
        return
    place, _, nth = wanted.rpartition(":")
    if place != name:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if _passed[name] == int(nth):
        os.kill(os.getpid(), signal.SIGKILL)
