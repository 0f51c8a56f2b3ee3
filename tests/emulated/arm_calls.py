"""The calls of an emulated Resource Manager: what each answers when nothing goes wrong."""

from typing import Any

from tests.emulated.arm_answers import error, paged, said
from tests.emulated.arm_catalogue import locations, skus, usages, versions
from tests.emulated.arm_machines import PLACES, Machines
from tests.emulated.arm_routes import Route
from tests.emulated.arm_state import ADDRESS, CARD, DISK, FIREWALL, NETWORK, SPREAD, VM, Operation, Resource, State
from tests.emulated.wire import Answer

_GROUPS = "Microsoft.Resources/subscriptions/resourceGroups"


def _default(name: str, priority: int, access: str, source: str, to: str = "*") -> dict[str, Any]:
    rule = {"protocol": "*", "sourcePortRange": "*", "destinationPortRange": "*", "sourceAddressPrefix": source}
    rule |= {"destinationAddressPrefix": to, "access": access, "priority": priority, "direction": "Inbound"}
    return {"name": name, "properties": rule}


_BY_DEFAULT = [
    _default("AllowVnetInBound", 65000, "Allow", "VirtualNetwork", "VirtualNetwork"),
    _default("AllowAzureLoadBalancerInBound", 65001, "Allow", "AzureLoadBalancer"),
    _default("DenyAllInBound", 65500, "Deny", "*"),
]
_SIMPLE = {FIREWALL, NETWORK, *PLACES}


class Calls:
    """One subscription's calls; `permissions` are what its user may do, as roles tell it."""

    def __init__(self, state: State, permissions: list[dict[str, Any]]) -> None:
        self._is = state
        self._permissions = permissions
        self.machines = Machines(state)

    @property
    def base(self) -> str:
        """Where the cloud listens."""
        return self.machines.base

    def answer(self, route: Route, given: dict[str, str]) -> Answer:
        """The honest answer to a request that may be made."""
        self._is.settle()
        if route.action.startswith("Microsoft.Resources/subscriptions"):
            return self._resources(route)
        if route.kind.endswith("/locations"):
            return self._located(route)
        if route.kind == "Microsoft.Authorization/permissions":
            return said({"value": self._permissions})
        if route.kind == "Microsoft.Compute/skus":
            region = route.query.get("$filter", "").partition("'")[2].rstrip("'")
            return self._listed(route, list(skus(region)))
        if not route.name:
            return self._list(route)
        return self._one(route, given)

    # -- the subscription and its groups

    def _resources(self, route: Route) -> Answer:
        if route.action == "Microsoft.Resources/subscriptions/read":
            told = {"id": route.id, "subscriptionId": self._is.subscription, "displayName": "emulated"}
            return said({**told, "state": "Enabled"})
        if route.action.endswith("/locations/read"):
            return said({"value": locations()})
        if "/operationresults/" in route.action:
            return self._operation(route.name)
        if not route.group:
            groups = self._is.of_kind("")
            return self._listed(route, [self._plain(one) for one in groups])
        return self._group(route)

    def _group(self, route: Route) -> Answer:
        there = self._is.find(route.id)
        if route.method == "PUT":
            return self._put_group(route, there)
        if there is None or not self._is.shown(there):
            return _no_group(route.group)
        if route.action == f"{_GROUPS}/resources/read":
            inside = [one for one in self._is.inside(route.group) if self._is.shown(one)]
            return self._listed(route, [self._plain(one) for one in inside])
        if route.method == "DELETE":
            self._is.end(there)
            operation = self._is.begin(there, "delete", self._is.faults.terminate_s)
            where = f"{self.base}/subscriptions/{self._is.subscription}/operationresults/{operation.id}"
            return Answer(202, b"", {"Location": f"{where}?api-version=2025-04-01", "Retry-After": "0"})
        return said(self._plain(there))

    def _put_group(self, route: Route, there: Resource | None) -> Answer:
        region = str(route.body.get("location", ""))
        if there is not None and there.ends_at is not None:
            return error("ResourceGroupBeingDeleted", f"The resource group {route.group} is being deleted.")
        if there is not None and there.location != region:
            return error("InvalidResourceGroupLocation", f"The group {route.group} is in {there.location}.")
        if region not in self._is.regions:
            return error("LocationNotAvailableForResourceGroup", f"The location {region!r} is not available.")
        if there is not None:
            there.body = route.body
            return said(self._plain(there))
        return said(self._plain(self._is.make("", route.group, route.group, region, route.body, 0.0)), 201)

    # -- what belongs to a region

    def _located(self, route: Route) -> Answer:
        words = route.name.split("/")
        if words[1] == "operations":
            return self._operation(words[2])
        if words[1] == "usages":
            return self._listed(route, usages(self._is, words[0]))
        found = versions(words, route.query)
        return error("NotFound", "The image was not found.") if found is None else said(found)

    def _operation(self, number: str) -> Answer:
        operation = self._is.operations.get(number)
        if operation is None:
            return error("NotFound", f"The operation {number} was not found.")
        status, failure = self._status(operation)
        if status != "Failed" or failure is None:
            return said({"name": number, "status": status}, 202 if status == "InProgress" else 200, Retry_After="0")
        told = {"code": failure[0], "message": failure[1]}
        return said({"name": number, "status": status, "error": told})

    def _status(self, operation: Operation) -> tuple[str, tuple[str, str] | None]:
        if self._is.clock() < operation.ends_at:
            return "InProgress", None
        if operation.what == "make" and operation.resource.failure:
            return "Failed", operation.resource.failure
        life = self._is.lives.get(operation.resource.id)
        if operation.what in {"make", "start"} and life is not None and life.booting:
            return "InProgress", None
        return "Succeeded", None

    # -- one resource, and lists of a kind

    def _list(self, route: Route) -> Answer:
        some = self._is.of_kind(route.kind, route.group)
        if route.kind == VM:
            return self._listed(route, [self.machines.shown(one, loud=not route.group) for one in some])
        return self._listed(route, [self._plain(one) for one in some])

    def _one(self, route: Route, given: dict[str, str]) -> Answer:
        group = self._is.find(f"/subscriptions/{self._is.subscription}/resourceGroups/{route.group}")
        there = self._is.find(route.id)
        if group is None:
            return Answer(204) if route.method == "DELETE" else _no_group(route.group)
        if route.method in {"PUT", "PATCH"} and group.ends_at is not None:
            return error("ResourceGroupBeingDeleted", f"The resource group {route.group} is being deleted.")
        if route.method == "PUT":
            return self.machines.put(route, given) if route.kind == VM else self._put(route, there)
        if route.method == "DELETE":
            return self._delete(route, there)
        if there is None or not self._is.shown(there):
            return error("ResourceNotFound", f"The Resource '{route.kind}/{route.name}' was not found.")
        if route.kind != VM:
            return said(self._plain(there))
        if route.method == "PATCH":
            return self.machines.patch(there, route)
        if route.method == "POST":
            return self.machines.act(there, route.action.split("/")[-2])
        return said(self.machines.shown(there, view=route.query.get("$expand") == "instanceView"))

    def _put(self, route: Route, there: Resource | None) -> Answer:
        if route.kind not in _SIMPLE:
            return error("NotFound", f"{route.kind} is not made here alone")
        if there is None:
            takes_s = self._is.faults.network_s if route.kind in {FIREWALL, NETWORK} else 0.0
            region = route.body.get("location", "")
            there = self._is.make(route.kind, route.group, route.name, region, route.body, takes_s)
            return said(self._plain(there), 200 if route.kind == SPREAD else 201)
        there.body = route.body
        return said(self._plain(there))

    def _delete(self, route: Route, there: Resource | None) -> Answer:
        if route.kind == VM:
            return self.machines.delete(there)
        if there is None:
            return Answer(204)
        if there.body.get("managedBy"):
            return error("OperationNotAllowed", f"{route.name} is attached to a machine.")
        self._is.end(there)
        return Answer(202, b"", {"Retry-After": "0"})

    def _plain(self, one: Resource) -> dict[str, Any]:
        properties: dict[str, Any] = {"provisioningState": self._is.provisioning(one)}
        if one.kind == CARD:
            properties = self.machines.card(one)
        if one.kind == ADDRESS:
            properties = self.machines.address(one)
        if one.kind == FIREWALL:
            own = (one.body.get("properties") or {}).get("securityRules", [])
            properties |= {"securityRules": own, "defaultSecurityRules": _BY_DEFAULT}
        held = {"managedBy": one.body["managedBy"]} if one.kind == DISK and one.body.get("managedBy") else {}
        kind = one.kind or "Microsoft.Resources/resourceGroups"
        base = {"id": one.id, "name": one.name, "type": kind, "location": one.location}
        return {**base, **({"tags": one.tags} if one.tags else {}), **held, "properties": properties}

    def _listed(self, route: Route, items: list[dict[str, Any]]) -> Answer:
        return paged(items, self.base, route.path, route.query, self._is.faults.page)


def _no_group(name: str) -> Answer:
    return error("ResourceGroupNotFound", f"Resource group '{name}' could not be found.")
