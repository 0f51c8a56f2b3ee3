"""Operations: what Compute Engine goes on doing after it has answered a call.

https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import LostAnswer, Throttled, Unlisted, Unreached
from cloudcmp.provider.gcp.faults import operation_fault
from cloudcmp.provider.gcp.sdk import Sdk

_SILENT = (Throttled, Unlisted, Unreached)  # no word on the operation: a look that fails never repeats the call


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of one project; `wait_s` is how long one is waited for, `clock` in seconds of any origin."""

    sdk: Sdk
    wait_s: float = 180.0
    clock: Callable[[], float] = time.monotonic

    async def done(self, operation: Any, where: str, zone: str | None = None, wait_s: float | None = None) -> None:
        """Wait until an operation is done; raises its fault, and LostAnswer where it is not done in time."""
        until = self.clock() + (self.wait_s if wait_s is None else wait_s)
        now = operation
        while not done(now):
            if self.clock() > until:
                what = f"the operation {operation.name} is not done after {self.wait_s:g} s"
                raise LostAnswer.at(where, what, "it is looked for by token, tag and name")
            await asyncio.sleep(self.sdk.pause_s)
            with suppress(*_SILENT):
                now = await self.now(operation, zone)
        fault = operation_fault(now, where)
        if fault is not None:
            raise fault

    async def now(self, operation: Any, zone: str | None = None) -> Any:
        """An operation as it is now."""
        if zone is None:
            return await self.sdk.read("global_operations", "get", operation=operation.name)
        return await self.sdk.read("zone_operations", "get", zone=zone, operation=operation.name)

    async def on(self, zone: str, name: str) -> list[Any]:
        """What was done to a machine of a zone, the newest last."""
        pages = await self.sdk.pages("zone_operations", zone=zone)
        mine = [one for page in pages for one in page.items if str(one.target_link).endswith(f"/instances/{name}")]
        return sorted(mine, key=lambda one: str(one.insert_time))


def done(operation: Any) -> bool:
    """Whether an operation is over, well or not."""
    return getattr(operation.status, "name", str(operation.status)) == "DONE"
