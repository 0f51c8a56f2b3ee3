"""The life of a rented resource: its deletion is asked for, and it is seen gone."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable

from cloudcmp.errors import ProviderFault
from cloudcmp.model.lease import Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.common.absence import Absence

THERE = "there"
"""The state of what is shown, where no other one matters."""


class ResourceLifecycle(ABC):
    """What becomes of the resources of one cloud."""

    __slots__ = ()
    absence: Absence
    ended_states: frozenset[str] = frozenset()
    """States of what is shown for a while after its end."""

    async def destroy(self, handle: Handle) -> None:
        """Ask for a resource to be deleted; one that is gone is no error."""
        if await self.request_deletion(handle):
            self.absence.accepted(self.key(handle))

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a resource is gone, None while there is none: see `Absence`. Stopped is not gone."""
        key, state = self.key(handle), await self.state(handle)
        if state is None:
            return self.absence.unseen(key, handle.cloud_id) or await self.evidence_of_end(handle)
        self.absence.shown(key)
        return f"{handle.cloud_id} is {state}" if state in self.ended_states else None

    async def evidence_of_end(self, handle: Handle) -> str | None:  # noqa: ARG002
        """What else than absence says that a resource which is not shown has ended; None for nothing."""
        return None

    def key(self, handle: Handle) -> Hashable:
        """Tells resources of the cloud apart."""
        return handle.region, handle.cloud_id

    @abstractmethod
    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is; one that is not listed yet is pending."""

    @abstractmethod
    async def request_deletion(self, handle: Handle) -> bool:
        """Ask for a resource to be deleted; True if the cloud accepted that, False if there was none."""

    @abstractmethod
    async def state(self, handle: Handle) -> str | None:
        """The state that the cloud shows, None where it shows no such resource; raises IncompleteListing if unclear."""


async def wait_until(
    look: Callable[[], Awaitable[bool]],
    where: str,
    what: str,
    within_s: float,
    pause: Callable[[], Awaitable[None]],
    clock: Callable[[], float],
) -> None:
    """Look again and again until it is so; raises ProviderFault, which says `what` is not so, after `within_s`."""
    until = clock() + within_s
    while not await look():
        if clock() > until:
            raise ProviderFault.at(where, f"{what} after {within_s:g} s", "see the provider's console")
        await pause()


def sleeper(pause_s: float) -> Callable[[], Awaitable[None]]:
    """A pause of so many seconds."""
    return lambda: asyncio.sleep(pause_s)
