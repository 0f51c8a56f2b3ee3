"""One operation of a service: the client's call, which is timed, and the judgement of its answer, which is not."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from cloudcmp.client.failures import Failure, Kind, WrongBody


@dataclass(frozen=True, slots=True)
class Done:
    """A successful operation: its payload in bytes, and whether it found what it asked for.

    `unwritten` rows of a batch were refused by the service because there were too many. `handle` deletes the message
    that a receive returned.
    """

    payload: int
    there: bool = True
    unwritten: int = 0
    handle: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    """`call` is nothing but the client's call; `judge` raises WrongBody for a wrong answer.

    `payload` bytes and `requests` requests are taken from the caps before it begins.
    """

    call: Callable[[], Any]
    judge: Callable[[Any], Done]
    payload: int
    requests: int = 1


@dataclass(frozen=True, slots=True)
class Performed:
    """What came of an operation, and when it began, had its first byte and ended, in ns of `perf_counter_ns`."""

    result: Done | Failure
    began_ns: int
    first_ns: int
    last_ns: int


class Answers(threading.local):
    """The answers of this thread's operation under way: when the first one began (ns), and how many came."""

    first_ns = 0
    count = 0
    began_ns = last_ns = 0
    """When the operation began and ended, if its adapter prepares it before and reads its answer after that."""

    def clear(self) -> None:
        """Begins another operation."""
        self.first_ns = self.count = self.began_ns = self.last_ns = 0

    def arrived(self, *_: object, **__: object) -> None:
        """Notes that the head of an answer is there; the hook of a library."""
        self.count += 1
        self.first_ns = self.first_ns or perf_counter_ns()


def perform(operation: Operation, answers: Answers, failure_of: Callable[[Exception], Failure]) -> Performed:
    """Performs one operation. A library that asked more often than planned, which hides a failure, has failed."""
    answers.clear()
    began_ns = perf_counter_ns()
    try:
        answer = operation.call()
        last_ns = perf_counter_ns()
    except Exception as error:  # the library's own, of any kind
        last_ns = answers.last_ns or perf_counter_ns()
        return Performed(failure_of(error), answers.began_ns or began_ns, last_ns, last_ns)
    last_ns = answers.last_ns or last_ns
    times = answers.began_ns or began_ns, answers.first_ns or last_ns, last_ns
    if answers.count > operation.requests:
        what = f"the library sent {answers.count} requests in place of {operation.requests}"
        return Performed(Failure(Kind.BROKEN, what), *times)
    try:
        return Performed(operation.judge(answer), *times)
    except WrongBody as wrong:
        return Performed(Failure.of(Kind.WRONG_BODY, wrong), *times)
