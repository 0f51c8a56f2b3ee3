"""What the kernel of a server knows of its connections, and what is estimated from it of the clients' waiting."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.result import Bounds


@dataclass(frozen=True, slots=True)
class ConnectionInfo:
    """One connection of a server as its kernel accounts for it (TCP_INFO); times in seconds, counts in segments.

    `last_received_s`, `last_sent_s` and `last_acked_s` are how long ago data came, data was sent, and anything was
    acknowledged; they are whole ticks of the kernel. `busy_s` is the time in which sent data was not acknowledged yet.
    `bytes_again` of `bytes_sent` were sent a second time or more. `retransmits` are segments, also without data.
    `ended` is false for a connection that was still open when it was looked at.
    """

    port: int
    rtt_s: float
    min_rtt_s: float
    rto_s: float
    last_received_s: float
    last_sent_s: float
    last_acked_s: float
    busy_s: float
    bytes_received: int
    bytes_sent: int
    bytes_again: int
    data_received: int
    data_sent: int
    retransmits: int
    needless_retransmits: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of a network namespace, all ports together; None if its kernel does not have one."""

    accepted: int | None
    listen_drops: int | None
    listen_overflows: int | None
    handshake_retransmits: int | None


@dataclass(frozen=True, slots=True)
class ServerWatch:
    """What was seen of a server's port in `seconds`: its connections, counters, and its queue at each look.

    `queue` are pairs of the connections that waited to be accepted, and the most that may wait. `every_end` is true if
    the kernel reported each connection as it ended; else `connections` are only those that were open at a look. `lost`
    is true if the kernel had to drop reports. `tick_s` is the length of the kernel's ticks, in which it counts all
    times but round trips.
    """

    port: int
    seconds: float
    connections: tuple[ConnectionInfo, ...]
    counters: Counters
    queue: tuple[tuple[int, int], ...]
    every_end: bool
    lost: bool
    tick_s: float


class Unseen(StrEnum):
    """What a server cannot see of its clients' waiting, in the case at hand."""

    WAY_IN = "way in"
    """What is lost on the way to the server: taken to be as much as on the way back."""
    NAMES_AND_TLS = "names and TLS"
    """The time of name lookups, and of TLS handshakes beyond the first round trip."""
    SHORT_CONNECTIONS = "short connections"
    """Connections that began and ended between two looks, for want of the right to hear of their ends."""
    LOST_REPORTS = "lost reports"
    """Connections whose ends the kernel could not report in time."""
    DROPPED_STAGE = "dropped stage"
    """Whether a handshake was dropped at its first packet, which is repeated after 1 s, or at its last, after less."""
    OTHER_PORTS = "other ports"
    """Counters of dropped and accepted handshakes are those of all ports of this network namespace."""
    NO_COUNTERS = "no counters"
    """The kernel shows no counters of handshakes: those that it dropped are not known."""
    EARLIER_REQUESTS = "earlier requests"
    """On connections of several requests, all but the last one."""


@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate with its 95 % interval, where there is one, and the number of values or tries behind it."""

    value: float
    bounds: Bounds | None
    n: int


@dataclass(frozen=True, slots=True)
class FeltTimes:
    """What the clients of a server felt, as estimated from the server alone; times in seconds.

    `mean` is that of a request on a new connection: `connect` (a round trip), `answer` (from the request to the last
    byte), and `handshake_wait` and `request_wait`, the expected waits for what is lost on the way to the server.
    `median` and `p95` are without these two waits. `loss` is the share of lost segments towards the clients, and is
    taken for the other direction too. `refused_share` are handshakes that this server dropped. `waited_share` are
    connections that took a second or more to set up. Each is None if nothing tells. `unused` connections gave no
    answer time, `unseen` ones were accepted and not seen. No answer is known closer than a tick of the kernel,
    `tick_s`: the intervals of `mean`, `median`, `p95` and `answer` are wider by it on both sides.
    """

    port: int
    seconds: float
    tick_s: float
    n: int
    mean: Figure | None
    median: Figure | None
    p95: Figure | None
    connect: Figure | None
    answer: Figure | None
    handshake_wait: Figure | None
    request_wait: Figure | None
    loss: Figure | None
    refused_share: Figure | None
    waited_share: Figure | None
    queue_mean: float | None
    queue_most: int | None
    queue_limit: int | None
    accept_wait_s: float | None
    unused: int
    unseen: int | None
    cannot_see: tuple[Unseen, ...]
