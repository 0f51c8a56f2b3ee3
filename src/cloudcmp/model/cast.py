"""The participants of a trial: targets of three kinds, each in one role of its probe."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """The part that a target plays in a trial.

    `solo`, `server`, `client`, `peer`, `victim`, `neighbour` and `remote` (the other end of a neighbour's traffic) are
    played by agents on machines. `service` and
    `endpoint` are measured from outside, by a `client` and from a `vantage`. `controller`: no agent takes part, the
    controller times what its provider does to the machine.
    """

    SOLO = "solo"
    SERVER = "server"
    CLIENT = "client"
    PEER = "peer"
    VICTIM = "victim"
    NEIGHBOUR = "neighbour"
    REMOTE = "remote"
    SERVICE = "service"
    VANTAGE = "vantage"
    ENDPOINT = "endpoint"
    CONTROLLER = "controller"


PASSIVE = frozenset({Role.SERVICE, Role.ENDPOINT, Role.CONTROLLER})
"""Roles that no agent plays."""


LOOPBACK = "loopback"
"""The path between agents on one machine."""
SAME_ZONE, ZONES, REGION, REGIONS = "zone", "zones", "region", "regions"
"""The paths between machines with a meaning: in one zone; between two zones of a region; in one region, in the zones
that the cloud chooses; between two regions. Any other path is a label of the study, which nothing checks.
"""
WRITER, HERE = "writer", "here"
"""The parameter for the agent that makes the changes of a service, and its value for the one that reads them."""


NEIGHBOUR, INTENSITY, NO_LOAD = "neighbour", "intensity", "none"
"""The parameters of a trial for the load beside it and for how much of it, and the value for none.

How much is a number of threads, or for a load on the network a rate in bytes a second or `max`.
"""
BESIDE = (NEIGHBOUR, INTENSITY)
FULL_RATE = "max"
NETWORK_LOADS = {
    "net_out": "datagrams that the neighbour sends to another machine",
    "net_in": "datagrams that another machine sends to the neighbour",
}
"""The loads of a neighbour that take two machines of their own."""
DIRECTION, INBOUND = "direction", "in"
"""The parameter for the way that bulk goes, seen from the first machine, and its value if that one receives."""


def is_network_load(params: Mapping[str, str]) -> bool:
    """True if the neighbour of a trial loads the network."""
    return params.get(NEIGHBOUR) in NETWORK_LOADS


def path_of(params: Mapping[str, str]) -> str:
    """The path between the agents of a trial: `path`, or `writer` if another agent writes; by default loopback."""
    writer = params.get(WRITER, HERE)
    return params.get("path", LOOPBACK if writer == HERE else writer)


def traffic_path(params: Mapping[str, str], *, single: bool) -> str:
    """The path that the bytes of a trial take: its agents' own, or that of a load beside it, which is within a zone.

    Nothing leaves a `single` machine.
    """
    own = path_of(params)
    return SAME_ZONE if own == LOOPBACK and is_network_load(params) and not single else own


def path_key(params: Mapping[str, str]) -> str:
    """The parameter that says where the agents of a trial are: `path`, or `writer` for a probe of services."""
    return "path" if "path" in params else WRITER


class ServiceKind(StrEnum):
    """The services that are measured from a machine."""

    BLOB = "blob"
    TABLE = "table"
    QUEUE = "queue"
    HTTP = "http"


APIS: Mapping[tuple[str, ServiceKind], tuple[str, ...]] = {
    ("azure", ServiceKind.TABLE): ("", "cosmos-table"),
    ("gcp", ServiceKind.TABLE): ("firestore", "bigtable"),
}
"""The providers that have several services of one kind, each with the names of its APIs.

The default is first; it is empty where the provider's service of that kind needs no other name.
"""

KEY_APIS = ("cosmos-table",)
"""The APIs that open with nothing but an account's long-lived key, which never leaves this machine."""


def api_of(provider: str, kind: ServiceKind, api: str = "") -> str:
    """The API of a provider's service of a kind, by default the first of `APIS`; empty where there is only one."""
    return api or next(iter(APIS.get((provider, kind), ())), "")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of the launch, leased or owned, by its number from 1."""

    number: int = 1

    def __str__(self) -> str:
        return f"machine {self.number}"


@dataclass(frozen=True, slots=True)
class Service:
    """A blob store, table or queue of a provider in a region, or an HTTP endpoint.

    `endpoint` is its URL if the provider's own is not meant. `serve` is the shell command that serves it on the
    measuring machine, empty if it is there already. `name` is the study's own name for it. `api` says which of several
    services of its kind the provider's is; empty where there is one, or for the first of `APIS`.
    """

    kind: ServiceKind
    provider: str
    region: str
    endpoint: str = ""
    serve: str = ""
    name: str = ""
    api: str = ""

    def __str__(self) -> str:
        kind = f"{self.api} {self.kind.value}".lstrip()
        return f"{kind} of {self.provider}/{self.name or self.region}"


@dataclass(frozen=True, slots=True)
class DataSet:
    """The data set of a launch in a service, and what an agent needs to use it in trials.

    `protocol` is the service's own, such as `s3`; `name` is that of the bucket, container, table or queue; `style` says
    whether a bucket's name is in the path or in the host. `addresses` are the endpoint's, `ca` holds additional
    certificates in PEM. `credential` is short-lived and limited to the data set; None for a service without.
    `own_client_credential` is what the provider's own client needs in its place, None if it takes the same: it may
    hold a long-lived key, which never leaves this machine.
    """

    protocol: str
    endpoint: str
    name: str
    region: str
    style: str = "path"
    addresses: tuple[str, ...] = ()
    ca: str = ""
    credential: Mapping[str, object] | None = field(default=None, repr=False)
    own_client_credential: Mapping[str, object] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Vantage:
    """A place from which an endpoint is measured."""

    name: str

    def __str__(self) -> str:
        return f"vantage {self.name}"


Target = Machine | Service | Vantage


@dataclass(frozen=True, slots=True)
class CastMember:
    """One target in its role."""

    role: Role
    target: Target

    def __str__(self) -> str:
        return f"{self.role.value}: {self.target}"


Cast = tuple[CastMember, ...]


def machines_of(cast: Cast) -> int:
    """The number of a launch's machines that a cast takes."""
    return max((one.target.number for one in cast if isinstance(one.target, Machine)), default=0)
