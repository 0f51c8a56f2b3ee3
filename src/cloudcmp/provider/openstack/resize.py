"""A machine that becomes another type: Nova stops it, moves it, starts it, and waits for a word that it is well.

https://docs.openstack.org/api-ref/compute/#resize-server-resize-action
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import IncompleteListing, ProviderFault, Refused
from cloudcmp.model.lease import Handle
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.openstack.faults import scarce
from cloudcmp.provider.openstack.lifecycle import NovaLifecycle
from cloudcmp.provider.openstack.sdk import COMPUTE

_RESIZE_S = 900.0
_BEGIN_S = 60.0  # so long a machine may still be told ACTIVE after its resize was accepted
_DONE = "VERIFY_RESIZE"


@dataclass(frozen=True, slots=True)
class Resize:
    """Resizes of one cloud's machines; `pause_s` between looks, `clock` in seconds of any origin."""

    lifecycle: NovaLifecycle
    pause_s: float = 2.0
    clock: Callable[[], float] = time.monotonic

    async def resize(self, handle: Handle, flavor: str, stopped: Callable[[], None]) -> None:
        """Ask for another flavor, wait until it has it, and confirm; `stopped` is called once Nova has begun.

        Until that confirmation the machine runs already, and its old place is held for it as well. Raises NoCapacity
        where no host has room, Refused where the flavor is none for it: then it is as it was.
        """
        await self._act(handle, {"resize": {"flavorRef": flavor}})
        stopped()
        began, moving = self.lifecycle.absence.clock(), False
        while True:
            response = await self._seen(handle)
            status = str(response.get("status") or "")
            if status == _DONE:
                break
            moving |= status == "RESIZE"
            self._check(handle, response, moving, self.lifecycle.absence.clock() - began)
            await asyncio.sleep(self.pause_s)
        await self._act(handle, {"confirmResize": None})
        while (await self._seen(handle)).get("status") == _DONE:
            if self.lifecycle.absence.clock() - began > _RESIZE_S:
                raise ProviderFault.at(handle.cloud_id, "its resize is confirmed and does not end", "see Nova")
            await asyncio.sleep(self.pause_s)

    def _check(self, handle: Handle, response: dict[str, Any], moving: bool, waited_s: float) -> None:
        """Raises what keeps a machine from becoming what it was asked to be."""
        status, why = (
            str(response.get("status") or ""),
            one_line(str((response.get("fault") or {}).get("message") or "")),
        )
        failed = status == "ERROR" or (status in {"ACTIVE", "SHUTOFF"} and (moving or waited_s > _BEGIN_S))
        if failed:
            what = why or f"it was not resized, and is {status}"
            fault = scarce(what, what, handle.cloud_id)
            raise fault or ProviderFault.at(handle.cloud_id, what, "take another type, or resize less")
        if waited_s > _RESIZE_S:
            what = f"it is not resized after {_RESIZE_S:g} s"
            raise ProviderFault.at(handle.cloud_id, what, "see the provider's console")

    async def _act(self, handle: Handle, body: dict[str, Any]) -> None:
        sdk, path = self.lifecycle.sdk, f"/servers/{handle.cloud_id}/action"
        await sdk.change(handle.region, COMPUTE, "POST", path, body)

    async def _seen(self, handle: Handle) -> dict[str, Any]:
        try:
            response = await self.lifecycle.seen(handle.region, handle.cloud_id)
        except IncompleteListing:
            return {}
        if response is None:
            raise Refused.at(handle.cloud_id, "there is no such machine any more", "launch it again")
        return response
