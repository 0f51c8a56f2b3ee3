"""The driver for Azure's Resource Manager."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from decimal import Decimal

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.model.lease import FIREWALL, CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.offering import Billing, Price
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import do_nothing
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.provider.azure import listing
from cloudcmp.provider.azure.catalog import OfferingCatalog
from cloudcmp.provider.azure.groups import Groups
from cloudcmp.provider.azure.launch import machine_body
from cloudcmp.provider.azure.lifecycle import AzureLifecycle
from cloudcmp.provider.azure.machines import Machines
from cloudcmp.provider.azure.names import machine_of, place_of
from cloudcmp.provider.azure.preflight import Preflight
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.driver import CloudDriver
from cloudcmp.provider.common.findings import parse_http_date
from cloudcmp.provider.common.firewall_rules import Rule

# R: the page loads its figures by script; third-party calculators agree on this one on that day.
_ADDRESS = Price(
    Decimal("0.005"),
    "USD",
    "its public IPv4 address, https://azure.microsoft.com/pricing/details/ip-addresses/",
    date(2026, 11, 22),
)
"""The price of each public address; in a few regions it may be higher."""
_UNCOUNTED = (
    "the disk under the system unless it is written as a volume (StandardSSD_LRS, some 0.003 USD/h for 32 GiB)",
    "operations on disks of the types Standard_LRS and StandardSSD_LRS",
    "traffic",
    "the licence of Windows, if the study's price is without it",
)
"""Billed items that a study file does not determine; the plan lists them."""

# Per second; since June 2025 at least five minutes:
# https://learn.microsoft.com/answers/questions/2259765/clarification-on-azure-vm-billing-for-short-runtim
BILLING = Billing(300.0, 1.0, _ADDRESS, _UNCOUNTED, spot_capped=True)
"""How Azure bills the resources of a study. A machine that powers off stays billed: see SAFEGUARDS."""
SAFEGUARDS = (
    Safeguard(
        "teardown", True, "each machine is deleted after its trials with its disks, card and address, and its group"
    ),
    Safeguard(
        "cleanup",
        True,
        "by the study's ledger: id, token, tags; a launch's resource group is deleted with its contents",
    ),
    Safeguard(
        "death",
        False,
        "Linux powers itself off at its time to live, and Azure bills a machine that was powered off from inside as if "
        "it ran (stopped is not deallocated), with its disks and its address, until cleanup or a sweep deletes it",
    ),
    Safeguard("sweep", True, "tags in the creating calls; machines, disks and groups of all regions are listed"),
)
"""Power states and their cost: https://learn.microsoft.com/azure/virtual-machines/states-billing.

Azure has no time to live for machines. Its auto-shutdown (a DevTest Labs schedule) deallocates, but disks and the
address stay billed: https://learn.microsoft.com/azure/virtual-machines/auto-shutdown-vm. A machine that deletes itself
would need rights in the subscription, which every program on it would have too; so it has none.
"""


class AzureProvider(CloudDriver[Sdk, OfferingCatalog, AzureLifecycle]):
    """Machines of one Azure subscription.

    Tested against our own emulator through Azure's official clients, never on a real account. Each launch has its own
    resource group with a network and a firewall. `settle_s` and `clock` are as in `Absence`, `pause_s` and `decide_s`
    as in `Machines`.
    """

    name = "azure"
    billing: Billing = BILLING
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
        """Checks credentials, subscription, clock, names, rights and quota; creates nothing."""
        return await Preflight(self._sdk, self._catalog).run(candidates)

    async def account(self) -> str:
        """The subscription, after a call with these credentials, and the endpoint if one is set."""
        response = (await self._sdk.subscribed()).body
        return self._sdk.with_endpoint(str(response.get("subscriptionId") or self._sdk.subscription()))

    async def date(self) -> float | None:
        """The time by Azure's own clock (Unix s), from a response header."""
        return parse_http_date((await self._sdk.subscribed()).headers.get("date", ""))

    # -- leases

    async def _check(self, request: CreateRequest) -> None:
        await self._catalog.check_region(request.region)

    async def _prefetch(self, request: CreateRequest) -> None:
        with suppress(ProviderFault):
            await self._catalog.image_for(request.region, request.offering, dict(request.options))

    async def _create_firewall(self, request: CreateRequest) -> str:
        return await self._groups.create(request)

    async def _create_machine(self, request: CreateRequest) -> str:
        options = dict(request.options)
        if not options.get(FIREWALL):
            raise Refused.at(request.name, "a machine needs its launch's resource group", "create its firewall first")
        image = await self._catalog.image_for(request.region, request.offering, options)
        zones = await self._catalog.zones(request.region, request.offering)
        body = machine_body(request, options[FIREWALL], image, zones)
        group = place_of(options[FIREWALL], request.name)
        return await self._machines.create(request, replace(group, name=machine_of(request)), body)

    async def _find(self, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]:
        """Resources with the study's tag or the token; raises IncompleteListing."""
        return await listing.find(self._sdk, study, token, region)

    async def leftovers(self) -> Listing:
        """Machines, unattached disks and resource groups with the schema tag."""
        return await listing.leftovers(self._sdk)

    async def _rules(self, firewall: Handle) -> list[Rule]:
        return await self._groups.rules(place_of(firewall.cloud_id).group)

    # -- machines

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine; None while it does not exist, or if its region has no zones."""
        return await self._machines.zone(handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Deallocates, changes the size, starts; raises Refused if the size or the market does not allow it."""
        await self._machines.resize(handle, offering, stopped)
