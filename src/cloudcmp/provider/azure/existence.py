"""What becomes of groups, machines and disks: asked to go, and seen gone."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cloudcmp.errors import Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle
from cloudcmp.provider.azure.faults import missing
from cloudcmp.provider.azure.groups import Groups
from cloudcmp.provider.azure.machines import Machines
from cloudcmp.provider.azure.names import place_of
from cloudcmp.provider.azure.sdk import Sdk


@dataclass(slots=True)
class Existence:
    """`settle_s` is how long a resource must stay unseen to count as gone where no deletion of it was accepted.

    A deletion that finds nothing counts as accepted where the resource was seen before: an earlier one's answer was
    lost. Where it never was, it may only not be there yet.

    What was just made may not be found everywhere yet: R, Azure documents no bound. `clock` in seconds of any origin.
    """

    sdk: Sdk
    groups: Groups
    machines: Machines
    settle_s: float = 300.0
    clock: Callable[[], float] = time.monotonic
    _unseen: dict[str, float] = field(default_factory=dict)
    _deleted: set[str] = field(default_factory=set)
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
            self._deleted.add(_key(handle))

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
        key, now = _key(handle), self.clock()
        if await self._there(handle):
            self._unseen.pop(key, None)
            self._seen.add(key)
            return None
        since = self._unseen.setdefault(key, now)
        if key in self._deleted:
            return f"the deletion of {handle.cloud_id} was taken, and it is not found"
        if now > since and now - since >= self.settle_s:
            return f"{handle.cloud_id} is not found for {now - since:.0f} s"
        return None

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
