"""The targets of a launch, and the agents that a trial's cast puts on them."""

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum

from cloudcmp.agent import JobTarget
from cloudcmp.execute.vantages import Vantages
from cloudcmp.model.cast import (
    LOOPBACK,
    NEIGHBOUR,
    PASSIVE,
    REGIONS,
    SAME_ZONE,
    ZONES,
    Cast,
    CastMember,
    DataSet,
    Machine,
    Role,
    Vantage,
    path_key,
    path_of,
)
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Instance
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.plan import cast_of

_CREDENTIAL = "service"
_LOOPBACK_ADDRESS = "127.0.0.1"
_UNKNOWN = "unknown"
_LOADS = frozenset({Role.NEIGHBOUR, Role.REMOTE})
_LISTENS = frozenset({Role.SERVER, Role.ENDPOINT})

Gone = Callable[[], Awaitable[str | None]]
"""Returns the provider's evidence that a machine of the launch is gone, or None."""


class Link(Enum):
    """The state of the connection to a launch's machines: held, connected again, or to a machine that restarted."""

    HELD = "held"
    BACK = "back"
    RESTARTED = "restarted"


Reconnect = Callable[[], Awaitable[Link]]
"""Reconnects after the connection broke; raises ProviderFault if the machine is unreachable."""

Allowance = AbstractAsyncContextManager[Mapping[str, float] | None]
"""The caps on a trial's traffic, reserved for it until the context is left."""


DataSetOf = Callable[[PlannedTrial], Awaitable[Sequence[DataSet]]]
"""Returns a trial's access to the service that its launch measures, from each of its machines; empty for none."""


async def no_data_set(_: PlannedTrial) -> Sequence[DataSet]:
    """No access: the launch measures no service."""
    return ()


@dataclass(frozen=True, slots=True)
class ServedAt:
    """Where a machine serves pages: the address that others reach, its own end of that way, and the port."""

    host: str
    own: str
    port: int


@dataclass(frozen=True, slots=True)
class LaunchTargets:
    """The machines of a launch in their order, and the functions that trials on them need.

    `gone` looks for evidence that a machine is gone; `reconnect` is for machines behind a connection that may break.
    `caps` gives a trial between agents its traffic caps, possibly after a wait; `left_s` is the least remaining life of
    the machines; `zones` are theirs, empty if the provider has none, and `regions` those in which they were requested.
    `addresses` are those at which they reach each other between regions, empty if those are their own. `vantages` are
    the machines from which they, or a URL, are seen; `served` is where the first machine serves pages to them, None if
    it is on this host.
    """

    machines: Sequence[Instance]
    gone: Gone
    reconnect: Reconnect | None = None
    caps: Callable[[PlannedTrial], Allowance] = lambda _: nullcontext()
    left_s: Callable[[], float] = lambda: math.inf
    zones: Sequence[str] = ()
    regions: Sequence[str] = ()
    addresses: Sequence[str] = ()
    data_set: DataSetOf = no_data_set
    vantages: Vantages = field(default_factory=Vantages)
    served: ServedAt | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of a trial: its role, its machine and the number of that, and the address at which others reach it.

    `own` is the address at which it may listen, which differs behind a translation of addresses. `isolated` is true in
    a trial that tells a victim from a neighbour; `loads` if the agent belongs to the neighbour. `port` is 0 if it may
    listen at any free one.
    """

    role: Role
    instance: Instance
    host: str
    own: str
    number: int = 1
    isolated: bool = False
    loads: bool = False
    port: int = 0

    @property
    def listen(self) -> str:
        """Its own address with its port."""
        return f"{bracketed(self.own)}:{self.port}"


def bracketed(address: str) -> str:
    """An address as it is written before a port: one of IPv6 is in brackets."""
    return f"[{address}]" if ":" in address else address


def _place_of(agent: Agent) -> tuple[bool, bool]:
    return agent.loads, agent.role not in _LISTENS


def cast_in(trial: PlannedTrial, machines: int) -> Cast:
    """The cast of a trial on a launch of this many machines; plans of version 1 hold none."""
    cast = trial.cast or cast_of(trial.probe, dict(trial.params), "", "", single=machines < 2)
    return cast or (CastMember(Role.SOLO, Machine()),)


def agents_of(trial: PlannedTrial, targets: LaunchTargets) -> tuple[Agent, ...]:
    """The agents of a trial: one that listens first, if any, then those that connect to it; those of a load last."""
    params = dict(trial.params)
    cast = cast_in(trial, len(targets.machines))
    alone = len(targets.machines) < 2
    agents = []
    for one in cast:
        afar = one.role in {Role.VANTAGE, Role.ENDPOINT}
        seen = targets.vantages.instance(one.target.name) if isinstance(one.target, Vantage) else None
        if seen is not None and isinstance(one.target, Vantage):
            host = targets.vantages.public.get(one.target.name, seen.address)
            agents.append(Agent(one.role, seen, host, seen.address))
        elif afar and targets.served and isinstance(one.target, Machine):
            at = targets.served
            agents.append(Agent(one.role, targets.machines[one.target.number - 1], at.host, at.own, port=at.port))
        elif one.role not in PASSIVE or (afar and isinstance(one.target, Machine)):
            number = one.target.number if isinstance(one.target, Machine) else 1
            instance = targets.machines[number - 1]
            loads = one.role in _LOADS
            here = alone if loads else path_of(params) == LOOPBACK and not afar
            own = _LOOPBACK_ADDRESS if here else instance.address
            host = targets.addresses[number - 1] if targets.addresses and path_of(params) == REGIONS else own
            agents.append(Agent(one.role, instance, host, own, number, NEIGHBOUR in params, loads))
    return tuple(sorted(agents, key=_place_of))


def target_of(data_set: DataSet, *, by_other_client: bool = False) -> tuple[JobTarget, dict[str, dict[str, object]]]:
    """A data set as a target of a job, with the credentials of the agent or of the provider's own client."""
    credential = (data_set.own_client_credential if by_other_client else None) or data_set.credential
    target = JobTarget(
        Role.SERVICE.value,
        endpoint=data_set.endpoint,
        credential_ref=_CREDENTIAL if credential is not None else None,
        protocol=data_set.protocol,
        data_set=data_set.name,
        region=data_set.region,
        style=data_set.style,
        addresses=data_set.addresses,
        ca=data_set.ca or None,
    )
    return target, {} if credential is None else {_CREDENTIAL: dict(credential)}


def has_several_agents(trial: PlannedTrial) -> bool:
    """True if the trial, or the load beside it, runs between agents; a neighbour does not talk to its victim."""
    roles = [one.role for one in cast_in(trial, 1)]
    return Role.REMOTE in roles or sum(role not in {*PASSIVE, Role.NEIGHBOUR} for role in roles) > 1


def refuse_place(trial: PlannedTrial, zones: Sequence[str], regions: Sequence[str] = ()) -> TrialResult | None:
    """The result of a trial within one zone, between two, or between two regions, if its machines may be elsewhere.

    None if it can run. Between two zones, the first machine is in one and all others are in another. Between regions,
    each is in a zone of the region in which it was requested. A provider without zones is not asked for one zone.
    """
    params = dict(trial.params)
    path = path_of(params)
    if path not in {SAME_ZONE, ZONES, REGIONS} or (path == SAME_ZONE and len(zones) < 2):
        return None
    numbers = sorted({one.target.number for one in cast_in(trial, len(zones)) if isinstance(one.target, Machine)})
    places = [one_line(zones[number - 1], 40) if number <= len(zones) else _UNKNOWN for number in numbers]
    wanted = [regions[number - 1] if number <= len(regions) else "" for number in numbers]
    if len(places) < 2 or (_are_in(wanted, places) if path == REGIONS else _are_at(path, places)):
        return None
    known = set(places) - {_UNKNOWN}
    where = f"its machines are in {' and '.join(places)}"
    if path == ZONES and len(known) == 1 and _UNKNOWN not in places:
        where = f"{'both' if len(places) == 2 else 'all'} machines are in {places[0]}"
    what = f"{path_key(params)}: {path}, and {where}"
    return TrialResult(Outcome.INVALID, (), what, '{"notes":{"payload_bytes":0}}')  # nothing was sent


def _are_at(path: str, zones: Sequence[str]) -> bool:
    """True if zones are known and stand to each other as a path says."""
    first, *others = zones
    if _UNKNOWN in zones:
        return False
    return len(set(zones)) == 1 if path == SAME_ZONE else first not in others and len(set(others)) == 1


def _are_in(regions: Sequence[str], zones: Sequence[str]) -> bool:
    """True if each zone is known and is one of its region, and the first region is another than all others.

    A zone's name begins with its region's: us-east-1a, us-central1-a. europe-west1 has no zone of europe-west12.
    """
    own = all(
        region and zone.startswith(region) and not zone[len(region) : len(region) + 1].isdigit()
        for region, zone in zip(regions, zones, strict=True)
    )
    return own and regions[0] not in regions[1:]


def with_zones(result: TrialResult, zones: Sequence[str]) -> TrialResult:
    """The result with the zones of the launch's machines among its facts; unchanged if there are none."""
    facts = json.loads(result.facts or "{}") if zones else None
    if not isinstance(facts, dict):
        return result
    facts["zones"] = [one_line(zone, 40) for zone in zones]
    return replace(result, facts=json.dumps(facts, sort_keys=True, separators=(",", ":")))
