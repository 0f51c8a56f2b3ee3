"""The life of Azure groups, machines and disks: status, deletion, evidence of absence."""

from dataclasses import dataclass, field

from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.azure.groups import Groups
from cloudcmp.provider.azure.machines import Machines
from cloudcmp.provider.azure.names import place_of
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.lifecycle import PRESENT, ResourceLifecycle
from cloudcmp.provider.common.responses import none_if_missing


@dataclass(slots=True)
class AzureLifecycle(ResourceLifecycle):
    """The life of one subscription's resources.

    A deletion that finds nothing counts as accepted if the resource was seen before: an earlier response was lost. If
    it was never seen, it may not be visible yet (R: Azure documents no bound).
    """

    sdk: Sdk
    groups: Groups
    machines: Machines
    absence: Absence
    _seen: set[str] = field(default_factory=set)

    async def destroy(self, handle: Handle) -> None:
        """Requests the deletion of a group with its contents, a machine or a disk; a missing one is no error."""
        if await self.request_deletion(handle) or self.key(handle) in self._seen:
            self.absence.record_deletion(self.key(handle))

    async def request_deletion(self, handle: Handle) -> bool:
        """Requests the deletion of a group with its contents, a machine or a disk; False if there is none."""
        place = place_of(handle.cloud_id)
        if handle.kind == FIREWALL:
            return await self.groups.destroy(place.group)
        if handle.kind == INSTANCE:
            return await self.machines.destroy(handle)
        call = self.sdk.change("compute", "disks", "begin_delete", place.group, place.name, again=True)
        reply = await none_if_missing(call)
        return reply is not None and reply.status != 204

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine; pending if it is not listed yet. Raises NoCapacity if there was no room for it."""
        return await self.machines.look(handle)

    async def state(self, handle: Handle) -> str | None:
        """THERE if it is found by name, also while it is deallocated or being deleted."""
        exists = await self._exists(handle)
        if exists:
            self._seen.add(self.key(handle))
        return PRESENT if exists else None

    async def _exists(self, handle: Handle) -> bool:
        place = place_of(handle.cloud_id)
        if handle.kind == FIREWALL:
            return await self.groups.state(place.group) is not None
        if handle.kind == INSTANCE:
            return await self.machines.exists(handle)
        return await none_if_missing(self.sdk.read("compute", "disks", "get", place.group, place.name)) is not None

    def key(self, handle: Handle) -> str:
        """Its kind and id: ids are unique across regions and ignore case."""
        return f"{handle.kind} {handle.cloud_id.lower()}"
