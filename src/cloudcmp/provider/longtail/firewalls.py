"""Whom a firewall lets in: the controller's addresses only, read from the request."""

import ipaddress

from cloudcmp.errors import Refused
from cloudcmp.model.lease import CreateRequest

Net = ipaddress.IPv4Network | ipaddress.IPv6Network
DOOR = 22


def nets_of(request: CreateRequest) -> tuple[Net, ...]:
    """The addresses of option `allow`; raises Refused without any, or for a wide one."""
    asked = [part.strip() for part in dict(request.options).get("allow", "").split(",") if part.strip()]
    nets = tuple(_net(part, request.name) for part in asked)
    if not nets:
        raise Refused.at(request.name, "no address of the controller is known", "nobody could log in")
    return nets


def _net(text: str, where: str) -> Net:
    try:
        net = ipaddress.ip_network(text)
    except ValueError:
        raise Refused.at(where, f"{text!r} is no address in CIDR form", "write e.g. 192.0.2.7/32") from None
    if net.prefixlen < (16 if net.version == 4 else 48):
        raise Refused.at(where, f"{text} lets in too many", "firewalls are opened for the controller's own address")
    return net
