"""The clauses of the provider contract: small, named promises, which are tested on real resources."""

from dataclasses import replace
from ipaddress import ip_network
from typing import Any

from cloudcmp.errors import NoCapacity, ProviderFault, Refused, Throttled, WrongHost
from cloudcmp.model.firewall import Admission, ReadsFirewall
from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle, Lease, LeaseRow
from cloudcmp.model.protocol import Direct, Remote
from cloudcmp.model.remote import Endpoint
from cloudcmp.provision.arrival import Stopwatch, arrive
from cloudcmp.provision.contract_run import Clause, ClauseBroken, ContractRun, Inconclusive, listed, make, part, until
from cloudcmp.provision.ledger import Ledger, Part
from cloudcmp.provision.lifecycle import release
from cloudcmp.provision.ownership import Sighting

_NO_SUCH = "cloudcmp-no-such-offering"
_DIAL_S = 30.0
_SCHEMA, _STUDY = "cloudcmp:schema", "cloudcmp:study"
_OTHER = "-other"
_FIREWALL = "its firewall admits the controller and the launch's other machines, and nobody else"
_DECOY = "a resource without our schema is not listed as ours; if none can be made, another study's is not"


async def _offerings(run: ContractRun) -> None:
    sold = run.provider.offerings(run.candidate.offering.region)
    keys = [(one.region, one.name) for one in sold]
    twice = sorted({name for region, name in keys if keys.count((region, name)) > 1})
    if twice:
        raise ClauseBroken(f"listed more than once: {', '.join(twice[:3])}")
    free = sorted(one.name for one in sold if one.price is not None and one.price.amount_per_hour <= 0)
    if free:
        raise ClauseBroken(f"a price of zero: {', '.join(free[:3])}")
    if not sold:
        raise Inconclusive("nothing is listed in this region")


async def _create(run: ContractRun) -> None:
    for kind in run.provider.parts:
        request, lease = await make(run, run.launches[0], part(run, kind))
        if kind == INSTANCE:
            run.request, run.lease = request, lease
        else:
            run.dependencies[kind] = lease.cloud_id or ""


async def _same_token(run: ContractRun) -> None:
    request, handle = run.require_machine()
    again = await run.provider.create(request)
    if run.lease is not None and again != handle.cloud_id:
        run.doubles.append(replace(run.lease, cloud_id=again))
        raise ClauseBroken(f"a second one was made: {again} beside {handle.cloud_id}")


async def _by_token(run: ContractRun) -> None:
    request, handle = run.require_machine()
    await listed(run, handle, "no-study-of-ours", request.token)


async def _by_tag(run: ContractRun) -> None:
    _, handle = run.require_machine()
    await listed(run, handle, run.study, None)


async def _by_name(run: ContractRun) -> None:
    request, handle = run.require_machine()
    resource = await listed(run, handle, run.study, request.token)
    if resource.name != request.name:
        raise ClauseBroken(f"it is listed as {resource.name!r}, not as {request.name!r}")


async def _tags(run: ContractRun) -> None:
    request, handle = run.require_machine()
    resource = await listed(run, handle, run.study, request.token)
    missing = sorted(key for key, value in request.tags if (key, value) not in resource.tags)
    if missing:
        raise ClauseBroken(f"missing or changed: {', '.join(missing)}")


async def _not_another(run: ContractRun) -> None:
    _, handle = run.require_machine()
    others = await run.provider.find(f"{run.study}{_OTHER}", region=handle.region)
    if any(one.cloud_id == handle.cloud_id for one in others):
        raise ClauseBroken("it is listed for another study too")


async def _unknown_offering(run: ContractRun) -> None:
    if isinstance(run.provider, Direct):
        raise Inconclusive("it stands in for any offering")
    run.require_machine()
    try:
        await make(run, run.launches[2], part(run, INSTANCE), offering=_NO_SUCH)
    except Refused:
        return
    raise ClauseBroken("a machine of it was made")


async def _leftovers(run: ContractRun) -> None:
    _, handle = run.require_machine()

    async def look() -> bool:
        return any(one.handle() == handle for one in (await run.provider.leftovers()).found)

    if not await until(run, look):
        unlisted = (await run.provider.leftovers()).unlisted
        if unlisted:
            raise Inconclusive(f"not all places could be listed: {unlisted[0]}")
        raise ClauseBroken("a sweep would not find it")


async def _decoy_unlisted(run: ContractRun) -> None:
    run.require_machine()  # the decoy proves nothing without it
    free = next((kind for kind in run.provider.parts if kind == FIREWALL), INSTANCE)
    piece = part(run, free)
    tags = run.context.ledger.request_for(run.candidate, run.launches[1], run.ttl_s, piece).tags
    bare = tuple((key, value) for key, value in tags if key != _SCHEMA)
    try:
        _, run.decoy = await make(run, run.launches[1], piece, tags=bare)
    except Refused:  # the least-privilege policy requires our schema
        await _other_study_decoy(run, piece, tags)
        return
    handle = _id_of(run.decoy)
    await listed(run, handle, run.study, run.decoy.token)
    if any(one.handle() == handle for one in (await run.provider.leftovers()).found):
        raise ClauseBroken("a resource without our schema is listed as ours")


async def _other_study_decoy(run: ContractRun, piece: Part, tags: tuple[tuple[str, str], ...]) -> None:
    """Makes a decoy with our schema and the name of another study, which this run does not use."""
    other = f"{run.study}{_OTHER}"
    theirs = tuple((key, other if key == _STUDY else value) for key, value in tags)
    _, run.decoy = await make(run, run.launches[1], piece, tags=theirs)
    handle = _id_of(run.decoy)
    await listed(run, handle, other, None)
    if any(one.handle() == handle for one in await run.provider.find(run.study, region=handle.region)):
        raise ClauseBroken("a resource of another study is listed as this one's")


class _EmptyJournal:
    """The journal of a process that made nothing itself."""

    def append_lease(self, row: LeaseRow) -> None:
        """Stores nothing."""

    def leases(self) -> tuple[Lease, ...]:
        """Returns nothing."""
        return ()


async def _foreign_kept(run: ContractRun) -> None:
    """Checks that a later process does not destroy a resource which a forged ledger row names."""
    _, handle = run.require_machine()
    if run.decoy is None or run.lease is None:
        raise Inconclusive("there is no other resource")
    now, other = run.context.ledger, _id_of(run.decoy)
    lease, later = run.lease, Ledger(_EmptyJournal(), now.study, now.time, accounts=now.accounts)

    async def look() -> bool:
        return (await later.ownership.prove(run.provider, lease, handle)).sighting is Sighting.OURS

    if not await until(run, look):
        raise ClauseBroken("it is not proved to be ours by what is listed of it")
    forged = replace(lease, token=run.decoy.token)
    done = await release(later, run.provider, forged, run.waits)
    if done.evidence is not None or await run.provider.gone(handle) is not None:
        raise ClauseBroken("a resource of another token was destroyed on the word of a ledger")
    await listed(run, other, run.study, run.decoy.token)


def _id_of(lease: Lease) -> Handle:
    handle = lease.handle()
    if handle is None:
        raise Inconclusive("the decoy has no id")
    return handle


async def _firewall(run: ContractRun) -> None:
    if FIREWALL not in run.provider.parts:
        raise Inconclusive("its machines stand behind no firewall of their launch's")
    request, _ = run.require_machine()
    provider: Any = run.provider
    if not isinstance(provider, ReadsFirewall):
        raise Inconclusive("its rules cannot be read back")
    handle = Handle(FIREWALL, request.region, run.dependencies[FIREWALL])
    wrong = "it was not looked at"

    async def look() -> bool:
        nonlocal wrong
        wrong = _wrongly_admitted(await provider.admitted(handle), run.allow)
        return not wrong

    if not await until(run, look):
        raise ClauseBroken(wrong)


def _wrongly_admitted(admission: Admission, allow: str) -> str:
    """Returns what is wrong with the rules of a launch's firewall, empty if nothing is."""
    wanted = {str(ip_network(one.strip())) for one in allow.split(",") if one.strip()}
    strangers = sorted(set(admission.controllers) - wanted) if wanted else []
    if admission.others or strangers:
        return f"it admits others: {', '.join([*admission.others, *strangers][:3])}"
    if not admission.controllers or not wanted <= set(admission.controllers):
        return "it does not admit the controller"
    return "" if admission.members else "it does not admit the launch's other machines"


async def _arrives(run: ContractRun) -> None:
    request, _ = run.require_machine()
    if run.lease is None:
        raise Inconclusive("nothing was made")
    watch = Stopwatch(run.context.ledger.time)
    try:
        run.machine = await arrive(
            run.context.connector,
            run.provider,
            run.lease,
            run.candidate,
            run.launches[0],
            watch,
            run.ttl_s,
            request.access,
        )
    except (NoCapacity, Throttled) as fault:
        raise Inconclusive(str(fault)) from fault
    except ProviderFault as fault:
        raise ClauseBroken(str(fault)) from fault
    instance = run.machine.instance
    if instance is None:
        raise Inconclusive("no agent runs on this system")
    if not instance.cpus or not instance.address:
        raise ClauseBroken("it reports no processors or no address")


async def _wrong_host(run: ContractRun) -> None:
    _, handle = run.require_machine()
    if not isinstance(run.provider, Remote):
        raise Inconclusive("it is not reached by SSH")
    if run.machine is None or run.machine.shell is None:
        raise Inconclusive("it was not reached")
    status = await run.provider.look(handle)
    if status.alias or not status.address:
        raise Inconclusive("the user's own SSH configuration knows its key")
    other = run.context.keys.new().public
    endpoint = Endpoint(status.address, status.port, status.user, other, run.context.connector.client)
    try:
        shell = await run.context.connector.dial(endpoint, _DIAL_S)
    except WrongHost:
        return
    await shell.close()
    raise ClauseBroken("a machine with another host key was logged in to")


async def _destroy(run: ContractRun) -> None:
    _, handle = run.require_machine()
    if run.machine is not None and run.machine.shell is not None:
        await run.machine.shell.close()
    if await run.provider.gone(handle) is not None:
        raise ClauseBroken("it is reported gone before it was destroyed")
    done = await release(run.context.ledger, run.provider, run.lease, run.waits) if run.lease else None
    if done is None or done.evidence is None:
        raise ClauseBroken(f"it was not seen gone: {done.why if done else 'nothing was made'}")
    if handle.cloud_id not in done.evidence:
        raise ClauseBroken(f"the evidence does not name it: {done.evidence}")


async def _only_that(run: ContractRun) -> None:
    handle = run.decoy.handle() if run.decoy else None
    if handle is None:
        raise Inconclusive("there is no other resource")
    if await run.provider.gone(handle) is not None:
        raise ClauseBroken("another resource went with it")


async def _destroy_again(run: ContractRun) -> None:
    _, handle = run.require_machine()
    try:
        await run.provider.destroy(handle)
    except ProviderFault as fault:
        raise ClauseBroken(str(fault)) from fault
    if await run.provider.gone(handle) is None:
        raise ClauseBroken("it is not seen gone any more")


CLAUSES: tuple[Clause, ...] = (
    Clause("offerings", "each offering is listed once, and none has a price of zero", _offerings),
    Clause("create", "a resource is made with its tags, token and time to live in one call", _create),
    Clause("same token", "the same token never makes two", _same_token),
    Clause("by token", "it is found again by its token", _by_token),
    Clause("by tag", "it is found again by its study's tag", _by_tag),
    Clause("by name", "it is listed by the name that it was given", _by_name),
    Clause("tags", "all its tags are kept as they were given", _tags),
    Clause("not another", "it is not listed for another study", _not_another),
    Clause("leftovers", "it is listed among all resources with our tags, for any study", _leftovers),
    Clause("decoy", _DECOY, _decoy_unlisted),
    Clause(
        "kept", "a resource without our tags and its lease's token is kept, even if a ledger names it", _foreign_kept
    ),
    Clause("unknown offering", "an offering that does not exist is refused", _unknown_offering),
    Clause("firewall", _FIREWALL, _firewall),
    Clause("reached", "it comes up, shows the host key that it was given, and agents run on it", _arrives),
    Clause("wrong host", "a machine with another host key is refused", _wrong_host),
    Clause("destroy", "it is not gone before it is destroyed, and seen gone after", _destroy),
    Clause("only that", "nothing else goes with it", _only_that),
    Clause("again", "destroying what is gone is no error", _destroy_again),
)
"""The contract, in the order of its tests."""
