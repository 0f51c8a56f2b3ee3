"""The life of EC2 machines, volumes and groups: status, resize, deletion, evidence of absence."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.errors import ProviderFault
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME, Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.aws.firewalls import Firewalls
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.lifecycle import PRESENT, ResourceLifecycle, sleeper, wait_until
from cloudcmp.provider.common.responses import none_if_missing

_STATES = {"shutting-down": "gone", "terminated": "gone", "stopping": "stopped", "stopped": "stopped"}
_STATES |= {"pending": "pending", "running": "running"}
_STOP_S = 600.0
_ATTEMPTS = 10
_START_S = 60.0  # how long a list may show the state before a start
_DELETE_ACTIONS = {INSTANCE: ("terminate_instances", "InstanceIds"), VOLUME: ("delete_volume", "VolumeId")}
_PREEMPTED = {"Server.SpotInstanceTermination", "Server.SpotInstanceShutdown"}
_LIST_ACTIONS = {
    INSTANCE: ("describe_instances", "Reservations", "InstanceIds"),
    VOLUME: ("describe_volumes", "Volumes", "VolumeIds"),
}


@dataclass(slots=True)
class Ec2Lifecycle(ResourceLifecycle):
    """The life of one cloud's resources; `pause_s` is the poll interval.

    New resources may be missing at first: https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
    """

    sdk: Sdk
    firewalls: Firewalls
    absence: Absence
    pause_s: float = 2.0
    _failed: dict[tuple[str, str], str] = field(default_factory=dict)
    ended_states = frozenset({"terminated"})

    async def destroy(self, handle: Handle) -> None:
        """Requests the deletion of a machine, a volume or a group; deleting one that is gone is no error."""
        if await self.request_deletion(handle) and handle.kind != INSTANCE:
            self.absence.record_deletion(self.key(handle))

    async def request_deletion(self, handle: Handle) -> bool:
        """Requests the deletion of a machine, a volume or a group; False if there is none."""
        if handle.kind == FIREWALL:
            return await self.firewalls.destroy(handle.region, handle.cloud_id)
        action, key = _DELETE_ACTIONS[handle.kind]
        id: Any = [handle.cloud_id] if handle.kind == INSTANCE else handle.cloud_id
        return await none_if_missing(self.sdk.change(handle.region, action, again=True, **{key: id})) is not None

    async def undo(self, handle: Handle, why: str) -> bool:
        """Terminates a new machine, which `look` reports as gone from now on; True if two looks show it gone."""
        self._failed[handle.region, handle.cloud_id] = why
        try:
            for left in reversed(range(_ATTEMPTS)):
                if await self.request_deletion(handle) or not left:
                    break
                await asyncio.sleep(self.pause_s)
            return all([await self.gone(handle) for _ in range(2)])
        except ProviderFault:
            return False

    async def state(self, handle: Handle) -> str | None:
        """The listed state; a list shows an ended machine as `terminated` for a while."""
        if handle.kind == FIREWALL:
            return PRESENT if await self.firewalls.exists(handle.region, handle.cloud_id) else None
        response = await self._describe(handle)
        return None if response is None else _state(response) or PRESENT

    async def _describe(self, handle: Handle) -> dict[str, Any] | None:
        """The listed description of a machine or a volume, None if there is none."""
        action, key, ids = _LIST_ACTIONS[handle.kind]
        entries = await none_if_missing(self.sdk.pages(handle.region, action, key, **{ids: [handle.cloud_id]})) or []
        items = [one for each in entries for one in each.get("Instances", ())] if handle.kind == INSTANCE else entries
        return next((dict(one) for one in items if handle.cloud_id in one.values()), None)

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine; pending if it is not listed yet."""
        failure = self._failed.get((handle.region, handle.cloud_id))
        if failure is not None:
            return MachineStatus("gone", why=failure, taken=False)
        response = await self._describe(handle)
        if response is None:
            return MachineStatus("pending", why="it is not listed yet")
        reason = response.get("StateReason", {}).get("Message") or response.get("StateTransitionReason") or ""
        private_address = response.get("PrivateIpAddress")
        windows = str(response.get("Platform", "")).lower() == "windows"
        return MachineStatus(
            _STATES.get(_state(response), "pending"),
            response.get("PublicIpAddress") or private_address,
            3389 if windows else 22,
            peer_address=private_address,
            why=" ".join(str(reason).split())[:200],
            taken=_is_preempted(response),
        )

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine, None while it is not listed."""
        response = await self._describe(handle) or {}
        return response.get("Placement", {}).get("AvailabilityZone") or None

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None]) -> None:
        """Stops, calls `stopped`, changes the type, starts; raises Refused if type or market do not allow it."""
        region, id = handle.region, handle.cloud_id
        await self.sdk.change(region, "stop_instances", again=True, InstanceIds=[id])
        await self._wait_for_state(handle, stopped=True, within_s=_STOP_S)
        stopped()
        kind = {"Value": offering}
        await self.sdk.change(region, "modify_instance_attribute", again=True, InstanceId=id, InstanceType=kind)
        await self.sdk.change(region, "start_instances", again=True, InstanceIds=[id])
        await self._wait_for_state(handle, stopped=False, within_s=_START_S)

    async def _wait_for_state(self, handle: Handle, *, stopped: bool, within_s: float) -> None:
        async def look() -> bool:
            return (_state(await self._describe(handle)) == "stopped") is stopped

        what = f"it has not {'stopped' if stopped else 'started'}"
        await wait_until(look, handle.cloud_id, what, within_s, sleeper(self.pause_s), self.absence.clock)


def _is_preempted(response: dict[str, Any]) -> bool | None:
    """True if the state reason is a spot interruption, None if there is no reason."""
    code = str(response.get("StateReason", {}).get("Code") or "")
    return code in _PREEMPTED if code else None


def _state(response: dict[str, Any] | None) -> str:
    state = (response or {}).get("State", "")
    return str(state.get("Name", "") if isinstance(state, dict) else state)
