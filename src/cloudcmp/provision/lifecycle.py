"""A lease from intent to evidence that it is gone.

Nothing is created whose intent is not on the disk; what must go is destroyed even when nothing can be written.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Set
from dataclasses import dataclass, replace

from cloudcmp.errors import (
    NOT_ITS_OWN,
    NOTHING_MADE,
    OUR_OWN,
    LostAnswer,
    OtherAccount,
    ProviderFault,
)
from cloudcmp.model.lease import INSTANCE, Found, Handle, Lease, LeaseEvent, LeaseState
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.model.protocol import Provider
from cloudcmp.provision.arrival import Stopwatch
from cloudcmp.provision.ending import Release, end, try_write
from cloudcmp.provision.ledger import TAG_SCHEMA, Ledger, Part, Patience, patience_with, slot_of
from cloudcmp.provision.watching import Last, told
from cloudcmp.store.crash import crash_point

__all__ = ["CLOUD_CRASH_POINTS", "Release", "acquire", "release", "release_all", "release_before"]

_STUDY_TAG = "cloudcmp:study"

CLOUD_CRASH_POINTS = (
    "cloud.before_create",
    "cloud.after_create",
    "cloud.after_find",
    "cloud.before_destroy",
    "cloud.after_destroy",
    "cloud.after_gone",
)
"""Crash points around each call to a provider; those around each row of the journal are the store's own."""


@dataclass(slots=True)
class _Asking:
    """Called just before a request is sent: starts its stopwatch, and remembers that it was sent at all."""

    watch: Stopwatch | None
    sent: bool = False

    def __call__(self) -> None:
        self.sent = True
        if self.watch is not None:
            self.watch.start()


async def acquire(
    ledger: Ledger,
    provider: Provider,
    candidate: Candidate,
    launch: Launch,
    ttl_s: float,
    *,
    part: Part = Part(),  # noqa: B008 - a frozen value
    patience: Patience | None = None,
    watch: Stopwatch | None = None,
) -> Lease:
    """One part of a launch, with its intent committed before it is asked for; `watch` is started just before.

    What an earlier attempt at the slot may have left is ended first.

    Raises NoCapacity, Refused, LostAnswer (the answer was lost and the resource not found again), ProviderFault in the
    kind of what went wrong, and the journal's own error (then nothing was created, or it was destroyed again).
    """
    patience = patience or patience_with(provider)
    await _release_before(ledger, provider, ledger.open_at(slot_of(launch, part)), patience)
    await ledger.accounts.settle(provider)
    request = ledger.request_for(candidate, launch, ttl_s, part)
    lease = ledger.intend(request, provider, candidate)
    crash_point("cloud.before_create")
    asking = _Asking(watch)
    try:
        cloud_id = await ledger.pace.create(provider, request, asking)
    except LostAnswer as fault:
        try_write(ledger, lease, LeaseEvent.INDETERMINATE, detail=str(fault))
        return await _find_again(ledger, provider, lease, patience)
    except NOTHING_MADE as fault:
        try_write(ledger, lease, LeaseEvent.REFUSED, detail=str(fault))
        raise
    except BaseException as error:
        # Whether a request that was sent arrived is not known: the intent stays open, and whoever ends the study looks.
        event = LeaseEvent.INDETERMINATE if asking.sent else LeaseEvent.REFUSED
        when = "during the request" if asking.sent else "before the request was sent"
        try_write(ledger, lease, event, detail=f"{type(error).__name__} {when}")
        raise
    if watch is not None:
        watch.seen("answered")
    crash_point("cloud.after_create")
    return await _created(ledger, provider, lease, cloud_id, patience)


async def release_before(ledger: Ledger, provider: Provider, launch: Launch, patience: Patience | None = None) -> None:
    """End what an earlier attempt at a launch may have left; raises ProviderFault where it is not seen gone."""
    await _release_before(ledger, provider, ledger.open_of(launch), patience)


async def _release_before(
    ledger: Ledger, provider: Provider, leases: Iterable[Lease], patience: Patience | None
) -> None:
    for earlier in leases:
        done = await release(ledger, provider, earlier, patience)
        if done.evidence is None:
            raise _kind(done.fault).at(earlier.name, f"it is not seen gone ({done.why})", "cloudcmp cleanup")


async def release(ledger: Ledger, provider: Provider, lease: Lease, patience: Patience | None = None) -> Release:
    """End a lease and wait until it is seen gone; never raises for a provider or a journal that fails.

    A lease whose machine was never seen is looked for first, by token, tag and name.
    """
    patience = patience or patience_with(provider)
    handle = lease.handle()
    if handle is not None:
        return await end(ledger, provider, lease, handle, patience)
    try:
        found = await _look_for(ledger, provider, lease, patience)
    except Exception as fault:
        return Release(lease, None, told(fault), fault=fault)
    if not found:
        evidence = _absence(patience)
        return Release(lease, evidence, unwritten=try_write(ledger, lease, LeaseEvent.GONE, detail=evidence))
    if len(found) == 1:
        return await end(ledger, provider, lease, found[0].handle(), patience)
    ended = [await end(ledger, provider, lease, item.handle(), patience, write=False) for item in found]
    left = next((item for item in ended if item.evidence is None), None)
    if left is not None:
        return left
    # Only now: as long as one of several is there, the lease is open.
    unwritten = try_write(ledger, lease, LeaseEvent.GONE, cloud_id=found[0].cloud_id, detail=ended[0].evidence or "")
    return replace(ended[0], unwritten=unwritten)


async def release_all(ledger: Ledger, providers: Mapping[str, Provider]) -> tuple[Release, ...]:
    """End every open lease of the study, then whatever else its providers list under the study's tag.

    All machines at once, also those that no row knows of; then what they stood on, which goes only after them. Returns
    what came of each; those without evidence are left over and must be shown to the user.
    """
    releases: list[Release] = []
    for machines in (True, False):
        some = [lease for lease in ledger.open_leases() if (lease.kind == INSTANCE) is machines]
        releases += await asyncio.gather(*(_release_one(ledger, providers, lease) for lease in some))
        left = {item.lease.cloud_id for item in releases if item.evidence is None}
        for name, provider in providers.items():
            releases += await _end_strays(ledger, name, provider, left, only_machines=machines)
    return tuple(releases)


async def _release_one(ledger: Ledger, providers: Mapping[str, Provider], lease: Lease) -> Release:
    provider = providers.get(lease.provider)
    if provider is None:
        return Release(lease, None, f"the provider {lease.provider} is not at hand")
    return await release(ledger, provider, lease)


async def _end_strays(
    ledger: Ledger, name: str, provider: Provider, left: Set[str | None], *, only_machines: bool
) -> list[Release]:
    """End what a provider lists as ours, but what is `left` already; the last listing tells where it can not be had."""
    try:
        await ledger.accounts.confirm(provider)
        listed = await provider.find(ledger.study)
    except Exception as fault:
        unlisted = Release(_stray(name, None), None, f"could not be listed: {told(fault)}", fault=fault)
        return [] if only_machines else [unlisted]
    releases: list[Release] = []
    for machines in (True,) if only_machines else (True, False):
        ends: list[Coroutine[None, None, Release]] = []
        taken: set[tuple[str, int]] = set()
        for item in listed:
            if (item.kind == INSTANCE) is machines and item.cloud_id not in left and _ours(ledger, item):
                known = _known(ledger, name, item, taken)
                taken.add((known.slot, known.attempt))
                ends.append(end(ledger, provider, known, item.handle(), patience_with(provider)))
        releases += await asyncio.gather(*ends)
    return releases


async def _find_again(ledger: Ledger, provider: Provider, lease: Lease, patience: Patience) -> Lease:
    """The machine whose answer was lost; a second one of the same request is destroyed."""
    found = await _look_for(ledger, provider, lease, patience)
    if not found:
        ledger.write(lease, LeaseEvent.GONE, detail=_absence(patience))
        raise LostAnswer.at(lease.name, "the answer was lost, and no such machine was found", "run again with --resume")
    for double in found[1:]:
        await end(ledger, provider, lease, double.handle(), patience, write=False)
    return await _created(ledger, provider, lease, found[0].cloud_id, patience)


async def _created(ledger: Ledger, provider: Provider, lease: Lease, cloud_id: str, patience: Patience) -> Lease:
    """The lease, live; a machine that can not be written down is not kept."""
    try:
        return ledger.write(lease, LeaseEvent.CREATED, cloud_id=cloud_id)
    except Exception:
        await end(ledger, provider, lease, Handle(lease.kind, lease.region, cloud_id), patience)
        raise


async def _look_for(ledger: Ledger, provider: Provider, lease: Lease, patience: Patience) -> tuple[Found, ...]:
    """The machines of a lease, by token, tag and name; none only after the grace and enough complete listings.

    Raises ProviderFault, in the kind of the last fault, where the provider could not be listed often enough in twice
    the time, or the credentials are not taken for as long as they may take to be renewed; and OtherAccount at once.
    """
    began, listings, last = ledger.time.monotonic(), 0, Last()
    while True:
        mine: tuple[Found, ...] = ()
        try:
            listed = await provider.find(ledger.study, lease.token, region=lease.region)
            mine = tuple(item for item in listed if _is(item, lease, ledger.study))
            if not mine:
                await ledger.accounts.confirm(provider)
            listings += 1
            last.told(ledger.time.monotonic(), None)
        except OtherAccount:
            raise
        except ProviderFault as error:
            last.told(ledger.time.monotonic(), error)
        crash_point("cloud.after_find")
        if mine:
            return mine
        moment, most_s = ledger.time.monotonic(), 2 * patience.grace_s + patience.give_up_s
        if listings >= patience.listings and moment - began >= patience.grace_s:
            return ()
        if moment - began > most_s or last.refused(moment, most_s):
            said = "no listing came" if last.fault is None else last.why
            raise _kind(last.fault).at(
                lease.name, f"it can not be looked for: {said}", "cloudcmp cleanup, once it answers"
            )
        await ledger.time.sleep(min(patience.poll_s, patience.grace_s) if listings else patience.poll_s)


def _is(item: Found, lease: Lease, study: str) -> bool:
    """Whether an item is the lease's: by its tags where it has them, else by token, else by name.

    Names and tags carry slot and attempt; tags of another study make it somebody else's, whatever else it bears.
    """
    if item.kind != lease.kind:
        return False
    tags = dict(item.tags)
    if _STUDY_TAG in tags:
        own = (tags[_STUDY_TAG], tags.get("cloudcmp:slot"), tags.get("cloudcmp:attempt"))
        return own == (study, lease.slot, str(lease.attempt))
    return item.token == lease.token or (item.token is None and item.name == lease.name)


def _ours(ledger: Ledger, item: Found) -> bool:
    """Whether an item is surely of this study: providers that ignore filters list all that an account has."""
    tags = dict(item.tags)
    if _STUDY_TAG in tags:
        return (tags[_STUDY_TAG], tags.get("cloudcmp:schema")) == (ledger.study, TAG_SCHEMA)
    return any(_is(item, lease, ledger.study) for lease in ledger.leases())


def _kind(fault: Exception | None) -> type[ProviderFault]:
    """The kind in which a fault is raised on: what no candidate is to blame for stays so."""
    return type(fault) if isinstance(fault, (*OUR_OWN, *NOT_ITS_OWN)) else ProviderFault


def _absence(patience: Patience) -> str:
    return f"not found by token, tag or name in {patience.listings} listings or more over {patience.grace_s:g} s"


def _known(ledger: Ledger, provider: str, found: Found, taken: Set[tuple[str, int]]) -> Lease:
    """The ledger's own lease of a machine that a provider lists as ours, or one beside it.

    A second machine of a lease gets rows of its own, so that neither is forgotten for the other.
    """
    lease = next((one for one in ledger.leases() if _is(found, one, ledger.study)), None)
    if lease is not None and lease.cloud_id in {None, found.cloud_id} and (lease.slot, lease.attempt) not in taken:
        return lease
    stray = _stray(provider, found)
    if lease is None:
        return stray
    costs = replace(stray, price_per_hour=lease.price_per_hour, currency=lease.currency, expires_at=lease.expires_at)
    return replace(costs, name=lease.name, token=lease.token)


def _stray(provider: str, found: Found | None) -> Lease:
    name = found.name if found else provider
    cloud_id = found.cloud_id if found else None
    slot = f"stray-{cloud_id}" if cloud_id else "listing"
    token = (found.token if found else None) or ""
    kind, region = (found.kind, found.region) if found else (INSTANCE, "")
    return Lease(slot, 0, LeaseState.LIVE, provider, region, kind, name, token, cloud_id, None)
