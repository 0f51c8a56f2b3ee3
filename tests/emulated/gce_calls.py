"""The calls of the emulated Compute Engine: each gives the JSON that the official client reads."""

import copy
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from tests.emulated import gce_catalog as catalog
from tests.emulated.gce_json import HOST, Wrong, not_found
from tests.emulated.gce_state import Life, Operation, State

Params = dict[str, str]
_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9_-]{0,63}")
_HAS = re.compile(r'labels\.([a-z0-9_-]+)(?:="([^"]*)"|:\*)')


class Calls:
    """Answers calls out of a state; raises Wrong for what is refused."""

    def __init__(self, state: State) -> None:
        self._is = state

    def answer(self, action: str, params: Params, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to one call."""
        kind, _, verb = action.partition(".")
        method: Callable[[Params, dict[str, Any]], dict[str, Any]] | None
        method = getattr(self, f"_{kind.lower()}_{verb.lower()}", None)
        if method is None:
            raise Wrong(404, "notFound", f"no such method: {action}")
        self._is.settle()
        zone = params.get("zone")
        if zone is not None and not any(zone in zones for zones in catalog.REGIONS.values()):
            raise not_found(f"projects/{self._is.project}/zones/{zone}")
        return method(params, body)

    # -- what does not change

    def _projects_get(self, params: Params, _: Any) -> dict[str, Any]:
        rules = {"metric": "FIREWALLS", "limit": 100.0, "usage": float(len(self._is.firewalls))}
        cpus = {"metric": "CPUS_ALL_REGIONS", "limit": 1000.0, "usage": self._cpus(None)}
        return {"kind": "compute#project", "name": self._is.project, "id": "123456", "quotas": [rules, cpus]}

    def _regions_list(self, params: Params, _: Any) -> dict[str, Any]:
        items = [self._region(name, zones) for name, zones in catalog.REGIONS.items()]
        return self._page("regionList", items, params)

    def _region(self, name: str, zones: Iterable[str]) -> dict[str, Any]:
        metrics = {"CPUS": self._cpus(name), "N2_CPUS": 0.0, "C2_CPUS": 0.0, "IN_USE_ADDRESSES": 0.0, "INSTANCES": 0.0}
        limit = self._is.faults.quota_cpus
        quotas = [{"metric": key, "limit": limit, "usage": used} for key, used in metrics.items()]
        links = [f"{HOST}/projects/{self._is.project}/zones/{zone}" for zone in zones]
        return {"name": name, "status": "UP", "zones": links, "quotas": quotas}

    def _cpus(self, region: str | None) -> float:
        mine = [life for life in self._is.lives.values() if region is None or life.zone.startswith(f"{region}-")]
        return float(sum(self._vcpus(life) for life in mine if life.stops_at is None))

    def _vcpus(self, life: Life) -> int:
        kind = life.body["machineType"].rsplit("/", 1)[-1]
        return int((catalog.machine_type("", life.zone, kind) or {"guestCpus": 0})["guestCpus"])

    def _machinetypes_list(self, params: Params, _: Any) -> dict[str, Any]:
        found = (catalog.machine_type(self._is.project, params["zone"], name) for name in catalog.TYPES)
        return self._page("machineTypeList", [one for one in found if one], params)

    def _machinetypes_get(self, params: Params, _: Any) -> dict[str, Any]:
        name, zone = params["resource"], params["zone"]
        found = catalog.machine_type(self._is.project, zone, name)
        if found is None:
            raise not_found(self._is.link("machineTypes", name, zone))
        return found

    def _images_get(self, params: Params, _: Any) -> dict[str, Any]:
        found = self._is.images.get((params["project"], params["resource"]))
        if found is None:
            raise not_found(f"projects/{params['project']}/global/images/{params['resource']}")
        return found

    def _images_getfromfamily(self, params: Params, _: Any) -> dict[str, Any]:
        named = [
            one
            for (project, _), one in self._is.images.items()
            if project == params["project"] and one["family"] == params["resource"]
        ]
        if not named:
            raise not_found(f"projects/{params['project']}/global/images/family/{params['resource']}")
        return max(named, key=lambda one: str(one["name"]))

    def _networks_get(self, params: Params, _: Any) -> dict[str, Any]:
        if params["resource"] != "default" or not self._is.faults.network:
            raise not_found(self._is.link("networks", params["resource"]))
        return {"kind": "compute#network", "name": "default", "autoCreateSubnetworks": True}

    # -- operations

    def _zoneoperations_get(self, params: Params, _: Any) -> dict[str, Any]:
        return self._operation(params["resource"], params["zone"])

    def _globaloperations_get(self, params: Params, _: Any) -> dict[str, Any]:
        return self._operation(params["resource"], None)

    def _operation(self, name: str, zone: str | None) -> dict[str, Any]:
        one = self._is.operations.get(name)
        if one is None or one.zone != zone:
            raise not_found(self._is.link("operations", name, zone))
        return self._is.told(one)

    def _zoneoperations_list(self, params: Params, _: Any) -> dict[str, Any]:
        mine = [self._is.told(one) for one in self._is.operations.values() if one.zone == params["zone"]]
        return self._page("operationList", mine, params)

    def _globaloperations_list(self, params: Params, _: Any) -> dict[str, Any]:
        mine = [self._is.told(one) for one in self._is.operations.values() if one.zone is None]
        return self._page("operationList", mine, params)

    # -- machines

    def _instances_insert(self, params: Params, body: dict[str, Any]) -> dict[str, Any]:
        zone, state = params["zone"], self._is
        known = self._known("instances.insert", params)
        if known is not None:
            return state.told(known)
        self._valid(zone, body)
        link = state.link("instances", body["name"], zone)
        if f"{zone}/{body['name']}" in state.lives:
            raise Wrong(409, "alreadyExists", f"The resource '{link.partition('/v1/')[2]}' already exists")
        region, kind = zone.rpartition("-")[0], body["machineType"].rsplit("/", 1)[-1]
        needs = (catalog.machine_type(state.project, zone, kind) or {})["guestCpus"]
        if self._cpus(region) + needs > state.faults.quota_cpus:
            raise Wrong(403, "quotaExceeded", f"Quota 'CPUS' exceeded. Limit: {state.faults.quota_cpus} in {region}.")
        operation = state.operation("insert", link, zone, state.faults.pending_s)
        self._keep("instances.insert", params, operation)
        if zone in state.faults.full:
            operation.done_at = operation.began + state.faults.full_s
            operation.error = (
                "ZONE_RESOURCE_POOL_EXHAUSTED",
                f"The zone '{zone}' does not have enough resources available to fulfill the request.",
            )
            return state.told(operation)
        state.begin(zone, body)
        return state.told(operation)

    def _valid(self, zone: str, body: dict[str, Any]) -> None:
        """Raises what Compute Engine says of a request that it does not take."""
        name, scheduling = str(body.get("name", "")), body.get("scheduling", {})
        kind = body["machineType"].rsplit("/", 1)[-1]
        if not _NAME.fullmatch(name):
            raise Wrong(400, "invalid", f"Invalid value for field 'resource.name': '{name}'.")
        for label in (*body.get("labels", {}), *body.get("labels", {}).values()):
            if not _LABEL.fullmatch(label):
                raise Wrong(400, "invalid", f"Invalid value for field 'resource.labels': '{label}'.")
        if catalog.machine_type(self._is.project, zone, kind) is None:
            raise Wrong(400, "invalid", f"Invalid value for field 'resource.machineType': '{body['machineType']}'.")
        limited = scheduling.get("terminationTime") or scheduling.get("maxRunDuration")
        if limited and not scheduling.get("instanceTerminationAction"):
            raise Wrong(400, "invalid", "You must specify an instance termination action with a time limit.")
        if scheduling.get("provisioningModel") == "SPOT" and scheduling.get("onHostMaintenance") != "TERMINATE":
            raise Wrong(400, "invalid", "Scheduling must have onHostMaintenance TERMINATE for Spot VMs.")
        boot, *others = body.get("disks", [{}])
        image = boot.get("initializeParams", {}).get("sourceImage", "")
        parts = image.removeprefix(f"{HOST}/").split("/")
        if (parts[1] if len(parts) > 1 else "", parts[-1]) not in self._is.images:
            raise Wrong(400, "invalid", f"Invalid value for field 'resource.disks[0].sourceImage': '{image}'.")
        for one in (boot, *others):
            of_type = one.get("initializeParams", {}).get("diskType", "pd-standard").rsplit("/", 1)[-1]
            if of_type not in catalog.DISK_TYPES:
                raise Wrong(400, "invalid", f"Invalid value for field 'diskType': '{of_type}'.")

    def _instances_get(self, params: Params, _: Any) -> dict[str, Any]:
        return self._told(self._life(params))

    def _life(self, params: Params) -> Life:
        life = self._is.shown(f"{params['zone']}/{params['resource']}")
        if life is None:
            raise not_found(self._is.link("instances", params["resource"], params["zone"]))
        return life

    def _told(self, life: Life) -> dict[str, Any]:
        """A machine as reads show it."""
        state, body = self._is, copy.deepcopy(life.body)
        status = state.status(life)
        runs = status == "RUNNING"
        outside = {"kind": "compute#accessConfig", "type": "ONE_TO_ONE_NAT", "name": "External NAT"}
        inside = getattr(life.machine, "inside", life.address)
        card = {"networkIP": inside, "accessConfigs": [outside | ({"natIP": life.address} if runs else {})]}
        disks = []
        for disk in state.disks.values():
            if disk.user == life.key:
                image = disk.body.get("sourceImage", "").removeprefix(f"{HOST}/").split("/")
                said = state.images.get((image[1], image[-1]), {}) if len(image) > 1 else {}
                link = state.link("disks", disk.name, disk.zone)
                disks.append({"source": link, "autoDelete": disk.auto_delete, "licenses": said.get("licenses", [])})
        kind = body["machineType"].rsplit("/", 1)[-1]
        return body | {
            "kind": "compute#instance",
            "id": life.id,
            "zone": f"{HOST}/projects/{state.project}/zones/{life.zone}",
            "machineType": state.link("machineTypes", kind, life.zone),
            "status": status,
            "statusMessage": life.trouble,
            "disks": disks,
            "networkInterfaces": [card],
            "selfLink": state.link("instances", life.name, life.zone),
        }

    def _instances_aggregatedlist(self, params: Params, _: Any) -> dict[str, Any]:
        lives = [life for key in self._is.lives if (life := self._is.shown(key)) is not None]
        return self._aggregated("instance", [(life.zone, self._told(life)) for life in lives], params)

    def _instances_delete(self, params: Params, _: Any) -> dict[str, Any]:
        return self._is.told(self._is.end(self._life(params), "delete"))

    def _instances_stop(self, params: Params, _: Any) -> dict[str, Any]:
        life = self._life(params)
        self._is.stop(life)
        return self._done("stop", life, self._is.faults.end_s)

    def _instances_start(self, params: Params, _: Any) -> dict[str, Any]:
        life = self._life(params)
        if life.stops_at is not None:
            self._is.again(life)
        return self._done("start", life, self._is.faults.pending_s)

    def _instances_setmachinetype(self, params: Params, body: dict[str, Any]) -> dict[str, Any]:
        life, kind = self._life(params), body["machineType"].rsplit("/", 1)[-1]
        if self._is.status(life) != "TERMINATED":
            raise Wrong(400, "resourceNotReady", "Machine type can be changed only for stopped instances.")
        if catalog.machine_type(self._is.project, life.zone, kind) is None:
            raise Wrong(400, "invalid", f"Invalid value for field 'machineType': '{kind}'.")
        life.body["machineType"] = body["machineType"]
        return self._done("setMachineType", life, 0.0)

    def _done(self, kind: str, life: Life, lasts_s: float) -> dict[str, Any]:
        link = self._is.link("instances", life.name, life.zone)
        return self._is.told(self._is.operation(kind, link, life.zone, lasts_s))

    # -- disks

    def _disks_aggregatedlist(self, params: Params, _: Any) -> dict[str, Any]:
        told = [(disk.zone, self._disk(disk)) for disk in self._is.disks.values()]
        return self._aggregated("disk", told, params)

    def _disk(self, disk: Any) -> dict[str, Any]:
        state = self._is
        users = [state.link("instances", disk.user.partition("/")[2], disk.zone)] if disk.user else []
        return {
            "kind": "compute#disk",
            "name": disk.name,
            "zone": f"{HOST}/projects/{state.project}/zones/{disk.zone}",
            "selfLink": state.link("disks", disk.name, disk.zone),
            "status": "READY",
            "users": users,
            "labels": disk.body.get("labels", {}),
            "description": disk.body.get("description", ""),
            "type": state.link("diskTypes", disk.body.get("diskType", "pd-standard").rsplit("/", 1)[-1], disk.zone),
            "sizeGb": str(disk.body.get("diskSizeGb", "10")),
        }

    def _disks_get(self, params: Params, _: Any) -> dict[str, Any]:
        disk = self._is.disks.get(f"{params['zone']}/{params['resource']}")
        if disk is None:
            raise not_found(self._is.link("disks", params["resource"], params["zone"]))
        return self._disk(disk)

    def _disks_delete(self, params: Params, _: Any) -> dict[str, Any]:
        told, key = self._disks_get(params, None), f"{params['zone']}/{params['resource']}"
        if told["users"]:
            raise Wrong(400, "resourceInUseByAnotherResource", f"The disk is already being used by {told['users'][0]}")
        self._is.disks.pop(key)
        return self._is.told(self._is.operation("delete", told["selfLink"], params["zone"]))

    # -- firewall rules

    def _firewalls_insert(self, params: Params, body: dict[str, Any]) -> dict[str, Any]:
        state, name = self._is, str(body.get("name", ""))
        known = self._known("firewalls.insert", params)
        if known is not None:
            return state.told(known)
        link = state.link("firewalls", name)
        if not _NAME.fullmatch(name):
            raise Wrong(400, "invalid", f"Invalid value for field 'resource.name': '{name}'.")
        if name in state.firewalls:
            raise Wrong(409, "alreadyExists", f"The resource '{link.partition('/v1/')[2]}' already exists")
        if len({":" in net for net in body.get("sourceRanges", ())}) > 1:
            raise Wrong(400, "invalid", "Invalid value for field 'resource.sourceRanges': IPv4 and IPv6 are mixed.")
        if bool(body.get("allowed")) == bool(body.get("denied")):
            raise Wrong(400, "invalid", "A rule must have either allowed or denied.")
        if not state.faults.network:
            raise not_found(state.link("networks", "default"))
        state.firewalls[name] = body
        operation = state.operation("insert", link, None)
        self._keep("firewalls.insert", params, operation)
        return state.told(operation)

    def _firewalls_get(self, params: Params, _: Any) -> dict[str, Any]:
        found = self._is.firewalls.get(params["resource"])
        if found is None:
            raise not_found(self._is.link("firewalls", params["resource"]))
        return {"kind": "compute#firewall", **found}

    def _firewalls_list(self, params: Params, _: Any) -> dict[str, Any]:
        return self._page("firewallList", list(self._is.firewalls.values()), params)

    def _firewalls_delete(self, params: Params, _: Any) -> dict[str, Any]:
        state, name = self._is, params["resource"]
        self._firewalls_get(params, None)
        link = state.link("firewalls", name)
        if name in state.going:
            raise Wrong(400, "resourceNotReady", f"The resource '{link.partition('/v1/')[2]}' is not ready")
        state.going[name] = state.now() + state.faults.end_s
        state.settle()
        return state.told(state.operation("delete", link, None, state.faults.end_s))

    # -- parts

    def _known(self, action: str, params: Params) -> Operation | None:
        """The operation of an earlier request with the same id: it is not done again."""
        if self._is.faults.request_ids == "ignored":
            return None
        name = self._is.asked.get((f"{action} {params.get('zone', '')}", params.get("requestId", "")))
        return self._is.operations.get(name) if name else None

    def _keep(self, action: str, params: Params, operation: Operation) -> None:
        if params.get("requestId"):
            self._is.asked[f"{action} {params.get('zone', '')}", params["requestId"]] = operation.name

    def _page(self, kind: str, items: list[Any], params: Params) -> dict[str, Any]:
        """A list, or the part of it that was asked for."""
        most = min(self._is.faults.page or 500, int(params.get("maxResults", 500)))
        first = _first(params)
        said: dict[str, Any] = {"kind": f"compute#{kind}", "id": kind, "items": items[first : first + most]}
        return said | ({"nextPageToken": f"from-{first + most}-end"} if len(items) > first + most else {})

    def _aggregated(self, kind: str, told: list[tuple[str, Any]], params: Params) -> dict[str, Any]:
        """All zones' lists in one; zones that cannot be asked bear a warning, and are named."""
        lost = self._is.faults.unreachable
        if lost and not self._is.faults.partial:
            raise Wrong(503, "backendError", f"zones cannot be reached: {', '.join(sorted(lost))}")
        wanted = [(zone, one) for zone, one in told if zone not in lost and _matches(one, params.get("filter", ""))]
        page = self._page(f"{kind}AggregatedList", wanted, params)
        items: dict[str, Any] = {}
        for zone in (zone for zones in catalog.REGIONS.values() for zone in zones):
            mine = [one for at, one in page["items"] if at == zone]
            code = "UNREACHABLE" if zone in lost else "NO_RESULTS_ON_PAGE"
            items[f"zones/{zone}"] = {f"{kind}s": mine} if mine else {"warning": {"code": code, "message": zone}}
        return page | {"items": items, "unreachables": [f"zones/{zone}" for zone in sorted(lost)]}


def _first(params: Params) -> int:
    token = params.get("pageToken", "")
    if not token:
        return 0
    match = re.fullmatch(r"from-(\d+)-end", unquote(token))
    if match is None:
        raise Wrong(400, "invalid", "Invalid value for field 'pageToken'")
    return int(match[1])


def _matches(one: dict[str, Any], wanted: str) -> bool:
    """Whether a resource is what a filter asks for; the subset of its language that is used here."""
    if not wanted:
        return True
    parts = [part.strip("()") for part in wanted.split(" OR ")]
    found = [_HAS.fullmatch(part) for part in parts]
    if not all(found):
        raise Wrong(400, "invalid", f"Invalid value for field 'filter': '{wanted}'")
    labels = one.get("labels", {})
    return any(match and (match[1] in labels and match[2] in (None, labels[match[1]])) for match in found)
