"""What the server and its three dialects exchange: a request in context, an outcome, and refusals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cloudcmp.provider.simulated.storage.counts import OperationCounts
from cloudcmp.provider.simulated.storage.http_message import Answer, Head
from cloudcmp.provider.simulated.storage.schedule import Draws
from cloudcmp.provider.simulated.storage.signature import Refusal
from cloudcmp.provider.simulated.storage.truth import Operation, StorageTruth


class ServiceError(Exception):
    """A request that the service refuses, with its own code; its dialect makes the answer."""

    def __init__(self, status: int, code: str, message: str, fields: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Call:
    """A request as a dialect understood it. `action` is the service's own name of it, `operation` what it counts as."""

    head: Head
    body: bytes
    action: str
    operation: Operation
    url: str
    """Scheme, host and port as the client named them."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """The moments of one call, in seconds since the server's start, and what is drawn and counted for its operation.

    A write is in the store from `now_s` on and answered at `answer_s`; all replicas have it at `everywhere_s`.
    `unix_s` is the service's clock.
    """

    now_s: float
    answer_s: float
    everywhere_s: float
    unix_s: float
    draws: Draws
    counts: OperationCounts

    def lags(self, unsettled: bool, *, strong: bool = False) -> bool:
        """Whether a read is served by a lagging replica; counts it, if one may exist."""
        if strong or not unsettled:
            return False
        self.counts.at_risk += 1
        lagging = self.draws.is_lagging()
        self.counts.stale += lagging
        return lagging


@dataclass(frozen=True, slots=True)
class Wait:
    """There is nothing to answer yet: ask again at `look_s`, or when one of `waiters` is called before that.

    At `deadline_s` of the first wait the call is served with what there is. Moments are in seconds.
    """

    deadline_s: float
    look_s: float
    waiters: set[Callable[[], None]]


class Dialect(Protocol):
    """One protocol of the simulated service."""

    truth: StorageTruth
    service: str
    """Its name in the scope of a signature."""
    throttled: ServiceError
    failed: ServiceError

    def call(self, head: Head, body: bytes, url: str) -> Call:
        """What a request asks for; raises ServiceError if it asks for nothing that the service has."""

    def wait(self, call: Call, now_s: float) -> Wait | None:
        """What a call must wait for before it is served."""

    def serve(self, call: Call, context: CallContext) -> Answer:
        """Carries out a call; raises ServiceError if the service refuses it."""

    def refusal(self, refusal: Refusal) -> ServiceError:
        """The service's own error for a request whose signature is refused."""

    def error(self, error: ServiceError, head: Head) -> Answer:
        """An error in the form of the protocol."""
