"""The driver for OpenStack: Keystone v3, Nova, Neutron, Glance, and optionally Cinder."""

import time
from collections.abc import Callable, Sequence

from cloudcmp.errors import NOTHING_MADE, LostAnswer, Refused
from cloudcmp.model.lease import FIREWALL, CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import UNKNOWN_ACCOUNT, do_nothing
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.address import local_address
from cloudcmp.provider.common.driver import CloudDriver
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.firewall_rules import Rule
from cloudcmp.provider.common.responses import SEARCH_NOTICE, require_id
from cloudcmp.provider.openstack.catalog import OfferingCatalog
from cloudcmp.provider.openstack.firewalls import Firewalls
from cloudcmp.provider.openstack.floating_addresses import FloatingAddresses
from cloudcmp.provider.openstack.launch import POLICIES, check_options, metadata_of, server_body
from cloudcmp.provider.openstack.lifecycle import NovaLifecycle, Resize
from cloudcmp.provider.openstack.listing import Lists
from cloudcmp.provider.openstack.safeguards import OPENSTACK, SAFEGUARDS, UNCOUNTED
from cloudcmp.provider.openstack.sdk import COMPUTE, Sdk


class OpenStackProvider(CloudDriver[Sdk, OfferingCatalog, NovaLifecycle]):
    """Machines of the OpenStack named in the environment or clouds.yaml (OS_CLOUD, or OS_AUTH_URL and others).

    Tested against our own emulator through openstacksdk, never on a real account. Creates no key pairs, networks or
    routers: the project needs a network. `settle_s` and `clock` are as in `Absence`; `pause_s` is the poll interval.
    """

    safeguards: tuple[Safeguard, ...] = SAFEGUARDS

    def __init__(
        self,
        name: str = OPENSTACK,
        *,
        sdk: Sdk | None = None,
        settle_s: float = 300.0,
        pause_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.billing = Billing(uncounted=UNCOUNTED)  # operators' terms differ: whole hours are counted
        self._sdk = sdk or Sdk(name)
        self._pause_s = pause_s
        self._catalog = OfferingCatalog(name, self._sdk)
        self._firewalls = Firewalls(self._sdk, pause_s)
        floatings = FloatingAddresses(self._sdk)
        self._lifecycle = NovaLifecycle(self._sdk, self._firewalls, floatings, Absence(settle_s, "listed", clock))
        self._resize = Resize(self._lifecycle, pause_s)
        self._lists = Lists(self._sdk, self._firewalls, floatings)
        self._ids_by_token: dict[str, str | None] = {}

    # -- looking around

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Checks credentials, account, clock, names, rights, quotas and capabilities; creates nothing."""
        from cloudcmp.provider.openstack.preflight import Preflight

        return await Preflight(self._sdk, self._catalog).run(candidates)

    async def account(self) -> str:
        """The project of the credentials, and the address of Keystone."""
        project, _ = await self._sdk.run_in_thread(self._sdk.project, "")
        return self._sdk.with_endpoint(project or UNKNOWN_ACCOUNT)

    async def date(self) -> float | None:
        """The time by this cloud's own clock (Unix s), from a response header."""
        await self._sdk.read(await self._sdk.run_in_thread(self._sdk.default_region, ""), COMPUTE, "/limits")
        return parse_http_date(self._sdk.date)

    # -- leases

    async def create(self, request: CreateRequest) -> str:
        """Creates a firewall or a machine. A token that was sent before is looked for: Nova takes no tokens."""
        if request.token in self._ids_by_token:
            await self._check(request)
            return await self._find_earlier(request)
        self._ids_by_token[request.token] = id = await CloudDriver.create(self, request)
        return id

    def _controller_address(self) -> str:
        return local_address(self._sdk.endpoint())

    async def _check(self, request: CreateRequest) -> None:
        await self._catalog.check_region(request.region)

    async def _prefetch(self, request: CreateRequest) -> None:
        options = dict(request.options)
        check_options(options, request.name)
        await self._catalog.prefetch(request.region, request.offering, options)

    async def _create_firewall(self, request: CreateRequest) -> str:
        return await self._firewalls.create(request)

    async def _create_machine(self, request: CreateRequest) -> str:
        region, options = request.region, dict(request.options)
        flavor = await self._catalog.flavor(region, request.offering)
        image = await self._catalog.image(region, options)
        network = await self._catalog.network(region, options)
        endpoint = await self._sdk.run_in_thread(lambda: self._sdk.service_endpoint(region, COMPUTE), region)
        if endpoint is None:
            raise Refused.at(f"{self.name}/{region}", "this cloud has no Nova there", "see 'openstack catalog list'")
        group = None
        if options.get("placement") in POLICIES and options.get(FIREWALL):
            group = await self._firewalls.placement_of(region, options[FIREWALL])
        body = server_body(request, flavor, image, network, endpoint, group)
        self._lifecycle.networks[request.token] = network
        self._ids_by_token[request.token] = None
        try:
            response = await self._sdk.change(region, COMPUTE, "POST", "/servers", body)
        except NOTHING_MADE:
            del self._ids_by_token[request.token]
            raise
        return require_id(response, "server", "id", where=request.name)

    async def _find_earlier(self, request: CreateRequest) -> str:
        """The id of the resource created with a token; raises LostAnswer if it is not found."""
        id = self._ids_by_token[request.token]
        if id is None:
            study = metadata_of(request).get("cloudcmp:study", "")
            resources = await self._lists.find(request.region, study, request.token)
            id = next((one.cloud_id for one in resources if one.token == request.token), None)
        if id is None:
            what = "this token was sent before, with an unknown outcome"
            raise LostAnswer.at(request.name, what, SEARCH_NOTICE)
        return id

    async def _find(self, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]:
        """Machines, volumes, floating addresses and groups of a study, by tag and by token."""
        regions = (region,) if region else await self._catalog.regions()
        resources = [await self._lists.find(one, study, token) for one in regions]
        return tuple(item for items in resources for item in items)

    async def leftovers(self) -> Listing:
        """All resources with the schema tag in all regions of the service catalogue."""
        return await self._lists.leftovers(self._catalog.regions)

    async def _rules(self, firewall: Handle) -> list[Rule]:
        return await self._firewalls.rules(firewall.region, firewall.cloud_id)

    # -- machines

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine, None while it is unknown."""
        return await self._lifecycle.zone(handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Changes the flavor and confirms it; raises NoCapacity or Refused if it is unavailable."""
        flavor = await self._catalog.flavor(handle.region, offering)
        await self._resize.resize(handle, flavor.id, stopped)
