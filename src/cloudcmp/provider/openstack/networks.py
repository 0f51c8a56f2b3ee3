"""Chooses the network of machines, and whether they need a floating address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.provider.common.suggestions import nearest
from cloudcmp.provider.openstack.sdk import NETWORK, Sdk

_ROUTED = ("network:router_interface", "network:ha_router_replicated_interface")
_EXTERNAL = "router:external"


@dataclass(frozen=True, slots=True)
class Network:
    """A network, and the external network of its floating addresses, None if none is needed."""

    id: str
    name: str
    floating: str | None = None


async def choose_network(sdk: Sdk, region: str, options: Mapping[str, str]) -> Network:
    """The study's network, else the only suitable one; raises Refused if there are several.

    A machine on a network behind a router with a gateway gets a floating address, unless `address: fixed`; on any other
    network it is reached at its own address.
    """
    listed = await sdk.pages(region, NETWORK, "/networks", "networks")
    networks = [one for one in listed if one.get("subnets") and one.get("status", "ACTIVE") == "ACTIVE"]
    network_name, where = options.get("network"), f"{sdk.name}/{region}"
    if network_name:
        network, gateway = _find_by_name(networks, network_name, where), None
    else:
        network, gateway = await _find_default(sdk, region, networks, where)
    name, address = str(network.get("name") or network["id"]), options.get("address")
    if address != "fixed" and gateway is None and not network.get(_EXTERNAL):
        gateway = (await _gateways_of(sdk, region, [network])).get(str(network["id"]))
    if address == "floating" and gateway is None:
        what = f"the network {name} has no router with a gateway that we may see"
        raise Refused.at(where, what, "leave address out, or name another network")
    return Network(str(network["id"]), name, None if address == "fixed" else gateway)


def _find_by_name(networks: Sequence[Any], network_name: str, where: str) -> Any:
    matches = [one for one in networks if network_name in {one.get("id"), one.get("name")}]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise Refused.at(where, f"there are {len(matches)} networks {network_name!r}", "write its id")
    hint = nearest(network_name, [str(one.get("name")) for one in networks], _names(networks))
    raise Refused.at(where, f"there is no network {network_name!r} with a subnet", hint)


async def _find_default(sdk: Sdk, region: str, networks: Sequence[Any], where: str) -> tuple[Any, str | None]:
    """The only own network, else the only shared one, else the only external one that is shared."""
    project, _ = await sdk.run_in_thread(sdk.project, region)
    inner = [one for one in networks if not one.get(_EXTERNAL)]
    project_networks = [one for one in inner if project in {one.get("project_id"), one.get("tenant_id")}]
    pool = project_networks or [one for one in inner if one.get("shared")]
    if len(pool) > 1:
        gateways = await _gateways_of(sdk, region, pool)
        routed = [one for one in pool if str(one["id"]) in gateways]
        if len(routed) == 1:
            return routed[0], gateways[str(routed[0]["id"])]
    pool = pool or [one for one in networks if one.get(_EXTERNAL) and one.get("shared")]
    if len(pool) == 1:
        return pool[0], None
    if not pool:
        external = ", ".join(str(one.get("name")) for one in networks if one.get(_EXTERNAL))
        hint = f"make one with a router, or name {external} if machines may stand on it" if external else "make one"
        raise Refused.at(where, "there is no network of the project's own, and none that is shared", hint)
    raise Refused.at(where, f"which of {len(pool)} networks is meant is unknown", _names(pool))


async def _gateways_of(sdk: Sdk, region: str, networks: Sequence[Any]) -> dict[str, str]:
    """The external network behind each network's router, as far as the credentials may list it."""
    routers = await sdk.pages(region, NETWORK, "/routers", "routers")
    external_networks = {str(one["id"]): (one.get("external_gateway_info") or {}).get("network_id") for one in routers}
    gateways: dict[str, str] = {}
    for network in networks:
        ports = await sdk.pages(region, NETWORK, "/ports", "ports", network_id=str(network["id"]))
        for port in ports:
            gateway = external_networks.get(str(port.get("device_id")))
            if gateway and str(port.get("device_owner", "")).startswith(_ROUTED):
                gateways[str(network["id"])] = str(gateway)
    return gateways


def _names(networks: Sequence[Any]) -> str:
    return f"write network: one of {', '.join(sorted(str(one.get('name') or one['id']) for one in networks)[:8])}"
