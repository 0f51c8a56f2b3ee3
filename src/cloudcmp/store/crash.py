"""Named points at which a test can kill the process, to check the state of the disk."""

import os
import signal

_passed: dict[str, int] = {}


def crash_point(name: str) -> None:
    """Kills this process with SIGKILL if `CLOUDCMP_CRASH_AT` is `name:n` and this is the n-th passing (from 1)."""
    wanted = os.environ.get("CLOUDCMP_CRASH_AT")
    if wanted is None:
        return
    place, _, nth = wanted.rpartition(":")
    if place != name:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if _passed[name] == int(nth):
        os.kill(os.getpid(), signal.SIGKILL)
