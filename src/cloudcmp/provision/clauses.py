"""The clauses: what every provider promises, each small, named, and tried out on real resources."""

from dataclasses import replace
from ipaddress import ip_network
from typing import Any

from cloudcmp.errors import NoCapacity, ProviderFault, Refused, Throttled, WrongHost
from cloudcmp.model.firewall import Admission, ReadsFirewall
from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle, Lease, LeaseRow
from cloudcmp.model.protocol import Direct, Remote
from cloudcmp.model.remote import Endpoint
from cloudcmp.provision.arrival import Stopwatch, arrive
from cloudcmp.provision.ledger import Ledger, Part
from cloudcmp.provision.lifecycle import release
from cloudcmp.provision.ownership import Sighting
from cloudcmp.provision.stage import Broken, Clause, Stage, Untold, listed, make, part, until

_NO_SUCH = "cloudcmp-no-such-offering"
_DIAL_S = 30.0
_SCHEMA, _STUDY = "cloudcmp:schema", "cloudcmp:study"
_OTHER = "-other"
_FIREWALL = "its firewall admits the controller and the launch's other machines, and nobody else"
_DECOY = "what does not bear our schema is not taken for ours; where none such may be made, another study's is not"


async def _offerings(stage: Stage) -> None:
    sold = stage.provider.offerings(stage.candidate.offering.region)
    keys = [(one.region, one.name) for one in sold]
    twice = sorted({name for region, name in keys if keys.count((region, name)) > 1})
    if twice:
        raise Broken(f"listed more than once: {', '.join(twice[:3])}")
    free = sorted(one.name for one in sold if one.price is not None and one.price.amount_per_hour <= 0)
    if free:
        raise Broken(f"a price of zero: {', '.join(free[:3])}")
    if not sold:
        raise Untold("nothing is listed in this region")


async def _create(stage: Stage) -> None:
    for kind in stage.provider.parts:
        request, lease = await make(stage, stage.launches[0], part(stage, kind))
        if kind == INSTANCE:
            stage.request, stage.lease = request, lease
        else:
            stage.beneath[kind] = lease.cloud_id or ""


async def _same_token(stage: Stage) -> None:
    request, handle = stage.made()
    again = await stage.provider.create(request)
    if stage.lease is not None and again != handle.cloud_id:
        stage.doubles.append(replace(stage.lease, cloud_id=again))
        raise Broken(f"a second one was made: {again} beside {handle.cloud_id}")


async def _by_token(stage: Stage) -> None:
    request, handle = stage.made()
    await listed(stage, handle, "no-study-of-ours", request.token)


async def _by_tag(stage: Stage) -> None:
    _, handle = stage.made()
    await listed(stage, handle, stage.study, None)


async def _by_name(stage: Stage) -> None:
    request, handle = stage.made()
    found = await listed(stage, handle, stage.study, request.token)
    if found.name != request.name:
        raise Broken(f"it is listed as {found.name!r}, not as {request.name!r}")


async def _tags(stage: Stage) -> None:
    request, handle = stage.made()
    found = await listed(stage, handle, stage.study, request.token)
    missing = sorted(key for key, value in request.tags if (key, value) not in found.tags)
    if missing:
        raise Broken(f"missing or changed: {', '.join(missing)}")


async def _not_another(stage: Stage) -> None:
    _, handle = stage.made()
    others = await stage.provider.find(f"{stage.study}{_OTHER}", region=handle.region)
    if any(one.cloud_id == handle.cloud_id for one in others):
        raise Broken("it is listed for another study too")


async def _unknown_offering(stage: Stage) -> None:
    if isinstance(stage.provider, Direct):
        raise Untold("it stands in for any offering")
    stage.made()
    try:
        await make(stage, stage.launches[2], part(stage, INSTANCE), offering=_NO_SUCH)
    except Refused:
        return
    raise Broken("a machine of it was made")


async def _leftovers(stage: Stage) -> None:
    _, handle = stage.made()

    async def look() -> bool:
        return any(one.handle() == handle for one in (await stage.provider.leftovers()).found)

    if not await until(stage, look):
        unlisted = (await stage.provider.leftovers()).unlisted
        if unlisted:
            raise Untold(f"not all places could be listed: {unlisted[0]}")
        raise Broken("a sweep would not find it")


async def _decoy(stage: Stage) -> None:
    stage.made()  # beside nothing it would tell nothing
    free = next((kind for kind in stage.provider.parts if kind == FIREWALL), INSTANCE)
    piece = part(stage, free)
    tags = stage.office.ledger.request_for(stage.candidate, stage.launches[1], stage.ttl_s, piece).tags
    bare = tuple((key, value) for key, value in tags if key != _SCHEMA)
    try:
        _, stage.decoy = await make(stage, stage.launches[1], piece, tags=bare)
    except Refused:  # the least-privilege policy lets nothing be made, or deleted, without our schema
        await _of_another(stage, piece, tags)
        return
    handle = _id_of(stage.decoy)
    await listed(stage, handle, stage.study, stage.decoy.token)
    if any(one.handle() == handle for one in (await stage.provider.leftovers()).found):
        raise Broken("a resource without our schema is listed as ours")


async def _of_another(stage: Stage, piece: Part, tags: tuple[tuple[str, str], ...]) -> None:
    """A decoy that bears our schema and the name of another study, which is no study's of this run."""
    other = f"{stage.study}{_OTHER}"
    theirs = tuple((key, other if key == _STUDY else value) for key, value in tags)
    _, stage.decoy = await make(stage, stage.launches[1], piece, tags=theirs)
    handle = _id_of(stage.decoy)
    await listed(stage, handle, other, None)
    if any(one.handle() == handle for one in await stage.provider.find(stage.study, region=handle.region)):
        raise Broken("a resource of another study is listed as this one's")


class _Unwritten:
    """The ledger of a process that made nothing itself."""

    def append_lease(self, row: LeaseRow) -> None:
        """Nothing is kept."""

    def leases(self) -> tuple[Lease, ...]:
        """Nothing was kept."""
        return ()


async def _kept(stage: Stage) -> None:
    """A later process reads back what a ledger names, here something that is not what it says."""
    _, handle = stage.made()
    if stage.decoy is None or stage.lease is None:
        raise Untold("there is no other resource")
    now, other = stage.office.ledger, _id_of(stage.decoy)
    lease, later = stage.lease, Ledger(_Unwritten(), now.study, now.time, accounts=now.accounts)

    async def look() -> bool:
        return (await later.ownership.prove(stage.provider, lease, handle)).sighting is Sighting.OURS

    if not await until(stage, look):
        raise Broken("it is not proved to be ours by what is listed of it")
    forged = replace(lease, token=stage.decoy.token)
    done = await release(later, stage.provider, forged, stage.waits)
    if done.evidence is not None or await stage.provider.gone(handle) is not None:
        raise Broken("a resource of another token was destroyed on the word of a ledger")
    await listed(stage, other, stage.study, stage.decoy.token)


def _id_of(lease: Lease) -> Handle:
    handle = lease.handle()
    if handle is None:
        raise Untold("the decoy has no id")
    return handle


async def _firewall(stage: Stage) -> None:
    if FIREWALL not in stage.provider.parts:
        raise Untold("its machines stand behind no firewall of their launch's")
    request, _ = stage.made()
    provider: Any = stage.provider
    if not isinstance(provider, ReadsFirewall):
        raise Untold("its rules cannot be read back")
    handle = Handle(FIREWALL, request.region, stage.beneath[FIREWALL])
    wrong = "it was not looked at"

    async def look() -> bool:
        nonlocal wrong
        wrong = _wrongly_admitted(await provider.admitted(handle), stage.allow)
        return not wrong

    if not await until(stage, look):
        raise Broken(wrong)


def _wrongly_admitted(found: Admission, allow: str) -> str:
    """What is wrong with the rules of a launch's firewall, empty for nothing."""
    wanted = {str(ip_network(one.strip())) for one in allow.split(",") if one.strip()}
    strangers = sorted(set(found.controllers) - wanted) if wanted else []
    if found.others or strangers:
        return f"it admits others: {', '.join([*found.others, *strangers][:3])}"
    if not found.controllers or not wanted <= set(found.controllers):
        return "it does not admit the controller"
    return "" if found.members else "it does not admit the launch's other machines"


async def _reached(stage: Stage) -> None:
    request, _ = stage.made()
    if stage.lease is None:
        raise Untold("nothing was made")
    watch = Stopwatch(stage.office.ledger.time)
    try:
        stage.machine = await arrive(
            stage.office.ways,
            stage.provider,
            stage.lease,
            stage.candidate,
            stage.launches[0],
            watch,
            stage.ttl_s,
            request.access,
        )
    except (NoCapacity, Throttled) as fault:
        raise Untold(str(fault)) from fault
    except ProviderFault as fault:
        raise Broken(str(fault)) from fault
    instance = stage.machine.instance
    if instance is None:
        raise Untold("no agent runs on this system")
    if not instance.cpus or not instance.address:
        raise Broken("it tells no processors, or no address")


async def _wrong_host(stage: Stage) -> None:
    _, handle = stage.made()
    if not isinstance(stage.provider, Remote):
        raise Untold("it is not reached by SSH")
    if stage.machine is None or stage.machine.shell is None:
        raise Untold("it was not reached")
    sight = await stage.provider.look(handle)
    if sight.alias or not sight.address:
        raise Untold("the user's own SSH configuration knows its key")
    other = stage.office.keys.new().public
    endpoint = Endpoint(sight.address, sight.port, sight.user, other, stage.office.ways.client)
    try:
        shell = await stage.office.ways.dial(endpoint, _DIAL_S)
    except WrongHost:
        return
    await shell.close()
    raise Broken("a machine with another host key was logged in to")


async def _destroy(stage: Stage) -> None:
    _, handle = stage.made()
    if stage.machine is not None and stage.machine.shell is not None:
        await stage.machine.shell.close()
    if await stage.provider.gone(handle) is not None:
        raise Broken("it is told gone before it was destroyed")
    done = await release(stage.office.ledger, stage.provider, stage.lease, stage.waits) if stage.lease else None
    if done is None or done.evidence is None:
        raise Broken(f"it was not seen gone: {done.why if done else 'nothing was made'}")
    if handle.cloud_id not in done.evidence:
        raise Broken(f"the evidence does not name it: {done.evidence}")


async def _only_that(stage: Stage) -> None:
    handle = stage.decoy.handle() if stage.decoy else None
    if handle is None:
        raise Untold("there is no other resource")
    if await stage.provider.gone(handle) is not None:
        raise Broken("another resource went with it")


async def _again(stage: Stage) -> None:
    _, handle = stage.made()
    try:
        await stage.provider.destroy(handle)
    except ProviderFault as fault:
        raise Broken(str(fault)) from fault
    if await stage.provider.gone(handle) is None:
        raise Broken("it is not seen gone any more")


CLAUSES: tuple[Clause, ...] = (
    Clause("offerings", "each offering is listed once, and none has a price of zero", _offerings),
    Clause("create", "a resource is made with its tags, token and time to live in one call", _create),
    Clause("same token", "the same token never makes two", _same_token),
    Clause("by token", "it is found again by its token", _by_token),
    Clause("by tag", "it is found again by its study's tag", _by_tag),
    Clause("by name", "it is listed by the name that it was given", _by_name),
    Clause("tags", "all its tags are kept as they were given", _tags),
    Clause("not another", "it is not listed for another study", _not_another),
    Clause("leftovers", "it is listed among all that bears our tags, without its study being named", _leftovers),
    Clause("decoy", _DECOY, _decoy),
    Clause("kept", "what a ledger names and does not itself bear our tags and its lease's token is kept", _kept),
    Clause("unknown offering", "an offering that does not exist is refused", _unknown_offering),
    Clause("firewall", _FIREWALL, _firewall),
    Clause("reached", "it comes up, shows the host key that it was given, and agents run on it", _reached),
    Clause("wrong host", "a machine with another host key is refused", _wrong_host),
    Clause("destroy", "it is not gone before it is destroyed, and seen gone after", _destroy),
    Clause("only that", "nothing else goes with it", _only_that),
    Clause("again", "destroying what is gone is no error", _again),
)
"""The contract, in the order in which it is tried out."""
