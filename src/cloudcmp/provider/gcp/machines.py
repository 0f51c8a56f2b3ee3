"""Creates machines: one insert for each zone until one has room, and never two machines."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cloudcmp import errors
from cloudcmp.model.lease import INSTANCE, CreateRequest
from cloudcmp.provider.common.responses import SEARCH_NOTICE, none_if_missing
from cloudcmp.provider.gcp.catalog import OfferingCatalog
from cloudcmp.provider.gcp.faults import operation_fault
from cloudcmp.provider.gcp.launch import machine_of
from cloudcmp.provider.gcp.listing import machines_of
from cloudcmp.provider.gcp.operations import Operations, is_done
from cloudcmp.provider.gcp.sdk import Sdk
from cloudcmp.provider.gcp.tags import ITEM, parse_text, request_id

_STARTED = {
    "STAGING",
    "RUNNING",
}  # what a machine takes is acquired: https://cloud.google.com/compute/docs/instances/instance-life-cycle
_INCONCLUSIVE = (errors.Throttled, errors.IncompleteListing, errors.Unreached)
_NEW_S = 60.0
_ATTEMPTS = 10


@dataclass(slots=True)
class Machines:
    """Creates the machines of one project. `wait_s` is the longest wait for a zone's decision."""

    sdk: Sdk
    catalog: OfferingCatalog
    operations: Operations
    wait_s: float = 120.0
    clock: Callable[[], float] = time.monotonic
    refresh: Callable[[], float] = time.time
    _created: dict[str, str] = field(default_factory=dict)
    _failures: dict[tuple[str, str], int] = field(default_factory=dict)

    async def create(self, request: CreateRequest) -> str:
        """Creates a machine and returns its id, `ZONE/NAME`.

        Tries the next zone only if this one surely created nothing: it reports no room and lists no such machine. Any
        other response ends the search, so that a machine that may exist is looked for. Raises NoCapacity if no zone has
        room, and the kinds of ProviderFault.
        """
        earlier = await self._find_earlier(request)
        if earlier is not None:
            return earlier
        options = dict(request.options)
        zones = await self.catalog.zones_for(request.region, request.offering, options, request.seed)
        image = await self.catalog.image_for(zones[0], request.offering, options)
        last: errors.NoCapacity | None = None
        for zone in zones:
            body = machine_of(request, zone, image, self.sdk.ahead_s)
            try:
                self._created[request.token] = await self._insert(request, zone, body)
                return self._created[request.token]
            except errors.NoCapacity as fault:
                last = fault
        assert last is not None  # there is a zone
        where = f"{self.sdk.name}/{request.region}"
        raise errors.NoCapacity.at(where, f"{', '.join(zones)}: {last.faults[0].what}", last.faults[0].next)

    async def _find_earlier(self, request: CreateRequest) -> str | None:
        """The machine of an earlier call with the token; lists nothing for a new request, whose time is measured."""
        known = self._created.get(request.token)
        if known is None and abs(self.refresh() - request.at) < _NEW_S:
            return None
        machines = await machines_of(self.sdk, request.region, request.token)
        return machines[0].cloud_id if machines else None

    async def _insert(self, request: CreateRequest, zone: str, body: dict[str, Any]) -> str:
        id, key = f"{zone}/{request.name}", (request.token, zone)
        try:
            operation = await self.sdk.change(
                "instances",
                "insert_unary",
                zone=zone,
                instance_resource=body,
                request_id=request_id(*key, self._failures.get(key, 0)),
            )
        except errors.Refused as fault:
            if fault.is_refusal(errors.RefusalKind.EXISTS) and await self._is_ours(request, zone):
                return id
            raise
        try:
            await self._wait_for_start(request, zone, operation)
        except errors.NOTHING_MADE:
            self._failures[key] = self._failures.get(key, 0) + 1
            raise
        return id

    async def _is_ours(self, request: CreateRequest, zone: str) -> bool:
        """True if the existing machine of this name was created by this request."""
        response = await self._get(request, zone)
        items = [] if response is None else response.metadata.items
        text = next((str(one.value) for one in items if one.key == ITEM), "")
        return (parse_text(text) or {}).get("token") == request.token

    async def _get(self, request: CreateRequest, zone: str) -> Any:
        return await none_if_missing(self.sdk.read("instances", "get", zone=zone, instance=request.name))

    async def _wait_for_start(self, request: CreateRequest, zone: str, operation: Any) -> None:
        """Waits until the machine starts, or its operation fails, which raises; undecided in time counts as created."""
        until, current = self.clock() + self.wait_s, operation
        while self.clock() <= until:
            if is_done(current):
                fault = operation_fault(current, f"{self.sdk.name}/{zone}")
                if fault is not None:
                    raise await self._confirm(request, zone, fault)
                return
            try:
                response = await self._get(request, zone)
                if response is not None and str(response.status) in _STARTED:
                    return
                current = await self.operations.refresh(operation, zone)
            except _INCONCLUSIVE:
                pass
            if not is_done(current):
                await asyncio.sleep(self.sdk.pause_s)

    async def _confirm(self, request: CreateRequest, zone: str, fault: errors.ProviderFault) -> errors.ProviderFault:
        """The fault of a failed operation if no such machine is listed, else one that says that it may exist."""
        if not isinstance(fault, errors.NOTHING_MADE):
            return fault
        what = f"{fault.faults[0].what}; yet the machine is listed"
        for left in reversed(range(_ATTEMPTS)):
            try:
                if await self._get(request, zone) is None:
                    return fault
            except _INCONCLUSIVE as error:
                what = f"{fault.faults[0].what}; and whether there is such a machine is unknown: {error}"
            if left:
                await asyncio.sleep(self.sdk.pause_s)
        return errors.ProviderFault.at(f"{INSTANCE} {request.name}", what, SEARCH_NOTICE)
