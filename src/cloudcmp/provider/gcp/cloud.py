"""Google Compute Engine."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from cloudcmp.errors import Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Found, Handle, Listing
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.protocol import nothing
from cloudcmp.model.safety import Finding, MachineStatus, Safeguard
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.address import controller_address
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


class GcpProvider:
    """Machines of Compute Engine, in the project of the credentials or of GOOGLE_CLOUD_PROJECT.

    It was tested against an emulator of the tests' own, driven through Google's client, never on a real account. It
    makes no service accounts, no reserved addresses and no networks: the project needs its `default` network.
    `settle_s` and `clock` are as in `Absence`, `wait_s` as in `Machines`, `pause_s` as in `Sdk`.
    """

    simulated = False
    billed = True
    settle_s = 0.0  # absence is waited for in GceLifecycle
    parts: tuple[str, ...] = (FIREWALL, INSTANCE)
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

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The machine types of a region (without one: of the environment's), none for an unknown region.

        Prices are unknown: the study or a catalogue gives them. Custom machine types can be asked for, and are in no
        list.
        """
        return self._catalog.offerings(region)

    def host(self, candidate: Candidate) -> str:
        """Every machine has its own."""
        return f"{self.name} {candidate.id}"

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

    async def create(self, request: CreateRequest) -> str:
        """The rules of a launch, or a machine with everything in the one call."""
        if request.kind == FIREWALL:
            return await self._create_firewall(request)
        if request.kind != INSTANCE:
            raise Refused.at(request.name, f"a {request.kind} is not made alone", "it comes with its machine")
        return await self._machines.create(request)

    async def _create_firewall(self, request: CreateRequest) -> str:
        await self._catalog.known_region(request.region)
        options = dict(request.options)
        # Machines are timed from their request on, firewalls are not: what is looked up once is looked up here.
        await self._catalog.warm(request.region, request.offering, options)
        if "allow" not in options:
            options["allow"] = await asyncio.to_thread(controller_address, self._sdk.endpoint())
            request = replace(request, options=tuple(sorted(options.items())))
        return await self._firewalls.create(request)

    async def find(self, study: str, token: str | None = None, *, region: str | None = None) -> tuple[Found, ...]:
        """Machines, disks that would stay, and rules of a study, by tag and by token."""
        return await listing.find(self._sdk, self._firewalls, study, token, region)

    async def leftovers(self) -> Listing:
        """Whatever bears our schema's tag in all zones."""
        return await listing.leftovers(self._sdk, self._firewalls)

    async def destroy(self, handle: Handle) -> None:
        """Ask for a machine, a disk or a launch's rules to be deleted; what has gone is no error."""
        await self._lifecycle.destroy(handle)

    async def gone(self, handle: Handle) -> str | None:
        """That it is not found after its deletion was accepted, or for long enough; one that stands still is there."""
        return await self._lifecycle.gone(handle)

    # -- machines

    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is; one that is not listed yet is pending."""
        return await self._lifecycle.look(handle)

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine."""
        return await self._lifecycle.zone(handle)

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None] = nothing) -> None:
        """Stop, change the type, start; raises Refused where the type does not allow it."""
        await self._lifecycle.resize(handle, offering, stopped)
