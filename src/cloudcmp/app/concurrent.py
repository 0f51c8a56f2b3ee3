"""Runs checks of several providers at the same time, within a deadline."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from cloudcmp.units import format_seconds

Say = Callable[[str], None]
_FIRST_S, _EVERY_S = 2.0, 10.0


async def run_concurrently(
    checks: Mapping[str, Coroutine[Any, Any, None]],
    within_s: float,
    say: Say | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> frozenset[str]:
    """Run all checks at once; returns the names of those that did not finish within `within_s` and were cancelled.

    `say` reports after two seconds, and then every ten, which checks are awaited and for how long at most. Raises what
    a check raises, after cancelling the others.
    """
    began, next_report_s = clock(), _FIRST_S
    tasks = {name: asyncio.create_task(check) for name, check in checks.items()}
    try:
        while waiting := {name: task for name, task in tasks.items() if not task.done()}:
            past_s = clock() - began
            if past_s >= within_s:
                break
            if say is not None and past_s >= next_report_s:
                say(_waiting(waiting, len(tasks), within_s - past_s))
                next_report_s = past_s + _EVERY_S
            pause_s = min(within_s, next_report_s) - past_s
            await asyncio.wait(waiting.values(), timeout=pause_s, return_when=asyncio.FIRST_EXCEPTION)
            _raise_first(tasks)
        return frozenset(name for name, task in tasks.items() if not task.done())
    finally:
        for task in tasks.values():  # a check changes nothing, so there is no need to wait for its end
            task.cancel()


def _raise_first(tasks: Mapping[str, asyncio.Task[None]]) -> None:
    for task in tasks.values():
        if task.done() and not task.cancelled():
            task.result()


def _waiting(names: Mapping[str, object], total: int, left_s: float) -> str:
    who = ", ".join(names)
    return f"waiting for {who}: {total - len(names)} of {total} answered, at most {format_seconds(left_s)} left"
