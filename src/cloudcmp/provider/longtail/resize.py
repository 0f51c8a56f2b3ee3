"""A droplet made another size: powered off, resized, powered on, each an action that is waited for.

https://docs.digitalocean.com/reference/api/reference/droplet-actions/
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.model.lease import Handle
from cloudcmp.provider.common.responses import id_in
from cloudcmp.provider.longtail.sdk import Json, Library

_STOP_S = 180.0
_RESIZE_S = 900.0
_START_S = 180.0


@dataclass(frozen=True, slots=True)
class Resize:
    """The steps for one cloud; `clock` is in seconds of any origin."""

    library: Library
    clock: Callable[[], float] = time.monotonic

    async def run(self, handle: Handle, offering: str, stopped: Callable[[], None]) -> None:
        """Until the machine runs as another size; `stopped` is called while it stands still.

        The disk keeps its size, so that the step can be undone. Raises Refused for a size that cannot be had, and
        ProviderFault where a step does not end in its time: the machine is left as it is, and ended like any other.
        """
        id = handle.cloud_id
        await self._act(id, {"type": "power_off"}, _STOP_S)
        await self._until(id, lambda said: said.get("status") == "off", _STOP_S, "stopped")
        stopped()
        try:
            await self._act(id, {"type": "resize", "size": offering, "disk": False}, _RESIZE_S)
        finally:
            await self._act(id, {"type": "power_on"}, _START_S)
        await self._until(id, lambda said: said.get("status") == "active", _START_S, "started")
        size = (await self._droplet(id)).get("size_slug")
        if size != offering:
            raise ProviderFault.at(id, f"it is still of size {size}", "see the provider's console")

    async def _act(self, id: str, body: Json, within_s: float) -> None:
        """Ask for an action and wait for its end."""
        path = f"{self.library.cloud.dialect.machines[0]}/{id}/actions"
        said = (await self.library.change("POST", path, body)).said
        action = id_in(said, "action", "id", where=id)

        async def status() -> str:
            return str((await self.library.read(f"/v2/actions/{action}")).said.get("action", {}).get("status", ""))

        if await self._ended(status, within_s, f"{body['type']} of {id}") == "errored":
            raise Refused.at(id, f"{body['type']} came to nothing", "take another size")

    async def _ended(self, status: Callable[[], Awaitable[str]], within_s: float, what: str) -> str:
        until = self.clock() + within_s
        while (now := await status()) not in {"completed", "errored"}:
            if self.clock() > until:
                raise ProviderFault.at(what, f"it has not ended after {within_s:g} s", "see the provider's console")
            await self.library.wait()
        return now

    async def _droplet(self, id: str) -> Json:
        said = (await self.library.read(f"{self.library.cloud.dialect.machines[0]}/{id}")).said
        return dict(said.get("droplet") or {})

    async def _until(self, id: str, fits: Callable[[Json], bool], within_s: float, word: str) -> None:
        until = self.clock() + within_s
        while not fits(await self._droplet(id)):
            if self.clock() > until:
                raise ProviderFault.at(id, f"it has not {word} after {within_s:g} s", "see the provider's console")
            await self.library.wait()
