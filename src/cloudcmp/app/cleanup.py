"""Destroys everything that a study still owns."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.app.adoption import check_maker, teardown_actions
from cloudcmp.errors import CorruptStore, Fault, StorageFault
from cloudcmp.execute.environment import open_providers
from cloudcmp.execute.interruption import StopSignals, run_interruptible
from cloudcmp.execute.teardown import Leave, RunEnd, leave_at_once, line_of, lines_left, reporting_leftovers
from cloudcmp.model.lease import Lease, LeaseRow
from cloudcmp.model.protocol import Provider
from cloudcmp.provision import Journal, Ledger, Release, release_all
from cloudcmp.provision.progress import run_with_progress
from cloudcmp.store import StudyStore, open_to_end, tag_in


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """One line for each resource destroyed, for each that is left, and for each reason why more may exist."""

    destroyed: tuple[str, ...]
    left: tuple[str, ...]
    unsure: tuple[str, ...] = ()


class _ReadableJournal:
    """The readable rows of a study's ledger; `damaged` counts the others."""

    def __init__(self, store: StudyStore) -> None:
        self._store = store
        self.damaged = store.readable_leases()[1]

    def append_lease(self, row: LeaseRow) -> None:
        self._store.append_lease(row)

    def leases(self) -> tuple[Lease, ...]:
        return self._store.readable_leases()[0]


def cleanup(
    folder: Path, leave: Leave | None = None, say: Callable[[str], None] = lambda _: None, *, adopt: bool = False,
    step: Callable[[str], None] | None = None,
) -> CleanupResult:  # fmt: skip
    """Destroy everything that a study still owns, even if its folder is partly unreadable or read-only.

    A folder that was made elsewhere is refused, or adopted with `adopt`, which `say` reports. `step`, by default `say`,
    reports the resources that are awaited.
    With `leave`, the first signal ends the cleanup: all deletions are requested, and `leave` ends the process. If
    nothing can be read, raises the store's fault with the command that works without the folder.
    """
    try:
        check_maker(folder, teardown_actions, adopt=adopt, say=say, ending=True)
        store, unwritten = open_to_end(folder)
        with store:
            journal = _ReadableJournal(store)
            releases = _release(folder, store, journal, leave, step or say)
            unwritten = unwritten or next((one.unwritten for one in releases if one.unwritten), "")
            unsure = tuple(_unsure(store.tag, unwritten, journal.damaged))
    except (StorageFault, CorruptStore) as fault:
        fault.faults = (*fault.faults, Fault("left", "what it created may exist", _sweep_command(tag_in(folder))))
        raise
    return CleanupResult(tuple(line_of(one) for one in releases if one.evidence), lines_left(releases), unsure)


def _unsure(tag: str, unwritten: str, damaged: int) -> Iterator[str]:
    if unwritten:
        yield f"the ledger could not record what was destroyed: {unwritten}"
    if damaged:
        yield f"{damaged} damaged {'rows' if damaged > 1 else 'row'} of the ledger could not be read"
    if unwritten or damaged:
        yield f"to find anything else: {_sweep_command(tag)}"


def _sweep_command(tag: str | None) -> str:
    return f"cloudcmp sweep --study {tag} --delete" if tag else "cloudcmp sweep, then cloudcmp sweep --delete"


def _release(
    folder: Path, store: StudyStore, journal: Journal, leave: Leave | None, say: Callable[[str], None]
) -> tuple[Release, ...]:
    """Release everything; if interrupted while no `StopSignals` handles signals, reports leftovers through `leave`."""
    releases: list[Release] = []
    ends: list[RunEnd] = []

    async def work() -> None:
        providers, ledger = open_providers(store, journal=journal)
        releases.extend(await _release_all(ledger, providers, folder, leave, say))
        ends.append(RunEnd(folder, False, "interrupted", True, lines_left(releases)))

    with reporting_leftovers(folder, journal, leave, ends):
        run_interruptible(work())
    return tuple(releases)


async def _release_all(
    ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave | None, say: Callable[[str], None]
) -> tuple[Release, ...]:
    if leave is None:
        return await run_with_progress(release_all(ledger, providers), ledger, providers, say)
    stop, releases = asyncio.Event(), list[Release]()
    stop.set()  # there is nothing to finish first
    stopping = StopSignals(stop, lambda _: None)

    async def work() -> None:
        releases.extend(await run_with_progress(release_all(ledger, providers), ledger, providers, say))

    with stopping.handled():
        if not await stopping.run_unless_hurried(work()):
            await leave_at_once(ledger, providers, folder, leave)
    return tuple(releases)
