"""Queries several providers at the same time, within a deadline."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any

from cloudcmp.app.provider_clients import brief
from cloudcmp.errors import CloudcmpError, NoCredentials
from cloudcmp.execute.interruption import run_interruptible
from cloudcmp.model.inventory import ProviderOfferings
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.credential_signs import signs_of
from cloudcmp.provider.registry import make
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


TELL_AFTER_S = 1.0
"""Delay before `say` reports which providers are still awaited."""


def quiet(_: str) -> None:
    """Reports nothing."""


def offerings_by_provider(
    names: Iterable[str], region: str | None = None, say: Say = quiet
) -> dict[str, ProviderOfferings]:
    """Return each provider's offerings, in one region or all; without a sign of credentials its library is not loaded.

    After a second, `say` reports which providers are still awaited.
    """
    chosen = list(names)
    likely = [name for name in chosen if signs_of(name, os.environ, Path.home())]
    answers = run_interruptible(_all(likely, region, say)) if likely else {}
    unlikely = ProviderOfferings(why="there is no sign of credentials", no_credentials=True)
    return {name: answers.get(name) or unlikely for name in chosen}


async def _all(names: list[str], region: str | None, say: Say) -> dict[str, ProviderOfferings]:
    tasks = {name: asyncio.create_task(asyncio.to_thread(_one, name, region)) for name in names}
    _, slow = await asyncio.wait(tasks.values(), timeout=TELL_AFTER_S)
    if slow:
        say(f"waiting for the offerings of {', '.join(name for name, task in tasks.items() if task in slow)}")
    return {name: await task for name, task in tasks.items()}


def _one(name: str, region: str | None) -> ProviderOfferings:
    try:
        return ProviderOfferings(tuple(make(name).offerings(region)))
    except NoCredentials as error:
        return ProviderOfferings(why=_line(name, error), no_credentials=type(error) is NoCredentials)
    except ImportError as error:
        return ProviderOfferings(why=f"{error.name} is not installed: add the extra cloudcmp[{name}]")
    except CloudcmpError as error:
        return ProviderOfferings(why=_line(name, error))


def _line(name: str, error: CloudcmpError) -> str:
    """The first fault, without the provider's name, which precedes it already."""
    if not error.faults:
        return brief(error)
    return one_line(error.faults[0].line()).removeprefix(f"{name}: ")
