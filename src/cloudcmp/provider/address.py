"""From where the controller is seen: the one address that a launch's firewall lets in."""

import ipaddress
import socket
import urllib.request
from urllib.parse import urlsplit

from cloudcmp.errors import Refused, Unreached

_ASKED = "https://checkip.amazonaws.com"
"""Amazon's own answer to the question from where it is asked."""
_WAIT_S = 5.0
_NEXT = "say it in the study, e.g. allow: 203.0.113.7/32"


def controller(endpoint: str | None) -> str:
    """Our own address in CIDR form: as Amazon sees it, or as another cloud's endpoint is reached from here.

    Raises Refused where it can not be told, Unreached where nobody answers the question. Behind several addresses that
    take turns it may be the wrong one: then the study must name them all.
    """
    return _near(endpoint) if endpoint else _far()


def _far() -> str:
    try:
        with urllib.request.urlopen(_ASKED, timeout=_WAIT_S) as answer:
            return _cidr(answer.read(64).decode("ascii", errors="replace").strip())
    except OSError as error:
        raise Unreached.at("firewall", f"our own address could not be asked for: {error}", _NEXT) from error
    except ValueError as error:
        raise Refused.at("firewall", f"our own address could not be asked for: {error}", _NEXT) from error


def _near(endpoint: str) -> str:
    """The local end of the way to an endpoint; nothing is sent."""
    parts = urlsplit(endpoint)
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM)[0]
        with socket.socket(found[0], found[1]) as way:
            way.connect(found[4])
            return _cidr(way.getsockname()[0])
    except (OSError, ValueError) as error:
        raise Refused.at("firewall", f"there is no way to {parts.hostname}: {error}", _NEXT) from error


def _cidr(text: str) -> str:
    address = ipaddress.ip_address(text)
    return f"{address}/{address.max_prefixlen}"
