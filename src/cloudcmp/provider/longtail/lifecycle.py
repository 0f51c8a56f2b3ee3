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
from cloudcmp.provider.longtail.dialect import Api, Seen, delete_words


@dataclass(slots=True)
class LongTailLifecycle(ResourceLifecycle):
    """The life of one cloud's resources.

    These clouds do not list destroyed machines. A new resource may be missing at first, for an undocumented time, so it
    is gone only if neither its id nor a complete list shows it.
    """

    api: Api
    absence: Absence
    _ran: set[str] = field(default_factory=set)
    _made: set[str] = field(default_factory=set)
    _borne: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def made(self, id: str) -> None:
        """Records that a machine is new: until it has run once, being off does not mean that it was stopped."""
        self._made.add(id)

    async def request_deletion(self, handle: Handle) -> bool:
        """Requests the deletion of a resource; False if there was none."""
        if handle.kind == FIREWALL:
            return await self.api.cloud.dialect.delete_firewall(self.api, handle.cloud_id)
        if handle.kind == listing.TAG:
            return await self._delete_tag(handle.cloud_id)
        return await self._end(handle.cloud_id)

    async def _end(self, id: str) -> bool:
        """Deletes a machine; remembers its tags first, if they outlive it."""
        if self.api.cloud.dialect.tags and id not in self._borne:
            response = await self._machine(id)
            if response is not None:
                self._borne[id] = tuple(word for word in response.words if labels.of(word, labels.MACHINE))
        return await self.api.delete(self._path(id))

    async def _delete_tag(self, word: str) -> bool:
        """Deletes an unused tag; raises Refused if a resource has it."""
        path = self.api.cloud.dialect.tags
        if not path:
            return False
        known = {str(response["name"]): response for response in await self.api.all(*path)}
        if word in known and word not in {item.id for item in await listing.idle_tags(self.api)}:
            raise Refused.at(word, "something bears this tag", "end that first")
        return await delete_words(self.api, [word])

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that neither its id nor a complete list shows it, see `Absence`; then deletes its tags."""
        why = await ResourceLifecycle.gone(self, handle)
        if why is not None:
            await self._tidy(handle)
        return why

    async def state(self, handle: Handle) -> str | None:
        """THERE while its id or a list shows it."""
        return PRESENT if await self._there(handle) else None

    def key(self, handle: Handle) -> tuple[str, str]:
        """Its kind and id: lists are of all regions."""
        return handle.kind, handle.cloud_id

    async def _there(self, handle: Handle) -> bool:
        if handle.kind == FIREWALL:
            return any(item.id == handle.cloud_id for item in await listing.walls(self.api))
        if handle.kind == listing.TAG:
            path = self.api.cloud.dialect.tags
            return path is not None and any(
                response.get("name") == handle.cloud_id for response in await self.api.all(*path)
            )
        if await self._machine(handle.cloud_id) is not None:
            return True
        return any(item.id == handle.cloud_id for item in await listing.machines(self.api))

    async def _tidy(self, handle: Handle) -> None:
        """Deletes the tags of a machine that is gone; a failure leaves them as idle tags."""
        if handle.kind == INSTANCE:
            with suppress(ProviderFault):  # the machine is gone even if this fails
                await delete_words(self.api, self._borne.pop(handle.cloud_id, ()))

    async def _machine(self, id: str) -> Seen | None:
        """A machine by its id, None if there is none."""
        dialect = self.api.cloud.dialect
        answer = await none_if_missing(self.api.read(self._path(id)))
        if answer is None:
            return None
        response = answer.body
        one = response.get(*dialect.machine_key) if dialect.machine_key else response
        return dialect.machine(one) if isinstance(one, dict) and one.get("id") else None

    def _path(self, id: str) -> str:
        return f"{self.api.cloud.dialect.machines[0]}/{id}"

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine; pending if it is not listed yet."""
        response = await self._machine(handle.cloud_id)
        if response is None:
            return MachineStatus("pending", why="it is not listed yet")
        state, why = response.state, response.word
        if state == "running":
            self._ran.add(handle.cloud_id)
        elif state == "stopped" and handle.cloud_id in self._made - self._ran:
            state, why = "pending", f"{response.word}, and never seen running"
        # These clouds do not preempt machines.
        return MachineStatus(
            state, response.public or response.inside, peer_address=response.inside or response.public, why=why
        )
