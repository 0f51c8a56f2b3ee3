"""Floating addresses, for machines on a network of the project's own.

A floating address is billed separately and outlives its machine. It is created and bound to the machine's port in one
call. Neutron binds only one to an address of a port, so a repeated call creates no second one
(https://docs.openstack.org/api-ref/network/v2/#floating-ips-floatingips). Its description holds our mark.
"""

from dataclasses import dataclass, replace
from typing import Any

from cloudcmp.errors import LostAnswer, RefusalKind, Refused
from cloudcmp.provider.openstack.networks import Network
from cloudcmp.provider.openstack.sdk import NETWORK, Sdk
from cloudcmp.provider.openstack.tags import Mark, parse_mark


@dataclass(frozen=True, slots=True)
class FloatingAddress:
    """One of our floating addresses: id, address, state and mark."""

    id: str
    address: str
    state: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class FloatingAddresses:
    """The floating addresses of one cloud."""

    sdk: Sdk

    async def all(self, region: str) -> list[FloatingAddress]:
        """All addresses with our marks, of any study."""
        listed = await self.sdk.own(region, "/floatingips", "floatingips")
        marked = [(one, parse_mark(str(one.get("description") or ""))) for one in listed]
        return [_floating(one, mark) for one, mark in marked if mark is not None]

    async def of_server(self, region: str, server: str) -> list[FloatingAddress]:
        """The floating addresses of one machine."""
        return [one for one in await self.all(region) if one.mark.parent == server]

    async def ensure(self, region: str, server: str, mark: Mark, network: Network) -> str | None:
        """The floating address of a machine, created if there is none; None while the machine has no port."""
        existing = await self.of_server(region, server)
        if existing:
            return existing[0].address
        ports = await self.sdk.pages(region, NETWORK, "/ports", "ports", device_id=server)
        port = next((one for one in ports if one.get("network_id") == network.id and one.get("fixed_ips")), None)
        if port is None:
            return None
        text = replace(mark, parent=server).text(server)
        body = {"floating_network_id": network.floating, "port_id": port["id"], "description": text}
        try:
            created = await self.sdk.change(region, NETWORK, "POST", "/floatingips", {"floatingip": body})
        except LostAnswer:
            return None  # the next look finds or creates it
        except Refused as fault:
            if fault.is_refusal(RefusalKind.EXISTS):
                return None
            raise
        return str(created.get("floatingip", {}).get("floating_ip_address") or "") or None

    async def release(self, region: str, id: str) -> bool:
        """Deletes a floating address; False if there was none."""
        return await self.sdk.delete(region, NETWORK, f"/floatingips/{id}")


def _floating(response: dict[str, Any], mark: Mark) -> FloatingAddress:
    return FloatingAddress(
        str(response["id"]), str(response.get("floating_ip_address") or ""), str(response.get("status") or ""), mark
    )
