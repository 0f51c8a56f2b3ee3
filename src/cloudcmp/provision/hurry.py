"""Leaving at once: everything is asked to go, nothing is waited for, and what was not seen gone is told."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from cloudcmp.errors import CloudcmpError
from cloudcmp.model.lease import Lease, LeaseEvent
from cloudcmp.model.protocol import Provider
from cloudcmp.provision.ledger import Ledger


async def ask_all(ledger: Ledger, providers: Mapping[str, Provider], within_s: float) -> tuple[Lease, ...]:
    """Ask for the end of every open lease, all at once, for at most so many seconds; returns the leases, all of which
    are still open as far as is known.
    """
    left = ledger.open_leases()
    asks = [
        asyncio.create_task(_ask(ledger, providers[one.provider], one)) for one in left if one.provider in providers
    ]
    if asks:
        await asyncio.wait(asks, timeout=within_s)
    return left


async def _ask(ledger: Ledger, provider: Provider, lease: Lease) -> None:
    handle = lease.handle()
    if handle is None:
        return
    with suppress(CloudcmpError, OSError):
        ledger.write(lease, LeaseEvent.DELETE_ASKED)
    with suppress(CloudcmpError, OSError):
        await provider.destroy(handle)
