"""The machines that are the vantage points of a launch: leased with it, each on its own, and lost on its own."""

import asyncio
import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cloudcmp.agent import JobTarget
from cloudcmp.agent.addresses import both_ends, public_address, reached_at
from cloudcmp.errors import CONTROLLER_FAULTS, ConnectionLost, ProviderFault
from cloudcmp.model.cast import Role, Service
from cloudcmp.model.firewall import AdmitsVantages
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Instance
from cloudcmp.model.remote import Shell
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.plan import serves, vantage_of
from cloudcmp.provider.common.address import lone_controller
from cloudcmp.provider.common.authorities import trusted
from cloudcmp.provider.common.hosts import is_address
from cloudcmp.provision import Machine, set_up_apart

if TYPE_CHECKING:
    from cloudcmp.execute.context import LaunchContext

_ADDRESSES = 32
"""The most addresses of one name that are pinged."""


@dataclass(slots=True)
class Vantages:
    """The vantage points of a launch by name: those that can be used, and why the others cannot.

    `addresses` are all those to which the endpoint's name has led from any of them. `public` are their own, as a rented
    endpoint sees them.
    """

    machines: dict[str, Machine] = field(default_factory=dict)
    public: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    addresses: set[str] = field(default_factory=set)

    def learn(self, result: TrialResult) -> None:
        """Keeps the addresses that an endpoint's name led to, so that other vantage points ping them too."""
        try:
            notes = json.loads(result.facts or "{}").get("notes", {})
        except ValueError:
            return
        found = str(notes.get("addresses", "")).split()[:_ADDRESSES]
        self.addresses.update(one for one in found if is_address(one) and len(self.addresses) < _ADDRESSES)

    def instance(self, name: str) -> Instance | None:
        """The machine of a vantage point; None if it cannot be used."""
        machine = self.machines.get(name)
        return None if machine is None or name in self.lost else machine.instance

    def lose(self, name: str, why: str) -> TrialResult:
        """Gives a vantage point up for the rest of the launch; returns the result of the trial that found out."""
        self.lost.setdefault(name, one_line(why))
        return self.missing(name)

    def missing(self, name: str) -> TrialResult:
        """The result of a trial whose vantage point cannot be used."""
        why = self.lost.get(name, "the study has no machine there")
        return TrialResult(Outcome.FAILED, (), f"vantage {name}: {why}")

    def admitted(self) -> list[str]:
        """The addresses that an endpoint's firewall lets in, each alone, in CIDR form."""
        nets = (ipaddress.ip_network(self.public[name]) for name in self.public if name not in self.lost)
        return list(dict.fromkeys(map(str, nets)))

    def require(self, endpoint: str) -> None:
        """Gives those up whose known address is of another version of IP than an endpoint's."""
        version = ipaddress.ip_address(endpoint).version
        for name, address in self.public.items():
            if ipaddress.ip_address(address).version != version:
                self.lost.setdefault(name, f"{address} cannot reach {endpoint}: write its IPv{version} address")

    async def aclose(self) -> None:
        """Closes the connections to the machines."""
        for machine in self.machines.values():
            if machine.shell is not None:
                await machine.shell.close()


async def set_up_vantages(context: "LaunchContext", trials: Sequence[PlannedTrial]) -> Vantages:
    """Leases the machines from which these trials look, all at once; one that cannot be had is lost.

    If a firewall must let them in, so is one whose public address is unknown. Raises faults of the controller, and
    ProviderFault if a cloud does not tell the controller's own address.
    """
    names = dict.fromkeys(filter(None, map(vantage_of, trials)))
    found = Vantages()
    if context.candidate.simulated or not names:
        return found
    run = context.run
    planned = {one.point.name: (number, one.machine) for number, one in enumerate(run.plan.vantages)}

    async def one(name: str) -> None:
        number, machine = planned.get(name, (0, None))
        if machine is None:
            return
        try:
            found.machines[name] = await set_up_apart(
                run.provisioning, run.providers[machine.runner], machine, context.launch, context.ttl_s,
                context.count + 1 + number,
            )  # fmt: skip
        except CONTROLLER_FAULTS:
            raise
        except ProviderFault as fault:
            found.lost[name] = one_line(fault.faults[0].what)

    try:
        await asyncio.gather(*map(one, names))
        if isinstance(context.provider, AdmitsVantages):
            for name in dict.fromkeys(vantage_of(trial) for trial in trials if serves(trial)):
                if name in found.machines:
                    await _learn_address(context, context.provider, found, name)
    except BaseException:
        await found.aclose()
        raise
    return found


async def _learn_address(context: "LaunchContext", cloud: AdmitsVantages, found: Vantages, name: str) -> None:
    """Finds out a vantage point's public address: the stated one, else as its connection or the cloud shows it."""
    stated = next((one.address for one in context.run.plan.vantages if one.point.name == name), "")
    shell, options = found.machines[name].shell, dict(context.candidate.options)
    try:
        address = stated or await (public_address(shell) if shell else lone_controller(cloud, options))
    except ConnectionLost as fault:
        found.lose(name, fault.faults[0].what)
        return
    if address:
        found.public[name] = address
    else:
        found.lose(name, "its public address is unknown: write address: in its vantage point")


async def meet_own_host(context: "LaunchContext", host: Shell) -> str:
    """Learns at which addresses a host of the user's own sees its vantage points; returns its own, empty if unknown.

    This machine's is the other end of the host's connection; that of another host with SSH is the one at which it was
    reached. A stated one comes first. The host's own is the one at which it was reached: with another host between,
    no vantage point knows where it is. Raises ProviderFault.
    """
    found, own = context.vantages, reached_at(host)
    stated = {one.point.name: one.address for one in context.run.plan.vantages}
    controller, _ = await both_ends(host)
    for name, machine in found.machines.items():
        address = stated.get(name) or (reached_at(machine.shell) if machine.shell else controller)
        if not own:
            found.lose(name, "the endpoint is reached through another host: write service: http and its URL")
        elif address:
            found.public[name] = address
        else:
            found.lose(name, "its address is unknown: write address: in its vantage point")
    return own


def endpoint_of(trial: PlannedTrial, vantages: Vantages) -> JobTarget | None:
    """The endpoint of a trial, if it is at a URL, with the addresses that others have found for it."""
    for one in trial.cast:
        if one.role is Role.ENDPOINT and isinstance(one.target, Service) and one.target.endpoint:
            known = tuple(sorted(vantages.addresses))
            return JobTarget(Role.ENDPOINT.value, endpoint=one.target.endpoint, addresses=known, ca=trusted() or None)
    return None
