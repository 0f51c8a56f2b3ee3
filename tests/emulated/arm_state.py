"""What exists in an emulated Azure: resources with their times, and the machine behind each virtual machine."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.emulated.arm_faults import Faults
from tests.emulated.boot import Boot, Boots, Machine

VM, DISK = "Microsoft.Compute/virtualMachines", "Microsoft.Compute/disks"
CARD, ADDRESS = "Microsoft.Network/networkInterfaces", "Microsoft.Network/publicIPAddresses"
FIREWALL, NETWORK = "Microsoft.Network/networkSecurityGroups", "Microsoft.Network/virtualNetworks"
NEAR, SPREAD = "Microsoft.Compute/proximityPlacementGroups", "Microsoft.Compute/availabilitySets"
PARTS = {DISK: "disks", CARD: "networkInterfaces", ADDRESS: "publicIPAddresses"}


@dataclass(slots=True)
class Resource:
    """One resource: `kind` is empty for a resource group; `within` are the ids of what ends with a machine."""

    id: str
    kind: str
    group: str
    name: str
    location: str
    body: dict[str, Any]
    began: float
    ready_at: float
    ends_at: float | None = None
    failure: tuple[str, str] | None = None
    within: list[str] = field(default_factory=list)

    @property
    def tags(self) -> dict[str, str]:
        """Its tags."""
        return dict(self.body.get("tags") or {})


@dataclass(slots=True)
class Life:
    """What goes on behind a virtual machine. `power` is as Azure names it, empty while it is being made."""

    user_data: str
    name: str
    address: str
    inside: str
    power: str = ""
    running_from: float = 0.0
    machine: Machine | None = None
    booting: bool = False
    trouble: str = ""


@dataclass(slots=True)
class Operation:
    """A long running operation: what it does, until when, and on what."""

    id: str
    resource: Resource
    ends_at: float
    what: str


class State:
    """All of one subscription; `clock` gives seconds of any origin."""

    def __init__(self, subscription: str, regions: tuple[str, ...], boot: Boot | None, clock: Callable[[], float]):
        self.subscription, self.regions, self.clock = subscription, regions, clock
        self.faults = Faults()
        self.all: dict[str, Resource] = {}
        self.lives: dict[str, Life] = {}
        self.operations: dict[str, Operation] = {}
        self._boots = Boots(boot)
        self._numbers = count(1)
        self.lock = threading.RLock()

    # -- what is there

    def find(self, id: str) -> Resource | None:
        """A resource by its id in any case, whether or not reads show it."""
        return self.all.get(id.lower())

    def shown(self, resource: Resource) -> bool:
        """Whether reads see it already."""
        return self.clock() >= resource.began + self.faults.read_lag_s

    def of_kind(self, kind: str, group: str = "") -> list[Resource]:
        """What reads show of a kind, in one group or in all."""
        some = (one for one in self.all.values() if one.kind == kind and group in {"", one.group})
        return [one for one in some if self.shown(one)]

    def inside(self, group: str) -> Iterator[Resource]:
        """All that a group holds, but not itself."""
        yield from [one for one in self.all.values() if one.kind and one.group == group]

    def add(self, resource: Resource) -> Resource:
        """It is there from now on."""
        self.all[resource.id.lower()] = resource
        return resource

    def make(self, kind: str, group: str, name: str, location: str, body: dict[str, Any], takes_s: float) -> Resource:
        """A new resource, ready after so many seconds."""
        base = f"/subscriptions/{self.subscription}/resourceGroups/{group}"
        id = f"{base}/providers/{kind}/{name}" if kind else base
        now = self.clock()
        return self.add(Resource(id, kind, group, name, location, body, now, now + takes_s))

    def begin(self, resource: Resource, what: str, takes_s: float) -> Operation:
        """A long running operation on a resource."""
        number = f"{next(self._numbers):08d}"
        self.operations[number] = Operation(number, resource, self.clock() + takes_s, what)
        return self.operations[number]

    def provisioning(self, resource: Resource) -> str:
        """The state of a resource's making, in Azure's words."""
        if resource.ends_at is not None:
            return "Deleting"
        if self.clock() < resource.ready_at:
            return "Creating"
        return "Failed" if resource.failure else "Succeeded"

    # -- what ends

    def end(self, resource: Resource) -> None:
        """It goes: its machine at once, itself after the cloud's delay."""
        if self.faults.terminate == "nothing":
            return
        if resource.ends_at is None:
            resource.ends_at = self.clock() + self.faults.terminate_s
        for one in [resource, *(() if resource.kind else self.inside(resource.group))]:
            if one.kind == VM:
                self._kill(one)
        self.settle()

    def _kill(self, resource: Resource) -> None:
        life = self.lives.get(resource.id)
        if life is not None and life.machine is not None:
            life.machine.kill()

    def settle(self) -> None:
        """What had to end by now has ended, and a guest that powered itself off leaves its machine stopped."""
        now = self.clock()
        for one in [one for one in self.all.values() if one.ends_at is not None and now >= one.ends_at]:
            self._remove(one)
        for id, life in self.lives.items():
            down = life.machine is not None and not life.machine.alive() and not life.booting
            if down and life.power == "running" and id.lower() in self.all:
                life.power = "stopped"

    def _remove(self, resource: Resource) -> None:
        self.all.pop(resource.id.lower(), None)
        for one in [] if resource.kind else list(self.inside(resource.group)):
            self._kill(one)
            self.all.pop(one.id.lower(), None)
        for id in resource.within:
            part = self.all.get(id.lower())
            if part is not None and PARTS[part.kind] not in self.faults.leaves:
                self.all.pop(id.lower())
            elif part is not None:
                part.body.pop("managedBy", None)

    # -- machines

    def start(self, resource: Resource, user_data: str) -> None:
        """A machine is powered on for the first time."""
        number = next(self._numbers)
        address = f"127.91.{number // 250}.{number % 250 + 1}"
        life = Life(user_data, resource.name, address, address)
        self.lives[resource.id] = life
        self.power_on(resource)

    def power_on(self, resource: Resource) -> None:
        """Its machine boots, the first time or again with the disk that it had."""
        life = self.lives[resource.id]
        life.power, life.running_from, life.machine = "running", self.clock() + self.faults.pending_s, None
        if life.user_data:
            self._boots.begin(life, life.user_data, life.name, lambda machine: self._up(resource, life, machine))

    def _up(self, resource: Resource, life: Life, machine: Machine) -> None:
        with self.lock:
            life.machine, life.address, life.booting = machine, machine.address, False
            life.inside = str(getattr(machine, "inside", machine.address))
            if resource.id.lower() not in self.all or resource.ends_at is not None or life.power != "running":
                machine.kill()

    def power_off(self, resource: Resource, power: str) -> None:
        """The cloud stops a machine."""
        life = self.lives[resource.id]
        life.power = power
        self._kill(resource)

    def power(self, resource: Resource) -> str:
        """The power state of a machine in Azure's words, empty where there is none yet."""
        life = self.lives.get(resource.id)
        if life is None or self.provisioning(resource) == "Failed":
            return ""
        if life.power == "running" and (life.booting or self.clock() < life.running_from):
            return "starting"
        return life.power

    def close(self) -> None:
        """Kill every machine and wait for those that are starting."""
        self._boots.end(self.lives.values())
