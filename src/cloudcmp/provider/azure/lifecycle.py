"""What becomes of groups, machines and disks: asked to go, and seen gone."""

from dataclasses import dataclass, field

from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.azure.groups import Groups
from cloudcmp.provider.azure.machines import Machines
from cloudcmp.provider.azure.names import place_of
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.lifecycle import THERE, ResourceLifecycle
from cloudcmp.provider.common.responses import unless_missing


@dataclass(slots=True)
class AzureLifecycle(ResourceLifecycle):
    """What becomes of the resources of one subscription.

    A deletion that finds nothing counts as accepted where the resource was seen before: an earlier one's answer was
    lost. Where it never was, it may only not be there yet.

    What was just made may not be found everywhere yet: R, Azure documents no bound.
    """

    sdk: Sdk
    groups: Groups
    machines: Machines
    absence: Absence
    _seen: set[str] = field(default_factory=set)

    async def destroy(self, handle: Handle) -> None:
        """Ask for a group with all in it, a machine or a disk to go; what has gone is no error."""
        if await self.request_deletion(handle) or self.key(handle) in self._seen:
            self.absence.accepted(self.key(handle))

    async def request_deletion(self, handle: Handle) -> bool:
        """Ask for a group with all in it, a machine or a disk to go; False where there was none."""
        place = place_of(handle.cloud_id)
        if handle.kind == FIREWALL:
            return await self.groups.destroy(place.group)
        if handle.kind == INSTANCE:
            return await self.machines.destroy(handle)
        call = self.sdk.change("compute", "disks", "begin_delete", place.group, place.name, again=True)
        reply = await unless_missing(call)
        return reply is not None and reply.status != 204

    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is; one that is not there yet is pending. Raises NoCapacity where there was no room for it."""
        return await self.machines.look(handle)

    async def state(self, handle: Handle) -> str | None:
        """THERE where it is found by its name. Deallocated and being deleted are there."""
        there = await self._there(handle)
        if there:
            self._seen.add(self.key(handle))
        return THERE if there else None

    async def _there(self, handle: Handle) -> bool:
        place = place_of(handle.cloud_id)
        if handle.kind == FIREWALL:
            return await self.groups.state(place.group) is not None
        if handle.kind == INSTANCE:
            return await self.machines.there(handle)
        return await unless_missing(self.sdk.read("compute", "disks", "get", place.group, place.name)) is not None

    def key(self, handle: Handle) -> str:
        """Its kind and id: ids are unique in all regions, in any case of letters."""
        return f"{handle.kind} {handle.cloud_id.lower()}"
