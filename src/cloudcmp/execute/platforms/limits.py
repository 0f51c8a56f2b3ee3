"""Finds what a platform lets a handler do, by asking for growing work: time, memory, and bodies both ways."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cloudcmp.execute.platforms.connection import PATIENCE_S, Answer, Connection
from cloudcmp.model.platform import Limit, LimitKind

_GROWTH = 2.0
_CLOSE = 1.1
"""The search ends when the least that failed is at most so many times the most that worked."""
_LEAST = {LimitKind.TIME: 1.0, LimitKind.MEMORY: 2.0**24, LimitKind.ANSWER: 1e6, LimitKind.UPLOAD: 1e6}
MOST_ANSWER_BYTES = 100_000_000
"""The handler's own bound of `/bytes/N`."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far the search goes: seconds, bytes of memory, bytes of a body. The handler's own bounds lie above."""

    time_s: float = 60.0
    memory_bytes: int = 1 << 31
    body_bytes: int = 64_000_000

    def of(self, kind: LimitKind) -> float:
        """The bound of one search."""
        if kind is LimitKind.TIME:
            return self.time_s
        return float(self.memory_bytes if kind is LimitKind.MEMORY else self.body_bytes)


def find_limit(connection: Connection, platform: int, kind: LimitKind, bounds: Bounds) -> Limit:
    """Double what is asked for until it fails or the bound is reached, then halve the gap until it is a tenth.

    What failed once is asked again, so that a single fault of the way is not taken for a limit. Does not tell the
    platform's limit from that of a network in between.
    """
    tried = _Tries(lambda amount: ask_for(connection, kind, amount))
    worked, failed = None, None
    for amount in _growing(_LEAST[kind], bounds.of(kind)):
        if not tried.works(amount):
            failed = amount
            break
        worked = amount
    while worked is not None and failed is not None and failed > worked * _CLOSE:
        middle = (worked + failed) / 2
        if tried.works(middle):
            worked = middle
        else:
            failed = middle
    return Limit(platform, kind, worked, failed, tried.reason if failed is not None else "", tried.requests)


def ask_for(connection: Connection, kind: LimitKind, amount: float) -> Answer:
    """Ask a handler for so many seconds or bytes."""
    match kind:
        case LimitKind.TIME:
            return connection.get(f"/wait?seconds={amount:.3f}", patience_s=amount + PATIENCE_S)
        case LimitKind.MEMORY:
            return connection.get(f"/hold?bytes={int(amount)}")
        case LimitKind.ANSWER:
            return connection.get(f"/bytes/{int(amount)}", expected=int(amount))
        case LimitKind.UPLOAD:
            return connection.post("/upload", bytes(int(amount)))


def _growing(least: float, most: float) -> Iterator[float]:
    amount = min(least, most)
    while amount < most:
        yield amount
        amount *= _GROWTH
    yield most


class _Tries:
    """Asks, asks again what failed, and counts."""

    def __init__(self, ask: Callable[[float], Answer]) -> None:
        self._ask = ask
        self.requests = 0
        self.reason = ""

    def works(self, amount: float) -> bool:
        for _ in range(2):
            self.requests += 1
            answer = self._ask(amount)
            if not answer.reason:
                return True
        self.reason = answer.reason
        return False
