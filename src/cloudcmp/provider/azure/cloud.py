"""Azure, through its Resource Manager."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.model.firewall import Admission
from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import do_nothing
from cloudcmp.model.safety import Finding, MachineStatus, Safeguard
from cloudcmp.provider.azure import listing
from cloudcmp.provider.azure.catalog import OfferingCatalog
from cloudcmp.provider.azure.groups import Groups
from cloudcmp.provider.azure.launch import machine_body
from cloudcmp.provider.azure.lifecycle import AzureLifecycle
from cloudcmp.provider.azure.machines import Machines
from cloudcmp.provider.azure.names import machine_of, place_of
from cloudcmp.provider.azure.preflight import Preflight
from cloudcmp.provider.azure.prices import BILLING
from cloudcmp.provider.azure.safeguards import SAFEGUARDS
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.driver import CloudDriver
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.firewall_rules import admission


class AzureProvider(CloudDriver[OfferingCatalog, AzureLifecycle]):
    """Machines of one subscription of Azure.

    It was tested against an emulator of the tests' own, driven through Azure's official clients, never on a real
    account. Each launch has a resource group of its own, with a network and a firewall in it. `settle_s` and `clock`
    are as in `Absence`, `pause_s` and `decide_s` as in `Machines`.
    """

    name = "azure"
    simulated = False
    billed = True
    billing: Billing = BILLING
    settle_s = 0.0  # absence is waited for in AzureLifecycle
    parts: tuple[str, ...] = (FIREWALL, INSTANCE)
    safeguards: tuple[Safeguard, ...] = SAFEGUARDS

    def __init__(
        self,
        *,
        sdk: Sdk | None = None,
        settle_s: float = 300.0,
        pause_s: float = 1.0,
        decide_s: float = 90.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sdk = sdk or Sdk()
        self._groups = Groups(self._sdk, pause_s)
        self._machines = Machines(self._sdk, pause_s, decide_s, clock)
        self._lifecycle = AzureLifecycle(self._sdk, self._groups, self._machines, Absence(settle_s, "found", clock))
        self._catalog = OfferingCatalog(self._sdk)

    # -- looking around

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Credentials, subscription, clock, names, rights and quota; creates nothing."""
        return await Preflight(self._sdk, self._catalog).run(candidates)

    async def account(self) -> str:
        """The subscription, once it is seen with these credentials, and the endpoint where one is named."""
        response = (await self._sdk.subscribed()).body
        named = str(response.get("subscriptionId") or self._sdk.subscription())
        endpoint = self._sdk.endpoint()
        return f"{named} at {endpoint}" if endpoint else named

    async def date(self) -> float | None:
        """The time by Azure's own clock (Unix s), from the head of an answer."""
        return parse_http_date((await self._sdk.subscribed()).headers.get("date", ""))

    # -- leases

    def _endpoint(self) -> str | None:
        return self._sdk.endpoint()

    async def _check(self, request: CreateRequest) -> None:
        await self._catalog.known_region(request.region)

    async def _warm(self, request: CreateRequest) -> None:
        with suppress(ProviderFault):
            await self._catalog.image_for(request.region, request.offering, dict(request.options))

    async def _create_firewall(self, request: CreateRequest) -> str:
        return await self._groups.create(request)

    async def _create_machine(self, request: CreateRequest) -> str:
        options = dict(request.options)
        if not options.get(FIREWALL):
            raise Refused.at(request.name, "a machine stands in its launch's resource group", "make its firewall first")
        image = await self._catalog.image_for(request.region, request.offering, options)
        zones = await self._catalog.zones(request.region, request.offering)
        body = machine_body(request, options[FIREWALL], image, zones)
        group = place_of(options[FIREWALL], request.name)
        return await self._machines.create(request, replace(group, name=machine_of(request)), body)

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """All that bears the study's tag, and what was made with the token; raises IncompleteListing."""
        return await listing.find(self._sdk, study, token, region)

    async def leftovers(self) -> Listing:
        """Whatever bears our schema's tag: machines, disks that no machine holds, resource groups."""
        return await listing.leftovers(self._sdk)

    async def admitted(self, firewall: Handle) -> Admission:
        """Whom a launch's firewall admits, by the rules that the cloud holds."""
        return admission(await self._groups.rules(place_of(firewall.cloud_id).group))

    # -- machines

    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is; one that is not there yet is pending. Raises NoCapacity where there was no room for it."""
        return await self._machines.look(handle)

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine, None while it is not there and where its region has none."""
        return await self._machines.zone(handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Deallocate, change the size, start; raises Refused where the size or the market does not allow it."""
        await self._machines.resize(handle, offering, stopped)
