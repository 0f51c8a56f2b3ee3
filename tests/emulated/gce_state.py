"""What exists in the emulated Compute Engine: machines with what stands behind them, disks, rules, operations."""

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from tests.emulated.boot import Boot, Boots, Machine
from tests.emulated.gce_faults import Faults
from tests.emulated.gce_json import HOST

PREEMPTED = "compute.instances.preempted"


@dataclass(slots=True)
class Life:
    """One machine: its resource as it was asked for, and how it goes. Times are Unix seconds by the cloud's clock."""

    zone: str
    name: str
    body: dict[str, Any]
    id: str
    began: float
    address: str
    started: float
    stops_at: float | None = None
    ends_at: float | None = None
    machine: Machine | None = None
    booting: bool = False
    trouble: str = ""

    @property
    def key(self) -> str:
        """Its id in the product."""
        return f"{self.zone}/{self.name}"

    def user_data(self) -> str:
        """What cloud-init is told."""
        items = self.body.get("metadata", {}).get("items", ())
        return next((one["value"] for one in items if one["key"] == "user-data"), "")


@dataclass(slots=True)
class Operation:
    """What goes on after a call was answered."""

    name: str
    kind: str
    target: str
    zone: str | None
    began: float
    done_at: float
    error: tuple[str, str] | None = None
    message: str = ""


@dataclass(slots=True)
class Disk:
    """A disk, and the machine that uses it."""

    zone: str
    name: str
    body: dict[str, Any]
    user: str | None = None
    auto_delete: bool = True


@dataclass
class State:
    """All of one project. `now` is the cloud's clock (Unix s)."""

    project: str
    now: Callable[[], float]
    boot: Boot | None = None
    faults: Faults = field(default_factory=Faults)
    lives: dict[str, Life] = field(default_factory=dict)
    disks: dict[str, Disk] = field(default_factory=dict)
    firewalls: dict[str, dict[str, Any]] = field(default_factory=dict)
    going: dict[str, float] = field(default_factory=dict)  # rules that are being deleted, and when they are gone
    operations: dict[str, Operation] = field(default_factory=dict)
    asked: dict[tuple[str, str], str] = field(default_factory=dict)
    images: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = count(10**12 + 1)
        self._places = count(1)
        self._boots = Boots(self.boot)
        self._lock = threading.RLock()

    # -- links

    def link(self, kind: str, name: str, zone: str | None = None) -> str:
        """The link of a resource."""
        place = f"zones/{zone}" if zone else "global"
        return f"{HOST}/projects/{self.project}/{place}/{kind}/{name}"

    def number(self) -> str:
        """A number that nothing else has."""
        return str(next(self._numbers))

    # -- operations

    def operation(self, kind: str, target: str, zone: str | None, lasts_s: float = 0.0) -> Operation:
        """One more operation, which is done after so many seconds."""
        name = f"operation-{uuid.uuid4().hex[:20]}"
        made = Operation(name, kind, target, zone, self.now(), self.now() + lasts_s)
        self.operations[name] = made
        return made

    def told(self, one: Operation) -> dict[str, Any]:
        """An operation as it is now."""
        over = self.now() >= one.done_at
        said: dict[str, Any] = {
            "kind": "compute#operation",
            "id": str(abs(hash(one.name)) % 10**12),
            "name": one.name,
            "operationType": one.kind,
            "targetLink": one.target,
            "status": "DONE" if over else "RUNNING",
            "progress": 100 if over else 50,
            "insertTime": datetime.fromtimestamp(one.began, UTC).isoformat(timespec="microseconds"),
        }
        if one.zone:
            said["zone"] = f"{HOST}/projects/{self.project}/zones/{one.zone}"
        if one.message:
            said["statusMessage"] = one.message
        if over and one.error:
            said["error"] = {"errors": [{"code": one.error[0], "message": one.error[1]}]}
            said["httpErrorStatusCode"] = 503 if "EXHAUSTED" in one.error[0] else 403
            said["httpErrorMessage"] = "SERVICE UNAVAILABLE" if "EXHAUSTED" in one.error[0] else "FORBIDDEN"
        return said

    # -- machines

    def begin(self, zone: str, body: dict[str, Any], *, boots: bool = True) -> Life:
        """A machine was made, with its disks: what stands behind it starts in the background."""
        place, now = next(self._places), self.now()
        life = Life(zone, body["name"], body, self.number(), now, f"127.91.{place // 250}.{place % 250 + 1}", now)
        self.lives[life.key] = life
        for number, one in enumerate(body.get("disks", ())):
            made = one.get("initializeParams", {})
            if one.get("type") == "SCRATCH":
                continue
            name = made.get("diskName") or (life.name if not number else f"{life.name}-{number}")
            self.disks[f"{zone}/{name}"] = Disk(zone, name, made, life.key, bool(one.get("autoDelete")))
        if boots:
            self._power_on(life)
        return life

    def _power_on(self, life: Life) -> None:
        if life.user_data():
            self._boots.begin(life, life.user_data(), life.id, lambda machine: self._up(life, machine))

    def _up(self, life: Life, machine: Machine) -> None:
        with self._lock:
            life.machine, life.address, life.booting = machine, machine.address, False
            if life.ends_at is not None or life.stops_at is not None:
                machine.kill()

    def status(self, life: Life) -> str:
        """A machine's state now, in Google's words."""
        now = self.now()
        if life.ends_at is not None:
            return "STOPPING"
        if life.stops_at is not None:
            return "TERMINATED" if now >= life.stops_at else "STOPPING"
        waited = now - life.started
        if waited < self.faults.pending_s / 2:
            return "PROVISIONING"
        return "STAGING" if waited < self.faults.pending_s or life.booting else "RUNNING"

    def shown(self, key: str) -> Life | None:
        """A machine that reads show."""
        life = self.lives.get(key)
        return life if life is not None and self.now() >= life.began + self.faults.read_lag_s else None

    def end(self, life: Life, kind: str, message: str = "") -> Operation:
        """It is deleted, and its disks that end with it, after the cloud's delay."""
        with self._lock:
            if life.ends_at is None:
                life.ends_at = self.now() + self.faults.end_s
            if life.machine is not None:
                life.machine.kill()
        made = self.operation(kind, self.link("instances", life.name, life.zone), life.zone, self.faults.end_s)
        made.message = message
        self.settle()
        return made

    def stop(self, life: Life, *, at_once: bool = False) -> None:
        """It stands still from now on; its disks stay."""
        with self._lock:
            if life.stops_at is None:
                life.stops_at = self.now() + (0.0 if at_once else self.faults.end_s)
            if life.machine is not None:
                life.machine.kill()

    def again(self, life: Life) -> None:
        """A machine that stood still starts, with the disks that it had."""
        life.stops_at, life.started, life.machine = None, self.now(), None
        self._power_on(life)

    def settle(self) -> None:
        """What had to happen by now has happened: guests that powered off, times to live, ends."""
        with self._lock:
            now = self.now()
            for name in [name for name, at in self.going.items() if now >= at]:
                self.going.pop(name)
                self.firewalls.pop(name, None)
            for life in list(self.lives.values()):
                standing = life.stops_at is not None
                if life.ends_at is None and not standing and life.machine is not None and not life.machine.alive():
                    self.stop(life, at_once=True)  # a guest's own power-off: TERMINATED, and nothing ends it
                    standing = True
                limit = _unix(life.body.get("scheduling", {}).get("terminationTime"))
                if life.ends_at is None and not standing and limit is not None and now >= limit and self.faults.ends:
                    life.ends_at = limit
                    if life.machine is not None:
                        life.machine.kill()
                    self.operation(
                        "compute.instances.terminate", self.link("instances", life.name, life.zone), life.zone
                    )
                if life.ends_at is not None and now >= life.ends_at:
                    self._forget(life)

    def _forget(self, life: Life) -> None:
        self.lives.pop(life.key, None)
        for key, disk in list(self.disks.items()):
            if disk.user == life.key:
                disk.user = None
                if disk.auto_delete:
                    self.disks.pop(key)

    def close(self) -> None:
        """Kill every machine and wait for those that are starting."""
        self._boots.end(self.lives.values())


def _unix(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None
