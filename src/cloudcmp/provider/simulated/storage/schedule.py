"""When a simulated service answers: times of service, a queue before its servers, stalls and a limit on the rate."""

import heapq
from random import Random

from cloudcmp.provider.simulated.storage.truth import Operation, OperationTruth, RateLimit, Share, Stall, StorageTruth

FAULTS = ("throttled", "failed", "wrong_body", "short_body", "long_body", "cut", "silent")


class Schedule:
    """Turns arrivals into moments of answers, in seconds since the server's start; knows no clock.

    Requests are queued in the order in which they are given. The service's own time stands still while it stalls, so a
    request that arrives during a stall, or is being served when it begins, ends later by what is left of it.
    """

    def __init__(self, truth: StorageTruth) -> None:
        self._stall = truth.stall
        self._free = [0.0] * truth.servers
        self._refusal_s = truth.refusal_s

    def answer_at(self, arrival_s: float, service_s: float) -> float:
        """The moment of the answer to a request that is served for `service_s`, after those that came before it."""
        start = work_time(arrival_s, self._stall)
        if self._free:
            start = max(start, self._free[0])
            heapq.heapreplace(self._free, start + service_s)
        return max(arrival_s, clock_time(start + service_s, self._stall))

    def refusal_at(self, arrival_s: float) -> float:
        """The moment of the answer to a request that is refused: it waits for a stall, and for no server."""
        return max(arrival_s, clock_time(work_time(arrival_s, self._stall) + self._refusal_s, self._stall))


def work_time(clock_s: float, stall: Stall | None) -> float:
    """How long the service has worked, in seconds, when its clock has run for `clock_s`."""
    if stall is None:
        return clock_s
    periods, rest = divmod(clock_s, stall.every_s)
    working = stall.every_s - stall.for_s
    return periods * working + min(rest, working)


def clock_time(work_s: float, stall: Stall | None) -> float:
    """The moment at which the service has worked for `work_s`; where a stall begins right then, its end."""
    if stall is None:
        return work_s
    periods, rest = divmod(work_s, stall.every_s - stall.for_s)
    return periods * stall.every_s + rest


class TokenBucket:
    """A token bucket."""

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._tokens = limit.burst
        self._at = 0.0

    def take(self, now_s: float) -> bool:
        """Takes a token, if there is one at `now_s`."""
        self._tokens = min(self._limit.burst, self._tokens + max(0.0, now_s - self._at) * self._limit.per_s)
        self._at = now_s
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class Draws:
    """The random numbers of one operation: they follow from the seed and the order of its requests alone."""

    def __init__(self, truth: OperationTruth, operation: Operation, seed: int) -> None:
        self.truth = truth
        self._latencies = Random(f"{seed} {operation} latency")
        self._faults = Random(f"{seed} {operation} faults")
        self._propagation = Random(f"{seed} {operation} propagation")
        self._replicas = Random(f"{seed} {operation} replicas")
        self._planted: tuple[tuple[str, Share], ...] = tuple(
            (name, getattr(truth, name)) for name in FAULTS if getattr(truth, name) != Share()
        )
        self._requests = 0

    def service_s(self) -> float:
        """The next time of service in seconds."""
        return self.truth.latency.draw(self._latencies)

    def propagation_s(self) -> float:
        """How long the next write takes to reach all replicas, in seconds."""
        return self.truth.propagation.draw(self._propagation)

    def is_lagging(self) -> bool:
        """Whether the next read meets a lagging replica, if there is one."""
        return self._replicas.random() < self.truth.stale_share

    def fault(self) -> str:
        """The fault of the next request, the first in the order of FAULTS; empty if it meets none."""
        self._requests += 1
        found = ""
        for name, planted in self._planted:
            hit = self._requests % planted.every == 0 if planted.every else self._faults.random() < planted.share
            found = found or (name if hit else "")
        return found

    def place(self) -> float:
        """Where the next fault strikes, as a share from 0 to 1 (excluded)."""
        return self._faults.random()
