"""Rules of a launch's firewall, in one form for all clouds."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from cloudcmp.model.firewall import SERVED_PORT, Admission
from cloudcmp.provider.common.address import LOGIN_PORTS

ANY = "any"
MEMBERS = "members"
"""The source that stands for the launch's own machines."""
_NEEDED = {"tcp", "udp", "icmp"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that admits a source (a network, MEMBERS or a cloud's own word); `ports` are first and last, or all."""

    source: str
    protocol: str
    ports: tuple[int, int] | None = None

    @property
    def line(self) -> str:
        """The rule as text."""
        first, last = self.ports or (0, 65535)
        return f"{self.source} to {self.protocol} {first}-{last}"


def ports_in(text: str) -> tuple[int, int] | None:
    """The ports in a text such as `22` or `1-65535`; None, for all, if it is empty or no number."""
    first, _, last = text.partition("-")
    return (int(first), int(last or first)) if first.isdigit() and (last or first).isdigit() else None


def _is_login(rule: Rule) -> bool:
    """True if a rule admits a network to a single login port."""
    first, last = rule.ports or (0, 0)
    return rule.protocol == "tcp" and first == last and first in LOGIN_PORTS and "/" in rule.source


def _is_page(rule: Rule) -> bool:
    """True if a rule admits a single address to the port at which pages are served."""
    if rule.protocol != "tcp" or rule.ports != (SERVED_PORT, SERVED_PORT):
        return False
    try:
        return ipaddress.ip_network(rule.source).num_addresses == 1
    except ValueError:
        return False


def admission(rules: Iterable[Rule]) -> Admission:
    """Whom the rules admit."""
    controllers: list[str] = []
    inside: set[str] = set()
    others: list[str] = []
    rules = tuple(rules)
    vantages = dict.fromkeys(rule.source for rule in rules if _is_page(rule))
    for rule in rules:
        if rule.source == MEMBERS:
            whole = rule.ports is None or (rule.ports[0] <= 1 and rule.ports[1] == 65535)
            inside |= (_NEEDED if rule.protocol == ANY else {rule.protocol}) if whole else set()
        elif _is_login(rule):
            controllers.append(rule.source)
        elif not (rule.source in vantages and (_is_page(rule) or "icmp" in rule.protocol)):
            others.append(rule.line)
    return Admission(
        tuple(dict.fromkeys(controllers)), inside >= _NEEDED, tuple(dict.fromkeys(others)), tuple(vantages)
    )
