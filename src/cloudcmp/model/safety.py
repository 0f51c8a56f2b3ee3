"""What keeps a study from leaving things behind, and what is looked at before it may begin."""

from dataclasses import dataclass

from cloudcmp.units import Money

SAFEGUARDS = ("teardown", "cleanup", "death", "sweep")
"""Orderly teardown; `cleanup DIR`; the death built into the machine; `sweep` by tags from an empty home."""


@dataclass(frozen=True, slots=True)
class Safeguard:
    """One of the four safeguards at a provider: whether it holds, how, and what stays billed when only it holds."""

    name: str
    holds: bool
    how: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at before a study: `ok` is None where it could not be told."""

    what: str
    ok: bool | None
    text: str
    next: str = ""


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """How a machine is now: `state` is pending, running, stopped or gone, with the provider's reason.

    `address` and `port` are where the controller reaches it, `peer_address` where other machines of its launch do;
    `alias` names a host of the user's own SSH configuration instead. `host_key` is one that the provider itself vouches
    for, where the machine could not be given ours. `folder` is where the agent and its test files go, below the user's
    home unless absolute. `taken` is whether the provider says that it took the machine back; None where it tells of no
    cause.
    """

    state: str
    address: str | None = None
    port: int = 22
    peer_address: str | None = None
    alias: str | None = None
    host_key: str | None = None
    user: str = "cloudcmp"
    folder: str = ".cloudcmp"
    why: str = ""
    taken: bool | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Seconds from just before the launch's first request was sent until each step was seen, None where it was not.

    `uptime_s` is the guest's own uptime when it was usable (CloudCmp, IMC 2010, section 5.1.2: booting is the uptime,
    provisioning the rest).
    """

    answered_s: float | None = None
    running_s: float | None = None
    reachable_s: float | None = None
    usable_s: float | None = None
    uptime_s: float | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """Money so far and at worst, None where nothing is billed or a price is not known; `note` says which.

    `accrued` counts minimum periods and steps begun in full. `level` is `ok`, `warn` from 80 % of the budget on,
    `drain` from 95 % (nothing new is launched), `teardown` at 100 %, or when more is committed than was allowed.
    """

    accrued: Money | None
    committed: Money | None
    budget: Money | None
    level: str = "ok"
    note: str = ""
