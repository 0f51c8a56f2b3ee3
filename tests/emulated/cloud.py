"""What every emulated cloud of the tests shows: its calls, and the truth of what exists."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class Call:
    """One call as it came, and how it was answered (HTTP status, error code, or the fault's name)."""

    at: float
    service: str
    region: str
    action: str
    params: dict[str, str]
    outcome: str = ""

    @property
    def name(self) -> str:
        """The action as policies write it."""
        return f"{self.service}:{self.action}"


@dataclass(frozen=True, slots=True)
class Thing:
    """A resource that exists, whether or not any list shows it."""

    kind: str
    region: str
    id: str
    state: str
    tags: tuple[tuple[str, str], ...] = ()


class Emulated(Protocol):
    """One emulated cloud with one account. What lists show may lag behind; `alive` is the truth.

    `journal` may be replaced by any list: each call is appended when it has come, before it is answered.
    """

    journal: list[Call]

    @property
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment to reach this cloud and no other."""
        ...

    def __enter__(self) -> "Emulated":
        """Listen."""
        ...

    def __exit__(self, *_: object) -> None:
        """End all machines, and listen no more."""
        ...

    def leave(self) -> None:
        """Nothing listens any more: connections are refused, until it comes back. Its machines live on."""
        ...

    def come_back(self) -> None:
        """Listen again, at the same place."""
        ...

    def inject(self, action: str, what: str, first: int = 1, times: int = 1, seconds: float = 0.0) -> None:
        """A fault at the calls of an action to come; see faults.py."""
        ...

    def calls(self, action: str) -> list[Call]:
        """The calls of one action, in order."""
        ...

    def alive(self) -> list[Thing]:
        """All that exists now, whatever bears it: machines, disks, addresses, firewalls, groups."""
        ...

    def plant(self, kind: str, region: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a resource (instance, firewall, volume) behind the product's back; returns its id."""
        ...

    def made_by(self, call: Call) -> str | None:
        """The name or token that a call which makes something names, None for any other call."""
        ...

    def changed_by(self, call: Call) -> tuple[str, ...]:
        """The ids that a call which changes or ends something names; empty for any other call."""
        ...
