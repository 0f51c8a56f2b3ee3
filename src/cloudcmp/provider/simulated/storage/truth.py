"""The planted truth of a simulated storage service: what a client should measure, and which faults it meets."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from statistics import NormalDist

from cloudcmp.errors import UserMistake
from cloudcmp.model.codec import CodecError, from_json

_LONGEST_S = 3600.0
_WHERE = "truth"


class Operation(StrEnum):
    """What a request does; CONTROL is everything that makes, lists, describes or removes data sets."""

    BLOB_GET = "blob_get"
    BLOB_HEAD = "blob_head"
    BLOB_PUT = "blob_put"
    BLOB_DELETE = "blob_delete"
    BLOB_LIST = "blob_list"
    TABLE_GET = "table_get"
    TABLE_QUERY = "table_query"
    TABLE_PUT = "table_put"
    TABLE_UPDATE = "table_update"
    TABLE_DELETE = "table_delete"
    TABLE_LOAD = "table_load"
    QUEUE_SEND = "queue_send"
    QUEUE_RECEIVE = "queue_receive"
    QUEUE_DELETE = "queue_delete"
    CONTROL = "control"


WRITES = frozenset(
    {
        Operation.BLOB_PUT,
        Operation.BLOB_DELETE,
        Operation.TABLE_PUT,
        Operation.TABLE_UPDATE,
        Operation.TABLE_DELETE,
        Operation.TABLE_LOAD,
        Operation.QUEUE_SEND,
    }
)
"""The operations whose effect readers see after their time of propagation."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A log-normal time: its median in seconds, and the standard deviation of its logarithm (0: a constant)."""

    median_s: float = 0.0
    sigma: float = 0.0

    def draw(self, random: Random) -> float:
        """One time in seconds."""
        return self.median_s * math.exp(self.sigma * random.gauss(0.0, 1.0)) if self.sigma else self.median_s

    def quantile_s(self, share: float) -> float:
        """The time in seconds below which `share` (between 0 and 1, both excluded) of all times are."""
        return self.median_s * math.exp(self.sigma * NormalDist().inv_cdf(share))

    @property
    def mean_s(self) -> float:
        """The mean time in seconds: exp(sigma² / 2) medians."""
        return self.median_s * math.exp(self.sigma**2 / 2)


@dataclass(frozen=True, slots=True)
class Share:
    """Which requests of an operation meet a fault: each n-th one (`every`), or a drawn share of them."""

    share: float = 0.0
    every: int = 0


@dataclass(frozen=True, slots=True)
class OperationTruth:
    """The planted behaviour of one operation.

    `latency` is the time of service: from the request's last byte until the answer's first, without any queue.
    `bytes_per_s` paces the bodies of blobs both ways, 0 is as fast as it goes. `throttled` and `failed` (a 5xx) are
    refused without an effect. The other faults are carried out and then answered badly: with one byte changed, with a
    body shorter or longer than the truth (and announced so), with a connection that is closed at a random byte, or
    never. `propagation` is how long after a write's answer readers may still miss it. `stale_share` is the share of
    eventual reads that meet a lagging replica while such a write is under way; strong reads never do.
    """

    latency: Distribution = field(default_factory=Distribution)
    bytes_per_s: float = 0.0
    throttled: Share = field(default_factory=Share)
    failed: Share = field(default_factory=Share)
    wrong_body: Share = field(default_factory=Share)
    short_body: Share = field(default_factory=Share)
    long_body: Share = field(default_factory=Share)
    cut: Share = field(default_factory=Share)
    silent: Share = field(default_factory=Share)
    propagation: Distribution = field(default_factory=Distribution)
    stale_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Stall:
    """The service stops for the last `for_s` of each `every_s` seconds, counted from the server's start."""

    every_s: float
    for_s: float


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A token bucket over all operations but CONTROL: it holds `burst` and gains `per_s` each second."""

    per_s: float
    burst: float = 1.0


@dataclass(frozen=True, slots=True)
class Key:
    """A pair of keys that the service accepts, with the token of its session where it needs one."""

    access_key: str = "AKIASIMULATED0000000"
    secret_key: str = "simulated-secret"  # noqa: S105 (planted)
    session_token: str = ""
    expired: bool = False


@dataclass(frozen=True, slots=True)
class StorageTruth:
    """The planted truth of one simulated storage service; an operation that is not named behaves like `default`.

    `servers` requests are served at a time and the others wait in order; 0 is without a limit. `clock_offset_s` is how
    far its clock is ahead. `taken` are names of buckets that belong to another account, and `data_sets_max` is the
    account's quota of buckets, tables and queues, each (0: none). Refused requests are answered after `refusal_s`.
    """

    seed: int = 0
    region: str = "us-east-1"
    keys: tuple[Key, ...] = (Key(),)
    anonymous: bool = False
    clock_offset_s: float = 0.0
    default: OperationTruth = field(default_factory=OperationTruth)
    operations: Mapping[str, OperationTruth] = field(default_factory=dict)
    stall: Stall | None = None
    servers: int = 0
    limit: RateLimit | None = None
    refusal_s: float = 0.0
    taken: tuple[str, ...] = ()
    data_sets_max: int = 0

    def of(self, operation: Operation) -> OperationTruth:
        """The truth of an operation; CONTROL has none but its own."""
        if operation is Operation.CONTROL:
            return self.operations.get(operation, OperationTruth())
        return self.operations.get(operation, self.default)


def parse_truth(text: str) -> StorageTruth:
    """The truth in one JSON document; raises UserMistake with the place of what is wrong."""
    try:
        truth = from_json(StorageTruth, text)
    except CodecError as error:
        raise UserMistake.at(_WHERE, str(error), "correct the JSON document") from None
    check_truth(truth)
    return truth


def check_truth(truth: StorageTruth) -> None:
    """Raises UserMistake for numbers out of range, an unknown operation, and a truth without any key."""
    if not truth.keys and not truth.anonymous:
        raise UserMistake.at(f"{_WHERE}.keys", "there is no key", "give one, or anonymous: true")
    for name in truth.operations:
        if name not in set(Operation):
            raise UserMistake.at(f"{_WHERE}.operations", f"{name!r} is no operation", f"use {', '.join(Operation)}")
    for where, one in (
        ("default", truth.default),
        *((f"operations.{name}", o) for name, o in truth.operations.items()),
    ):
        _check_operation(f"{_WHERE}.{where}", one)
    if truth.stall is not None:
        _need(
            f"{_WHERE}.stall", 0 < truth.stall.for_s < truth.stall.every_s <= _LONGEST_S, "0 < for_s < every_s <= 3600"
        )
    if truth.limit is not None:
        _need(f"{_WHERE}.limit", truth.limit.per_s > 0 and truth.limit.burst >= 1, "per_s > 0 and burst >= 1")
    _need(f"{_WHERE}.servers", 0 <= truth.servers <= 100_000, "0 to 100000")
    _need(f"{_WHERE}.refusal_s", 0 <= truth.refusal_s <= _LONGEST_S, "0 to 3600")
    _need(f"{_WHERE}.clock_offset_s", abs(truth.clock_offset_s) <= 1e9, "-1e9 to 1e9")
    _need(f"{_WHERE}.data_sets_max", truth.data_sets_max >= 0, "0 or more")


def _check_operation(where: str, truth: OperationTruth) -> None:
    for name in ("latency", "propagation"):
        times: Distribution = getattr(truth, name)
        in_range = 0 <= times.median_s <= _LONGEST_S and 0 <= times.sigma <= 5
        _need(f"{where}.{name}", in_range, "median_s from 0 to 3600 and sigma from 0 to 5")
    for name in ("throttled", "failed", "wrong_body", "short_body", "long_body", "cut", "silent"):
        fault: Share = getattr(truth, name)
        _need(f"{where}.{name}", 0 <= fault.share <= 1 and fault.every >= 0, "a share from 0 to 1, or every from 1 up")
        _need(f"{where}.{name}", not (fault.share and fault.every), "a share or every, not both")
    _need(f"{where}.bytes_per_s", truth.bytes_per_s >= 0, "0 or more")
    _need(f"{where}.stale_share", 0 <= truth.stale_share <= 1, "0 to 1")


def _need(where: str, holds: bool, rule: str) -> None:
    if not holds:
        raise UserMistake.at(where, "it is out of range", f"use {rule}")
