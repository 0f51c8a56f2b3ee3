"""What an emulated OpenStack has in each region, and what it refuses to have: state without any wire."""

import uuid
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.emulated.boot import Machine
from tests.emulated.faults import Behaviour

GIB = 2**30
PROJECT = "7a4d2f0c9b8e4c61a5d3e2f1b0c9d8e7"
OTHERS = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"


@dataclass(frozen=True, slots=True)
class Faults(Behaviour):
    """The whole behaviour beyond the ordinary; the defaults are a cloud in which nothing goes wrong.

    `network` is `tenant` (machines stand behind a router and need floating addresses) or `provider` (they stand on a
    shared external network). `newest` is Nova's newest microversion. `deletes` is ends, nothing (answers 204 and does
    nothing), or soft (put aside for a while, as operators may set it). `volumes` is ends, stays (Nova fails to delete
    what was to end with a machine) or none (there is no Cinder). `no_host`: every server comes to ERROR. `down_cell`:
    servers are listed without what they bear. `admin`: Neutron shows the user what is of other projects too. `denied`
    are actions that the user's role may not do; `page` is the most items of a list in one answer; `token_s` how long a
    token lives.
    """

    network: str = "tenant"
    newest: str = "2.96"
    deletes: str = "ends"
    volumes: str = "ends"
    no_host: bool = False
    down_cell: bool = False
    admin: bool = False
    delete_s: float = 0.0
    resize_s: float = 0.0
    token_s: float = 3600.0
    page: int | None = None
    servers: int = 100
    cores: int = 1000
    floating: int = 50
    groups: int = 100
    gigabytes: int = 1000
    denied: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Flavor:
    """What Nova sells."""

    id: str
    name: str
    vcpus: int
    ram_mib: int
    disk_gib: int


@dataclass(frozen=True, slots=True)
class Image:
    """What Glance keeps."""

    id: str
    name: str
    created: str
    visibility: str = "public"
    owner: str = OTHERS
    min_disk: int = 0
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Server:
    """One server, and the machine behind it. Times are of the cloud's own clock (s).

    `address` is the one on its network, `outside` the one at which its machine listens: the same where the network is
    an external one, else that of the floating address that it is given.
    """

    id: str
    region: str
    name: str
    flavor: Flavor
    image: str
    metadata: dict[str, str]
    began: float
    address: str
    outside: str = ""
    user_data: str = ""
    zone: str = "nova"
    network: str = ""
    port: str = ""
    groups: list[str] = field(default_factory=list)
    placement: str = ""
    volumes: dict[str, bool] = field(default_factory=dict)
    error: str = ""
    off: bool = False
    ends_at: float | None = None
    soft: bool = False
    resize_at: float | None = None
    before: Flavor | None = None
    machine: Machine | None = None
    booting: bool = False
    trouble: str = ""


@dataclass(slots=True)
class Volume:
    """A volume of Cinder."""

    id: str
    name: str
    size: int
    type: str
    metadata: dict[str, str]
    server: str = ""


@dataclass(slots=True)
class Group:
    """A security group of Neutron, with its rules by their ids."""

    id: str
    name: str
    description: str
    project: str = PROJECT
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Floating:
    """A floating address of Neutron; `port` is empty while it is bound to none."""

    id: str
    address: str
    network: str
    description: str
    port: str = ""
    project: str = PROJECT


@dataclass(slots=True)
class Placement:
    """A server group of Nova."""

    id: str
    name: str
    policy: str


FLAVORS = (
    Flavor("1", "m1.tiny", 1, 512, 5),
    Flavor("2", "m1.small", 1, 2048, 20),
    Flavor("3", "m1.medium", 2, 4096, 40),
    Flavor("4", "c1.large", 4, 8192, 40),
    Flavor("9c0f7f0e-51d7-4d0a-8c9d-5b3d6f2a1b00", "gp.0.1.2", 1, 2048, 0),
)


def _image(name: str, created: str, **more: Any) -> Image:
    return Image(str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name} {created}")), name, created, **more)


IMAGES = (
    _image("Debian 13", "2026-08-11T00:00:00Z", min_disk=2),
    _image("Debian 13 (Trixie)", "2026-10-20T00:00:00Z", min_disk=2),
    _image("debian-13-arm64", "2026-11-20T00:00:00Z", properties=(("architecture", "aarch64"),)),
    _image("Debian 12 bookworm", "2026-09-01T00:00:00Z"),
    _image(
        "img-4711", "2026-09-02T00:00:00Z", min_disk=2, properties=(("os_distro", "ubuntu"), ("os_version", "24.04"))
    ),
    _image("Debian 13", "2026-11-21T00:00:00Z", visibility="shared"),  # somebody else's, which was accepted
    _image("mine", "2026-11-01T00:00:00Z", visibility="private", owner=PROJECT, min_disk=30),
    _image("Windows Server 2022", "2026-10-14T00:00:00Z", min_disk=40, properties=(("os_type", "windows"),)),
)
VOLUME_TYPES = ("__DEFAULT__", "ssd")
ZONES = ("nova", "az2")


@dataclass(slots=True)
class Region:
    """All that one region has."""

    name: str
    servers: dict[str, Server] = field(default_factory=dict)
    volumes: dict[str, Volume] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    floatings: dict[str, Floating] = field(default_factory=dict)
    placements: dict[str, Placement] = field(default_factory=dict)
    _places: Any = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.add_group("default", "Default security group")

    def id_of(self, what: str) -> str:
        """The id of a thing that was always there."""
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{what}.{self.name}"))

    def address(self, second: int) -> str:
        """A loopback address that no machine has yet."""
        place = next(self._places)
        return f"127.{second}.{place // 250}.{place % 250 + 1}"

    def add_group(self, name: str, description: str) -> Group:
        """A security group with the rules that each has from the start: everything may go out."""
        group = Group(str(uuid.uuid4()), name, description)
        for kind in ("IPv4", "IPv6"):
            group.rules[str(uuid.uuid4())] = {"direction": "egress", "ethertype": kind, "security_group_id": group.id}
        self.groups[group.id] = group
        return group

    def add_volume(self, size: int, kind: str, server: str = "", **more: Any) -> Volume:
        """A volume, held by a server or by none."""
        volume = Volume(str(uuid.uuid4()), more.get("name", ""), size, kind, more.get("metadata", {}), server)
        self.volumes[volume.id] = volume
        return volume

    def bound_to(self, port: str) -> Floating | None:
        """The floating address that is bound to a port."""
        return next((one for one in self.floatings.values() if one.port == port), None)
