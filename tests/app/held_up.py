"""A command (see warm.py), in which something is always left, a call hangs for minutes, and Ctrl-C comes amid the end.

By `$MOMENT` it comes while the threads of what is over are waited for (`threads`), or amid the last step of a study
(`compact`): neither the study nor its ending heeds signals any more then.
"""

import asyncio
import os
import signal
import threading
import time
from typing import Any

from cloudcmp.app import cleanup as cleaning
from cloudcmp.app import sweep as sweeping
from cloudcmp.cli.interruption import Interruption
from cloudcmp.execute import study as running
from cloudcmp.model.lease import INSTANCE, Lease, LeaseState
from cloudcmp.provision import Release, contract
from cloudcmp.store import StudyStore

STUCK = Lease("launch-0", 1, LeaseState.LIVE, "simulated", "stratus", INSTANCE, "n", "t", "sim-stuck", 0.0)
_release_all, _in_turn, _hung = contract.release_all, sweeping._in_turn, threading.Event()


def _hang() -> None:
    while not isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), Interruption):
        time.sleep(0.02)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(600.0)


def _hang_once() -> None:
    if os.environ["MOMENT"] == "threads" and not _hung.is_set():
        _hung.set()
        asyncio.get_running_loop().run_in_executor(None, _hang)


async def _stuck(*arguments: Any) -> tuple[Release, ...]:
    _hang_once()
    return (*await _release_all(*arguments), Release(STUCK, None, "it is still there"))


async def _swept(sweepers: Any) -> None:
    _hang_once()
    await _in_turn(sweepers)


def _interrupted(_: StudyStore) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def prepare() -> None:
    """Have this process be held up."""
    cleaning.release_all = running.release_all = contract.release_all = _stuck
    sweeping._in_turn = _swept
    if os.environ["MOMENT"] == "compact":
        StudyStore.compact = _interrupted  # type: ignore[method-assign]
