"""What is dear to make and only read, made by the first of a run's workers that asks for it."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder of that name for all workers of a run, which one of them makes while the others wait.

    No test may change what is in it. Raises what `make` raises; then the next one tries again.
    """
    base = factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    folder, done = shared / name, shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder
