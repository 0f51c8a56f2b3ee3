"""A droplet made another size: powered off, resized, powered on, each an action that is waited for.

https://docs.digitalocean.com/reference/api/reference/droplet-actions/
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.provider.common.lifecycle import wait_until
from cloudcmp.provider.common.responses import id_in
from cloudcmp.provider.longtail.dialect import Api
from cloudcmp.provider.longtail.pages import Json

_STOP_S = 180.0
_RESIZE_S = 900.0
_START_S = 180.0


async def resize(api: Api, id: str, offering: str, stopped: Callable[[], None]) -> None:
    """Make a droplet another size; `stopped` is called while it stands still."""
    await _Steps(api).run(id, offering, stopped)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps for one cloud; `clock` is in seconds of any origin."""

    api: Api
    clock: Callable[[], float] = time.monotonic

    async def run(self, id: str, offering: str, stopped: Callable[[], None]) -> None:
        """All steps, until the machine runs as another size.

        The disk keeps its size, so that the step can be undone. Raises Refused for a size that cannot be had, and
        ProviderFault where a step does not end in its time: the machine is left as it is, and ended like any other.
        """
        await self._act(id, {"type": "power_off"}, _STOP_S)
        await self._until(id, lambda response: response.get("status") == "off", _STOP_S, "stopped")
        stopped()
        try:
            await self._act(id, {"type": "resize", "size": offering, "disk": False}, _RESIZE_S)
        finally:
            await self._act(id, {"type": "power_on"}, _START_S)
        await self._until(id, lambda response: response.get("status") == "active", _START_S, "started")
        size = (await self._droplet(id)).get("size_slug")
        if size != offering:
            raise ProviderFault.at(id, f"it is still of size {size}", "see the provider's console")

    async def _act(self, id: str, body: Json, within_s: float) -> None:
        """Ask for an action and wait for its end."""
        path = f"{self.api.cloud.dialect.machines[0]}/{id}/actions"
        response = (await self.api.change("POST", path, body)).body
        action = id_in(response, "action", "id", where=id)
        status, what = "", f"{body['type']} of {id}"

        async def ended() -> bool:
            nonlocal status
            status = str((await self.api.read(f"/v2/actions/{action}")).body.get("action", {}).get("status", ""))
            return status in {"completed", "errored"}

        await wait_until(ended, what, "it has not ended", within_s, self.api.wait, self.clock)
        if status == "errored":
            raise Refused.at(id, f"{body['type']} came to nothing", "take another size")

    async def _droplet(self, id: str) -> Json:
        response = (await self.api.read(f"{self.api.cloud.dialect.machines[0]}/{id}")).body
        return dict(response.get("droplet") or {})

    async def _until(self, id: str, fits: Callable[[Json], bool], within_s: float, word: str) -> None:
        async def look() -> bool:
            return fits(await self._droplet(id))

        await wait_until(look, id, f"it has not {word}", within_s, self.api.wait, self.clock)
