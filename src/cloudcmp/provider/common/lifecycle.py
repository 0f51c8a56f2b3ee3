"""The life of a rented resource: status, deletion request, evidence of absence."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable

from cloudcmp.errors import ProviderFault
from cloudcmp.model.lease import Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.common.absence import Absence

PRESENT = "there"
"""The state of a listed resource if its exact state does not matter."""


class ResourceLifecycle(ABC):
    """The life of one cloud's resources."""

    __slots__ = ()
    absence: Absence
    ended_states: frozenset[str] = frozenset()
    """States that a cloud lists for a while after a resource's end."""

    async def destroy(self, handle: Handle) -> None:
        """Requests the deletion of a resource; deleting one that is gone is no error."""
        if await self.request_deletion(handle):
            self.absence.record_deletion(self.key(handle))

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a resource is gone, None while there is none: see `Absence`. Stopped is not gone."""
        key, state = self.key(handle), await self.state(handle)
        if state is None:
            return self.absence.evidence(key, handle.cloud_id) or await self.evidence_of_end(handle)
        self.absence.record_presence(key)
        return f"{handle.cloud_id} is {state}" if state in self.ended_states else None

    async def evidence_of_end(self, handle: Handle) -> str | None:  # noqa: ARG002
        """Evidence besides absence that an unlisted resource has ended, None if there is none."""
        return None

    def key(self, handle: Handle) -> Hashable:
        """Identifies a resource within the cloud."""
        return handle.region, handle.cloud_id

    @abstractmethod
    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine; pending if it is not listed yet."""

    @abstractmethod
    async def request_deletion(self, handle: Handle) -> bool:
        """Requests the deletion of a resource; True if the cloud accepted, False if there was none."""

    @abstractmethod
    async def state(self, handle: Handle) -> str | None:
        """The state that the cloud lists, None if it lists no such resource; raises IncompleteListing if unclear."""


async def wait_until(
    look: Callable[[], Awaitable[bool]],
    where: str,
    what: str,
    within_s: float,
    pause: Callable[[], Awaitable[None]],
    clock: Callable[[], float],
) -> None:
    """Polls until `look` is true; raises ProviderFault with `what` after `within_s`."""
    until = clock() + within_s
    while not await look():
        if clock() > until:
            raise ProviderFault.at(where, f"{what} after {within_s:g} s", "see the provider's console")
        await pause()


def sleeper(pause_s: float) -> Callable[[], Awaitable[None]]:
    """A pause of `pause_s` seconds."""
    return lambda: asyncio.sleep(pause_s)
