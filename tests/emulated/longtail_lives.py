"""The lives of machines of the emulated long tail: when they are seen, run, are off and end."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from tests.emulated.boot import Boot, Boots, Machine


@dataclass(slots=True)
class Rented:
    """A machine. `wall` is its firewall; `ends_at` is when its deletion is done."""

    id: str
    name: str
    region: str
    type: str
    words: tuple[str, ...]
    began: float
    address: str
    image: str = ""
    wall: str = ""
    user_data: str = ""
    off: bool = False
    ends_at: float | None = None
    ended: bool = False
    machine: Machine | None = None
    booting: bool = False
    trouble: str = ""

    @property
    def inside(self) -> str:
        """Where its neighbours see it, if a test says so."""
        return str(getattr(self.machine, "inside", self.address))


class Lives:
    """All machines of one cloud; `clock` gives seconds of any origin."""

    def __init__(self, boot: Boot | None, clock: Callable[[], float]) -> None:
        self.pending_s = self.read_lag_s = self.terminate_s = 0.0
        self.clock = clock
        self.all: dict[str, Rented] = {}
        self._boots = Boots(boot)
        self._places = count(1)
        self._lock = threading.RLock()

    def begin(
        self,
        id: str,
        name: str,
        region: str,
        type: str,
        words: tuple[str, ...],
        *,
        user_data: str = "",
        began: float | None = None,
        **more: str,
    ) -> Rented:
        """A machine was made: what is behind it starts in the background, where it was given user data."""
        place = next(self._places)
        address = f"127.90.{place // 250}.{place % 250 + 1}"
        one = Rented(id, name, region, type, words, self.clock() if began is None else began, address, **more)
        one.user_data = user_data
        self.all[id] = one
        self.power_on(one)
        return one

    def power_on(self, one: Rented) -> None:
        """What is behind a machine starts in the background; with the disk that it had, where it was off."""
        one.off, one.machine = False, None
        if one.user_data:
            self._boots.begin(one, one.user_data, one.id, lambda machine: self._up(one, machine))

    def power_off(self, one: Rented) -> None:
        """A machine is off now; it stays, and stays billed."""
        one.off = True
        if one.machine is not None:
            one.machine.kill()

    def _up(self, one: Rented, machine: Machine) -> None:
        with self._lock:
            one.machine, one.address, one.booting = machine, machine.address, False
            if one.ends_at is not None:
                machine.kill()

    def state(self, one: Rented) -> str:
        """pending, running, off, ending or gone."""
        if one.ended:
            return "gone"
        if one.ends_at is not None:
            return "ending"
        if one.off:
            return "off"
        if self.clock() < one.began + self.pending_s or one.booting:
            return "pending"
        return "running"

    def visible(self, one: Rented) -> bool:
        """Whether reads see it already, and still."""
        self.settle()
        return not one.ended and self.clock() >= one.began + self.read_lag_s

    def there(self) -> list[Rented]:
        """All that exist."""
        return [one for one in self.all.values() if not one.ended]

    def end(self, one: Rented) -> None:
        """It is deleted now, and gone after the cloud's delay."""
        with self._lock:
            one.ends_at = self.clock() + self.terminate_s
            if one.machine is not None:
                one.machine.kill()
        self.settle()

    def settle(self) -> None:
        """What had to end by now has ended; a machine that powered itself off is off, and stays."""
        for one in list(self.all.values()):
            if one.ends_at is None and one.machine is not None and not one.machine.alive():
                one.off = True
            if one.ends_at is not None and self.clock() >= one.ends_at:
                one.ended = True

    def close(self) -> None:
        """Kill every machine and wait for those that are starting."""
        self._boots.end(self.all.values())
