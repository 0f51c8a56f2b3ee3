"""The cast of a trial: targets in the roles of its probe."""

from collections.abc import Mapping, Sequence

from cloudcmp.catalog import PROBES, roles_of
from cloudcmp.model.cast import (
    DIRECTION,
    INBOUND,
    LOOPBACK,
    NEIGHBOUR,
    NO_LOAD,
    Cast,
    CastMember,
    Machine,
    Role,
    Service,
    ServiceKind,
    Target,
    Vantage,
    is_network_load,
    path_of,
)

_SERVICE_OF = {"blob": ServiceKind.BLOB, "table": ServiceKind.TABLE, "load": ServiceKind.TABLE,
               "queue": ServiceKind.QUEUE, "propagation": ServiceKind.QUEUE}  # fmt: skip


def cast_of(
    probe: str, params: Mapping[str, str], provider: str, region: str, service: Service | None = None, *,
    single: bool = False, served: bool = False,
) -> Cast:  # fmt: skip
    """The cast of a trial with these parameters on a launch in a provider's region; empty for a single agent.

    Over loopback all agents are on the first machine; otherwise each has its own, unless the launch is a `single`
    machine. A service is the candidate's own `service`, else that of its provider and region. An endpoint that is
    `served` is the first machine itself, for the length of the trial.
    """
    roles = roles_of(probe, params)
    if NEIGHBOUR in params:
        return _beside(roles, params, single=single)
    if roles == (Role.SOLO,) or Role.CONTROLLER in roles:
        return ()
    if Role.PEER in roles:
        numbers = range(1, int(params["peers"]) + 1)
        alone = params["path"] == LOOPBACK
        return tuple(CastMember(Role.PEER, Machine(1 if alone else number)) for number in numbers)
    apart = not single and path_of(params) != LOOPBACK
    measured = service or Service(_kind(probe, params), provider, region)
    first, other = Machine(1), Machine(2 if apart else 1)
    inbound = params.get(DIRECTION) == INBOUND
    targets: dict[Role, Target] = {
        Role.SERVER: first if inbound else other,
        Role.CLIENT: other if inbound else first,
        Role.SERVICE: measured,
        Role.ENDPOINT: first if served and service is None else measured,
        Role.VANTAGE: Vantage(params.get("vantage", "")),
    }
    return tuple(CastMember(role, targets[role]) for role in roles)


def _beside(roles: Sequence[Role], params: Mapping[str, str], *, single: bool) -> Cast:
    """The cast of a victim alone or beside a load: machines 1 and 2 are the two whose isolation is in question.

    A victim that measures a network has its other end on machine 3, and a load on the network has its own on the next.
    """
    far = Machine(1 if single else 3)
    if Role.CLIENT in roles:
        ends = (far, Machine(1)) if params.get(DIRECTION) == INBOUND else (Machine(1), far)
        victims = [CastMember(role, end) for role, end in zip((Role.CLIENT, Role.SERVER), ends, strict=True)]
    else:
        victims = [CastMember(Role.VICTIM, Machine(1))]
    if params[NEIGHBOUR] == NO_LOAD:
        return tuple(victims)
    loads = [CastMember(Role.NEIGHBOUR, Machine(1 if single else 2))]
    if is_network_load(params):
        loads.append(CastMember(Role.REMOTE, Machine(1 if single else len(victims) + 2)))
    return (*victims, *loads)


def _kind(probe: str, params: Mapping[str, str]) -> ServiceKind:
    """The kind of service that a probe measures; the wide-area probes measure a web endpoint."""
    if probe == "consistency":
        return ServiceKind(params["service"])
    return _SERVICE_OF.get(probe, ServiceKind.HTTP)


def kinds_of(probe: str, params: Mapping[str, str]) -> Sequence[ServiceKind]:
    """The kinds of service that a probe measures with these parameters; none for a probe of machines."""
    return [_kind(probe, params)] if Role.SERVICE in PROBES[probe].roles else []
