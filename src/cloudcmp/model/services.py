"""What a study found about table, blob and queue services beyond the estimates of their cells."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.result import Bounds


@dataclass(frozen=True, slots=True)
class Delays:
    """The delays of one candidate until changes were seen, over all launches; `cell` is their cell.

    `share` of all changes were seen by each time of `x_s`, in seconds, from 0. Where the reader of a trial stopped to
    wait, nothing is known of what it had not seen: the curve ends at the shortest wait (`wait_s`, None if no trial
    gave up), and `unseen` of `n` changes are beyond it. If another agent wrote, a delay is too short by at most
    `way_s`, the longest way of its answer in any trial; None if the reader wrote.
    """

    candidate: int
    cell: str
    n: int
    unseen: int
    wait_s: float | None
    x_s: tuple[float, ...]
    share: tuple[float, ...]
    way_s: float | None = None


@dataclass(frozen=True, slots=True)
class OperationCounts:
    """The operations of one kind that one candidate's trials sent, and how those that failed did; each in one count.

    `operation` is the service and the operation, as `blob download`. `dropped_starts` were due in an open loop and
    never sent. `trials` sent no counts if they are not among `counted`.
    """

    candidate: int
    operation: str
    trials: int
    counted: int
    operations: int = 0
    throttled: int = 0
    server_errors: int = 0
    client_errors: int = 0
    timeouts: int = 0
    wrong_bodies: int = 0
    dropped_starts: int = 0


class Limiter(StrEnum):
    """What kept a throughput from being higher."""

    CLIENT = "client-bound"
    THROTTLE = "service throttle"
    NETWORK = "network of the machine"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Limit:
    """The limiter of one candidate's throughput in a cell, with its evidence; unknown evidence is None.

    `cpu_ratio` is the median over trials of the client's CPU time per wall time and thread. `network_bytes_per_s` is
    the fastest transfer that the machine is known to make, `network_from` where that is known from.
    """

    candidate: int
    cell: str
    limiter: Limiter
    cpu_ratio: float | None
    throttled: int
    operations: int
    network_bytes_per_s: float | None = None
    network_from: str = ""


@dataclass(frozen=True, slots=True)
class ClientFactor:
    """How many times as long one candidate's operations take with another client: the cell's value by `native`'s.

    The factor is the geometric mean over the `n` rounds that have both, with its 95 % interval (Student's t on the
    logarithms); without rounds it is the ratio of the medians, without an interval. `version` is the name and version
    of the provider's library or command that was the client, empty if no trial said it.
    """

    candidate: int
    cell: str
    native: str
    client: str
    factor: float | None
    bounds: Bounds | None
    n: int
    version: str = ""


@dataclass(frozen=True, slots=True)
class Services:
    """All of it, in the order of cells and candidates; empty in a study without services."""

    delays: tuple[Delays, ...] = ()
    counts: tuple[OperationCounts, ...] = ()
    limits: tuple[Limit, ...] = ()
    clients: tuple[ClientFactor, ...] = ()


NO_SERVICES = Services()
