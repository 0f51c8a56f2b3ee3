"""Whom a launch's firewall admits, by the rules that a cloud holds."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cloudcmp.model.lease import Handle


@dataclass(frozen=True, slots=True)
class Admission:
    """What the rules come to.

    `controllers` are the networks (CIDR) that may open a port at which machines are logged in to, and nothing else.
    `members`: the launch's machines may reach each other with TCP, UDP and ICMP. `others` has a line for each rule that
    admits anybody else, or more.
    """

    controllers: tuple[str, ...] = ()
    members: bool = False
    others: tuple[str, ...] = ()


@runtime_checkable
class ReadsFirewall(Protocol):
    """A provider that reads the rules of a launch's firewall back from its cloud."""

    async def admitted(self, firewall: Handle) -> Admission:
        """Whom a firewall admits; nobody, where it is not shown. Raises the kinds of ProviderFault."""
