"""The admissions of a launch's firewall, from the rules in its cloud."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cloudcmp.model.lease import Handle


@dataclass(frozen=True, slots=True)
class Admission:
    """The effect of the rules.

    `controllers` are the networks (CIDR) that may open a login port of the machines, and nothing else. `members`: the
    launch's machines may reach each other with TCP, UDP and ICMP. `others` has a line for each rule that admits anybody
    else, or more.
    """

    controllers: tuple[str, ...] = ()
    members: bool = False
    others: tuple[str, ...] = ()


@runtime_checkable
class AdmitsPeers(Protocol):
    """A provider without a private network between its regions: machines there meet at their public addresses.

    Each region of a launch then has a firewall of its own, which must admit the machines of the other one.
    """

    async def admit(self, firewall: Handle, addresses: Sequence[str]) -> None:
        """Admits these addresses, and no others, to the machines of a firewall. Raises the kinds of ProviderFault."""


@runtime_checkable
class ReadsFirewall(Protocol):
    """A provider that reads the rules of a launch's firewall back from its cloud."""

    async def admitted(self, firewall: Handle) -> Admission:
        """The admissions of a firewall; none if it is not listed. Raises the kinds of ProviderFault."""
