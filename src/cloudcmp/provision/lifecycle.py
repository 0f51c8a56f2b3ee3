"""The life of a lease, from its intent to the evidence that it is gone.

Nothing is created before its intent is durable. Resources are destroyed even if the journal fails.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Set
from dataclasses import dataclass, replace

from cloudcmp.errors import (
    ACCOUNT_FAULTS,
    CONTROLLER_FAULTS,
    NOTHING_MADE,
    LostAnswer,
    OtherAccount,
    ProviderFault,
    Refused,
)
from cloudcmp.model.lease import INSTANCE, Handle, Lease, LeaseEvent, LeaseNote, LeaseState, TaggedResource
from cloudcmp.model.leftover import tag
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.model.protocol import Provider, Remote
from cloudcmp.provision.arrival import Stopwatch
from cloudcmp.provision.destruction import LastFault, Release, end, fault_text, try_write
from cloudcmp.provision.ledger import Ledger, Part, Patience, patience_with, slot_of
from cloudcmp.provision.ownership import ATTEMPT, KEPT, PROVED, SLOT, STUDY, Proof, Sighting, is_untagged, token_of
from cloudcmp.store.crash import crash_point


@dataclass(slots=True)
class _RequestMark:
    """Called just before a request is sent: starts the stopwatch, and records that it was sent."""

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
    """Creates one part of a launch after writing its intent; starts `watch` just before the request.

    Ends what an earlier attempt at the slot left. Raises NoCapacity, Refused, LostAnswer (the answer was lost and the
    resource not found), the kind of ProviderFault that occurred, and the journal's error (then nothing exists).
    """
    patience = patience or patience_with(provider)
    await release_earlier(ledger, provider, ledger.open_at(slot_of(launch, part)), patience)
    await ledger.accounts.settle(provider)
    request = ledger.request_for(candidate, launch, ttl_s, part)
    lease = ledger.intend(request, provider, candidate)
    crash_point("cloud.before_create")
    request_mark = _RequestMark(watch)
    try:
        cloud_id = await ledger.pace.create(provider, request, request_mark)
    except LostAnswer as fault:
        try_write(ledger, lease, LeaseEvent.INDETERMINATE, detail=str(fault))
        return await _find_again(ledger, provider, lease, patience)
    except NOTHING_MADE as fault:
        try_write(ledger, lease, LeaseEvent.REFUSED, detail=str(fault))
        raise
    except BaseException as error:
        # A request that was sent may have arrived: the intent stays open, and the end of the study looks for it.
        event = LeaseEvent.INDETERMINATE if request_mark.sent else LeaseEvent.REFUSED
        when = "during the request" if request_mark.sent else "before the request was sent"
        try_write(ledger, lease, event, detail=f"{type(error).__name__} {when}")
        raise
    ledger.ownership.record_made(provider, Handle(lease.kind, lease.region, cloud_id))
    if watch is not None:
        watch.mark("answered")
    crash_point("cloud.after_create")
    return await _record_created(ledger, provider, lease, cloud_id, patience)


async def release_earlier(
    ledger: Ledger, provider: Provider, leases: Iterable[Lease], patience: Patience | None = None
) -> None:
    """Ends what earlier attempts left; raises ProviderFault if it is not seen gone."""
    for earlier in leases:
        done = await release(ledger, provider, earlier, patience)
        if done.evidence is None:
            raise _fault_kind(done.fault).at(earlier.name, f"it is not seen gone ({done.why})", "cloudcmp cleanup")


async def release(ledger: Ledger, provider: Provider, lease: Lease, patience: Patience | None = None) -> Release:
    """Ends a lease and waits until it is seen gone; never raises if the provider or the journal fails.

    If the lease's machine was never seen, looks for it first, by token, tag and name.
    """
    patience = patience or patience_with(provider)
    handle = lease.handle()
    if handle is not None:
        return await end(ledger, provider, lease, handle, patience)
    try:
        resources = await _look_for(ledger, provider, lease, patience)
    except Exception as fault:
        return Release(lease, None, fault_text(fault), fault=fault)
    if not resources:
        evidence = _absence(patience)
        return Release(lease, evidence, unwritten=try_write(ledger, lease, LeaseEvent.GONE, detail=evidence))
    if len(resources) == 1:
        return await end(ledger, provider, lease, resources[0].handle(), patience, proof=PROVED)
    ended = [
        await end(ledger, provider, lease, item.handle(), patience, write=False, proof=PROVED) for item in resources
    ]
    left = next((item for item in ended if item.evidence is None), None)
    if left is not None:
        return left
    # Only now: the lease stays open as long as one of several exists.
    unwritten = try_write(
        ledger, lease, LeaseEvent.GONE, cloud_id=resources[0].cloud_id, detail=ended[0].evidence or ""
    )
    return replace(ended[0], unwritten=unwritten)


async def release_all(ledger: Ledger, providers: Mapping[str, Provider]) -> tuple[Release, ...]:
    """Ends every open lease of the study, then everything else that its providers list with the study's tag.

    All machines end at once, then the resources that they used. Releases without evidence are leftovers, which the user
    must see.
    """
    releases: list[Release] = []
    for machines in (True, False):
        some = [lease for lease in ledger.open_leases() if (lease.kind == INSTANCE) is machines]
        releases += await asyncio.gather(*(_release_one(ledger, providers, lease) for lease in some))
        left = {item.lease.cloud_id for item in releases if item.evidence is None}
        for name, provider in providers.items():
            releases += await _end_strays(ledger, name, provider, left, only_machines=machines)
    return tuple(releases)


async def change_type(ledger: Ledger, provider: Remote, lease: Lease, offering: str) -> None:
    """Changes the type of a machine; while it is stopped, its own timer does not run.

    The start is written first: a start that never came costs little, an unknown one may exceed the budget. Raises the
    kinds of ProviderFault, and what the journal raises, before anything is stopped.
    """
    handle = lease.handle()
    if handle is None:
        raise Refused.at(lease.name, "it has no id, so it cannot be resized", "launch it first")
    ledger.write(lease, LeaseEvent.CREATED, LeaseNote.STARTED_AGAIN)
    crash_point("cloud.before_resize")
    await provider.resize(handle, offering, lambda: crash_point("cloud.while_stopped"))
    crash_point("cloud.after_resize")


async def _release_one(ledger: Ledger, providers: Mapping[str, Provider], lease: Lease) -> Release:
    provider = providers.get(lease.provider)
    if provider is None:
        return Release(lease, None, f"the provider {lease.provider} is not at hand")
    return await release(ledger, provider, lease)


async def _end_strays(
    ledger: Ledger, name: str, provider: Provider, left: Set[str | None], *, only_machines: bool
) -> list[Release]:
    """Ends what a provider lists as ours, apart from `left`; the last listing reports if there is none.

    Keeps what has this study's tag and is not proved to be ours.
    """
    try:
        await ledger.accounts.confirm(provider)
        listed = await provider.find(ledger.study)
    except Exception as fault:
        unlisted = Release(
            _stray_lease(ledger, name, None), None, f"could not be listed: {fault_text(fault)}", fault=fault
        )
        return [] if only_machines else [unlisted]
    releases: list[Release] = []
    for machines in (True,) if only_machines else (True, False):
        ends: list[Coroutine[None, None, Release]] = []
        taken: set[tuple[str, int]] = set()
        for item in listed:
            if (
                (item.kind == INSTANCE) is machines
                and item.cloud_id not in left
                and _is_of_study(ledger, provider, item)
            ):
                lease = _ledger_lease(ledger, provider, item, taken)
                taken.add((lease.slot, lease.attempt))
                why = ledger.ownership.doubt(provider, item, lease)
                proof = Proof(Sighting.FOREIGN, f"{why}; {KEPT}") if why else PROVED
                ends.append(end(ledger, provider, lease, item.handle(), patience_with(provider), proof=proof))
        releases += await asyncio.gather(*ends)
    return releases


async def _find_again(ledger: Ledger, provider: Provider, lease: Lease, patience: Patience) -> Lease:
    """Returns the lease of a machine whose answer was lost; destroys a second one of the same request."""
    resources = await _look_for(ledger, provider, lease, patience)
    if not resources:
        ledger.write(lease, LeaseEvent.GONE, detail=_absence(patience))
        raise LostAnswer.at(lease.name, "the answer was lost, and no such machine was found", "run again with --resume")
    for double in resources[1:]:
        await end(ledger, provider, lease, double.handle(), patience, write=False, proof=PROVED)
    return await _record_created(ledger, provider, lease, resources[0].cloud_id, patience)


async def _record_created(ledger: Ledger, provider: Provider, lease: Lease, cloud_id: str, patience: Patience) -> Lease:
    """Returns the live lease; destroys a machine that cannot be written down."""
    try:
        return ledger.write(lease, LeaseEvent.CREATED, cloud_id=cloud_id)
    except Exception:
        await end(ledger, provider, lease, Handle(lease.kind, lease.region, cloud_id), patience)
        raise


async def _look_for(ledger: Ledger, provider: Provider, lease: Lease, patience: Patience) -> tuple[TaggedResource, ...]:
    """Returns the machines of a lease by tags and token; none only after the grace and enough complete listings.

    Raises ProviderFault, in the kind of the last fault, if listings or credentials fail for too long, or if a listed
    resource may be the lease's and is not proved to be; raises OtherAccount at once.
    """
    began, listings, last, doubt = ledger.time.monotonic(), 0, LastFault(), ""
    while True:
        mine: tuple[TaggedResource, ...] = ()
        try:
            listed = await provider.find(ledger.study, lease.token, region=lease.region)
            mine = tuple(item for item in listed if _is_of_lease(ledger, provider, item, lease))
            if not mine:
                await ledger.accounts.confirm(provider)
            listings, doubt = listings + 1, _doubt(ledger, provider, lease, listed)
            last.record(ledger.time.monotonic(), None)
        except OtherAccount:
            raise
        except ProviderFault as error:
            last.record(ledger.time.monotonic(), error)
        crash_point("cloud.after_find")
        if mine:
            return mine
        moment, most_s = ledger.time.monotonic(), 2 * patience.grace_s + patience.give_up_s
        if listings >= patience.listings and moment - began >= patience.grace_s:
            if doubt:
                raise ProviderFault.at(lease.name, doubt, KEPT)
            return ()
        if moment - began > most_s or last.refused(moment, most_s):
            why = "no listing came" if last.fault is None else last.why
            raise _fault_kind(last.fault).at(
                lease.name, f"it cannot be looked for: {why}", "cloudcmp cleanup, once it answers"
            )
        await ledger.time.sleep(min(patience.poll_s, patience.grace_s) if listings else patience.poll_s)


def _is_of_lease(ledger: Ledger, provider: Provider, item: TaggedResource, lease: Lease) -> bool:
    """True if an item is proved to be the lease's, by its tags and its token."""
    return item.kind == lease.kind and not ledger.ownership.doubt(provider, item, lease)


def _doubt(ledger: Ledger, provider: Provider, lease: Lease, listed: Iterable[TaggedResource]) -> str:
    """Returns why something with a lease's token is not proved to be its own; empty if nothing has it."""
    for item in listed:
        why = ledger.ownership.doubt(provider, item, lease) if item.token == lease.token else ""
        if why and item.kind == lease.kind:
            return f"{item.cloud_id} bears its token: {why}"
    return ""


def _is_of_study(ledger: Ledger, provider: Provider, item: TaggedResource) -> bool:
    """True if an item names this study: some providers ignore filters and list the whole account."""
    if tag(item, STUDY) == ledger.study:
        return True
    return is_untagged(provider, item) and any(_is_of_lease(ledger, provider, item, lease) for lease in ledger.leases())


def _fault_kind(fault: Exception | None) -> type[ProviderFault]:
    """Returns the kind in which to raise a fault again: controller and account faults keep theirs."""
    return type(fault) if isinstance(fault, (*CONTROLLER_FAULTS, *ACCOUNT_FAULTS)) else ProviderFault


def _absence(patience: Patience) -> str:
    return f"not found by tags and token in {patience.listings} listings or more over {patience.grace_s:g} s"


def _ledger_lease(ledger: Ledger, provider: Provider, resource: TaggedResource, taken: Set[tuple[str, int]]) -> Lease:
    """Returns the ledger's lease of a listed resource, or a new one.

    A second machine of a lease gets its own rows, so that neither is forgotten.
    """
    lease = next((one for one in ledger.leases() if _is_of_lease(ledger, provider, resource, one)), None)
    if lease is not None and lease.cloud_id in {None, resource.cloud_id} and (lease.slot, lease.attempt) not in taken:
        return lease
    stray = _stray_lease(ledger, provider.name, resource)
    if lease is None:
        return stray
    costs = replace(stray, price_per_hour=lease.price_per_hour, currency=lease.currency, expires_at=lease.expires_at)
    return replace(costs, name=lease.name, token=lease.token)


def _stray_lease(ledger: Ledger, provider: str, resource: TaggedResource | None) -> Lease:
    """Returns a lease for what has no row; its token is that of its tags' slot and attempt."""
    if resource is None:
        return Lease("listing", 0, LeaseState.LIVE, provider, "", INSTANCE, provider, "", None, None)
    slot, attempt = tag(resource, SLOT) or "", tag(resource, ATTEMPT) or ""
    token = token_of(ledger.study, slot, int(attempt)) if attempt.isdecimal() else ""
    return Lease(
        f"stray-{resource.cloud_id}", 0, LeaseState.LIVE, provider, resource.region, resource.kind, resource.name,
        token, resource.cloud_id, None,
    )  # fmt: skip
