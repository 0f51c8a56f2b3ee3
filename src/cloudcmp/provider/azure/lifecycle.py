"""What becomes of groups, machines and disks: asked to go, and seen gone."""

from dataclasses import dataclass, field

from cloudcmp.errors import Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle
from cloudcmp.provider.azure.faults import missing
from cloudcmp.provider.azure.groups import Groups
from cloudcmp.provider.azure.machines import Machines
from cloudcmp.provider.azure.names import place_of
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.absence import Absence


@dataclass(slots=True)
class ResourceLifecycle:
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
        if handle.kind == FIREWALL:
            accepted = await self.groups.destroy(place_of(handle.cloud_id).group)
        elif handle.kind == INSTANCE:
            accepted = await self.machines.destroy(handle)
        else:
            accepted = await self._delete_disk(handle)
        if accepted or _key(handle) in self._seen:
            self.absence.accepted(_key(handle))

    async def _delete_disk(self, handle: Handle) -> bool:
        place = place_of(handle.cloud_id)
        try:
            reply = await self.sdk.change("compute", "disks", "begin_delete", place.group, place.name, again=True)
        except Refused as fault:
            if missing(fault):
                return False
            raise
        return reply.status != 204

    async def gone(self, handle: Handle) -> str | None:
        """That it is not found by its name: at once where its deletion was taken, else after long enough.

        Stopped is not gone, deallocated neither, and what is being deleted is there.
        """
        key = _key(handle)
        if await self._there(handle):
            self.absence.shown(key)
            self._seen.add(key)
            return None
        return self.absence.unseen(key, handle.cloud_id)

    async def _there(self, handle: Handle) -> bool:
        if handle.kind == FIREWALL:
            return await self.groups.state(place_of(handle.cloud_id).group) is not None
        if handle.kind == INSTANCE:
            return await self.machines.there(handle)
        place = place_of(handle.cloud_id)
        try:
            await self.sdk.read("compute", "disks", "get", place.group, place.name)
        except Refused as fault:
            if missing(fault):
                return False
            raise
        return True


def _key(handle: Handle) -> str:
    return f"{handle.kind} {handle.cloud_id.lower()}"
