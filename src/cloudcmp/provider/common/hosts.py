"""Names and addresses of services' hosts."""

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

from cloudcmp.errors import Unreached

_RESOLVE_S = 10.0


def is_loopback(url: str) -> bool:
    """True for a URL whose host is this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_address(text: str) -> bool:
    """True for an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


async def addresses_of(host: str) -> tuple[str, ...]:
    """The addresses of a host as this machine resolves it, none for an address; raises Unreached."""
    if is_address(host):
        return ()
    try:
        async with asyncio.timeout(_RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        raise Unreached.at(host, "its name has no address", "check the endpoint and this machine's resolver") from error
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
