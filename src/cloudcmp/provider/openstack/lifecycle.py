"""The life of OpenStack machines, volumes, addresses and groups: status, deletion, evidence of absence."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import IncompleteListing, ProviderFault, Refused
from cloudcmp.model.lease import ADDRESS, FIREWALL, INSTANCE, VOLUME, Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.lifecycle import PRESENT, ResourceLifecycle
from cloudcmp.provider.common.responses import none_if_missing
from cloudcmp.provider.openstack.faults import scarcity_fault
from cloudcmp.provider.openstack.firewalls import Firewalls
from cloudcmp.provider.openstack.floating_addresses import FloatingAddresses
from cloudcmp.provider.openstack.launch import SERVER, TOKEN
from cloudcmp.provider.openstack.listing import volumes
from cloudcmp.provider.openstack.networks import Network
from cloudcmp.provider.openstack.sdk import BLOCKS, COMPUTE, NETWORK, Sdk
from cloudcmp.provider.openstack.tags import Mark

_RUNNING = {"ACTIVE", "PASSWORD", "VERIFY_RESIZE"}
_STOPPED = {"SHUTOFF", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED", "RESCUE"}
_GONE = {"DELETED"}
_SOFT_DELETED = "SOFT_DELETED"
_PATHS = {VOLUME: (BLOCKS, "/volumes/{}"), INSTANCE: (COMPUTE, "/servers/{}"), ADDRESS: (NETWORK, "/floatingips/{}")}
Response = dict[str, Any]


@dataclass(slots=True)
class NovaLifecycle(ResourceLifecycle):
    """The life of one cloud's resources; `networks` maps this process's tokens to their machines' networks."""

    sdk: Sdk
    firewalls: Firewalls
    floatings: FloatingAddresses
    absence: Absence
    networks: dict[str, Network] = field(default_factory=dict)
    _deleted: set[str] = field(default_factory=set)
    _addresses: dict[str, str] = field(default_factory=dict)

    # -- ends

    async def destroy(self, handle: Handle) -> None:
        """Requests the deletion of a machine with its parts, a volume, an address or a group; idempotent."""
        if handle.kind == INSTANCE:
            await self._end(handle.region, handle.cloud_id)
        else:
            await ResourceLifecycle.destroy(self, handle)

    async def request_deletion(self, handle: Handle) -> bool:
        """Requests the deletion of one resource; False if there was none."""
        if handle.kind == FIREWALL:
            return await self.firewalls.destroy(handle.region, handle.cloud_id)
        service, path = _PATHS[handle.kind]
        return await self.sdk.delete(handle.region, service, path.format(handle.cloud_id))

    async def _end(self, region: str, id: str) -> None:
        """Deletes the machine first, since it costs most; then its addresses, and its volumes if they outlive it."""
        self._deleted.add(id)
        response = await self.describe(region, id)
        if response is not None:
            await self._mark_volumes(region, id, response)
            if response.get("status") == _SOFT_DELETED:
                action = ("POST", f"/servers/{id}/action", {"forceDelete": None})
                await self.sdk.change(region, COMPUTE, *action, again=True)
                self.absence.record_deletion((region, id))
            else:
                await ResourceLifecycle.destroy(self, Handle(INSTANCE, region, id))
        for one in await self.floatings.of_server(region, id):
            await self.floatings.release(region, one.id)
        if response is None:
            for volume in await self._marked_volumes(region, id):
                if volume.get("status") != "deleting":
                    await ResourceLifecycle.destroy(self, Handle(VOLUME, region, str(volume["id"])))

    async def _mark_volumes(self, region: str, id: str, response: Response) -> None:
        """Marks a machine's volumes, which Nova creates without our tags and may fail to delete; ignores failures."""
        attached = response.get("os-extended-volumes:volumes_attached") or ()
        metadata = {**(response.get("metadata") or {}), SERVER: id}
        for one in attached:
            if one.get("delete_on_termination", True) and "cloudcmp:schema" in metadata:
                with suppress(ProviderFault):
                    path = f"/volumes/{one['id']}/metadata"
                    await self.sdk.change(region, BLOCKS, "POST", path, {"metadata": metadata}, again=True)

    async def _marked_volumes(self, region: str, id: str) -> list[Response]:
        """The volumes that were marked for a machine and are attached to none."""
        if not await self.sdk.has(region, BLOCKS):
            return []
        marked = [one for one in await volumes(self.sdk, region) if (one.get("metadata") or {}).get(SERVER) == id]
        return [one for one in marked if one.get("status") != "deleted"]

    async def state(self, handle: Handle) -> str | None:
        """THERE while it or a part of it is listed, also if stopped or soft-deleted."""
        return PRESENT if await self._exists(handle) else None

    async def _exists(self, handle: Handle) -> bool:
        region, id = handle.region, handle.cloud_id
        if handle.kind == FIREWALL:
            return await self.firewalls.exists(region, id)
        if handle.kind != INSTANCE:
            return await self._read(handle) is not None
        if await self.describe(region, id) is not None:
            return True
        return bool(await self.floatings.of_server(region, id)) or bool(await self._marked_volumes(region, id))

    async def _read(self, handle: Handle) -> Response | None:
        service, path = _PATHS[handle.kind]
        response = await none_if_missing(self.sdk.read(handle.region, service, path.format(handle.cloud_id)))
        if response is None:
            return None
        return next((one for one in response.values() if isinstance(one, dict)), response)

    async def describe(self, region: str, id: str) -> Response | None:
        """Nova's description of a machine, None if there is none."""
        response = await self._read(Handle(INSTANCE, region, id))
        return None if response is not None and response.get("status") in _GONE else response

    # -- machines

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine; pending if it is not listed yet.

        Gives a running machine of this process its floating address, if it needs one. Raises NoCapacity or QuotaReached
        for a machine that failed because of that: Nova reports it only then.
        """
        region, id = handle.region, handle.cloud_id
        response = await self.describe(region, id)
        if response is None:
            return MachineStatus("pending", why="it is not listed yet")
        status, why = (
            str(response.get("status") or ""),
            one_line(str((response.get("fault") or {}).get("message") or "")),
        )
        if status == "ERROR":
            fault = scarcity_fault(why, why, f"{self.sdk.name}/{region}")
            if fault is not None:
                raise fault
            return MachineStatus("stopped", why=why or "it is in the state ERROR", taken=False)
        if status in _STOPPED or status == _SOFT_DELETED:
            return MachineStatus("stopped", why=f"Nova says {status}", taken=False)
        fixed, floating = _addresses(response)
        if status not in _RUNNING:
            return MachineStatus("pending", peer_address=fixed, why=why)
        network = self.networks.get(str((response.get("metadata") or {}).get(TOKEN)))
        if network is not None and network.floating is not None:
            floating = await self._floating_address(region, id, response, network)
            return MachineStatus("running", floating, peer_address=fixed, why=why, taken=False)
        return MachineStatus("running", floating or fixed, peer_address=fixed, why=why, taken=False)

    async def _floating_address(self, region: str, id: str, response: Response, network: Network) -> str | None:
        """The floating address of a machine of this process; None until it has one, or if it is being deleted."""
        if id in self._addresses or id in self._deleted:
            return self._addresses.get(id)
        metadata = {str(key): str(value) for key, value in response["metadata"].items()}
        mark = Mark(metadata.pop(TOKEN), tuple(sorted(metadata.items())), id)
        address = await self.floatings.ensure(region, id, mark, network)
        if address:
            self._addresses[id] = address
        return address

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine, None while it is unknown."""
        response = await self.describe(handle.region, handle.cloud_id) or {}
        return response.get("OS-EXT-AZ:availability_zone") or None


def _addresses(response: Response) -> tuple[str | None, str | None]:
    """A machine's fixed address, IPv4 if it has one, and its floating address as Nova reports it."""
    addresses = [one for some in (response.get("addresses") or {}).values() for one in some]
    in_order = sorted(addresses, key=lambda one: one.get("version") != 4)
    kinds = {"fixed": "", "floating": ""}
    for one in reversed(in_order):
        kinds[str(one.get("OS-EXT-IPS:type") or "fixed")] = str(one.get("addr") or "")
    return kinds["fixed"] or None, kinds["floating"] or None


# Nova stops, moves and starts a machine to resize it, and waits for a confirmation.
# https://docs.openstack.org/api-ref/compute/#resize-server-resize-action
_RESIZE_S = 900.0
_START_S = 60.0  # how long Nova may report ACTIVE after accepting a resize
_RESIZED = "VERIFY_RESIZE"


@dataclass(frozen=True, slots=True)
class Resize:
    """Resizes of one cloud's machines; `pause_s` is the poll interval, `clock` is in seconds of any origin."""

    lifecycle: NovaLifecycle
    pause_s: float = 2.0
    clock: Callable[[], float] = time.monotonic

    async def resize(self, handle: Handle, flavor: str, stopped: Callable[[], None]) -> None:
        """Requests another flavor, waits for it, and confirms; calls `stopped` once Nova has begun.

        Before the confirmation the machine runs already, and keeps its old place as well. Raises NoCapacity if no host
        has room, Refused if the flavor does not fit: then the machine is unchanged.
        """
        await self._post_action(handle, {"resize": {"flavorRef": flavor}})
        stopped()
        began, moving = self.lifecycle.absence.clock(), False
        while True:
            response = await self._describe(handle)
            status = str(response.get("status") or "")
            if status == _RESIZED:
                break
            moving |= status == "RESIZE"
            self._check(handle, response, moving, self.lifecycle.absence.clock() - began)
            await asyncio.sleep(self.pause_s)
        await self._post_action(handle, {"confirmResize": None})
        while (await self._describe(handle)).get("status") == _RESIZED:
            if self.lifecycle.absence.clock() - began > _RESIZE_S:
                raise ProviderFault.at(handle.cloud_id, "its resize is confirmed and does not end", "see Nova")
            await asyncio.sleep(self.pause_s)

    def _check(self, handle: Handle, response: dict[str, Any], moving: bool, waited_s: float) -> None:
        """Raises the reason why a resize failed."""
        status, why = (
            str(response.get("status") or ""),
            one_line(str((response.get("fault") or {}).get("message") or "")),
        )
        failed = status == "ERROR" or (status in {"ACTIVE", "SHUTOFF"} and (moving or waited_s > _START_S))
        if failed:
            what = why or f"it was not resized, and is {status}"
            fault = scarcity_fault(what, what, handle.cloud_id)
            raise fault or ProviderFault.at(handle.cloud_id, what, "take another type, or resize less")
        if waited_s > _RESIZE_S:
            what = f"it is not resized after {_RESIZE_S:g} s"
            raise ProviderFault.at(handle.cloud_id, what, "see the provider's console")

    async def _post_action(self, handle: Handle, body: dict[str, Any]) -> None:
        sdk, path = self.lifecycle.sdk, f"/servers/{handle.cloud_id}/action"
        await sdk.change(handle.region, COMPUTE, "POST", path, body)

    async def _describe(self, handle: Handle) -> dict[str, Any]:
        try:
            response = await self.lifecycle.describe(handle.region, handle.cloud_id)
        except IncompleteListing:
            return {}
        if response is None:
            raise Refused.at(handle.cloud_id, "there is no such machine any more", "launch it again")
        return response
