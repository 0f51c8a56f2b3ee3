"""What providers say that they sell, asked all at once; whoever cannot be asked is left out, and told why."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.app.provider_clients import brief
from cloudcmp.app.start import signs_of
from cloudcmp.errors import CloudcmpError, NoCredentials
from cloudcmp.execute.interruptible import ask
from cloudcmp.model.offering import Offering
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.registry import make

Say = Callable[[str], None]
TELL_AFTER_S = 1.0
"""How long the question may take before it is told who is still waited for."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a provider sells, or why it is not known: `why` is empty where it was asked, `bare` without credentials."""

    offerings: tuple[Offering, ...] = ()
    why: str = ""
    bare: bool = False


def quiet(_: str) -> None:
    """Nobody is told."""


def told_by(names: Iterable[str], region: str | None = None, say: Say = quiet) -> dict[str, Told]:
    """What each provider sells, in one region or all; without a sign of credentials its library is not even loaded.

    `say` is told who is waited for, where that takes more than a second.
    """
    asked = list(names)
    likely = [name for name in asked if signs_of(name, os.environ, Path.home())]
    came = ask(_all(likely, region, say)) if likely else {}
    return {name: came.get(name) or Told(why="there is no sign of credentials", bare=True) for name in asked}


async def _all(names: list[str], region: str | None, say: Say) -> dict[str, Told]:
    tasks = {name: asyncio.create_task(asyncio.to_thread(_one, name, region)) for name in names}
    _, slow = await asyncio.wait(tasks.values(), timeout=TELL_AFTER_S)
    if slow:
        say(f"asking {', '.join(name for name, task in tasks.items() if task in slow)} what they sell")
    return {name: await task for name, task in tasks.items()}


def _one(name: str, region: str | None) -> Told:
    try:
        return Told(tuple(make(name).offerings(region)))
    except NoCredentials as error:
        return Told(why=_line(name, error), bare=type(error) is NoCredentials)
    except ImportError as error:
        return Told(why=f"{error.name} is not installed: add the extra cloudcmp[{name}]")
    except CloudcmpError as error:
        return Told(why=_line(name, error))


def _line(name: str, error: CloudcmpError) -> str:
    """The first fault, without the provider's name, which stands before it already."""
    if not error.faults:
        return brief(error)
    return one_line(error.faults[0].line()).removeprefix(f"{name}: ")


def left_out(told: Mapping[str, Told]) -> tuple[str, ...]:
    """One line for all that have no credentials, and one for each that could not be asked for another reason."""
    bare = [name for name, one in told.items() if one.why and one.bare]
    lines = [f"left out, no credentials: {', '.join(bare)}; see: cloudcmp check"] if bare else []
    return (*lines, *(f"{name} is left out: {one.why}" for name, one in told.items() if one.why and not one.bare))
