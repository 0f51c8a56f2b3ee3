"""Safeguards against leftovers, preflight findings, machine status and spend."""

from dataclasses import dataclass

from cloudcmp.units import Money

SAFEGUARDS = ("teardown", "cleanup", "death", "sweep")
"""Orderly teardown; `cleanup DIR`; the machine's own timer (death); `sweep` by tags, without any file of the study."""


@dataclass(frozen=True, slots=True)
class Safeguard:
    """One of the four safeguards at a provider: whether it holds, how, and what stays billed if only it holds."""

    name: str
    holds: bool
    how: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One preflight finding: `ok` is None if it could not be determined."""

    what: str
    ok: bool | None
    text: str
    next: str = ""


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """The status of a machine: `state` is pending, running, stopped or gone, with the provider's reason in `why`.

    The controller reaches it at `address` and `port`, other machines of its launch at `peer_address`; `alias` names a
    host of the user's own SSH configuration instead. `host_key` is one that the provider itself vouches for, if the
    machine could not be given ours. `folder` is the place of the agent and its test files, below the user's home unless
    absolute. `taken` is true if the provider reports that it took the machine back; None if it reports no cause.
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
    """Seconds from just before the launch's first request until each step was observed, None if it was not.

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
    """Money so far and at worst, None if nothing is billed or a price is unknown, as `note` says.

    `accrued` counts minimum periods and steps begun in full. `level` is `ok`, `warn` from 80 % of the budget on,
    `drain` from 95 % (nothing new is launched), `teardown` at 100 %, or when more is committed than was allowed.
    """

    accrued: Money | None
    committed: Money | None
    budget: Money | None
    level: str = "ok"
    note: str = ""
