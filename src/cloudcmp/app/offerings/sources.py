"""The offerings of all providers, queried at once; a provider that fails has a reason instead."""

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from cloudcmp.app.provider_clients import brief
from cloudcmp.errors import CloudcmpError, NoCredentials
from cloudcmp.execute.interruption import run_interruptible
from cloudcmp.model.inventory import ProviderOfferings
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.credential_signs import signs_of
from cloudcmp.provider.registry import make

Say = Callable[[str], None]
TELL_AFTER_S = 1.0
"""Delay before `say` reports which providers are still awaited."""


def quiet(_: str) -> None:
    """Reports nothing."""


def offerings_by_provider(
    names: Iterable[str], region: str | None = None, say: Say = quiet
) -> dict[str, ProviderOfferings]:
    """What each provider sells, in one region or all; without a sign of credentials its library is not even loaded.

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
        say(f"asking {', '.join(name for name, task in tasks.items() if task in slow)} what they sell")
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
