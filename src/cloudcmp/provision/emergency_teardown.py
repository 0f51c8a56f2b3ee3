"""Teardown in a hurry: sends delete requests for what is proved ours, waits for no result, reports what is left."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from cloudcmp.errors import CloudcmpError
from cloudcmp.model.lease import Lease, LeaseEvent
from cloudcmp.model.protocol import Provider
from cloudcmp.provision.destruction import Release
from cloudcmp.provision.ledger import Ledger
from cloudcmp.provision.ownership import Sighting

_LOOK_S = 0.05
_Key = tuple[str, int]


async def request_deletes(ledger: Ledger, providers: Mapping[str, Provider], within_s: float) -> tuple[Release, ...]:
    """Sends delete requests for all open leases at once, for at most `within_s`; returns the leases still open then.

    Each comes with the result of its request; a resource that was being created meanwhile is among them.
    """
    loop = asyncio.get_running_loop()
    end_s = loop.time() + within_s
    requests: dict[_Key, asyncio.Task[str]] = {}
    while True:
        await asyncio.sleep(0)  # lets pending creates reach the ledger
        for one in ledger.open_leases():
            if one.handle() and one.provider in providers and (one.slot, one.attempt) not in requests:
                requests[one.slot, one.attempt] = asyncio.create_task(_request(ledger, providers[one.provider], one))
        waiting = [request for request in requests.values() if not request.done()]
        if not waiting or loop.time() >= end_s:
            return tuple(Release(one, None, _result(one, requests)) for one in ledger.open_leases())
        await asyncio.wait(waiting, timeout=min(_LOOK_S, end_s - loop.time()))


async def _request(ledger: Ledger, provider: Provider, lease: Lease) -> str:
    """Requests the deletion of one lease; returns why that failed, empty if it worked."""
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
    except Exception as fault:  # of any kind: the list of what is left must not be lost
        return f"{fault}" or type(fault).__name__
    return ""


def _result(lease: Lease, requests: Mapping[_Key, asyncio.Task[str]]) -> str:
    """Describes the result of one delete request."""
    if lease.handle() is None:
        return "it may have been made: there was no answer yet"
    request = requests.get((lease.slot, lease.attempt))
    if request is None or not request.done():
        return "not asked to go in time"
    return f"it could not be asked to go: {request.result()}" if request.result() else "asked to go, not seen gone"
