"""Checks whom the firewalls of rented endpoints will let in, before anything is rented."""

from collections.abc import AsyncIterator, Mapping, Sequence

from cloudcmp.agent.addresses import public_address
from cloudcmp.agent.ssh import dial
from cloudcmp.app.provider_clients import brief
from cloudcmp.errors import ProviderFault
from cloudcmp.model.check import ProviderFinding
from cloudcmp.model.firewall import SERVED_PORT, AdmitsVantages
from cloudcmp.model.plan import Candidate, Plan, PlannedVantage
from cloudcmp.model.protocol import Provider
from cloudcmp.model.remote import Dial, Endpoint
from cloudcmp.model.safety import Finding
from cloudcmp.plan import served_to
from cloudcmp.provider.common.address import lone_controller

_DIAL_S = 30.0
_STATE = "write address: 203.0.113.7 in its vantage point"


async def vantage_findings(plan: Plan, providers: Mapping[str, Provider], dial: Dial = dial) -> list[ProviderFinding]:
    """A finding for each rented endpoint: the addresses that its firewall will let in, or the one that is unknown.

    Learns addresses as a launch does: hosts with SSH are asked, and the cloud for this machine's own.
    """
    points, asked = {one.point.name: one for one in plan.vantages}, _Addresses(dial)
    found: list[ProviderFinding] = []
    for candidate, names in served_to(plan):
        cloud = providers.get(candidate.runner)
        if isinstance(cloud, AdmitsVantages):
            some = [points[name] for name in names if name in points]
            found += [ProviderFinding(candidate.runner, one) async for one in _findings(candidate, cloud, some, asked)]
    return found


class _Addresses:
    """The public addresses of vantage points that nobody stated; each host is asked once."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._known: dict[str, str] = {}

    async def of(self, one: PlannedVantage, candidate: Candidate, cloud: AdmitsVantages) -> str:
        """The address of a vantage point; empty if it cannot be told. Raises ProviderFault."""
        if one.machine is None:
            return ""
        if one.machine.runner != "ssh":
            return await lone_controller(cloud, dict(candidate.options))
        alias = one.machine.offering.name
        if alias not in self._known:
            shell = await self._dial(Endpoint(alias=alias), _DIAL_S)
            try:
                self._known[alias] = await public_address(shell)
            finally:
                await shell.close()
        return self._known[alias]


async def _findings(
    candidate: Candidate, cloud: AdmitsVantages, vantages: Sequence[PlannedVantage], asked: _Addresses
) -> AsyncIterator[Finding]:
    let_in = []
    for one in vantages:
        try:
            address = one.address or await asked.of(one, candidate, cloud)
        except ProviderFault as fault:
            yield Finding("vantage", False, f"{one.point.name}: {brief(fault)}", _STATE)
            continue
        if address:
            let_in.append(f"{one.point.name} ({address})")
        else:
            what = f"{one.point.name}: its public address is unknown, which a firewall would let in"
            yield Finding("vantage", False, what, _STATE)
    if let_in:
        text = f"{candidate.id}: each launch's firewall lets in {', '.join(let_in)} at port {SERVED_PORT} and by ICMP"
        yield Finding("vantage", True, text)
