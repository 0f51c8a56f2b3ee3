"""The calls of the emulated Neutron: one tenant network behind a router, or one shared external network."""

import uuid
from collections.abc import Callable
from typing import Any

from tests.emulated.nova_lives import Lives
from tests.emulated.nova_state import OTHERS, PROJECT, Floating, Group, Region, Server
from tests.emulated.nova_wire import Asked, empty, error, listed, said
from tests.emulated.wire import Answer

_MOST = 255


class Network:
    """The Neutron of one cloud, all of its regions."""

    def __init__(self, lives: Lives, base: Callable[[], str]) -> None:
        self._lives, self._base = lives, base

    def answer(self, region: Region, this: Asked) -> Answer:
        """Carry out a call that may be made."""
        lists: dict[str, tuple[str, Callable[[Region], list[dict[str, Any]]]]] = {
            "ListNetworks": ("networks", self._networks),
            "ListRouters": ("routers", self._routers),
            "ListPorts": ("ports", self._ports),
            "ListSecurityGroups": ("security_groups", self._groups),
            "ListFloatingIps": ("floatingips", self._floatings),
        }
        if this.action in lists:
            key, items = lists[this.action]
            asked = {key: value for key, value in this.query.items() if key not in {"limit", "marker"}}
            shown = [one for one in items(region) if self._lives.faults.admin or key == "networks" or _ours(one)]
            found = [one for one in shown if all(str(one.get(key)) == value for key, value in asked.items())]
            return listed(key, found, this, self._base(), self._lives.faults.page)
        calls: dict[str, Callable[[Region, Asked], Answer]] = {
            "ShowNetwork": lambda region, this: self._one("network", self._networks(region), this),
            "ShowSecurityGroup": lambda region, this: self._one(
                "security_group", [_group(one) for one in region.groups.values()], this
            ),
            "ShowFloatingIp": lambda region, this: self._one(
                "floatingip", [_floating(region, one) for one in _all(region)], this
            ),
            "ListExtensions": self._extensions,
            "ShowNetworkQuota": self._quota,
            "CreateSecurityGroup": self._create_group,
            "DeleteSecurityGroup": self._delete_group,
            "CreateSecurityGroupRules": self._create_rules,
            "CreateFloatingIp": self._create_floating,
            "DeleteFloatingIp": self._delete_floating,
        }
        known = calls.get(this.action)
        return error("network", 404, "The resource could not be found.") if known is None else known(region, this)

    def versions(self, region: str, this: Asked) -> Answer:
        """What this Neutron speaks."""
        at = f"{self._base()}/{region}/network/v2.0/"
        version = {"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": at}]}
        return said({"resources": []} if this.path.startswith("/v2.0") else {"versions": [version]})

    @staticmethod
    def _one(key: str, items: list[dict[str, Any]], this: Asked) -> Answer:
        found = next((one for one in items if one["id"] == this.id), None)
        return said({key: found}) if found else error("network", 404, f"{key} {this.id} could not be found", "NotFound")

    def _networks(self, region: Region) -> list[dict[str, Any]]:
        tenant = self._lives.faults.network == "tenant"
        outside = {"id": region.id_of("public"), "name": "public", "router:external": True, "shared": not tenant,
                   "project_id": OTHERS, "status": "ACTIVE", "subnets": [region.id_of("public-subnet")]}  # fmt: skip
        inside = {"id": region.id_of("private"), "name": "private", "router:external": False, "shared": False,
                  "project_id": PROJECT, "status": "ACTIVE", "subnets": [region.id_of("private-subnet")]}  # fmt: skip
        bare = {"id": region.id_of("bare"), "name": "bare", "router:external": False, "shared": False,
                "project_id": PROJECT, "status": "ACTIVE", "subnets": []}  # fmt: skip
        return [outside, inside, bare] if tenant else [outside, bare]

    def _routers(self, region: Region) -> list[dict[str, Any]]:
        if self._lives.faults.network != "tenant":
            return []
        gateway = {"network_id": region.id_of("public")}
        return [{"id": region.id_of("router"), "name": "router", "external_gateway_info": gateway, "status": "ACTIVE"}]

    def _ports(self, region: Region) -> list[dict[str, Any]]:
        routed = {"id": region.id_of("router-port"), "network_id": region.id_of("private"),
                  "device_owner": "network:router_interface", "device_id": region.id_of("router"),
                  "fixed_ips": [{"ip_address": "10.0.0.1"}]}  # fmt: skip
        of_servers = [
            {"id": one.port, "network_id": one.network, "device_owner": f"compute:{one.zone}", "device_id": one.id,
             "fixed_ips": [{"ip_address": one.address}], "security_groups": list(one.groups)}
            for one in region.servers.values() if not one.error
        ]  # fmt: skip
        return [*([routed] if self._lives.faults.network == "tenant" else []), *of_servers]

    @staticmethod
    def _groups(region: Region) -> list[dict[str, Any]]:
        return [_group(one) for one in region.groups.values()]

    @staticmethod
    def _floatings(region: Region) -> list[dict[str, Any]]:
        return [_floating(region, one) for one in _all(region)]

    def _extensions(self, region: Region, this: Asked) -> Answer:
        return said({"extensions": [{"alias": name} for name in ("security-group", "standard-attr-description")]})

    def _quota(self, region: Region, this: Asked) -> Answer:
        faults = self._lives.faults
        used = {"floatingip": (len(region.floatings), faults.floating), "port": (len(region.servers), -1),
                "security_group": (len(region.groups), faults.groups)}  # fmt: skip
        return said(
            {"quota": {key: {"used": have, "limit": most, "reserved": 0} for key, (have, most) in used.items()}}
        )

    # -- security groups

    def _create_group(self, region: Region, this: Asked) -> Answer:
        asked = this.body.get("security_group", {})
        if max(len(asked.get("name", "")), len(asked.get("description", ""))) > _MOST:
            return error(
                "network", 400, "Invalid input for description: exceeds maximum length of 255.", "HTTPBadRequest"
            )
        if len(region.groups) >= self._lives.faults.groups:
            return error("network", 409, "Quota exceeded for resources: ['security_group'].", "OverQuota")
        made = region.add_group(asked.get("name", ""), asked.get("description", ""))
        return said({"security_group": _group(made)}, 201)

    def _delete_group(self, region: Region, this: Asked) -> Answer:
        if this.id not in region.groups:
            return error("network", 404, f"Security group {this.id} does not exist", "SecurityGroupNotFound")
        if any(this.id in one.groups for one in region.servers.values() if not one.error):
            return error("network", 409, f"Security Group {this.id} in use.", "SecurityGroupInUse")
        del region.groups[this.id]
        return empty()

    def _create_rules(self, region: Region, this: Asked) -> Answer:
        asked = this.body.get("security_group_rules") or [this.body.get("security_group_rule", {})]
        for rule in asked:
            group = region.groups.get(rule.get("security_group_id", ""))
            if group is None:
                return error("network", 404, "Security group does not exist", "SecurityGroupNotFound")
            if rule in group.rules.values():
                return error("network", 409, "Security group rule already exists.", "SecurityGroupRuleExists")
        for rule in asked:
            region.groups[rule["security_group_id"]].rules[str(uuid.uuid4())] = dict(rule)
        if "security_group_rule" in this.body:
            return said({"security_group_rule": {"id": str(uuid.uuid4()), **asked[0]}}, 201)
        return said({"security_group_rules": asked}, 201)

    # -- floating addresses

    def _create_floating(self, region: Region, this: Asked) -> Answer:
        asked = this.body.get("floatingip", {})
        if asked.get("floating_network_id") != region.id_of("public"):
            return error("network", 404, "Network could not be found.", "NetworkNotFound")
        if len(asked.get("description", "")) > _MOST:
            return error(
                "network", 400, "Invalid input for description: exceeds maximum length of 255.", "HTTPBadRequest"
            )
        if len(region.floatings) >= self._lives.faults.floating:
            return error("network", 409, "Quota exceeded for resources: ['floatingip'].", "OverQuota")
        port, address = asked.get("port_id") or "", region.address(122)
        if port:
            server = _of_port(region, port)
            if server is None:
                return error("network", 404, f"Port {port} could not be found.", "PortNotFound")
            if region.bound_to(port):
                what = f"Cannot associate floating IP with port {port}, as that fixed IP already has a floating IP"
                return error("network", 409, what, "FloatingIPPortAlreadyAssociated")
            address = server.outside or address
        made = Floating(str(uuid.uuid4()), address, region.id_of("public"), asked.get("description", ""), port)
        region.floatings[made.id] = made
        return said({"floatingip": _floating(region, made)}, 201)

    def _delete_floating(self, region: Region, this: Asked) -> Answer:
        if region.floatings.pop(this.id, None) is None:
            return error("network", 404, f"Floating IP {this.id} could not be found", "FloatingIPNotFound")
        return empty()


def _ours(said: dict[str, Any]) -> bool:
    return bool(said.get("project_id", PROJECT) == PROJECT)


def _all(region: Region) -> list[Floating]:
    return list(region.floatings.values())


def _of_port(region: Region, port: str) -> Server | None:
    return next((one for one in region.servers.values() if one.port == port), None)


def _group(one: Group) -> dict[str, Any]:
    rules = [{"id": id, **rule} for id, rule in one.rules.items()]
    return {"id": one.id, "name": one.name, "description": one.description, "project_id": one.project, "tags": [],
            "security_group_rules": rules}  # fmt: skip


def _floating(region: Region, one: Floating) -> dict[str, Any]:
    server = _of_port(region, one.port) if one.port else None
    return {"id": one.id, "floating_ip_address": one.address, "floating_network_id": one.network, "tags": [],
            "description": one.description, "port_id": one.port or None, "status": "ACTIVE" if one.port else "DOWN",
            "fixed_ip_address": server.address if server else None, "project_id": one.project}  # fmt: skip
