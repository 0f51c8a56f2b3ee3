"""The driver for Google Compute Engine."""

import time
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal

from cloudcmp.model.lease import CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.offering import Billing, Price
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.protocol import do_nothing
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.driver import CloudDriver
from cloudcmp.provider.common.firewall_rules import Rule
from cloudcmp.provider.common.safeguards import qualify_death, resize_caveats
from cloudcmp.provider.gcp import listing
from cloudcmp.provider.gcp.catalog import OfferingCatalog
from cloudcmp.provider.gcp.firewalls import Firewalls
from cloudcmp.provider.gcp.images import BY_THE_SECOND
from cloudcmp.provider.gcp.lifecycle import GceLifecycle
from cloudcmp.provider.gcp.machines import Machines
from cloudcmp.provider.gcp.operations import Operations
from cloudcmp.provider.gcp.preflight import Preflight
from cloudcmp.provider.gcp.sdk import Sdk

GCP = "gcp"
_ADDRESS = Price(
    Decimal("0.005"),
    "USD",
    "its external IPv4 address (on a spot machine half of that), https://cloud.google.com/vpc/network-pricing",
    date(2024, 2, 1),
)
"""The price of an external address in use, from this date (R); spot machines are counted in full as well."""
_UNCOUNTED = (
    "the disk under the system unless it is written as a volume (some 0.001 USD/h for 10 GiB)",
    "traffic",
    "licences of images such as Windows, RHEL or SLES",
)
"""Billed items that a study file does not determine; the plan lists them."""
SAFEGUARDS = (
    Safeguard("teardown", True, "each machine is destroyed after its trials, and seen gone"),
    Safeguard("cleanup", True, "by the study's ledger: id, labels with the token, exact tags"),
    Safeguard(
        "death",
        True,
        "the cloud itself deletes the machine, its disks and its address at its time to live, by its terminationTime; "
        "not one that stands still by then, because it powered itself off or failed: that one stays, its disks "
        "billed, until cleanup or a sweep",
    ),
    Safeguard("sweep", True, "labels in the creating call; all zones are listed, and all firewall rules"),
)
"""https://cloud.google.com/compute/docs/instances/limit-vm-runtime and .../instances/stop-start-instance#billing"""


class GcpProvider(CloudDriver[Sdk, OfferingCatalog, GceLifecycle]):
    """Machines of Compute Engine, in the project of the credentials or of GOOGLE_CLOUD_PROJECT.

    Tested against our own emulator through Google's client, never on a real account. Creates no service accounts,
    reserved addresses or networks: the project needs its `default` network. `settle_s` and `clock` are as in `Absence`,
    `wait_s` as in `Machines`, `pause_s` as in `Sdk`.
    """

    # Per second after a minimum of one minute: https://cloud.google.com/compute/vm-instance-pricing#billingmodel.
    # Licences of the user's own images are unknown, so those machines are counted by the hour.
    billing = Billing(60.0, 1.0, _ADDRESS, _UNCOUNTED, images=BY_THE_SECOND)
    safeguards: tuple[Safeguard, ...] = SAFEGUARDS

    def __init__(
        self,
        *,
        sdk: Sdk | None = None,
        settle_s: float = 300.0,
        pause_s: float = 1.0,
        wait_s: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = GCP
        self._sdk = sdk or Sdk(pause_s=pause_s)
        operations = Operations(self._sdk, clock=clock)
        self._catalog = OfferingCatalog(self._sdk)
        self._firewalls = Firewalls(self._sdk, operations)
        self._machines = Machines(self._sdk, self._catalog, operations, wait_s, clock)
        self._lifecycle = GceLifecycle(self._sdk, self._firewalls, operations, Absence(settle_s, "found", clock))

    # -- looking around

    def safeguards_of(self, plan: Plan) -> tuple[Safeguard, ...]:
        """The safeguards for a plan's trials."""
        return qualify_death(SAFEGUARDS, *resize_caveats(plan, GCP, "nothing ends it"))

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Checks credentials, project, clock, names, network, rights and quota; creates nothing."""
        return await Preflight(self._sdk, self._catalog).run(candidates)

    async def account(self) -> str:
        """The project, and the endpoint if one is set."""
        return self._sdk.with_endpoint(await self._sdk.run_in_thread(self._sdk.project))

    async def date(self) -> float | None:
        """The time by this cloud's own clock (Unix s), from a response header."""
        return await self._sdk.date()

    # -- leases

    async def _check(self, request: CreateRequest) -> None:
        """Does nothing: the region is checked together with its zones."""

    async def _prefetch(self, request: CreateRequest) -> None:
        await self._catalog.check_region(request.region)
        await self._catalog.prefetch(request.region, request.offering, dict(request.options))

    async def _create_firewall(self, request: CreateRequest) -> str:
        return await self._firewalls.create(request)

    async def _create_machine(self, request: CreateRequest) -> str:
        return await self._machines.create(request)

    async def _find(self, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]:
        """Machines, disks that would stay, and rules of a study, by tag and by token."""
        return await listing.find(self._sdk, self._firewalls, study, token, region)

    async def leftovers(self) -> Listing:
        """All resources with the schema tag in all zones."""
        return await listing.leftovers(self._sdk, self._firewalls)

    async def _rules(self, firewall: Handle) -> list[Rule]:
        return await self._firewalls.rules(firewall.cloud_id)

    # -- machines

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine."""
        return await self._lifecycle.zone(handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Stops, changes the type, starts; raises Refused if the type does not allow it."""
        await self._lifecycle.resize(handle, offering, stopped)
