"""Looks at several clouds side by side: none waits for another, and none is waited for any longer than is said."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from cloudcmp.units import format_seconds

Say = Callable[[str], None]
_FIRST_S, _EVERY_S = 2.0, 10.0


async def side_by_side(
    looks: Mapping[str, Coroutine[Any, Any, None]],
    within_s: float,
    say: Say | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> frozenset[str]:
    """Take all looks at once; the names of those that were not over within `within_s` seconds, which are cut short.

    `say` is told after two seconds, and then every ten, which are waited for and how long at most. Raises what a look
    raises, with the others cut short.
    """
    began, told_s = clock(), _FIRST_S
    tasks = {name: asyncio.create_task(look) for name, look in looks.items()}
    try:
        while waiting := {name: task for name, task in tasks.items() if not task.done()}:
            past_s = clock() - began
            if past_s >= within_s:
                break
            if say is not None and past_s >= told_s:
                say(_waiting(waiting, len(tasks), within_s - past_s))
                told_s = past_s + _EVERY_S
            pause_s = min(within_s, told_s) - past_s
            await asyncio.wait(waiting.values(), timeout=pause_s, return_when=asyncio.FIRST_EXCEPTION)
            _raise_first(tasks)
        return frozenset(name for name, task in tasks.items() if not task.done())
    finally:
        for task in tasks.values():  # what is cut short is not waited for: it only looks
            task.cancel()


def _raise_first(tasks: Mapping[str, asyncio.Task[None]]) -> None:
    for task in tasks.values():
        if task.done() and not task.cancelled():
            task.result()


def _waiting(names: Mapping[str, object], asked: int, left_s: float) -> str:
    who = ", ".join(names)
    return f"waiting for {who}: {asked - len(names)} of {asked} answered, at most {format_seconds(left_s)} left"
