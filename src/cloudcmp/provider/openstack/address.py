"""From where the controller is seen: the one address that a launch's firewall lets in."""

import ipaddress
import socket
from urllib.parse import urlsplit

from cloudcmp.errors import Refused

_NEXT = "say it in the study, e.g. allow: 203.0.113.7/32"


def controller(endpoint: str) -> str:
    """The local end of the way to a cloud's endpoint, in CIDR form; nothing is sent.

    Raises Refused where it can not be told: also where a private address goes to a public cloud, which then sees
    another one.
    """
    parts = urlsplit(endpoint)
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM)[0]
        with socket.socket(found[0], found[1]) as way:
            way.connect(found[4])
            here, there = ipaddress.ip_address(way.getsockname()[0]), ipaddress.ip_address(found[4][0])
    except (OSError, ValueError) as error:
        raise Refused.at("firewall", f"there is no way to {parts.hostname}: {error}", _NEXT) from error
    if there.is_global and not here.is_global:
        what = f"this machine's address {here} is a private one, and the cloud sees another"
        raise Refused.at("firewall", what, _NEXT)
    return f"{here}/{here.max_prefixlen}"
