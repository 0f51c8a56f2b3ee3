"""Asks several platforms in turn: rounds in random order, first requests after idle times, and a step of load."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cloudcmp.execute.platforms.connection import Connection, Target
from cloudcmp.model.platform import Page, Request, Stage

TWO_MB = 2_000_000
"""What `/2mb` answers with, B: MB of 10^6 B."""
_EXPECTED = {Page.TWO_MB: TWO_MB}
_REST_S = 0.05


@dataclass(frozen=True, slots=True)
class Course:
    """The clock of a measurement: all times count from its beginning."""

    began: float
    clock: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep

    def ask(
        self, connection: Connection, platform: int, stage: Stage, page: Page, round_: int | None = None
    ) -> Request:
        """Send one request."""
        answer = connection.get(f"/{page.value}", expected=_EXPECTED.get(page))
        return Request(
            platform, stage, page, answer.began - self.began, answer.response_s, answer.handler, answer.reason, round_
        )


def ask_in_rounds(
    course: Course, connections: Sequence[Connection], pages: Sequence[Page], rounds: int, order: random.Random,
    progress: Callable[[str], None],
) -> Iterator[Request]:  # fmt: skip
    """Ask for each page of each platform once a round, in a new random order each time, one request at a time.

    In the order lies the pairing: what changes on the way between two rounds changes for all platforms alike.
    """
    everything = [(at, page) for at in range(len(connections)) for page in pages]
    for round_ in range(rounds):
        progress(f"round {round_ + 1} of {rounds}")
        order.shuffle(everything)
        for at, page in everything:
            yield course.ask(connections[at], at, Stage.ROUNDS, page, round_)


def ask_after_idle(
    course: Course, connections: Sequence[Connection], times: int, idle_s: float, order: random.Random,
    progress: Callable[[str], None],
) -> Iterator[Request]:  # fmt: skip
    """Let all platforms rest, then ask each once for the smallest page; so often."""
    places = list(range(len(connections)))
    for turn in range(times):
        progress(f"idle {turn + 1} of {times}: {idle_s:.0f} s")
        course.sleep(idle_s)
        order.shuffle(places)
        for at in places:
            yield course.ask(connections[at], at, Stage.IDLE, Page.PIXEL)


def step_load(course: Course, target: Target, platform: int, many: int, lasts_s: float) -> list[Request]:
    """Keep `many` requests for `/cpu` in flight, from none to all at one moment, for a time.

    Connections are opened before the step. A refused request is not repeated at once, so that a platform which
    refuses many is not flooded.
    """
    until = threading.Barrier(many + 1)
    found: list[list[Request]] = [[] for _ in range(many)]
    end = 0.0

    def keep_one(at: int) -> None:
        connection = Connection(target, course.clock)
        until.wait()
        while course.clock() < end:
            one = course.ask(connection, platform, Stage.LOAD, Page.CPU)
            found[at].append(one)
            if one.reason:
                course.sleep(_REST_S)
        connection.close()

    threads = [threading.Thread(target=keep_one, args=(at,), daemon=True) for at in range(many)]
    for thread in threads:
        thread.start()
    end = course.clock() + lasts_s
    until.wait()
    for thread in threads:
        thread.join()
    return sorted((one for some in found for one in some), key=lambda one: one.at_s)
