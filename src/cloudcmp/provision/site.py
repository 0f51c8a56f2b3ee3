"""Sets up and tears down everything that one launch leases."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.errors import CONTROLLER_FAULTS, ProviderFault
from cloudcmp.model.firewall import AdmitsPeers
from cloudcmp.model.lease import DATA_SET, FIREWALL, INSTANCE, VANTAGES, ZONE, Handle, Lease
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.model.protocol import Provider, Remote, Zoned
from cloudcmp.model.remote import Access, KeyPair
from cloudcmp.provision.arrival import Connector, Machine, Start, Stopwatch, arrive
from cloudcmp.provision.destruction import Release
from cloudcmp.provision.ledger import Ledger, Part
from cloudcmp.provision.lifecycle import acquire, release, release_earlier


@dataclass(frozen=True, slots=True)
class Keys:
    """Makes the keys of a new machine: a key pair, and the user data for a host key and a time to live (s)."""

    new: Callable[[], KeyPair]
    user_data: Callable[[KeyPair, str, float], str]


@dataclass(frozen=True, slots=True)
class ProvisionContext:
    """The context of setup and teardown: the study's ledger, the connector of machines, and their keys."""

    ledger: Ledger
    connector: Connector
    keys: Keys


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a launch's machines must be: all in the zone of the first, or all but the first in `far_zone`.

    Or all but the first in another region (`two_regions`), that of the candidate's far end. False if they may be
    anywhere.
    """

    one_zone: bool = False
    far_zone: str = ""
    two_regions: bool = False

    def __bool__(self) -> bool:
        return self.one_zone or bool(self.far_zone) or self.two_regions


async def end_earlier(context: ProvisionContext, providers: Mapping[str, Provider], launch: Launch) -> None:
    """Ends what an earlier attempt at a launch left; raises ProviderFault if it is not seen gone."""
    for lease in context.ledger.open_of(launch):
        await release_earlier(context.ledger, providers[lease.provider], (lease,))


async def set_up(
    context: ProvisionContext,
    provider: Provider,
    candidate: Candidate,
    launch: Launch,
    ttl_s: float,
    watches: list[Stopwatch],
    count: int = 1,
    *,
    placement: Placement = Placement(),
    paid_s: float = 0.0,
    vantages: Sequence[str] = (),
) -> tuple[Machine, ...]:
    """Returns the launch's `count` machines, all ready; what an earlier attempt left has been ended.

    Adds a stopwatch for each requested machine to `watches`, which records its progress even on failure; all count from
    the first request. Raises what `acquire` and `arrive` raise; the ledger then has what must be torn down. Machines
    are requested where `placement` says, those beyond the first at the candidate's far end if that is in another
    region; `paid_s` are additional billed seconds of each machine. The firewall of the first machine lets in
    `vantages`, single addresses in CIDR form.
    """
    near, *others = candidate.ends[:count]
    admits = ((VANTAGES, ",".join(vantages)),) if vantages else ()
    near_site = _Site(near, await _create_dependencies(context, provider, near, launch, ttl_s, options=admits))
    far_site = near_site
    for far in others:
        apart = isinstance(provider, AdmitsPeers)
        parts = await _create_dependencies(context, provider, far, launch, ttl_s, 2) if apart else near_site.parts
        far_site = _Site(far, parts)
    start, zones = Start(), ZoneOptions(context.connector, provider, placement)

    async def one(number: int) -> Machine:
        access = _access(context, provider, ttl_s)
        watch = Stopwatch(context.ledger.time, start)
        watches.append(watch)
        site = near_site if number == 1 else far_site
        options = tuple(sorted((*site.parts.items(), *await zones.options(number))))
        part = Part(INSTANCE, number, options, access)
        sharing: asyncio.Task[None] | None = None
        try:
            lease = await acquire(context.ledger, provider, site.sold, launch, ttl_s + paid_s, part=part, watch=watch)
            sharing = asyncio.create_task(zones.share_zone(number, lease))  # concurrently, as the arrival is timed
            machine = await arrive(context.connector, provider, lease, site.sold, launch, watch, ttl_s, access)
            await sharing
        except BaseException:
            zones.fail(number)
            if sharing is not None:
                sharing.cancel()
            raise
        return machine

    if count == 1:
        return (await one(1),)
    machines = tuple(await _gather_all([one(number + 1) for number in range(count)]))
    if far_site is not near_site and isinstance(provider, AdmitsPeers):
        try:
            await _introduce(provider, (near_site, far_site), machines)
        except BaseException:
            await _close(machines)
            raise
    return machines


async def set_up_apart(
    context: ProvisionContext, provider: Provider, candidate: Candidate, launch: Launch, ttl_s: float, number: int
) -> Machine:
    """Returns a machine of a launch that is not its candidate's, such as a vantage point, ready for agents.

    `number` is its own in the launch, beyond those of the candidate. Raises what `acquire` and `arrive` raise; the
    ledger then has what must be torn down.
    """
    watch = Stopwatch(context.ledger.time, Start())
    access = _access(context, provider, ttl_s)
    part = Part(INSTANCE, number, (), access)
    lease = await acquire(context.ledger, provider, candidate, launch, ttl_s, part=part, watch=watch)
    return await arrive(context.connector, provider, lease, candidate, launch, watch, ttl_s, access)


@dataclass(frozen=True, slots=True)
class _Site:
    """One region of a launch: what is rented there, and the cloud id of each kind that its machines use."""

    sold: Candidate
    parts: Mapping[str, str]

    def firewall(self) -> Handle:
        return Handle(FIREWALL, self.sold.offering.region, self.parts[FIREWALL])


async def _introduce(provider: AdmitsPeers, sites: tuple[_Site, _Site], machines: Sequence[Machine]) -> None:
    """Has the firewall of each region admit the machines of the other one, at their public addresses."""
    near, far = sites
    first, *others = public_addresses(machines)
    await provider.admit(near.firewall(), others)
    await provider.admit(far.firewall(), [first])


def public_addresses(machines: Sequence[Machine]) -> tuple[str, ...]:
    """Returns the address at which each machine is reached from outside of its region."""
    return tuple(one.endpoint.address if one.endpoint else "" for one in machines)


async def _create_dependencies(
    context: ProvisionContext, provider: Provider, candidate: Candidate, launch: Launch, ttl_s: float, number: int = 1,
    *, options: tuple[tuple[str, str], ...] = (),
) -> dict[str, str]:  # fmt: skip
    """Creates what the machines of one region use; returns the cloud id of each kind."""
    made: dict[str, str] = {}
    for kind in provider.parts:
        if kind != INSTANCE:
            lease = await acquire(context.ledger, provider, candidate, launch, ttl_s, part=Part(kind, number, options))
            made[kind] = lease.cloud_id or ""
    return made


async def make_data_set(
    context: ProvisionContext, provider: Provider, candidate: Candidate, launch: Launch, ttl_s: float
) -> Lease:
    """Returns the lease of a launch's data set in the service that it measures; raises what `acquire` raises."""
    service = candidate.service
    kind = (("service", service.kind.value),) if service else ()
    return await acquire(context.ledger, provider, candidate, launch, ttl_s, part=Part(DATA_SET, options=kind))


async def tear_down(
    context: ProvisionContext, providers: Mapping[str, Provider], launch: Launch
) -> tuple[Release, ...]:
    """Ends everything that a launch leases: all machines at once, then the resources that they used or measured."""
    leases = context.ledger.open_of(launch)
    machines = [lease for lease in leases if lease.kind == INSTANCE]
    work = (release(context.ledger, providers[lease.provider], lease) for lease in machines)
    releases = list(await asyncio.gather(*work))
    for lease in leases:
        if lease.kind != INSTANCE:
            releases.append(await release(context.ledger, providers[lease.provider], lease))
    return tuple(releases)


def _access(context: ProvisionContext, provider: Provider, ttl_s: float) -> Access | None:
    if not isinstance(provider, Remote):
        return None
    host, client = context.keys.new(), context.connector.client.public
    return Access(host, client, context.keys.user_data(host, client, ttl_s))


async def _gather_all(arrivals: list) -> list[Machine]:  # type: ignore[type-arg]
    """Returns every machine of a batch; if one fails, waits for the others, then raises its fault."""
    results = await asyncio.gather(*arrivals, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            await _close(results)
            raise result
    return [result for result in results if isinstance(result, Machine)]


async def _close(machines: Iterable[Machine | BaseException]) -> None:
    for one in machines:
        if isinstance(one, Machine) and one.shell is not None:
            await one.shell.close()


_ZONE_WAIT_S = 60.0  # after this, the other machines get any zone


class ZoneOptions:
    """Chooses the zones of a launch's machines beyond the first: the named one, or that of the first.

    For the zone of the first they wait, if the provider has zones.
    """

    def __init__(self, connector: Connector, provider: Provider, placement: Placement) -> None:
        self._ways = connector
        self._far_zone = placement.far_zone
        self._provider = provider if placement.one_zone and isinstance(provider, Zoned) else None
        self._zone: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    async def options(self, number: int) -> Sequence[tuple[str, str]]:
        """Returns the options that place a machine in its zone; none for the first one."""
        if number > 1 and self._far_zone:
            return ((ZONE, self._far_zone),)
        if number == 1 or self._provider is None:
            return ()
        zone = await asyncio.shield(self._zone)
        return ((ZONE, zone),) if zone else ()

    async def share_zone(self, number: int, lease: Lease) -> None:
        """Tells the other machines the zone of the first; bounded in time."""
        if number == 1 and self._provider is not None:
            zone = None
            try:
                zone = await _zone_of(self._ways, self._provider, lease)
            finally:
                if not self._zone.done():
                    self._zone.set_result(zone)

    def fail(self, number: int) -> None:
        """Cancels the machines that wait for the first one, because it or its zone is not available."""
        if number == 1 and not self._zone.done():
            self._zone.cancel()


async def zones_of(
    connector: Connector, provider: Provider, leases: Iterable[Lease], *, needed: bool
) -> tuple[str, ...]:
    """Returns the zone of each machine, () without zones; `unknown` if the provider does not report it.

    Waits for zones if they are `needed`, else asks once: the machines cost money meanwhile.
    """
    if not isinstance(provider, Zoned):
        return ()
    patience_s = _ZONE_WAIT_S if needed else 0.0
    zones = await asyncio.gather(*(_zone_of(connector, provider, lease, patience_s) for lease in leases))
    return tuple(zone or "unknown" for zone in zones)


async def _zone_of(connector: Connector, provider: Zoned, lease: Lease, patience_s: float = _ZONE_WAIT_S) -> str | None:
    """Returns the zone of a machine; None if it is not known in time, or may not be read."""
    handle, began = lease.handle(), connector.time.monotonic()
    while handle is not None:
        try:
            if zone := await provider.zone(handle):
                return zone
        except CONTROLLER_FAULTS:
            return None
        except ProviderFault:
            pass  # unknown for now: ask again
        if connector.time.monotonic() - began >= patience_s:
            return None
        await connector.time.sleep(connector.poll_s)
    return None
