"""A machine's addresses, as its SSH connection shows them."""

import ipaddress

from cloudcmp.model.remote import KnowsPeer, Shell

_SHOW = ["sh", "-c", 'printf %s "${SSH_CONNECTION-}"']


async def both_ends(shell: Shell) -> tuple[str, str]:
    """The other end of a machine's connection, and its own, as the machine says; each empty if untold.

    Its own end is where what is sent to its public address arrives. Raises ProviderFault.
    """
    output = await shell.run(_SHOW, most_bytes=256)
    words = output.out.decode("ascii", errors="replace").split()
    return (_parsed(words[0]), _parsed(words[2])) if len(words) == 4 else ("", "")


def reached_at(shell: Shell) -> str:
    """The address at which a machine was reached, empty if another host is between."""
    return _parsed(shell.peer()) if isinstance(shell, KnowsPeer) else ""


async def public_address(shell: Shell) -> str:
    """The address from which a machine looks at the internet, empty if its connection does not tell it.

    That is the public address at which it was reached, else its own end of the connection if that is public. Behind a
    gateway that sends from another address than it is reached at, it is wrong: a study then states it. Raises
    ProviderFault.
    """
    for text in (reached_at(shell), (await both_ends(shell))[1]):
        if text and ipaddress.ip_address(text).is_global:
            return text
    return ""


def _parsed(text: str) -> str:
    """An address in the usual form, one of IPv4 as such; empty for any other text."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return ""
    mapped = found.ipv4_mapped if found.version == 6 else None
    return str(mapped or found)
