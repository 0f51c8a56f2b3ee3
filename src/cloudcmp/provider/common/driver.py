"""What the providers of rented clouds have in common: machines behind a firewall of their launch's own."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from cloudcmp.errors import Refused
from cloudcmp.model.firewall import Admission
from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Handle, TaggedResource
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.common.address import controller_address
from cloudcmp.provider.common.firewall_rules import Rule, admission
from cloudcmp.provider.common.lifecycle import ResourceLifecycle
from cloudcmp.provider.common.sdk_client import SdkClient


class SellsOfferings(Protocol):
    """What a cloud sells."""

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The machine types of a region."""
        ...


Client = TypeVar("Client", bound=SdkClient)
Catalog = TypeVar("Catalog", bound=SellsOfferings)
Lifecycle = TypeVar("Lifecycle", bound=ResourceLifecycle)


class CloudDriver(ABC, Generic[Client, Catalog, Lifecycle]):
    """A rented cloud. `_alone` is what to do about a request for a part that comes with its machine only."""

    name: str
    simulated = False
    billed = True
    settle_s = 0.0  # absence is waited for by the lifecycle
    parts: tuple[str, ...] = (FIREWALL, INSTANCE)
    _alone = "it comes with its machine"
    _sdk: Client
    _catalog: Catalog
    _lifecycle: Lifecycle

    def _ready(self) -> None:
        """Raises UserMistake where the settings do not say which cloud is meant."""

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The machine types of a region (without one: of the settings' own), none for an unknown region.

        The price of a type is unknown unless the cloud itself says it.
        """
        self._ready()
        return self._catalog.offerings(region)

    def host(self, candidate: Candidate) -> str:
        """Every machine has its own."""
        return f"{self.name} {candidate.id}"

    # -- leases

    async def create(self, request: CreateRequest) -> str:
        """A launch's firewall with its rules, or a machine with everything in the one call."""
        self._ready()
        await self._check(request)
        if request.kind == FIREWALL:
            return await self._firewall(request)
        if request.kind != INSTANCE:
            raise Refused.at(request.name, f"a {request.kind} is not made alone", self._alone)
        return await self._create_machine(request)

    async def _firewall(self, request: CreateRequest) -> str:
        """Machines are timed from their request on, firewalls are not: what is looked up once is looked up here."""
        await self._warm(request)
        options = dict(request.options)
        if "allow" not in options:
            options["allow"] = await asyncio.to_thread(self._controller_address)
            request = replace(request, options=tuple(sorted(options.items())))
        return await self._create_firewall(request)

    def _controller_address(self) -> str:
        return controller_address(self._sdk.endpoint())

    @abstractmethod
    async def _check(self, request: CreateRequest) -> None:
        """Raises Refused for what cannot be had, before anything is asked for."""

    @abstractmethod
    async def _warm(self, request: CreateRequest) -> None:
        """Look up what the launch's machines will need. What fails is looked up again by their own requests."""

    @abstractmethod
    async def _create_firewall(self, request: CreateRequest) -> str: ...

    @abstractmethod
    async def _create_machine(self, request: CreateRequest) -> str: ...

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """What bears a study's tag, and what was made with the token, in one region or all; IncompleteListing."""
        self._ready()
        return await self._find(study, token, region)

    @abstractmethod
    async def _find(self, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]: ...

    async def admitted(self, firewall: Handle) -> Admission:
        """Whom a launch's firewall admits, by the rules that the cloud holds."""
        self._ready()
        return admission(await self._rules(firewall))

    @abstractmethod
    async def _rules(self, firewall: Handle) -> list[Rule]: ...

    # -- machines

    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is; one that is not listed yet is pending."""
        self._ready()
        return await self._lifecycle.look(handle)

    # -- the end

    async def destroy(self, handle: Handle) -> None:
        """Ask for a resource to be deleted; one that is gone is no error."""
        self._ready()
        await self._lifecycle.destroy(handle)

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a resource is gone, see the driver's lifecycle; stopped is not gone."""
        self._ready()
        return await self._lifecycle.gone(handle)
