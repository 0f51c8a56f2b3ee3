"""What goes wrong in the emulated Azure: standing properties of the cloud."""

from dataclasses import dataclass

from tests.emulated.faults import Behaviour


@dataclass(frozen=True, slots=True)
class Faults(Behaviour):
    """The whole behaviour beyond the ordinary; the defaults are a cloud in which nothing goes wrong.

    `terminate_s` is until something that was asked to go is gone, `network_s` until a network is there. `fails` are
    sizes whose machines are accepted and fail after `fails_s` with a code. `refused` are sizes that are refused at once
    with a code. `terminate` is ends, or nothing (accepts and does nothing).
    `leaves` are kinds that stay in the group when their machine goes, against their `deleteOption`. `denied` are
    actions that the user may not do. `page` is the most items of any list in one answer. `expires_s` is how long a
    token holds, `wait_s` how long whoever asked too often is told to wait.
    """

    network_s: float = 0.0
    terminate: str = "ends"
    terminate_s: float = 0.0
    fails: tuple[tuple[str, str], ...] = ()
    fails_s: float = 0.0
    refused: tuple[tuple[str, str], ...] = ()
    leaves: frozenset[str] = frozenset()
    page: int | None = None
    quota_vcpus: int = 1000
    expires_s: float = 86400.0
    wait_s: int = 0
    denied: frozenset[str] = frozenset()
