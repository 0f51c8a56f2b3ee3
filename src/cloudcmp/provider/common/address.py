"""The addresses that a launch's firewall admits: the controller's, in the study or its own, and vantage points."""

import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from cloudcmp.errors import Refused, Unreached
from cloudcmp.model.firewall import AdmitsVantages
from cloudcmp.model.lease import VANTAGES, CreateRequest

Net = ipaddress.IPv4Network | ipaddress.IPv6Network
SSH = 22
_PORTS = {"linux": (SSH,), "windows": (3389, 5985)}
LOGIN_PORTS = frozenset(port for ports in _PORTS.values() for port in ports)
"""The login ports of all operating systems."""
_WIDEST = {4: 24, 6: 64}  # prefix lengths, docs/adr/0033-whom-the-firewall-lets-in.md
_ADDRESS_SERVICE = "https://checkip.amazonaws.com"
"""Amazon's service that returns the caller's address."""
_WAIT_S = 5.0
_HINT = "write it in the study, e.g. allow: 203.0.113.7/32"


def login_ports(request: CreateRequest) -> tuple[int, ...]:
    """The TCP ports for login: SSH, or Windows's remote desktop and management."""
    return _PORTS[dict(request.options).get("os", "linux")]


def allowed_nets(request: CreateRequest) -> tuple[Net, ...]:
    """The networks in option `allow`, each once; raises Refused for none, a wide one, or one that is no source."""
    parts = [part.strip() for part in dict(request.options).get("allow", "").split(",") if part.strip()]
    if not parts:
        raise Refused.at(request.name, "no address of the controller is known: nobody could log in", _HINT)
    return tuple(dict.fromkeys(_parse_net(part, request.name) for part in parts))


def allowed_v4_nets(request: CreateRequest) -> tuple[Net, ...]:
    """`allowed_nets` for machines with IPv4 addresses only: also raises Refused for an IPv6 network."""
    nets = allowed_nets(request)
    for net in nets:
        if net.version != 4:
            what = f"allow: {net}: machines have IPv4 addresses only here"
            raise Refused.at(request.name, what, "write the controller's IPv4 address, e.g. allow: 203.0.113.7/32")
    return nets


def vantage_nets(request: CreateRequest) -> tuple[Net, ...]:
    """The vantage points in option `vantages`, each once; raises Refused for more than one address in one of them."""
    parts = [part.strip() for part in dict(request.options).get(VANTAGES, "").split(",") if part.strip()]
    nets = tuple(dict.fromkeys(_parse_net(part, request.name) for part in parts))
    for net in nets:
        if net.num_addresses > 1:
            what = f"{net} is more than the one address of a vantage point"
            raise Refused.at(request.name, what, "write its own address: in the study")
    return nets


def vantage_v4_nets(request: CreateRequest) -> tuple[Net, ...]:
    """`vantage_nets` for machines with IPv4 addresses only: also raises Refused for an IPv6 address."""
    nets = vantage_nets(request)
    for net in nets:
        if net.version != 4:
            what = f"vantage point {net.network_address}: machines have IPv4 addresses only here"
            raise Refused.at(request.name, what, "write its IPv4 address: in the study")
    return nets


def is_single(text: str) -> bool:
    """True if a text in CIDR form is one address."""
    try:
        return ipaddress.ip_network(text.strip()).num_addresses == 1
    except ValueError:
        return False


def _parse_net(text: str, where: str) -> Net:
    try:
        net = ipaddress.ip_network(text)
    except ValueError:
        raise Refused.at(where, f"{text!r} is no address in CIDR form", "write e.g. 192.0.2.7/32") from None
    if net.prefixlen < _WIDEST[net.version]:
        raise Refused.at(where, f"{net} is too wide", "firewalls are opened for the controller's own address")
    first = net.network_address
    inner = first.version == 6 and (first.ipv4_mapped is not None or first.scope_id is not None)
    if inner or first.is_unspecified or first.is_multicast:
        raise Refused.at(where, f"{net} is no address from which a cloud is reached", _HINT)
    return net


def controller_address(endpoint: str | None) -> str:
    """Our own address in CIDR form, as Amazon sees it, or as the local address towards `endpoint`.

    Raises Refused or Unreached. It may be wrong behind several alternating addresses: then the study must list them
    all.
    """
    return local_address(endpoint) if endpoint else _public_address()


async def lone_controller(cloud: AdmitsVantages, options: Mapping[str, str]) -> str:
    """This machine's only address: the one in option `allow`, else as the cloud sees it; empty if there are several.

    Raises the kinds of ProviderFault.
    """
    text = options.get("allow") or await cloud.controller()
    return str(ipaddress.ip_network(text.strip()).network_address) if is_single(text) else ""


def _public_address() -> str:
    import urllib.request  # slow to import, and rarely used

    try:
        with urllib.request.urlopen(_ADDRESS_SERVICE, timeout=_WAIT_S) as response:
            return _cidr(ipaddress.ip_address(response.read(64).decode("ascii", errors="replace").strip()))
    except OSError as error:
        raise Unreached.at("firewall", f"our own address cannot be determined: {error}", _HINT) from error
    except ValueError as error:
        raise Refused.at("firewall", f"our own address cannot be determined: {error}", _HINT) from error


def local_address(endpoint: str) -> str:
    """The local address towards an endpoint, in CIDR form; sends nothing. Raises Refused if unknown or private."""
    try:
        parts = urlsplit(endpoint)
        if not parts.hostname:
            raise ValueError("it names no host")
        target = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM)[0]
        with socket.socket(target[0], target[1]) as connection:
            connection.connect(target[4])
            local, remote = ipaddress.ip_address(connection.getsockname()[0]), ipaddress.ip_address(target[4][0])
    except (OSError, ValueError) as error:
        raise Refused.at("firewall", f"there is no route to {endpoint}: {error}", _HINT) from error
    if remote.is_global and not local.is_global:
        what = f"this machine's address {local} is a private one, and the cloud sees another"
        raise Refused.at("firewall", what, _HINT)
    return _cidr(local)


def _cidr(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    return f"{address}/{address.max_prefixlen}"
