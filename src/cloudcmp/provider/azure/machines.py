"""Azure machines: creation in one watched call, status, resize, deletion.

Azure accepts a request long before it decides it: a machine without capacity or quota fails later, and remains as a
failed machine until it is deleted.
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
from cloudcmp.provider.azure.faults import code_of, error_in, is_missing, refusal
from cloudcmp.provider.azure.names import Place, canonical, place_of
from cloudcmp.provider.azure.sdk import Reply, Sdk
from cloudcmp.provider.common.inventory import TOKEN_TAG
from cloudcmp.provider.common.lifecycle import sleeper, wait_until
from cloudcmp.provider.common.responses import CloudError, none_if_missing

_POWER = {"running": "running", "starting": "pending", "creating": "pending"}
_POWER |= dict.fromkeys(("stopping", "stopped", "deallocating", "deallocated"), "stopped")
_FAILED = {"Failed", "Canceled"}
_NOT_VISIBLE = {"InvalidResourceReference", "NetcfgSubnetNotFound", "ResourceGroupNotFound"}
_NOT_VISIBLE_S = 20.0
_ATTEMPTS = 30
_CHANGE_S = 900.0
_INCONCLUSIVE = (errors.LostAnswer, errors.Throttled, errors.IncompleteListing, errors.Unreached)


@dataclass(slots=True)
class Machines:
    """The machines of one subscription; `pause_s` is the poll interval, `decide_s` the wait for a decision."""

    sdk: Sdk
    pause_s: float = 1.0
    decide_s: float = 90.0
    clock: Callable[[], float] = time.monotonic
    _addresses: dict[str, tuple[str, str]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    # -- making

    async def create(self, request: CreateRequest, place: Place, body: dict[str, Any]) -> str:
        """Creates a machine and waits until Azure decides, or for `decide_s`; idempotent by token.

        Raises NoCapacity and QuotaReached also for a late decision, after the failed machine is seen gone. Raises
        LostAnswer if the machine may exist, and the other kinds of fault if it does not.
        """
        try:
            reply = await self._request(place, body)
        except errors.LostAnswer as fault:
            return await self._find_own(request, place, fault)
        except (errors.Refused, errors.NoCapacity) as fault:
            raise await self._after_cleanup(place, fault) from None
        id = str(reply.body.get("id") or "")
        if not id:
            raise errors.LostAnswer.at(
                request.name, "the answer does not name the new resource", "cloudcmp looks for it by its tags"
            )
        failure = await self._wait_for_decision(place, reply)
        if failure is not None:
            what = _fault(failure, place.name)
            if await self._delete_failed(place):
                raise what
            # It may still exist: the caller gets its id to delete it; `look` reports the failure.
        return canonical(id)

    async def _request(self, place: Place, body: dict[str, Any]) -> Reply:
        """Sends the request; repeats it only while the group or network that it needs is not visible yet."""
        until = self.clock() + _NOT_VISIBLE_S
        while True:
            try:
                return await self._put(place, body)
            except errors.Refused as fault:
                if code_of(fault) not in _NOT_VISIBLE or self.clock() > until:
                    raise
            await asyncio.sleep(self.pause_s)

    async def _put(self, place: Place, body: dict[str, Any]) -> Reply:
        """Sends the request once, conditional on no machine of this name: it would change an existing one."""
        return await self.sdk.change(
            "compute",
            "virtual_machines",
            "begin_create_or_update",
            place.group,
            place.name,
            body=body,
            only_new=True,
        )

    async def _find_own(self, request: CreateRequest, place: Place, fault: errors.LostAnswer) -> str:
        """The existing machine of this name if it has the token; else raises the fault."""
        until, exists = self.clock() + _NOT_VISIBLE_S, code_of(fault) == "PreconditionFailed"
        while exists and self.clock() < until:
            response = await self._read(place)
            if response is not None and (response.get("tags") or {}).get(TOKEN_TAG) == request.token:
                return canonical(str(response["id"]))
            if response is not None:
                break
            await asyncio.sleep(self.pause_s)
        raise fault

    async def _after_cleanup(self, place: Place, fault: errors.ProviderFault) -> errors.ProviderFault:
        """The refusal, after a failed machine that it may have left is deleted."""
        if not isinstance(fault, errors.NoCapacity | errors.QuotaReached) or await self._delete_failed(place):
            return fault
        what = f"{fault}; whether something was created is unknown"
        return errors.ProviderFault.at(place.name, what, "cloudcmp cleanup")

    async def _wait_for_decision(self, place: Place, reply: Reply) -> CloudError | None:
        """Azure's reason for a failed machine; None once it runs, or if unknown: a failed poll proves nothing."""
        until = self.clock() + self.decide_s
        while self.clock() < until:
            try:
                if reply.operation:
                    operation = await self.sdk.ask(reply.operation)
                    status = str(operation.body.get("status", ""))
                    if status in _FAILED:
                        return error_in(operation.body) or CloudError("ProvisioningFailed", status)
                    if status == "Succeeded":
                        return None
                response = await self._read(place, view=True)
                if response is not None and (_failure(response) or _power(response) == "running"):
                    return _failure(response)
            except _INCONCLUSIVE:
                pass
            except errors.Refused as fault:
                if not is_missing(fault):
                    raise
            await asyncio.sleep(self.pause_s)
        return None

    async def _delete_failed(self, place: Place) -> bool:
        """Deletes a useless machine; True if two looks show it gone in time."""
        absences = 0
        for _ in range(_ATTEMPTS):
            try:
                await self._delete(place)
                absences = absences + 1 if await self._read(place) is None else 0
                if absences == 2:
                    return True
            except errors.ProviderFault:
                absences = 0
            await asyncio.sleep(self.pause_s)
        return False

    # -- ending

    async def destroy(self, handle: Handle) -> bool:
        """Requests the deletion of a machine with its disks, card and address; True if accepted."""
        return await self._delete(place_of(handle.cloud_id))

    async def _delete(self, place: Place) -> bool:
        """Deletes without waiting for the guest's shutdown; False if there is none (204)."""
        names = ("compute", "virtual_machines", "begin_delete", place.group, place.name)
        reply = await none_if_missing(self.sdk.change(*names, again=True, force_deletion=True))
        return reply is not None and reply.status != 204

    async def exists(self, handle: Handle) -> bool:
        """True if the machine exists, in any state."""
        return await self._read(place_of(handle.cloud_id)) is not None

    async def _read(self, place: Place, *, view: bool = False) -> dict[str, Any] | None:
        expand = {"expand": "instanceView"} if view else {}
        call = self.sdk.read("compute", "virtual_machines", "get", place.group, place.name, **expand)
        reply = await none_if_missing(call)
        if reply is None:
            return None
        if not reply.body.get("id"):
            raise errors.IncompleteListing.at(place.name, "the answer does not name its resource", "ask again")
        return reply.body

    # -- looking

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine: pending before it was ever seen, gone if it was seen and no longer exists.

        Azure deletes a preempted machine without telling the cause. Raises NoCapacity or QuotaReached for a machine
        that failed because of that.
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
        address, private = await self._find_addresses(handle, properties) if state == "running" else (None, None)
        system = ((properties.get("storageProfile") or {}).get("osDisk") or {}).get("osType")
        if state == "running" and address is None:
            return MachineStatus("pending", why="it has no address yet")
        port = 3389 if system == "Windows" else 22
        return MachineStatus(state, address, port, peer_address=private, why=_why(response, state))

    async def _find_addresses(self, handle: Handle, properties: dict[str, Any]) -> tuple[str | None, str | None]:
        """The public and the private address; both are constant, so they are fetched once."""
        known = self._addresses.get(handle.cloud_id)
        if known is not None:
            return known
        cards = (properties.get("networkProfile") or {}).get("networkInterfaces") or []
        if not cards:
            return None, None
        card = place_of(str(cards[0]["id"]))
        response = (await self.sdk.read("network", "network_interfaces", "get", card.group, card.name)).body
        configurations = [
            one.get("properties") or {} for one in (response.get("properties") or {}).get("ipConfigurations") or ()
        ]
        public_id = (configurations[0].get("publicIPAddress") or {}).get("id") if configurations else None
        if not public_id or not configurations[0].get("privateIPAddress"):
            return None, None
        target = place_of(str(public_id))
        public = (await self.sdk.read("network", "public_ip_addresses", "get", target.group, target.name)).body
        address = (public.get("properties") or {}).get("ipAddress")
        if not address:
            return None, None
        self._addresses[handle.cloud_id] = (str(address), str(configurations[0]["privateIPAddress"]))
        return self._addresses[handle.cloud_id]

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine; None while it does not exist, or if it is in no zone."""
        response = await self._read(place_of(handle.cloud_id)) or {}
        return next((str(one) for one in response.get("zones") or ()), None)

    # -- another size

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None]) -> None:
        """Deallocates, calls `stopped`, changes the size, starts, and waits; raises Refused for an unfit size."""
        place = place_of(handle.cloud_id)
        names = (place.group, place.name)
        machines = "virtual_machines"
        await self.sdk.change("compute", machines, "begin_deallocate", *names, again=True)
        await self._wait_for_power(place, "deallocated")
        stopped()
        size = {"properties": {"hardwareProfile": {"vmSize": offering}}}
        reply = await self.sdk.change("compute", machines, "begin_update", *names, body=size, again=True)
        await self._wait_for_operation(place, reply)
        reply = await self.sdk.change("compute", machines, "begin_start", *names, again=True)
        await self._wait_for_operation(place, reply)
        await self._wait_for_power(place, "running")

    async def _wait_for_operation(self, place: Place, reply: Reply) -> None:
        """Waits for the end of an operation; raises its fault."""
        until = self.clock() + _CHANGE_S
        while reply.operation and self.clock() < until:
            operation = await self.sdk.ask(reply.operation)
            status = str(operation.body.get("status", "Succeeded" if operation.status == 200 else "InProgress"))
            if status in _FAILED:
                raise _fault(error_in(operation.body) or CloudError("OperationFailed", status), place.name)
            if status == "Succeeded":
                return
            await asyncio.sleep(self.pause_s)

    async def _wait_for_power(self, place: Place, power: str) -> None:
        async def look() -> bool:
            response = await self._read(place, view=True)
            return response is not None and _power(response) == power

        await wait_until(look, place.name, f"it is not {power}", _CHANGE_S, sleeper(self.pause_s), self.clock)


def _statuses(response: dict[str, Any]) -> list[dict[str, Any]]:
    view = (response.get("properties") or {}).get("instanceView") or {}
    return [one for one in view.get("statuses") or () if isinstance(one, dict)]


def _power(response: dict[str, Any]) -> str:
    """The last word of the power state, empty if there is none."""
    codes = [str(one.get("code", "")) for one in _statuses(response)]
    return next((code.partition("/")[2] for code in codes if code.startswith("PowerState/")), "")


def _failure(response: dict[str, Any]) -> CloudError | None:
    """The provisioning error of a machine, None if it did not fail."""
    if (response.get("properties") or {}).get("provisioningState") not in _FAILED:
        return None
    if _power(response) in {"running", "starting"}:  # it exists: only a later step failed
        return None
    for one in _statuses(response):
        parts = str(one.get("code", "")).split("/")
        if parts[0] == "ProvisioningState" and len(parts) > 2:
            return CloudError(one_line(parts[2]), one_line(str(one.get("message", ""))))
    return CloudError("ProvisioningFailed", "")


def _fault(error: CloudError, where: str) -> errors.ProviderFault:
    return refusal(error, where) or errors.Refused.at(where, error.line, "change the request")


def _why(response: dict[str, Any], state: str) -> str:
    if state == "running":
        return ""
    texts = [str(one.get("displayStatus") or one.get("code", "")) for one in _statuses(response)]
    return one_line(", ".join(texts))
