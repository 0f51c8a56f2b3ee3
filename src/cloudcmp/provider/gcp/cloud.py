"""Google Compute Engine."""

import time
from collections.abc import Callable, Sequence

from cloudcmp.model.firewall import Admission
from cloudcmp.model.lease import CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.protocol import do_nothing
from cloudcmp.model.safety import Finding, MachineStatus, Safeguard
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.driver import CloudDriver
from cloudcmp.provider.common.firewall_rules import admission
from cloudcmp.provider.gcp import listing
from cloudcmp.provider.gcp.catalog import OfferingCatalog
from cloudcmp.provider.gcp.firewalls import Firewalls
from cloudcmp.provider.gcp.images import BY_THE_SECOND
from cloudcmp.provider.gcp.lifecycle import GceLifecycle
from cloudcmp.provider.gcp.machines import Machines
from cloudcmp.provider.gcp.operations import Operations
from cloudcmp.provider.gcp.preflight import Preflight, account_of
from cloudcmp.provider.gcp.prices import ADDRESS, UNCOUNTED
from cloudcmp.provider.gcp.safeguards import GCP, SAFEGUARDS, safeguards_of
from cloudcmp.provider.gcp.sdk import Sdk


class GcpProvider(CloudDriver[OfferingCatalog, GceLifecycle]):
    """Machines of Compute Engine, in the project of the credentials or of GOOGLE_CLOUD_PROJECT.

    It was tested against an emulator of the tests' own, driven through Google's client, never on a real account. It
    makes no service accounts, no reserved addresses and no networks: the project needs its `default` network.
    `settle_s` and `clock` are as in `Absence`, `wait_s` as in `Machines`, `pause_s` as in `Sdk`.
    """

    # By the second after the first minute: https://cloud.google.com/compute/vm-instance-pricing#billingmodel. What an
    # image of the user's own adds, by its licences, is not known, so it is counted by the hour.
    billing = Billing(60.0, 1.0, ADDRESS, UNCOUNTED, images=BY_THE_SECOND)
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
        """The safeguards as they are for a plan's own trials."""
        return safeguards_of(plan)

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Credentials, project, clock, names, network, rights and quota; creates nothing."""
        return await Preflight(self._sdk, self._catalog).run(candidates)

    async def account(self) -> str:
        """The project, and the endpoint where one is named."""
        return await account_of(self._sdk)

    async def date(self) -> float | None:
        """The time by this cloud's own clock (Unix s), from the head of an answer."""
        return await self._sdk.date()

    # -- leases

    def _endpoint(self) -> str | None:
        return self._sdk.endpoint()

    async def _check(self, request: CreateRequest) -> None:
        """A machine's region is looked up with its zones."""

    async def _warm(self, request: CreateRequest) -> None:
        await self._catalog.known_region(request.region)
        await self._catalog.warm(request.region, request.offering, dict(request.options))

    async def _create_firewall(self, request: CreateRequest) -> str:
        return await self._firewalls.create(request)

    async def _create_machine(self, request: CreateRequest) -> str:
        return await self._machines.create(request)

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """Machines, disks that would stay, and rules of a study, by tag and by token."""
        return await listing.find(self._sdk, self._firewalls, study, token, region)

    async def leftovers(self) -> Listing:
        """Whatever bears our schema's tag in all zones."""
        return await listing.leftovers(self._sdk, self._firewalls)

    async def admitted(self, firewall: Handle) -> Admission:
        """Whom a launch's firewall admits, by the rules that the cloud holds."""
        return admission(await self._firewalls.rules(firewall.cloud_id))

    # -- machines

    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is; one that is not listed yet is pending."""
        return await self._lifecycle.look(handle)

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine."""
        return await self._lifecycle.zone(handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = do_nothing) -> None:
        """Stop, change the type, start; raises Refused where the type does not allow it."""
        await self._lifecycle.resize(handle, offering, stopped)
