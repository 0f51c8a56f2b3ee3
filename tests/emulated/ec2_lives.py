"""The lives of emulated instances: when they are seen, run and end, and the machine behind each."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.emulated.boot import Boot, Boots, Machine
from tests.emulated.ec2_faults import Faults


@dataclass(slots=True)
class Life:
    """What this cloud knows of an instance beyond moto."""

    id: str
    region: str
    token: str
    began: float
    address: str
    user_data: str = ""
    zone: str = ""
    restarted: float | None = None
    spot: str = ""
    placement: str = ""
    ends_at: float | None = None
    becomes: str = "terminated"
    reason: tuple[str, str] = ("", "")
    machine: Machine | None = None
    booting: bool = False
    trouble: str = ""


class Lives:
    """All instances of one cloud; `clock` gives seconds of any origin."""

    def __init__(self, backend: Callable[[str], Any], boot: Boot | None, clock: Callable[[], float]) -> None:
        self.faults = Faults()
        self.clock = clock
        self._backend = backend
        self._boots = Boots(boot)
        self._places = count(1)
        self._lock = threading.RLock()
        self.all: dict[str, Life] = {}

    def begin(self, id: str, region: str, token: str, user_data: str) -> Life:
        """An instance was made: its machine starts in the background."""
        place = next(self._places)
        life = Life(id, region, token, self.clock(), f"127.91.{place // 250}.{place % 250 + 1}", user_data)
        self.all[id] = life
        self._power_on(life)
        return life

    def _power_on(self, life: Life) -> None:
        self._boots.begin(life, life.user_data, life.id, lambda machine: self._up(life, machine))

    def adopt(self, id: str, region: str) -> None:
        """An instance that was made behind the calls' back is kept account of from now on."""
        if id not in self.all:
            self.all[id] = Life(id, region, "", self.clock() - 1e9, "127.91.0.0")

    def _up(self, life: Life, machine: Machine) -> None:
        with self._lock:
            life.machine, life.address, life.booting = machine, machine.address, False
            if life.ends_at is not None:
                machine.kill()

    def state(self, id: str) -> str:
        """An instance's state now, in EC2's words."""
        found, life = self._backend_instance(id), self.all[id]
        if found.state in {"terminated", "stopped"}:
            return str(found.state)
        if life.ends_at is not None:
            return "shutting-down" if life.becomes == "terminated" else "stopping"
        if self.clock() < (life.restarted or life.began) + self.faults.pending_s or life.booting:
            return "pending"
        return "running"

    def shown(self, id: str) -> str:
        """The state that reads show: for a while after a start, they may still tell the one before it."""
        life = self.all[id]
        late = life.restarted is not None and self.clock() < life.restarted + self.faults.read_lag_s
        return "stopped" if late else self.state(id)

    def visible(self, id: str) -> bool:
        """Whether reads see it already, and still."""
        life = self.all.get(id)
        if life is None:
            return True
        if life.ends_at is not None and self.clock() > life.ends_at + self.faults.forget_s:
            return False
        return self.clock() >= life.began + self.faults.read_lag_s

    def end(self, id: str, reason: tuple[str, str], becomes: str = "terminated", *, at_once: bool = False) -> None:
        """It shuts down now and ends after the cloud's delay."""
        life = self.all[id]
        with self._lock:
            if life.ends_at is None or life.becomes == "stopped":
                life.ends_at = self.clock() + (0.0 if at_once else self.faults.terminate_s)
                life.becomes, life.reason = becomes, reason
            if life.machine is not None:
                life.machine.kill()
        self.settle()

    def settle(self) -> None:
        """Bring moto up to date: what had to end by now has ended, a machine that ended by itself too."""
        for life in list(self.all.values()):
            if life.ends_at is None and life.machine is not None and not life.machine.alive():
                wanted = self._backend_instance(life.id).instance_initiated_shutdown_behavior
                why = ("Client.InstanceInitiatedShutdown", "Instance initiated shutdown")
                self.end(life.id, why, "terminated" if wanted == "terminate" else "stopped", at_once=True)
            if life.ends_at is not None and self.clock() >= life.ends_at:
                self._apply(life.id, life.becomes)

    def again(self, id: str) -> None:
        """A stopped instance was started: its machine boots again, with the disk that it had."""
        life = self.all.get(id)
        if life is not None:
            life.ends_at, life.becomes, life.restarted, life.machine = None, "terminated", self.clock(), None
            self._power_on(life)

    def _apply(self, id: str, becomes: str) -> None:
        with self._lock:
            found = self._backend_instance(id)
            if found.state in {"terminated", becomes}:
                return
            backend = found.ec2_backend
            if becomes == "stopped":
                backend.stop_instances([id])
            else:
                backend.terminate_instances([id])

    def _backend_instance(self, id: str) -> Any:
        return self._backend(self.all[id].region).get_instance(id)

    def close(self) -> None:
        """Kill every machine and wait for those that are starting."""
        self._boots.end(self.all.values())
