"""The end of a run, and lines about leases that were not seen gone."""

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
"""The longest wait for deletion requests when leaving at once."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run: whether all trials were run, else why not; `left` has a line for each lease not seen gone.

    `fault` is true if something outside must be repaired first, and not only money or time has run out.
    """

    folder: Path
    finished: bool
    reason: str = ""
    interrupted: bool = False
    left: tuple[str, ...] = ()
    fault: bool = False


Leave = Callable[[RunEnd], NoReturn]
"""Reports how the run ended and ends the process without waiting for its threads."""


async def leave_at_once(ledger: Ledger, providers: Mapping[str, Provider], folder: Path, leave: Leave) -> NoReturn:
    """Requests the deletion of all open leases, reports them, and ends the process."""
    lines = lines_left(await request_deletes(ledger, providers, HURRY_S))
    leave(RunEnd(folder, False, "left at once", True, lines))


@contextmanager
def reporting_leftovers(
    folder: Path, journal: Journal, leave: Leave | None, ends: Sequence[RunEnd] = ()
) -> Iterator[None]:
    """If interrupted while no `StopSignals` handles signals, reports leftovers through `leave`.

    They are those of the last of `ends`, else all open leases in the ledger.
    """
    try:
        yield
    except KeyboardInterrupt:
        if leave is None:
            raise
        known = ends[-1] if ends else RunEnd(folder, False, left=open_lease_lines(journal, "not seen gone"))
        leave(replace(known, finished=False, reason=known.reason or "interrupted", interrupted=True))


def open_lease_lines(journal: Journal, why: str = "not asked to go") -> tuple[str, ...]:
    """A line for each lease that is open in the ledger, with `why` it is reported."""
    left = [one for one in journal.leases() if one.state is not LeaseState.GONE]
    return tuple(line_of(Release(one, None, why)) for one in left)


def faults_of(folder: Path, left: Iterable[str]) -> tuple[Fault, ...]:
    """A fault for each line of a leftover, with the command that deletes it."""
    return tuple(Fault("left", line, f"end it with: cloudcmp cleanup {folder}") for line in left)


def lines_left(releases: Iterable[Release]) -> tuple[str, ...]:
    """A line for each lease that was not seen gone."""
    return tuple(line_of(one) for one in releases if one.evidence is None)


def line_of(one: Release) -> str:
    """A lease, the evidence that it is gone or why there is none, and its price if it may still be billed."""
    price = "" if one.evidence else _price_text(one.lease)
    return f"{lease_label(one.lease)}: {one.evidence or one.why}{price}"


def _price_text(lease: Lease) -> str:
    """The price of a lease that still exists; empty for a firewall, and for a lease without id and token."""
    if lease.kind == FIREWALL or not (lease.cloud_id or lease.token):
        return ""
    if lease.price_per_hour is not None and lease.currency is not None:
        return f", {format_money(Money(lease.price_per_hour, lease.currency))}/h"
    return ", price unknown" if lease.provider in names() and make(lease.provider).billed else ""
