"""Machines: made in one call whose end is watched for, looked at, resized, ended, and seen gone.

A request is accepted long before it is decided: a machine that has no room, or no quota, fails later, and stays as a
thing that failed until it is deleted.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cloudcmp import errors
from cloudcmp.model.lease import CreateRequest, Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.azure.faults import code_of, error_in, missing, refusal
from cloudcmp.provider.azure.names import Place, canonical, place_of
from cloudcmp.provider.azure.sdk import Reply, Sdk
from cloudcmp.provider.common.inventory import TOKEN_TAG
from cloudcmp.provider.common.lifecycle import sleeper, wait_until
from cloudcmp.provider.common.responses import CloudError, unless_missing

_POWER = {"running": "running", "starting": "pending", "creating": "pending"}
_POWER |= dict.fromkeys(("stopping", "stopped", "deallocating", "deallocated"), "stopped")
_UNDONE = {"Failed", "Canceled"}
_NOT_YET = {"InvalidResourceReference", "NetcfgSubnetNotFound", "ResourceGroupNotFound"}
_NOT_YET_S = 20.0
_TRIES = 30
_CHANGE_S = 900.0
_UNTOLD = (errors.LostAnswer, errors.Throttled, errors.IncompleteListing, errors.Unreached)


@dataclass(slots=True)
class Machines:
    """The machines of one subscription; `pause_s` between looks, `decide_s` for a request to be decided.

    `clock` gives seconds of any origin.
    """

    sdk: Sdk
    pause_s: float = 1.0
    decide_s: float = 90.0
    clock: Callable[[], float] = time.monotonic
    _addresses: dict[str, tuple[str, str]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    # -- making

    async def create(self, request: CreateRequest, place: Place, body: dict[str, Any]) -> str:
        """The machine, once it is known that there is room for it, or after `decide_s`; the same token makes no other.

        Raises NoCapacity and QuotaReached also where Azure says so only after it took the request; what was half made
        has then been seen gone. LostAnswer where it may have been made, and the other kinds of fault where it was not.
        """
        try:
            reply = await self._asked(place, body)
        except errors.LostAnswer as fault:
            return await self._ours(request, place, fault)
        except (errors.Refused, errors.NoCapacity) as fault:
            raise await self._after(place, fault) from None
        id = str(reply.body.get("id") or "")
        if not id:
            raise errors.LostAnswer.at(
                request.name, "the answer does not say what was made", "it is looked for by its tags"
            )
        failure = await self._decided(place, reply)
        if failure is not None:
            what = _fault(failure, place.name)
            if await self._ended(place):
                raise what
            # It is not seen gone: its id is told, so that it is ended with its launch; a look says why it failed.
        return canonical(id)

    async def _asked(self, place: Place, body: dict[str, Any]) -> Reply:
        """The request; again only where surely nothing was made: what it stands on is not seen everywhere yet."""
        until = self.clock() + _NOT_YET_S
        while True:
            try:
                return await self._put(place, body)
            except errors.Refused as fault:
                if code_of(fault) not in _NOT_YET or self.clock() > until:
                    raise
            await asyncio.sleep(self.pause_s)

    async def _put(self, place: Place, body: dict[str, Any]) -> Reply:
        """Sent once, and only where there is no machine of this name: another one's would be changed."""
        return await self.sdk.change(
            "compute",
            "virtual_machines",
            "begin_create_or_update",
            place.group,
            place.name,
            body=body,
            only_new=True,
        )

    async def _ours(self, request: CreateRequest, place: Place, fault: errors.LostAnswer) -> str:
        """The machine that is there already under this name, if it bears the token; else the fault stands."""
        until, there = self.clock() + _NOT_YET_S, code_of(fault) == "PreconditionFailed"
        while there and self.clock() < until:
            response = await self._read(place)
            if response is not None and (response.get("tags") or {}).get(TOKEN_TAG) == request.token:
                return canonical(str(response["id"]))
            if response is not None:
                break
            await asyncio.sleep(self.pause_s)
        raise fault

    async def _after(self, place: Place, fault: errors.ProviderFault) -> errors.ProviderFault:
        """A refusal, once nothing is there: one for want of room may leave a machine that failed, which is ended."""
        if not isinstance(fault, errors.NoCapacity | errors.QuotaReached) or await self._ended(place):
            return fault
        what = f"{fault}; whether something was made cannot be told"
        return errors.ProviderFault.at(place.name, what, "cloudcmp cleanup")

    async def _decided(self, place: Place, reply: Reply) -> CloudError | None:
        """Why a machine cannot be had, once Azure has decided that; None once it runs, or where nothing tells.

        What a poll cannot tell says nothing of the machine: no second one is ever asked for because of it.
        """
        until = self.clock() + self.decide_s
        while self.clock() < until:
            try:
                if reply.operation:
                    operation = await self.sdk.ask(reply.operation)
                    status = str(operation.body.get("status", ""))
                    if status in _UNDONE:
                        return error_in(operation.body) or CloudError("ProvisioningFailed", status)
                    if status == "Succeeded":
                        return None
                response = await self._read(place, view=True)
                if response is not None and (_failure(response) or _power(response) == "running"):
                    return _failure(response)
            except _UNTOLD:
                pass
            except errors.Refused as fault:
                if not missing(fault):
                    raise
            await asyncio.sleep(self.pause_s)
        return None

    async def _ended(self, place: Place) -> bool:
        """End a machine that is of no use; whether it is seen gone, twice, in a while."""
        agree = 0
        for _ in range(_TRIES):
            try:
                await self._delete(place)
                agree = agree + 1 if await self._read(place) is None else 0
                if agree == 2:
                    return True
            except errors.ProviderFault:
                agree = 0
            await asyncio.sleep(self.pause_s)
        return False

    # -- ending

    async def destroy(self, handle: Handle) -> bool:
        """Ask for a machine to go, with its disks, its card and its address; whether that was accepted."""
        return await self._delete(place_of(handle.cloud_id))

    async def _delete(self, place: Place) -> bool:
        """Without waiting for the guest to shut down: nothing on it is kept. False where there is none (204)."""
        names = ("compute", "virtual_machines", "begin_delete", place.group, place.name)
        reply = await unless_missing(self.sdk.change(*names, again=True, force_deletion=True))
        return reply is not None and reply.status != 204

    async def there(self, handle: Handle) -> bool:
        """Whether a machine is there, in whatever state."""
        return await self._read(place_of(handle.cloud_id)) is not None

    async def _read(self, place: Place, *, view: bool = False) -> dict[str, Any] | None:
        expand = {"expand": "instanceView"} if view else {}
        call = self.sdk.read("compute", "virtual_machines", "get", place.group, place.name, **expand)
        reply = await unless_missing(call)
        if reply is None:
            return None
        if not reply.body.get("id"):
            raise errors.IncompleteListing.at(place.name, "the answer does not say what it is about", "ask again")
        return reply.body

    # -- looking

    async def look(self, handle: Handle) -> MachineStatus:
        """How a machine is; one that was never seen is pending, one that was and is not there any more gone.

        A spot machine that is taken back is deleted, and nothing tells the cause.
        Raises NoCapacity or QuotaReached for one that failed for that.
        """
        response = await self._read(place_of(handle.cloud_id), view=True)
        if response is None and handle.cloud_id in self._seen:
            return MachineStatus("gone", why="it is there no more, and Azure tells no cause")
        if response is None:
            return MachineStatus("pending", why="it is not found yet")
        self._seen.add(handle.cloud_id)
        failure = _failure(response)
        if failure is not None:
            fault = _fault(failure, handle.cloud_id)
            if isinstance(fault, errors.NoCapacity | errors.QuotaReached):
                raise fault
            return MachineStatus("gone", why=failure.line, taken=False)
        properties = response.get("properties") or {}
        state = (
            "stopped" if properties.get("provisioningState") == "Deleting" else _POWER.get(_power(response), "pending")
        )
        address, inside = await self._reached(handle, properties) if state == "running" else (None, None)
        system = ((properties.get("storageProfile") or {}).get("osDisk") or {}).get("osType")
        if state == "running" and address is None:
            return MachineStatus("pending", why="its address is not told yet")
        port = 3389 if system == "Windows" else 22
        return MachineStatus(state, address, port, peer_address=inside, why=_why(response, state))

    async def _reached(self, handle: Handle, properties: dict[str, Any]) -> tuple[str | None, str | None]:
        """The public and the inside address; both stay as long as the machine does, and are asked for once."""
        known = self._addresses.get(handle.cloud_id)
        if known is not None:
            return known
        cards = (properties.get("networkProfile") or {}).get("networkInterfaces") or []
        if not cards:
            return None, None
        card = place_of(str(cards[0]["id"]))
        response = (await self.sdk.read("network", "network_interfaces", "get", card.group, card.name)).body
        inside = [
            one.get("properties") or {} for one in (response.get("properties") or {}).get("ipConfigurations") or ()
        ]
        outside = (inside[0].get("publicIPAddress") or {}).get("id") if inside else None
        if not outside or not inside[0].get("privateIPAddress"):
            return None, None
        there = place_of(str(outside))
        told = (await self.sdk.read("network", "public_ip_addresses", "get", there.group, there.name)).body
        address = (told.get("properties") or {}).get("ipAddress")
        if not address:
            return None, None
        self._addresses[handle.cloud_id] = (str(address), str(inside[0]["privateIPAddress"]))
        return self._addresses[handle.cloud_id]

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine, None while it is not there, and where it stands in none."""
        response = await self._read(place_of(handle.cloud_id)) or {}
        return next((str(one) for one in response.get("zones") or ()), None)

    # -- another size

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None]) -> None:
        """Deallocate, change the size, start, until it runs; `stopped` is called while it stands still.

        Deallocated it may get any size of the region, of whatever hardware. Raises Refused where the size does not fit.
        """
        place = place_of(handle.cloud_id)
        names = (place.group, place.name)
        machines = "virtual_machines"
        await self.sdk.change("compute", machines, "begin_deallocate", *names, again=True)
        await self._until(place, "deallocated")
        stopped()
        size = {"properties": {"hardwareProfile": {"vmSize": offering}}}
        reply = await self.sdk.change("compute", machines, "begin_update", *names, body=size, again=True)
        await self._over(place, reply)
        reply = await self.sdk.change("compute", machines, "begin_start", *names, again=True)
        await self._over(place, reply)
        await self._until(place, "running")

    async def _over(self, place: Place, reply: Reply) -> None:
        """Wait for an operation to end; raises the kind of fault that it ends with."""
        until = self.clock() + _CHANGE_S
        while reply.operation and self.clock() < until:
            answer = await self.sdk.ask(reply.operation)
            status = str(answer.body.get("status", "Succeeded" if answer.status == 200 else "InProgress"))
            if status in _UNDONE:
                raise _fault(error_in(answer.body) or CloudError("OperationFailed", status), place.name)
            if status == "Succeeded":
                return
            await asyncio.sleep(self.pause_s)

    async def _until(self, place: Place, power: str) -> None:
        async def look() -> bool:
            response = await self._read(place, view=True)
            return response is not None and _power(response) == power

        await wait_until(look, place.name, f"it is not {power}", _CHANGE_S, sleeper(self.pause_s), self.clock)


def _statuses(response: dict[str, Any]) -> list[dict[str, Any]]:
    view = (response.get("properties") or {}).get("instanceView") or {}
    return [one for one in view.get("statuses") or () if isinstance(one, dict)]


def _power(response: dict[str, Any]) -> str:
    """The last word of its power state, empty where none is told."""
    codes = [str(one.get("code", "")) for one in _statuses(response)]
    return next((code.partition("/")[2] for code in codes if code.startswith("PowerState/")), "")


def _failure(response: dict[str, Any]) -> CloudError | None:
    """Why a machine could not be made: what its provisioning failed with, None where it did not."""
    if (response.get("properties") or {}).get("provisioningState") not in _UNDONE:
        return None
    if _power(response) in {"running", "starting"}:  # it is there: only what came after its making failed
        return None
    for one in _statuses(response):
        parts = str(one.get("code", "")).split("/")
        if parts[0] == "ProvisioningState" and len(parts) > 2:
            return CloudError(one_line(parts[2]), one_line(str(one.get("message", ""))))
    return CloudError("ProvisioningFailed", "")


def _fault(error: CloudError, where: str) -> errors.ProviderFault:
    return refusal(error, where) or errors.Refused.at(where, error.line, "change what is asked for")


def _why(response: dict[str, Any], state: str) -> str:
    if state == "running":
        return ""
    shown = [str(one.get("displayStatus") or one.get("code", "")) for one in _statuses(response)]
    return one_line(", ".join(shown))
