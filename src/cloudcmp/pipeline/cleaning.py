"""The end of all that a study owns, and the lines that tell what could not be seen to go."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from cloudcmp.errors import Fault
from cloudcmp.model.lease import Lease, LeaseState
from cloudcmp.model.protocol import Provider
from cloudcmp.pipeline.stopping import Stopping
from cloudcmp.pipeline.tools import tools
from cloudcmp.provision import Ledger, Release, ask_all, release_all
from cloudcmp.store import StudyStore

HURRY_S = 1.0
"""How long leaving at once waits for requests to destroy to be sent."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: whether all trials were run, else why not; `left` are machines that could not be seen gone."""

    folder: Path
    finished: bool
    reason: str = ""
    interrupted: bool = False
    left: tuple[str, ...] = ()


Leave = Callable[[Ending], NoReturn]
"""Tells how it ended and ends the process, whatever its threads still wait for."""


def cleanup(folder: Path, leave: Leave | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Destroy all that a study still owns; returns a line for each thing destroyed and for each thing left.

    With `leave` the first signal ends it: all is asked to go, and `leave` ends the process.
    """
    with StudyStore.open(folder, write=True, reserve=True) as store:
        providers, ledger = tools(store, None, None)
        releases = asyncio.run(_end_all(ledger, providers, folder, leave))
    return tuple(_line(one) for one in releases if one.evidence), lines_left(releases)


async def _end_all(
    ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave | None
) -> tuple[Release, ...]:
    if leave is None:
        return await release_all(ledger, providers)
    stop, releases = asyncio.Event(), list[Release]()
    stop.set()  # it is the end already: there is nothing to wait for
    stopping = Stopping(stop, lambda _: None)

    async def work() -> None:
        releases.extend(await release_all(ledger, providers))

    with stopping.heeding():
        if not await stopping.unless_hurried(work()):
            await leave_at_once(ledger, providers, folder, leave)
    return tuple(releases)


async def leave_at_once(ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave) -> NoReturn:
    """Ask all that is open to go, tell it, and end the process."""
    lines = lines_left(await ask_all(ledger, providers, HURRY_S))
    leave(Ending(folder, False, "left at once", True, lines))


def untouched(store: StudyStore) -> tuple[str, ...]:
    """A line for each thing that may be there and was not asked to go."""
    left = [one for one in store.leases() if one.state is not LeaseState.GONE]
    return tuple(_line(Release(one, None, "not asked to go")) for one in left)


def faults_of(folder: Path, left: Iterable[str]) -> tuple[Fault, ...]:
    """A fault for each line of what is left, with what ends it."""
    return tuple(Fault("left", line, f"end it with: cloudcmp cleanup {folder}") for line in left)


def lines_left(releases: Iterable[Release]) -> tuple[str, ...]:
    """A line for each thing that was not seen gone."""
    return tuple(_line(one) for one in releases if one.evidence is None)


def _line(one: Release) -> str:
    return f"{_named(one.lease)}: {one.evidence or one.why}"


def _named(lease: Lease) -> str:
    return f"{lease.provider}/{lease.region} {lease.kind} {lease.cloud_id or lease.name}"
