"""The admissions of a launch's firewall, from the rules in its cloud."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cloudcmp.model.lease import Handle

SERVED_PORT = 28080
"""The TCP port at which a rented machine serves pages to vantage points. No system gives it to an outgoing connection,
and no proxy on the way answers at it, as some do at 80 and 8080.
"""


@dataclass(frozen=True, slots=True)
class Admission:
    """The effect of the rules.

    `controllers` are the networks (CIDR) that may open a login port of the machines, and nothing else. `members`: the
    launch's machines may reach each other with TCP, UDP and ICMP. `vantages` are single addresses (CIDR) that may fetch
    pages at `SERVED_PORT` and send ICMP, and nothing else. `others` has a line for each rule that admits anybody else,
    or more.
    """

    controllers: tuple[str, ...] = ()
    members: bool = False
    others: tuple[str, ...] = ()
    vantages: tuple[str, ...] = ()


@runtime_checkable
class AdmitsPeers(Protocol):
    """A provider without a private network between its regions: machines there meet at their public addresses.

    Each region of a launch then has a firewall of its own, which must admit the machines of the other one.
    """

    async def admit(self, firewall: Handle, addresses: Sequence[str]) -> None:
        """Admits these addresses, and no others, to the machines of a firewall. Raises the kinds of ProviderFault."""


@runtime_checkable
class AdmitsVantages(Protocol):
    """A cloud whose firewall of a launch lets in vantage points: the addresses in option `vantages` of its request."""

    async def controller(self) -> str:
        """This machine's address as the cloud sees it, in CIDR form. Raises the kinds of ProviderFault."""


@runtime_checkable
class ReadsFirewall(Protocol):
    """A provider that reads the rules of a launch's firewall back from its cloud."""

    async def admitted(self, firewall: Handle) -> Admission:
        """The admissions of a firewall; none if it is not listed. Raises the kinds of ProviderFault."""
