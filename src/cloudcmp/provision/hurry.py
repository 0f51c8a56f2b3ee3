"""Leaving at once: what is proved ours is asked to go, nothing is waited for, what was not seen gone is told."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from cloudcmp.errors import CloudcmpError
from cloudcmp.model.lease import Lease, LeaseEvent
from cloudcmp.model.protocol import Provider
from cloudcmp.provision.ledger import Ledger
from cloudcmp.provision.lifecycle import Release
from cloudcmp.provision.ownership import Sighting

_LOOK_S = 0.05
_Key = tuple[str, int]


async def ask_all(ledger: Ledger, providers: Mapping[str, Provider], within_s: float) -> tuple[Release, ...]:
    """Ask for the end of every open lease, all at once, for at most so many seconds; returns those that are open then,
    as far as is known, with what came of asking: what was being made meanwhile, too.
    """
    loop = asyncio.get_running_loop()
    end_s = loop.time() + within_s
    asks: dict[_Key, asyncio.Task[str]] = {}
    while True:
        await asyncio.sleep(0)  # a create that was cut short, or was just answered, says so in the ledger first
        for one in ledger.open_leases():
            if one.handle() and one.provider in providers and (one.slot, one.attempt) not in asks:
                asks[one.slot, one.attempt] = asyncio.create_task(_ask(ledger, providers[one.provider], one))
        waiting = [ask for ask in asks.values() if not ask.done()]
        if not waiting or loop.time() >= end_s:
            return tuple(Release(one, None, _came(one, asks)) for one in ledger.open_leases())
        await asyncio.wait(waiting, timeout=min(_LOOK_S, end_s - loop.time()))


async def _ask(ledger: Ledger, provider: Provider, lease: Lease) -> str:
    """Why it could not be asked to go, nothing where it was."""
    handle = lease.handle()
    if handle is None:
        return "nothing is known to ask for"
    try:
        proof = await ledger.ownership.prove(provider, lease, handle)
        if proof.sighting is not Sighting.OURS:
            return proof.why
        with suppress(CloudcmpError, OSError):
            ledger.write(lease, LeaseEvent.DELETE_ASKED)
        await provider.destroy(handle)
    except Exception as fault:  # whatever it is, the list of what is left must not be lost for it
        return f"{fault}" or type(fault).__name__
    return ""


def _came(lease: Lease, asks: Mapping[_Key, asyncio.Task[str]]) -> str:
    """What came of asking for a lease's end."""
    if lease.handle() is None:
        return "it may have been made: there was no answer yet"
    ask = asks.get((lease.slot, lease.attempt))
    if ask is None or not ask.done():
        return "not asked to go in time"
    return f"it could not be asked to go: {ask.result()}" if ask.result() else "asked to go, not seen gone"
