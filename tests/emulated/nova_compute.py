"""The calls of the emulated Nova."""

import base64
import uuid
from collections.abc import Callable
from typing import Any

from tests.emulated.nova_lives import Lives
from tests.emulated.nova_state import FLAVORS, IMAGES, PROJECT, VOLUME_TYPES, ZONES, Flavor, Placement, Region, Server
from tests.emulated.nova_wire import Asked, empty, error, listed, said
from tests.emulated.wire import Answer

NO_HOST = "No valid host was found. There are not enough hosts available."


class Compute:
    """The Nova of one cloud, all of its regions."""

    def __init__(self, lives: Lives, base: Callable[[], str]) -> None:
        self._lives, self._base = lives, base

    def answer(self, region: Region, this: Asked) -> Answer:
        """Carry out a call that may be made."""
        newest = tuple(int(part) for part in self._lives.faults.newest.split("."))
        if not (2, 1) <= this.microversion <= newest:
            return error("compute", 406, f"Version {this.microversion} is not supported by the API.")
        calls: dict[str, Callable[[Region, Asked], Answer]] = {
            "ListFlavors": self._flavors,
            "ShowFlavor": self._flavor,
            "ShowLimits": self._limits,
            "ListServers": self._list,
            "CreateServer": self._create,
            "ShowServer": self._show,
            "DeleteServer": self._delete,
            "ResizeServer": self._resize,
            "ConfirmResize": self._confirm,
            "StopServer": self._stop,
            "StartServer": self._start,
            "ForceDeleteServer": self._force,
            "ListServerGroups": self._placements,
            "CreateServerGroup": self._place,
            "DeleteServerGroup": self._displace,
        }
        known = calls.get(this.action)
        return error("compute", 404, "The resource could not be found.") if known is None else known(region, this)

    def versions(self, region: str, this: Asked) -> Answer:
        """What this Nova speaks, which anybody may ask."""
        at = f"{self._base()}/{region}/compute/v2.1/"
        version = {"id": "v2.1", "status": "CURRENT", "version": self._lives.faults.newest, "min_version": "2.1",
                   "links": [{"rel": "self", "href": at}], "updated": "2013-07-23T11:33:21Z"}  # fmt: skip
        return said({"version": version} if this.path.startswith("/v2.1") else {"versions": [version]})

    # -- shelves

    def _flavors(self, region: Region, this: Asked) -> Answer:
        items = [_flavor(one) for one in FLAVORS]
        return listed("flavors", items, this, self._base(), self._lives.faults.page)

    def _flavor(self, region: Region, this: Asked) -> Answer:
        found = next((one for one in FLAVORS if one.id == this.id), None)
        return said({"flavor": _flavor(found)}) if found else error("compute", 404, f"Flavor {this.id} not found.")

    def _limits(self, region: Region, this: Asked) -> Answer:
        faults, all_of = self._lives.faults, list(region.servers.values())
        absolute = {
            "maxTotalInstances": faults.servers, "totalInstancesUsed": len(all_of),
            "maxTotalCores": faults.cores, "totalCoresUsed": sum(one.flavor.vcpus for one in all_of),
            "maxTotalRAMSize": -1, "totalRAMUsed": sum(one.flavor.ram_mib for one in all_of),
        }  # fmt: skip
        return said({"limits": {"rate": [], "absolute": absolute}})

    # -- servers

    def _list(self, region: Region, this: Asked) -> Answer:
        shown = [one for one in region.servers.values() if self._lives.visible(one) and not one.soft]
        items = [self._told(one, this) for one in shown]
        if self._lives.faults.down_cell and this.microversion >= (2, 69):
            items = [{"id": one["id"], "status": "UNKNOWN", "tenant_id": PROJECT, "links": []} for one in items]
        elif self._lives.faults.down_cell:
            items = []
        return listed("servers", items, this, self._base(), self._lives.faults.page)

    def _seen(self, region: Region, this: Asked) -> Server | None:
        server = region.servers.get(this.id)
        return server if server is not None and self._lives.visible(server) else None

    def _show(self, region: Region, this: Asked) -> Answer:
        server = self._seen(region, this)
        return said({"server": self._told(server, this)}) if server else _missing(this.id)

    def _told(self, server: Server, this: Asked) -> dict[str, Any]:
        region_of, state = server.region, self._lives.state(server)
        new, sold = this.microversion >= (2, 47), server.flavor
        told: dict[str, Any] = {
            "id": server.id, "name": server.name, "status": state, "tenant_id": PROJECT,
            "metadata": dict(server.metadata), "addresses": self._addresses(server, state),
            "flavor": {"original_name": sold.name, "vcpus": sold.vcpus, "ram": sold.ram_mib, "disk": sold.disk_gib}
            if new else {"id": sold.id},
            "image": {"id": server.image} if server.image else "",
            "OS-EXT-AZ:availability_zone": "" if state == "BUILD" else server.zone,
            "os-extended-volumes:volumes_attached": [
                {"id": id, "delete_on_termination": ends} for id, ends in server.volumes.items()
            ],
            "links": [{"rel": "self", "href": f"{self._base()}/{region_of}/compute/v2.1/servers/{server.id}"}],
        }  # fmt: skip
        if server.error:
            told["fault"] = {"code": 500, "created": "2026-01-01T00:00:00Z", "message": server.error}
        return told

    def _addresses(self, server: Server, state: str) -> dict[str, Any]:
        if state in {"BUILD", "ERROR"}:
            return {}
        return {"net": [{"addr": server.address, "version": 4, "OS-EXT-IPS:type": "fixed"}]}

    def _create(self, region: Region, this: Asked) -> Answer:
        asked = this.body.get("server")
        if not isinstance(asked, dict) or not {"name", "flavorRef"} <= set(asked):
            return error("compute", 400, "Invalid input: 'server' is a required property")
        wrong = self._wrong(region, this, asked)
        if wrong is not None:
            return wrong
        flavor = next(one for one in FLAVORS if one.id == asked["flavorRef"])
        data = base64.b64decode(asked.get("user_data", "")).decode()
        named = {group["name"] for group in asked.get("security_groups", [{"name": "default"}])}
        server = Server(
            str(uuid.uuid4()), region.name, asked["name"], flavor, asked.get("imageRef", ""), dict(asked["metadata"]),
            self._lives.clock(), region.address(121), "", data, asked.get("availability_zone") or ZONES[0],
            asked["networks"][0]["uuid"], str(uuid.uuid4()),
            [group.id for group in region.groups.values() if {group.id, group.name} & named],
            this.body.get("os:scheduler_hints", {}).get("group", ""),
        )  # fmt: skip
        region.servers[server.id] = server
        if self._lives.faults.no_host:
            server.error = NO_HOST
        else:
            for disk in asked.get("block_device_mapping_v2", ()):
                if disk["destination_type"] == "volume":
                    made = region.add_volume(disk["volume_size"], disk["volume_type"], server.id)
                    server.volumes[made.id] = disk["delete_on_termination"]
            self._lives.power_on(server)
        links = self._told(server, this)["links"]
        return said({"server": {"id": server.id, "links": links, "adminPass": "x" * 12}}, 202)

    def _wrong(self, region: Region, this: Asked, asked: dict[str, Any]) -> Answer | None:
        """The answer to a body that cannot be had, None for any other."""
        flavor = next((one for one in FLAVORS if one.id == asked["flavorRef"]), None)
        disks = asked.get("block_device_mapping_v2", ())
        image = asked.get("imageRef") or next((disk.get("uuid") for disk in disks if "uuid" in disk), "")
        needed = next((one.min_disk for one in IMAGES if one.id == image), None)
        if flavor is None:
            return error("compute", 400, "Invalid flavorRef provided.")
        if needed is None:
            return error("compute", 400, f"Cannot find requested image {image}")
        on_volume = any(disk.get("boot_index") == 0 and disk["destination_type"] == "volume" for disk in disks)
        if not on_volume and not flavor.disk_gib:
            return error("compute", 403, "Only volume-backed servers are allowed for flavors with zero disk.")
        if not on_volume and needed > flavor.disk_gib:
            return error("compute", 400, "Flavor's disk is too small for requested image.")
        if any("volume_type" in disk for disk in disks) and this.microversion < (2, 67):
            return error("compute", 400, "Additional properties are not allowed ('volume_type' was unexpected)")
        types = {disk["volume_type"] for disk in disks if "volume_type" in disk}
        if types - set(VOLUME_TYPES):
            return error("compute", 400, f"Volume type {sorted(types)[0]} could not be found.")
        if asked.get("availability_zone") not in {None, *ZONES}:
            return error("compute", 400, "The requested availability zone is not available")
        if len(asked.get("user_data", "")) > 65535:
            return error(
                "compute", 400, "User data too large. User data must be no larger than 64KB once base64 encoded."
            )
        nets = [one.get("uuid") for one in asked.get("networks", ())]
        if not nets or any(one not in {region.id_of("private"), region.id_of("public")} for one in nets):
            return error("compute", 400, f"Network {nets[:1]} could not be found.")
        groups = {group["name"] for group in asked.get("security_groups", ())}
        if groups - {name for one in region.groups.values() for name in (one.id, one.name)}:
            return error("compute", 400, f"Unable to find security_group with name or id '{sorted(groups)[0]}'")
        hint = this.body.get("os:scheduler_hints", {}).get("group")
        if hint and hint not in region.placements:
            return error("compute", 400, f"Server group {hint} could not be found.")
        return self._too_many(region, flavor)

    def _too_many(self, region: Region, flavor: Flavor) -> Answer | None:
        faults, all_of = self._lives.faults, list(region.servers.values())
        used = {"instances": (len(all_of), 1, faults.servers),
                "cores": (sum(one.flavor.vcpus for one in all_of), flavor.vcpus, faults.cores)}  # fmt: skip
        for what, (have, need, most) in used.items():
            if have + need > most:
                text = f"Quota exceeded for {what}: Requested {need}, but already used {have} of {most} {what}"
                return error("compute", 403, text)
        return None

    def _delete(self, region: Region, this: Asked) -> Answer:
        server = self._seen(region, this)
        if server is None:
            return _missing(this.id)
        if self._lives.faults.deletes == "soft":
            server.soft = True
            self._lives.power_off(server)
        elif self._lives.faults.deletes == "ends":
            self._lives.end(server)
        return empty()

    def _force(self, region: Region, this: Asked) -> Answer:
        server = self._seen(region, this)
        if server is None:
            return _missing(this.id)
        self._lives.end(server)
        return empty(202)

    def _stop(self, region: Region, this: Asked) -> Answer:
        server = self._seen(region, this)
        if server is None:
            return _missing(this.id)
        self._lives.power_off(server)
        return empty(202)

    def _start(self, region: Region, this: Asked) -> Answer:
        server = self._seen(region, this)
        if server is None:
            return _missing(this.id)
        self._lives.power_on(server)
        return empty(202)

    def _resize(self, region: Region, this: Asked) -> Answer:
        server = self._seen(region, this)
        flavor = next((one for one in FLAVORS if one.id == this.body["resize"].get("flavorRef")), None)
        if server is None:
            return _missing(this.id)
        state = self._lives.state(server)
        if state not in {"ACTIVE", "SHUTOFF"}:
            return error("compute", 409, f"Cannot 'resize' instance {server.id} while it is in vm_state {state}")
        if flavor is None:
            return error("compute", 400, "Unable to locate requested flavor.")
        if flavor.disk_gib < server.flavor.disk_gib:
            return error("compute", 400, "Resize error: Unable to resize disk down.")
        if self._lives.faults.no_host:
            return error("compute", 400, "No valid host was found. No valid host found for resize")
        server.before, server.flavor, server.resize_at = server.flavor, flavor, self._lives.clock()
        self._lives.reboot_as_resized(server)
        return empty(202)

    def _confirm(self, region: Region, this: Asked) -> Answer:
        server = self._seen(region, this)
        if server is None:
            return _missing(this.id)
        if self._lives.state(server) != "VERIFY_RESIZE":
            return error("compute", 409, "Instance has not been resized.")
        server.resize_at = server.before = None
        return empty()

    # -- server groups

    def _placements(self, region: Region, this: Asked) -> Answer:
        items = [{"id": one.id, "name": one.name, "policy": one.policy, "members": []}
                 for one in region.placements.values()]  # fmt: skip
        return listed("server_groups", items, this, self._base(), None)

    def _place(self, region: Region, this: Asked) -> Answer:
        asked = this.body.get("server_group", {})
        new = this.microversion >= (2, 64)
        policy = asked.get("policy") if new else next(iter(asked.get("policies", ())), None)
        if not asked.get("name") or len(asked["name"]) > 255 or not policy or ("policy" in asked) is not new:
            return error("compute", 400, "Invalid input received for server_group")
        made = Placement(str(uuid.uuid4()), asked["name"], policy)
        region.placements[made.id] = made
        return said({"server_group": {"id": made.id, "name": made.name, "policy": policy, "members": []}})

    def _displace(self, region: Region, this: Asked) -> Answer:
        if region.placements.pop(this.id, None) is None:
            return error("compute", 404, f"Instance group {this.id} could not be found.")
        return empty()


def _flavor(one: Flavor) -> dict[str, Any]:
    return {"id": one.id, "name": one.name, "vcpus": one.vcpus, "ram": one.ram_mib, "disk": one.disk_gib,
            "OS-FLV-EXT-DATA:ephemeral": 0, "swap": 0, "os-flavor-access:is_public": True, "extra_specs": {},
            "rxtx_factor": 1.0, "links": []}  # fmt: skip


def _missing(id: str) -> Answer:
    return error("compute", 404, f"Instance {id} could not be found.")
