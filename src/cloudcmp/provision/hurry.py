"""Leaving at once: everything is asked to go, nothing is waited for, and what was not seen gone is told."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from cloudcmp.errors import CloudcmpError
from cloudcmp.model.lease import Lease, LeaseEvent
from cloudcmp.model.protocol import Provider
from cloudcmp.provision.ledger import Ledger

_LOOK_S = 0.05


async def ask_all(ledger: Ledger, providers: Mapping[str, Provider], within_s: float) -> tuple[Lease, ...]:
    """Ask for the end of every open lease, all at once, for at most so many seconds; returns those that are open then,
    as far as is known: what was being made meanwhile, too.
    """
    loop = asyncio.get_running_loop()
    end_s = loop.time() + within_s
    asks: dict[tuple[str, int], asyncio.Task[None]] = {}
    while True:
        await asyncio.sleep(0)  # a create that was cut short, or was just answered, says so in the ledger first
        for one in ledger.open_leases():
            if one.handle() and one.provider in providers and (one.slot, one.attempt) not in asks:
                asks[one.slot, one.attempt] = asyncio.create_task(_ask(ledger, providers[one.provider], one))
        waiting = [ask for ask in asks.values() if not ask.done()]
        if not waiting or loop.time() >= end_s:
            return ledger.open_leases()
        await asyncio.wait(waiting, timeout=min(_LOOK_S, end_s - loop.time()))


async def _ask(ledger: Ledger, provider: Provider, lease: Lease) -> None:
    handle = lease.handle()
    if handle is None:
        return
    with suppress(CloudcmpError, OSError):
        ledger.write(lease, LeaseEvent.DELETE_ASKED)
    with suppress(CloudcmpError, OSError):
        await provider.destroy(handle)
