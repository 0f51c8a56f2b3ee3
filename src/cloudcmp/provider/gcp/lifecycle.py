"""The life of GCP machines, disks and firewall rules: status, resize, deletion, evidence of absence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import IncompleteListing, RefusalKind, Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME, Handle
from cloudcmp.model.safety import MachineStatus
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.absence import Absence
from cloudcmp.provider.common.lifecycle import PRESENT, ResourceLifecycle, sleeper, wait_until
from cloudcmp.provider.common.responses import none_if_missing
from cloudcmp.provider.gcp.firewalls import Firewalls
from cloudcmp.provider.gcp.operations import PREEMPTED, Operations, is_done
from cloudcmp.provider.gcp.sdk import Sdk

# https://cloud.google.com/compute/docs/instances/instance-life-cycle
_STATES = dict.fromkeys(("PENDING", "PROVISIONING", "STAGING", "REPAIRING"), "pending") | {"RUNNING": "running"}
_STATES |= dict.fromkeys(("STOPPING", "SUSPENDING", "SUSPENDED", "TERMINATED", "PENDING_STOP"), "stopped")
_CREATING = ("insert", "start")
_STOP_S = 600.0
_START_S = 120.0
_SERVICES = {INSTANCE: ("instances", "instance"), VOLUME: ("disks", "disk")}


@dataclass(slots=True)
class GceLifecycle(ResourceLifecycle):
    """The life of one project's resources."""

    sdk: Sdk
    firewalls: Firewalls
    operations: Operations
    absence: Absence

    async def request_deletion(self, handle: Handle) -> bool:
        """Requests the deletion of a machine, a disk or rules; False if there was none."""
        if handle.kind == FIREWALL:
            return await self.firewalls.destroy(handle.cloud_id)
        service, word = _SERVICES[handle.kind]
        zone, name = split_id(handle)
        return await none_if_missing(self.sdk.change(service, "delete_unary", zone=zone, **{word: name})) is not None

    async def evidence_of_end(self, handle: Handle) -> str | None:
        """The finished operation that ended it."""
        operation = await self._deleting_operation(handle)
        return f"{handle.cloud_id} is not found, and the operation {operation} is done" if operation else None

    async def state(self, handle: Handle) -> str | None:
        """THERE if it is found by name."""
        if handle.kind == FIREWALL:
            return PRESENT if await self.firewalls.exists(handle.cloud_id) else None
        return None if await self._describe(handle) is None else PRESENT

    def key(self, handle: Handle) -> str:
        """Its kind and name, which are unique in a project."""
        return f"{handle.kind} {handle.cloud_id}"

    async def _deleting_operation(self, handle: Handle) -> str:
        """The operation that ended a resource; for a launch's rules, that of its first rule."""
        if handle.kind == FIREWALL:
            return await self.operations.find_deletion("firewalls", handle.cloud_id)
        zone, name = split_id(handle)
        return await self.operations.find_deletion(_SERVICES[handle.kind][0], name, zone)

    async def _describe(self, handle: Handle) -> Any:
        """The description of a machine or a disk, None if there surely is none of that name."""
        service, word = _SERVICES[handle.kind]
        zone, name = split_id(handle)
        try:
            return await self.sdk.read(service, "get", zone=zone, **{word: name})
        except Refused as fault:
            if fault.reason is None or fault.reason.kind is not RefusalKind.MISSING:
                raise
            if f"{service}/{name}" not in fault.reason.text:  # the zone or the project was not found
                raise IncompleteListing.at(handle.cloud_id, fault.faults[0].what, "ask again") from None
            return None

    async def look(self, handle: Handle) -> MachineStatus:
        """The status of a machine: pending if it is not listed yet, gone if an operation ended it."""
        response = await self._describe(handle)
        if response is None:
            return await self._status_if_missing(handle)
        state = _STATES.get(str(response.status), "pending")
        address, internal = _addresses_of(response)
        why, preempted = one_line(str(response.status_message or "")), None
        if state == "stopped":
            why, preempted = await self._stop_reason(handle, why)
        licenses = (str(link) for disk in response.disks for link in disk.licenses)
        windows = any(license_.rsplit("/", 1)[-1].startswith("windows-") for license_ in licenses)
        return MachineStatus(
            state, address or internal, 3389 if windows else 22, peer_address=internal, why=why, taken=preempted
        )

    async def _status_if_missing(self, handle: Handle) -> MachineStatus:
        """The status of an unlisted machine, as far as its operations show."""
        last = await self._last_operation(handle)
        if last is None:
            return MachineStatus("pending", why="it is not listed yet")
        if str(last.operation_type) in _CREATING and not last.error:
            return MachineStatus(
                "pending", why="it is not listed yet" if not is_done(last) else "it is not listed any more"
            )
        return MachineStatus("gone", why=_operation_line(last), taken=str(last.operation_type) == PREEMPTED)

    async def _stop_reason(self, handle: Handle, why: str) -> tuple[str, bool | None]:
        """Why a machine is stopped, and whether it was preempted, by its last operation."""
        last = await self._last_operation(handle)
        if last is None or str(last.operation_type) in _CREATING:
            return why or "it powered itself off, or failed", None
        return why or _operation_line(last), str(last.operation_type) == PREEMPTED

    async def _last_operation(self, handle: Handle) -> Any:
        zone, name = split_id(handle)
        operations = await self.operations.list_for("instances", name, zone)
        preemptions = [one for one in operations if str(one.operation_type) == PREEMPTED]
        return (preemptions or operations or [None])[-1]

    async def zone(self, handle: Handle) -> str | None:
        """The zone of a machine, from its id."""
        return split_id(handle)[0] if handle.kind == INSTANCE else None

    async def resize(self, handle: Handle, offering: str, stopped: Callable[[], None]) -> None:
        """Stops, calls `stopped`, changes the type, starts; the deletion time stays. Raises Refused if not allowed.

        https://cloud.google.com/compute/docs/instances/changing-machine-type-of-stopped-instance
        """
        zone, name = split_id(handle)
        await self.sdk.change("instances", "stop_unary", zone=zone, instance=name)
        await self._wait_for_status(handle, "TERMINATED", _STOP_S)
        stopped()
        kind = {"machine_type": f"zones/{zone}/machineTypes/{offering}"}
        operation = await self.sdk.change(
            "instances",
            "set_machine_type_unary",
            zone=zone,
            instance=name,
            instances_set_machine_type_request_resource=kind,
        )
        await self.operations.wait(operation, handle.cloud_id, zone)
        operation = await self.sdk.change("instances", "start_unary", zone=zone, instance=name)
        await self.operations.wait(operation, handle.cloud_id, zone)
        await self._wait_for_status(handle, "RUNNING", _START_S)

    async def _wait_for_status(self, handle: Handle, status: str, within_s: float) -> None:
        async def look() -> bool:
            response = await self._describe(handle)
            return response is not None and str(response.status) == status

        pause = sleeper(self.sdk.pause_s)
        await wait_until(look, handle.cloud_id, f"it is not {status}", within_s, pause, self.absence.clock)


def split_id(handle: Handle) -> tuple[str, str]:
    """The zone and the name in the id of a machine or a disk."""
    zone, _, name = handle.cloud_id.partition("/")
    if not name:
        raise Refused.at(handle.cloud_id, "it is no id of this cloud", "ids are written ZONE/NAME")
    return zone, name


def _operation_line(operation: Any) -> str:
    return one_line(f"{operation.operation_type}: {operation.status_message or 'it was requested'}")


def _addresses_of(response: Any) -> tuple[str | None, str | None]:
    """The external and the internal address."""
    for card in response.network_interfaces:
        external = next((str(one.nat_i_p) for one in card.access_configs if one.nat_i_p), None)
        return external, str(card.network_i_p) or None
    return None, None
