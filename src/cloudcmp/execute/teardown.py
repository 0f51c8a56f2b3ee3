"""The end of all that a study owns, and the lines that tell what could not be seen to go."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from cloudcmp.errors import Fault
from cloudcmp.model.lease import FIREWALL, Lease, LeaseState
from cloudcmp.model.protocol import Provider
from cloudcmp.provider.registry import make, names
from cloudcmp.provision import Journal, Ledger, Release, request_deletes
from cloudcmp.provision.progress import lease_label
from cloudcmp.units import Money, format_money

HURRY_S = 1.0
"""How long leaving at once waits for requests to destroy to be sent."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended: whether all trials were run, else why not; `left` are machines that could not be seen gone.

    `fault`: what is to be mended outside kept trials from being run, and not only money or time that was over.
    """

    folder: Path
    finished: bool
    reason: str = ""
    interrupted: bool = False
    left: tuple[str, ...] = ()
    fault: bool = False


Leave = Callable[[RunEnd], NoReturn]
"""Tells how it ended and ends the process, whatever its threads still wait for."""


async def leave_at_once(ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave) -> NoReturn:
    """Ask all that is open to go, tell it, and end the process."""
    lines = lines_left(await request_deletes(ledger, providers, HURRY_S))
    leave(RunEnd(folder, False, "left at once", True, lines))


@contextmanager
def left_told(folder: Path, journal: Journal, leave: Leave | None, came: Sequence[RunEnd] = ()) -> Iterator[None]:
    """Whoever interrupts what is inside while no `Stopping` heeds signals is told what is left, by `leave`.

    That is what already `came` of it, else what may be there by the ledger.
    """
    try:
        yield
    except KeyboardInterrupt:
        if leave is None:
            raise
        known = came[-1] if came else RunEnd(folder, False, left=untouched(journal, "not seen gone"))
        leave(replace(known, finished=False, reason=known.reason or "interrupted", interrupted=True))


def untouched(journal: Journal, why: str = "not asked to go") -> tuple[str, ...]:
    """A line for each thing that may be there by the ledger, and was not asked to go, or `why` it is told."""
    left = [one for one in journal.leases() if one.state is not LeaseState.GONE]
    return tuple(line_of(Release(one, None, why)) for one in left)


def faults_of(folder: Path, left: Iterable[str]) -> tuple[Fault, ...]:
    """A fault for each line of what is left, with what ends it."""
    return tuple(Fault("left", line, f"end it with: cloudcmp cleanup {folder}") for line in left)


def lines_left(releases: Iterable[Release]) -> tuple[str, ...]:
    """A line for each thing that was not seen gone."""
    return tuple(line_of(one) for one in releases if one.evidence is None)


def line_of(one: Release) -> str:
    price = "" if one.evidence else _priced(one.lease)
    return f"{lease_label(one.lease)}: {one.evidence or one.why}{price}"


def _priced(lease: Lease) -> str:
    """What it costs as long as it is there; a firewall costs nothing, and a listing may be of nothing at all."""
    if lease.kind == FIREWALL or not (lease.cloud_id or lease.token):
        return ""
    if lease.price_per_hour is not None and lease.currency is not None:
        return f", {format_money(Money(lease.price_per_hour, lease.currency))}/h"
    return ", price unknown" if lease.provider in names() and make(lease.provider).billed else ""
