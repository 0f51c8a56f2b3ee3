"""Operations, which Compute Engine continues after it has responded to a call.

https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import IncompleteListing, LostAnswer, Throttled, Unreached
from cloudcmp.provider.common.responses import SEARCH_NOTICE
from cloudcmp.provider.gcp.faults import operation_fault
from cloudcmp.provider.gcp.sdk import Sdk

PREEMPTED = "compute.instances.preempted"
ENDINGS = ("delete", PREEMPTED)
"""Operations after which a missing resource is gone."""
_INCONCLUSIVE = (
    Throttled,
    IncompleteListing,
    Unreached,
)  # no information on the operation: a failed poll never repeats the call


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of one project; `wait_s` is the longest wait for one, `clock` is in seconds of any origin."""

    sdk: Sdk
    wait_s: float = 180.0
    clock: Callable[[], float] = time.monotonic

    async def wait(self, operation: Any, where: str, zone: str | None = None, wait_s: float | None = None) -> None:
        """Waits for an operation; raises its fault, or LostAnswer if it does not end in time."""
        until = self.clock() + (self.wait_s if wait_s is None else wait_s)
        now = operation
        while not is_done(now):
            if self.clock() > until:
                what = f"the operation {operation.name} is not done after {self.wait_s:g} s"
                raise LostAnswer.at(where, what, SEARCH_NOTICE)
            await asyncio.sleep(self.sdk.pause_s)
            with suppress(*_INCONCLUSIVE):
                now = await self.refresh(operation, zone)
        fault = operation_fault(now, where)
        if fault is not None:
            raise fault

    async def refresh(self, operation: Any, zone: str | None = None) -> Any:
        """The current state of an operation."""
        if zone is None:
            return await self.sdk.read("global_operations", "get", operation=operation.name)
        return await self.sdk.read("zone_operations", "get", zone=zone, operation=operation.name)

    async def list_for(self, service: str, name: str, zone: str | None = None) -> list[Any]:
        """The operations on one resource of a zone, or of the whole project, the newest last."""
        if zone is None:
            pages = await self.sdk.pages("global_operations")
        else:
            pages = await self.sdk.pages("zone_operations", zone=zone)
        items = [one for page in pages for one in page.items if str(one.target_link).endswith(f"/{service}/{name}")]
        return sorted(items, key=lambda one: str(one.insert_time))

    async def find_deletion(self, service: str, name: str, zone: str | None = None) -> str:
        """The finished operation that ended a resource, empty if its last one is none."""
        last = (await self.list_for(service, name, zone) or [None])[-1]
        deleted = last is not None and str(last.operation_type) in ENDINGS and is_done(last) and not last.error
        return f"{last.operation_type} {last.name}" if deleted else ""


def is_done(operation: Any) -> bool:
    """True if an operation has ended, with success or not."""
    return getattr(operation.status, "name", str(operation.status)) == "DONE"
