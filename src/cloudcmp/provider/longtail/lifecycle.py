"""The life of long-tail machines, firewalls and tags: status, deletion, evidence of absence."""

from contextlib import suppress
from dataclasses import dataclass, field

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.lifecycle import PRESENT, ResourceLifecycle
from cloudcmp.provider.common.responses import none_if_missing
from cloudcmp.provider.longtail import labels, listing
from cloudcmp.provider.longtail.dialect import Api, ListedResource, delete_tags


@dataclass(slots=True)
class LongTailLifecycle(ResourceLifecycle):
    """The life of one cloud's resources.

    These clouds do not list destroyed machines. A new resource may be missing at first, for an undocumented time, so it
    is gone only if neither its id nor a complete list shows it.
    """

    api: Api
    absence: Absence
    _started: set[str] = field(default_factory=set)
    _new: set[str] = field(default_factory=set)
    _machine_tags: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def record_new(self, id: str) -> None:
        """Records that a machine is new: until it has run once, being off does not mean that it was stopped."""
        self._new.add(id)

    async def request_deletion(self, handle: Handle) -> bool:
        """Requests the deletion of a resource; False if there was none."""
        if handle.kind == FIREWALL:
            return await self.api.cloud.dialect.delete_firewall(self.api, handle.cloud_id)
        if handle.kind == listing.TAG:
            return await self._delete_tag(handle.cloud_id)
        return await self._end(handle.cloud_id)

    async def _end(self, id: str) -> bool:
        """Deletes a machine; remembers its tags first, if they outlive it."""
        if self.api.cloud.dialect.tags and id not in self._machine_tags:
            response = await self._machine(id)
            if response is not None:
                self._machine_tags[id] = tuple(tag for tag in response.tags if labels.has_prefix(tag, labels.MACHINE))
        return await self.api.delete(self._path(id))

    async def _delete_tag(self, tag: str) -> bool:
        """Deletes an unused tag; raises Refused if a resource has it."""
        path = self.api.cloud.dialect.tags
        if not path:
            return False
        known = {str(response["name"]): response for response in await self.api.all(*path)}
        if tag in known and tag not in {item.id for item in await listing.idle_tags(self.api)}:
            raise Refused.at(tag, "a resource has this tag", "delete it first")
        return await delete_tags(self.api, [tag])

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that neither its id nor a complete list shows it, see `Absence`; then deletes its tags."""
        why = await ResourceLifecycle.gone(self, handle)
        if why is not None:
            await self._delete_machine_tags(handle)
        return why

    async def state(self, handle: Handle) -> str | None:
        """THERE while its id or a list shows it."""
        return PRESENT if await self._exists(handle) else None

    def key(self, handle: Handle) -> tuple[str, str]:
        """Its kind and id: lists are of all regions."""
        return handle.kind, handle.cloud_id

    async def _exists(self, handle: Handle) -> bool:
        if handle.kind == FIREWALL:
            return any(item.id == handle.cloud_id for item in await listing.firewalls(self.api))
        if handle.kind == listing.TAG:
            path = self.api.cloud.dialect.tags
            return path is not None and any(
                response.get("name") == handle.cloud_id for response in await self.api.all(*path)
            )
        if await self._machine(handle.cloud_id) is not None:
            return True
        return any(item.id == handle.cloud_id for item in await listing.machines(self.api))

    async def _delete_machine_tags(self, handle: Handle) -> None:
        """Deletes the tags of a machine that is gone; a failure leaves them as idle tags."""
        if handle.kind == INSTANCE:
            with suppress(ProviderFault):  # the machine is gone even if this fails
                await delete_tags(self.api, self._machine_tags.pop(handle.cloud_id, ()))

    async def _machine(self, id: str) -> ListedResource | None:
        """A machine by its id, None if there is none."""
        dialect = self.api.cloud.dialect
        reply = await none_if_missing(self.api.read(self._path(id)))
        if reply is None:
            return None
        body = reply.body
        one = body.get(*dialect.machine_key) if dialect.machine_key else body
        return dialect.machine(one) if isinstance(one, dict) and one.get("id") else None

    def _path(self, id: str) -> str:
        return f"{self.api.cloud.dialect.machines[0]}/{id}"

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine; pending if it is not listed yet."""
        response = await self._machine(handle.cloud_id)
        if response is None:
            return MachineStatus("pending", why="it is not listed yet")
        state, why = response.state, response.status
        if state == "running":
            self._started.add(handle.cloud_id)
        elif state == "stopped" and handle.cloud_id in self._new - self._started:
            state, why = "pending", f"{response.status}, and never seen running"
        # These clouds do not preempt machines.
        return MachineStatus(
            state, response.public or response.inside, peer_address=response.inside or response.public, why=why
        )
