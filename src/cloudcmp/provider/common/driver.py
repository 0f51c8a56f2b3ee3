"""The base class of drivers for rented clouds, with machines behind a firewall of their launch."""

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


class HasOfferings(Protocol):
    """A cloud's catalog of offerings."""

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The machine types of a region."""


Client = TypeVar("Client", bound=SdkClient)
Catalog = TypeVar("Catalog", bound=HasOfferings)
Lifecycle = TypeVar("Lifecycle", bound=ResourceLifecycle)


class CloudDriver(ABC, Generic[Client, Catalog, Lifecycle]):
    """A rented cloud. `_part_hint` is the hint if a part is requested that only comes with its machine."""

    name: str
    simulated = False
    billed = True
    settle_s = 0.0  # the lifecycle waits for absence
    parts: tuple[str, ...] = (FIREWALL, INSTANCE)
    _part_hint = "it comes with its machine"
    _sdk: Client
    _catalog: Catalog
    _lifecycle: Lifecycle

    def _ready(self) -> None:
        """Raises UserMistake if the settings do not say which cloud is meant."""

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The machine types of a region (default: the settings'); none for an unknown region."""
        self._ready()
        return self._catalog.offerings(region)

    def host(self, candidate: Candidate) -> str:
        """A name of the candidate's own: rented machines share no host."""
        return f"{self.name} {candidate.id}"

    # -- leases

    async def create(self, request: CreateRequest) -> str:
        """Creates a launch's firewall with its rules, or a machine, with everything in one call."""
        self._ready()
        await self._check(request)
        if request.kind == FIREWALL:
            return await self._firewall(request)
        if request.kind != INSTANCE:
            raise Refused.at(request.name, f"a {request.kind} cannot be created alone", self._part_hint)
        return await self._create_machine(request)

    async def _firewall(self, request: CreateRequest) -> str:
        """Creates the firewall after fetching what machines need: a machine's time starts at its request."""
        await self._prefetch(request)
        options = dict(request.options)
        if "allow" not in options:
            options["allow"] = await self.controller()
            request = replace(request, options=tuple(sorted(options.items())))
        return await self._create_firewall(request)

    async def controller(self) -> str:
        """This machine's address as this cloud sees it, in CIDR form; raises Refused or Unreached."""
        self._ready()
        return await asyncio.to_thread(self._controller_address)

    def _controller_address(self) -> str:
        return controller_address(self._sdk.endpoint())

    @abstractmethod
    async def _check(self, request: CreateRequest) -> None:
        """Raises Refused for unavailable options, before anything is requested."""

    @abstractmethod
    async def _prefetch(self, request: CreateRequest) -> None:
        """Fetches what the launch's machines will need; ignores failures, which their own requests report."""

    @abstractmethod
    async def _create_firewall(self, request: CreateRequest) -> str: ...

    @abstractmethod
    async def _create_machine(self, request: CreateRequest) -> str: ...

    async def find(
        self, study: str, token: str | None = None, *, region: str | None = None
    ) -> tuple[TaggedResource, ...]:
        """Resources with a study's tag or the token, in one region or all; raises IncompleteListing."""
        self._ready()
        return await self._find(study, token, region)

    @abstractmethod
    async def _find(self, study: str, token: str | None, region: str | None) -> tuple[TaggedResource, ...]: ...

    async def admitted(self, firewall: Handle) -> Admission:
        """Whom a launch's firewall admits, by the rules that the cloud lists."""
        self._ready()
        return admission(await self._rules(firewall))

    @abstractmethod
    async def _rules(self, firewall: Handle) -> list[Rule]: ...

    # -- machines

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine; pending if it is not listed yet."""
        self._ready()
        return await self._lifecycle.look(handle)

    # -- the end

    async def destroy(self, handle: Handle) -> None:
        """Requests the deletion of a resource; deleting one that is gone is no error."""
        self._ready()
        await self._lifecycle.destroy(handle)

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a resource is gone, see the driver's lifecycle; stopped is not gone."""
        self._ready()
        return await self._lifecycle.gone(handle)
