"""The end of all that a study owns, and the lines that tell what could not be seen to go."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from cloudcmp.errors import CorruptStore, Fault, StorageFault
from cloudcmp.model.lease import FIREWALL, Lease, LeaseRow, LeaseState
from cloudcmp.model.protocol import Provider
from cloudcmp.pipeline.adoption import check_maker, ends
from cloudcmp.pipeline.asking import unheld
from cloudcmp.pipeline.stopping import Stopping
from cloudcmp.pipeline.tools import tools
from cloudcmp.provider.registry import make, names
from cloudcmp.provision import Journal, Ledger, Release, ask_all, release_all
from cloudcmp.provision.waiting import named, told_while
from cloudcmp.store import StudyStore, open_to_end, tag_in
from cloudcmp.units import Money, format_money

HURRY_S = 1.0
"""How long leaving at once waits for requests to destroy to be sent."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: whether all trials were run, else why not; `left` are machines that could not be seen gone.

    `fault`: what is to be mended outside kept trials from being run, and not only money or time that was over.
    """

    folder: Path
    finished: bool
    reason: str = ""
    interrupted: bool = False
    left: tuple[str, ...] = ()
    fault: bool = False


Leave = Callable[[Ending], NoReturn]
"""Tells how it ended and ends the process, whatever its threads still wait for."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A line for each thing destroyed, for each thing left, and for each reason why more may be there."""

    destroyed: tuple[str, ...]
    left: tuple[str, ...]
    unsure: tuple[str, ...] = ()


class _Salvage:
    """The ledger of a study by those of its rows that can be read; `damaged` counts the others."""

    def __init__(self, store: StudyStore) -> None:
        self._store = store
        self.damaged = store.readable_leases()[1]

    def append_lease(self, row: LeaseRow) -> None:
        self._store.append_lease(row)

    def leases(self) -> tuple[Lease, ...]:
        return self._store.readable_leases()[0]


def cleanup(
    folder: Path, leave: Leave | None = None, say: Callable[[str], None] = lambda _: None, *, adopt: bool = False
) -> Cleaned:
    """Destroy all that a study still owns, whatever of its folder can still be read or written.

    A folder that was made elsewhere is refused, or adopted with `adopt`. `say` is told what is waited for. With `leave`
    the first signal ends it: all is asked to go, and `leave` ends the process. Raises the store's fault, with the way
    to go on without it, where nothing can be read.
    """
    try:
        check_maker(folder, ends, adopt=adopt, say=say, ending=True)
        store, unwritten = open_to_end(folder)
        with store:
            journal = _Salvage(store)
            releases = _ended(folder, store, journal, leave, say)
            unwritten = unwritten or next((one.unwritten for one in releases if one.unwritten), "")
            unsure = tuple(_unsure(store.tag, unwritten, journal.damaged))
    except (StorageFault, CorruptStore) as fault:
        fault.faults = (*fault.faults, Fault("left", "what it made may be there", _swept(tag_in(folder))))
        raise
    return Cleaned(tuple(_line(one) for one in releases if one.evidence), lines_left(releases), unsure)


def _unsure(tag: str, unwritten: str, damaged: int) -> Iterator[str]:
    if unwritten:
        yield f"what was destroyed could not be written down: {unwritten}"
    if damaged:
        yield f"{damaged} damaged {'rows' if damaged > 1 else 'row'} of the ledger could not be read"
    if unwritten or damaged:
        yield f"whether anything else is there: {_swept(tag)}"


def _swept(tag: str | None) -> str:
    return f"cloudcmp sweep --study {tag} --delete" if tag else "cloudcmp sweep, then cloudcmp sweep --delete"


def _ended(
    folder: Path, store: StudyStore, journal: Journal, leave: Leave | None, say: Callable[[str], None]
) -> tuple[Release, ...]:
    """What came of ending all; whoever interrupts it outside of its own heeding is told what is left as well."""
    releases: list[Release] = []
    came: list[Ending] = []

    async def work() -> None:
        providers, ledger = tools(store, journal=journal)
        releases.extend(await _end_all(ledger, providers, folder, leave, say))
        came.append(Ending(folder, False, "interrupted", True, lines_left(releases)))

    with left_told(folder, journal, leave, came):
        unheld(work())
    return tuple(releases)


async def _end_all(
    ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave | None, say: Callable[[str], None]
) -> tuple[Release, ...]:
    if leave is None:
        return await told_while(release_all(ledger, providers), ledger, providers, say)
    stop, releases = asyncio.Event(), list[Release]()
    stop.set()  # it is the end already: there is nothing to wait for
    stopping = Stopping(stop, lambda _: None)

    async def work() -> None:
        releases.extend(await told_while(release_all(ledger, providers), ledger, providers, say))

    with stopping.heeding():
        if not await stopping.unless_hurried(work()):
            await leave_at_once(ledger, providers, folder, leave)
    return tuple(releases)


async def leave_at_once(ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave) -> NoReturn:
    """Ask all that is open to go, tell it, and end the process."""
    lines = lines_left(await ask_all(ledger, providers, HURRY_S))
    leave(Ending(folder, False, "left at once", True, lines))


@contextmanager
def left_told(folder: Path, journal: Journal, leave: Leave | None, came: Sequence[Ending] = ()) -> Iterator[None]:
    """Whoever interrupts what is inside while no `Stopping` heeds signals is told what is left, by `leave`.

    That is what already `came` of it, else what may be there by the ledger.
    """
    try:
        yield
    except KeyboardInterrupt:
        if leave is None:
            raise
        known = came[-1] if came else Ending(folder, False, left=untouched(journal, "not seen gone"))
        leave(replace(known, finished=False, reason=known.reason or "interrupted", interrupted=True))


def untouched(journal: Journal, why: str = "not asked to go") -> tuple[str, ...]:
    """A line for each thing that may be there by the ledger, and was not asked to go, or `why` it is told."""
    left = [one for one in journal.leases() if one.state is not LeaseState.GONE]
    return tuple(_line(Release(one, None, why)) for one in left)


def faults_of(folder: Path, left: Iterable[str]) -> tuple[Fault, ...]:
    """A fault for each line of what is left, with what ends it."""
    return tuple(Fault("left", line, f"end it with: cloudcmp cleanup {folder}") for line in left)


def lines_left(releases: Iterable[Release]) -> tuple[str, ...]:
    """A line for each thing that was not seen gone."""
    return tuple(_line(one) for one in releases if one.evidence is None)


def _line(one: Release) -> str:
    price = "" if one.evidence else _priced(one.lease)
    return f"{named(one.lease)}: {one.evidence or one.why}{price}"


def _priced(lease: Lease) -> str:
    """What it costs as long as it is there; a firewall costs nothing, and a listing may be of nothing at all."""
    if lease.kind == FIREWALL or not (lease.cloud_id or lease.token):
        return ""
    if lease.price_per_hour is not None and lease.currency is not None:
        return f", {format_money(Money(lease.price_per_hour, lease.currency))}/h"
    return ", price unknown" if lease.provider in names() and make(lease.provider).billed else ""
