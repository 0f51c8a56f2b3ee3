"""Virtual machines of an emulated Azure: asked for, looked at, changed, ended; arm_contract.md says by what."""

import base64
from typing import Any

from tests.emulated.arm_answers import error, said
from tests.emulated.arm_catalogue import image, in_use, size_of, zones_of
from tests.emulated.arm_routes import Route
from tests.emulated.arm_state import ADDRESS, CARD, DISK, NEAR, NETWORK, SPREAD, VM, Life, Resource, State
from tests.emulated.wire import Answer

_SPELT = {"running": "VM running", "starting": "VM starting", "stopped": "VM stopped", "deallocated": "VM deallocated"}


class Machines:
    """The calls about virtual machines of one subscription; `base` is where the cloud listens."""

    def __init__(self, state: State) -> None:
        self._is = state
        self.base = ""

    # -- making

    def put(self, route: Route, given: dict[str, str]) -> Answer:
        """Make one, or answer that there is one; `given` are the request's headers in lower case."""
        there = self._is.find(route.id)
        if there is not None and given.get("if-none-match") == "*":
            return error("PreconditionFailed", f"The resource {route.name} exists already.")
        if there is not None:
            return self._again(there, route)
        refused = self._refused(route)
        if refused is not None:
            return refused
        machine = self._made(route)
        operation = self._is.begin(machine, "make", self._is.faults.fails_s if machine.failure else 0.0)
        operation.ends_at = max(operation.ends_at, machine.ready_at)
        where = f"{self.base}{self._operations(machine.location)}/{operation.id}?api-version=2026-04-01"
        return said(self.shown(machine), 201, Azure_AsyncOperation=where, Retry_After="0")

    def _operations(self, region: str) -> str:
        return f"/subscriptions/{self._is.subscription}/providers/Microsoft.Compute/locations/{region}/operations"

    def _again(self, there: Resource, route: Route) -> Answer:
        """The same request once more changes nothing; what cannot be changed is refused."""
        if there.ends_at is not None:
            return error("OperationNotAllowed", "The machine is being deleted.")
        before, after = (one["properties"].get("osProfile", {}).get("customData") for one in (there.body, route.body))
        if before != after:
            return error("PropertyChangeNotAllowed", "Changing property 'osProfile.customData' is not allowed.")
        return said(self.shown(there), 200)

    def _refused(self, route: Route) -> Answer | None:
        properties, region = route.body.get("properties", {}), str(route.body.get("location", ""))
        size = size_of(properties.get("hardwareProfile", {}).get("vmSize", ""))
        if region not in self._is.regions:
            return error("LocationNotAvailableForResourceType", f"The location {region!r} is not available.")
        if size is None:
            return error("InvalidParameter", "The value of parameter vmSize is invalid.")
        now = dict(self._is.faults.refused).get(size.name)
        if now is not None or not size.sold:
            return error(now or "SkuNotAvailable", f"The requested size {size.name} is not available in {region}.")
        return self._misfit(route, properties, region) or self._over_quota(properties, region, size.name)

    def _misfit(self, route: Route, properties: dict[str, Any], region: str) -> Answer | None:
        """What the machine stands on must be there, and what it asks for must fit."""
        profile = properties.get("networkProfile", {})
        cards = profile.get("networkInterfaceConfigurations", [])
        if not cards or not profile.get("networkApiVersion"):
            return error("InvalidParameter", "networkApiVersion and a network interface configuration are needed.")
        for card in cards:
            subnet = card["properties"]["ipConfigurations"][0]["properties"]["subnet"]["id"]
            network = self._is.find(subnet.partition("/subnets/")[0])
            if network is None or network.kind != NETWORK or not self._is.shown(network):
                return error("InvalidResourceReference", f"Resource {subnet} referenced by {route.id} was not found.")
            address = card["properties"]["ipConfigurations"][0]["properties"].get("publicIPAddressConfiguration", {})
            if address and address.get("sku", {}).get("name") != "Standard":
                return error("IPv4BasicSkuPublicIpCountLimitReached", "Basic public addresses cannot be made any more.")
        for key in ("proximityPlacementGroup", "availabilitySet"):
            named = properties.get(key, {}).get("id")
            if named and self._is.find(named) is None:
                return error("InvalidResourceReference", f"Resource {named} was not found.")
        zones = route.body.get("zones", [])
        if any(zone not in zones_of(region) for zone in zones):
            return error("InvalidAvailabilityZone", "The zone is not one of this region.")
        if zones and properties.get("availabilitySet"):
            return error("BadRequest", "A machine of an availability set can stand in no zone.")
        return self._unfit(properties)

    def _unfit(self, properties: dict[str, Any]) -> Answer | None:
        asked = properties["storageProfile"]["imageReference"]
        if "id" not in asked and image(asked["publisher"], asked["offer"], asked["sku"]) is None:
            return error("PlatformImageNotFound", "The platform image is not available.")
        system = properties.get("osProfile", {})
        keys = system.get("linuxConfiguration", {}).get("ssh", {}).get("publicKeys", [])
        if not system.get("adminUsername") or not (keys or system.get("adminPassword")):
            return error("InvalidParameter", "adminUsername and a public key or a password are needed.")
        if len(base64.b64decode(system.get("customData", ""))) > 65535:
            return error("InvalidParameter", "Custom data is longer than 65535 bytes.")
        for disk in properties["storageProfile"].get("dataDisks", []):
            kind = disk["managedDisk"]["storageAccountType"]
            able = properties.get("additionalCapabilities", {}).get("ultraSSDEnabled")
            if kind == "UltraSSD_LRS" and not able:
                return error("InvalidParameter", "ultraSSDEnabled is needed for disks of the type UltraSSD_LRS.")
            if "diskIOPSReadWrite" in disk and kind != "UltraSSD_LRS":
                return error("InvalidParameter", "diskIOPSReadWrite is for disks of the type UltraSSD_LRS.")
        return None

    def _over_quota(self, properties: dict[str, Any], region: str, name: str) -> Answer | None:
        asked, spot = size_of(name), properties.get("priority") == "Spot"
        assert asked is not None
        used = sum(size.vcpus for size, other in in_use(self._is, region) if other is spot)
        most = self._is.faults.quota_vcpus
        if used + asked.vcpus <= most:
            return None
        text = (
            f"Operation could not be completed as it results in exceeding approved Total Regional Cores quota. {most}"
        )
        return error("OperationNotAllowed", text)

    def _made(self, route: Route) -> Resource:
        properties, region = route.body["properties"], route.body["location"]
        code = dict(self._is.faults.fails).get(properties["hardwareProfile"]["vmSize"])
        takes_s = self._is.faults.fails_s if code else self._is.faults.pending_s
        machine = self._is.make(VM, route.group, route.name, region, route.body, takes_s)
        if code:
            machine.failure = (code, f"Allocation failed ({code}).")
        for kind, name, body, ends in self._parts(properties):
            part = self._is.make(kind, route.group, name, region, {**body, "managedBy": machine.id}, 0.0)
            if ends:
                machine.within.append(part.id)
        if not code:
            data = properties["osProfile"].get("customData", "")
            self._is.start(machine, base64.b64decode(data).decode())
        return machine

    @staticmethod
    def _parts(properties: dict[str, Any]) -> list[tuple[str, str, dict[str, Any], bool]]:
        """Disks, cards and addresses that the call brings, and whether each ends with the machine."""
        storage = properties["storageProfile"]
        disks = [storage["osDisk"], *storage.get("dataDisks", [])]
        found = [(DISK, disk["name"], {}, disk.get("deleteOption") == "Delete") for disk in disks]
        for card in properties["networkProfile"]["networkInterfaceConfigurations"]:
            told = card["properties"]
            found.append((CARD, card["name"], {"tags": card.get("tags", {})}, told.get("deleteOption") == "Delete"))
            for one in told["ipConfigurations"]:
                address = one["properties"].get("publicIPAddressConfiguration")
                if address:
                    ends = address["properties"].get("deleteOption") == "Delete"
                    found.append((ADDRESS, address["name"], {"tags": address.get("tags", {})}, ends))
        return found

    # -- looking

    def shown(self, machine: Resource, *, view: bool = False, loud: bool = False) -> dict[str, Any]:
        """A machine as reads tell it; lists of the whole subscription write the group in capitals (`loud`)."""
        asked = machine.body["properties"]
        system = "Windows" if "adminPassword" in asked.get("osProfile", {}) else "Linux"
        hidden = {"adminPassword", "customData"}
        told = {key: value for key, value in asked.items() if key not in {"networkProfile", "osProfile"}}
        told["osProfile"] = {key: one for key, one in asked.get("osProfile", {}).items() if key not in hidden}
        told["storageProfile"] = asked["storageProfile"] | {
            "osDisk": {**asked["storageProfile"]["osDisk"], "osType": system}
        }
        cards = [id for id in machine.within if f"/providers/{CARD}/" in id]
        told["networkProfile"] = {"networkInterfaces": [{"id": id} for id in cards]}
        told["provisioningState"] = self._is.provisioning(machine)
        if view:
            told["instanceView"] = {"statuses": self._statuses(machine)}
        id = machine.id.replace(f"/{machine.group}/", f"/{machine.group.upper()}/") if loud else machine.id
        zones = {"zones": machine.body["zones"]} if machine.body.get("zones") else {}
        return {
            "id": id, "name": machine.name, "type": VM, "location": machine.location, "tags": machine.tags,
            **zones, "properties": told,
        }  # fmt: skip

    def _statuses(self, machine: Resource) -> list[dict[str, str]]:
        state, power = self._is.provisioning(machine), self._is.power(machine)
        if state == "Failed" and machine.failure:
            code, text = machine.failure
            return [{"code": f"ProvisioningState/failed/{code}", "displayStatus": "failed", "message": text}]
        found = [{"code": f"ProvisioningState/{state.lower()}", "displayStatus": f"Provisioning {state.lower()}"}]
        return found + ([{"code": f"PowerState/{power}", "displayStatus": _SPELT[power]}] if power else [])

    def card(self, part: Resource) -> dict[str, Any]:
        """A network card: its inside address, and the public address at it."""
        life = self._life(part)
        machine = self._is.find(str(part.body.get("managedBy", "")))
        outside = [id for id in (machine.within if machine else ()) if f"/providers/{ADDRESS}/" in id]
        inside: dict[str, Any] = {"privateIPAddress": life.inside if life else None}
        if outside:
            inside["publicIPAddress"] = {"id": outside[0]}
        return {"ipConfigurations": [{"name": "inside", "properties": inside}], "provisioningState": "Succeeded"}

    def address(self, part: Resource) -> dict[str, Any]:
        """A public address."""
        life = self._life(part)
        return {"provisioningState": "Succeeded", **({"ipAddress": life.address} if life else {})}

    def _life(self, part: Resource) -> Life | None:
        """What goes on behind the machine of a card or an address; nothing is known of it while it boots."""
        life = self._is.lives.get(str(part.body.get("managedBy", "")))
        return None if life is None or life.booting else life

    # -- changing and ending

    def patch(self, machine: Resource, route: Route) -> Answer:
        """Another size."""
        asked = route.body.get("properties", {}).get("hardwareProfile", {}).get("vmSize")
        size = size_of(asked or "")
        if size is None or not size.sold:
            return error("InvalidParameter", "The value of parameter vmSize is invalid.")
        machine.body["properties"]["hardwareProfile"]["vmSize"] = size.name
        return self._accepted(machine, "change", 200, self.shown(machine))

    def act(self, machine: Resource, what: str) -> Answer:
        """Deallocate or start."""
        if what == "deallocate":
            self._is.power_off(machine, "deallocated")
        elif what == "start":
            if self._is.lives[machine.id].power != "running":
                self._is.power_on(machine)
        else:
            return error("NotFound", f"there is no {what}")
        return self._accepted(machine, what, 202, None)

    def delete(self, machine: Resource | None) -> Answer:
        """It goes, with what its making said; what is not there is told so by an empty answer."""
        if machine is None:
            return Answer(204)
        self._is.end(machine)
        return self._accepted(machine, "delete", 202, None, self._is.faults.terminate_s)

    def _accepted(self, machine: Resource, what: str, status: int, body: Any, takes_s: float = 0.0) -> Answer:
        operation = self._is.begin(machine, what, takes_s)
        where = f"{self.base}{self._operations(machine.location)}/{operation.id}?api-version=2026-04-01"
        headers = {"Azure_AsyncOperation": where, "Location": where, "Retry_After": "0"}
        if body is None:
            return Answer(status, b"", {name.replace("_", "-"): value for name, value in headers.items()})
        return said(body, status, **headers)


PLACES = (NEAR, SPREAD)
"""What is made beside machines for their placement."""
