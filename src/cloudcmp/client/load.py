"""Load on a service: lanes, each a thread with one operation in flight, in a closed or an open loop.

Closed: a lane begins its next operation when its last has ended. Open: operations are due at planned times; a start for
which every lane is busy waits, and its latency counts from when it was due. What began or was due within the time is
waited for or counted as dropped.
"""

import resource
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from time import perf_counter_ns

from cloudcmp.client.content import Rng
from cloudcmp.client.failures import Failure
from cloudcmp.client.limiter import Limiter
from cloudcmp.client.operation import Answers, Done, Operation, Performed, perform
from cloudcmp.client.tally import Record, Tally

_NS_PER_S = 1_000_000_000
_DRAIN_S = 2.0  # starts that were due are served for at most this long after the end
_INTERVAL_S = 1.0
_START_NS = 2_000_000
MOST_LANES = 256
"""The most lanes that a climb reaches; a Python process has one processor for all of them."""
_GROWTH = 1.05

Choose = Callable[[Rng], Operation]
FollowUps = Callable[[Done], Sequence[Operation]]


@dataclass(frozen=True, slots=True)
class Asker:
    """Performs operations one at a time, within the caps of the trial."""

    limiter: Limiter
    answers: Answers
    failure_of: Callable[[Exception], Failure]

    def ask(self, operation: Operation) -> Performed | None:
        """What came of an operation; None if a cap forbids it."""
        if not self.limiter.take(operation.requests, operation.payload):
            return None
        performed = perform(operation, self.answers, self.failure_of)
        if isinstance(performed.result, Done):
            self.limiter.used(performed.result.payload)
        return performed


@dataclass(frozen=True, slots=True)
class Load:
    """A measured phase of `duration_s` with `lanes`; `rate_per_s` starts a second, None in a closed loop.

    Each of `warm` lanes first performs one operation that is not recorded, so that its connection is there.
    """

    asker: Asker
    choose: Choose
    lanes: int
    rate_per_s: float | None
    duration_s: float
    silence_s: float
    seed: int
    warm: int
    follow_ups: FollowUps | None = None

    def run(self) -> Tally:
        """Runs the phase to the end of its last operation."""
        phase = _Phase(self)
        threads = [threading.Thread(target=phase.work, args=(lane,), daemon=True) for lane in range(self.lanes)]
        for one in threads:
            one.start()
        phase.begin()
        for one in threads:
            one.join()
        return phase.tally()


class _Phase:
    """What the lanes of a load share."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._records = [Record() for _ in range(load.lanes)]
        self._ready = threading.Barrier(load.lanes + 1)
        self._begun = threading.Event()
        self._stop = False
        self._starts = count()  # its next number is taken without a lock: one step of the interpreter
        self.dropped = self.waited_ns = 0
        self._lock = threading.Lock()
        self._start_ns = self._end_ns = 0
        self._cpu_s = 0.0
        self._mistake: Exception | None = None

    def begin(self) -> None:
        """Waits until all lanes are ready, and starts them."""
        self._ready.wait()
        self._cpu_s = cpu_time_s()
        self._start_ns = perf_counter_ns() + _START_NS
        self._end_ns = self._start_ns + int(self._load.duration_s * _NS_PER_S)
        self._begun.set()

    def tally(self) -> Tally:
        """What all lanes did; raises what went wrong in one of them."""
        if self._mistake is not None:
            raise self._mistake
        load, total = self._load, Record()
        cpu_s, wall_s = cpu_time_s() - self._cpu_s, (perf_counter_ns() - self._start_ns) / _NS_PER_S
        for record in self._records:
            total.add(record)
        intervals = max(1, int(load.duration_s / _INTERVAL_S))
        width_s, planned = load.duration_s / intervals, self._planned()
        return Tally(
            total, self._start_ns, width_s, intervals, load.lanes, cpu_s, wall_s, planned, self.dropped,
            self.waited_ns / _NS_PER_S,
        )  # fmt: skip

    def work(self, lane: int) -> None:
        """Runs one lane; a mistake of ours ends all of them."""
        rng = Rng(self._load.seed, lane)
        try:
            try:
                if lane < self._load.warm:
                    self._perform(Record(), self._load.choose(rng), None)
            finally:
                self._ready.wait()
            self._begun.wait()
            _sleep_until(self._start_ns)
            if self._load.rate_per_s is None:
                self._closed(self._records[lane], rng)
            else:
                self._open(self._records[lane], rng, self._load.rate_per_s)
        except Exception as mistake:
            self._stop, self._mistake = True, mistake

    def _closed(self, record: Record, rng: Rng) -> None:
        while perf_counter_ns() < self._end_ns and not self._stop:
            self._perform(record, self._load.choose(rng), None)

    def _open(self, record: Record, rng: Rng, rate_per_s: float) -> None:
        planned, last_ns = self._planned(), self._end_ns + int(min(_DRAIN_S, self._load.silence_s) * _NS_PER_S)
        for number in self._starts:
            if number >= planned or self._stop:
                return
            operation = self._load.choose(rng)  # built before it is due
            due = self._start_ns + int(number * _NS_PER_S / rate_per_s)
            was_free = perf_counter_ns() < due
            _sleep_until(due)
            now = perf_counter_ns()
            if was_free:
                record.late.append(max(1, now - due))
            with self._lock:
                if now > self._end_ns:
                    self.waited_ns = max(self.waited_ns, self._end_ns - due)
                if now > last_ns:
                    self.dropped += 1
                    continue
            self._perform(record, operation, due)

    def _planned(self) -> int:
        rate = self._load.rate_per_s
        return 0 if rate is None else -(-int(self._load.duration_s * rate * 1000) // 1000)

    def _perform(self, record: Record, operation: Operation, due: int | None) -> None:
        performed = self._load.asker.ask(operation)
        if performed is None:
            self._stop = True
            return
        record.begun += 1
        done, due = performed.result, performed.began_ns if due is None else due
        if isinstance(done, Failure):
            record.fail(done)
            return
        record.unwritten += done.unwritten
        if done.there:
            record.done(due, performed.first_ns, performed.last_ns, done.payload)
        else:
            record.empty += 1
        if self._load.follow_ups is not None:
            self._follow(record, self._load.follow_ups(done))

    def _follow(self, record: Record, operations: Sequence[Operation]) -> None:
        """Performs what an operation left to do; its time is no part of a closed loop."""
        began = perf_counter_ns()
        for one in operations:
            performed = self._load.asker.ask(one)
            if performed is None:
                self._stop = True
                return
            record.follow_ups += 1
            record.follow_ups_failed += isinstance(performed.result, Failure)
        if self._load.rate_per_s is None:
            record.aside.append((began, perf_counter_ns()))


def cpu_time_s() -> float:
    """The CPU time of this process, and of those that it has started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _sleep_until(at_ns: int) -> None:
    """Sleeps until a time of `perf_counter_ns`; the system may wake it later."""
    left_s = (at_ns - perf_counter_ns()) / _NS_PER_S
    if left_s > 0:
        time.sleep(left_s)


def climb(rate: Callable[[int], float], most: int) -> int:
    """The lanes from which throughput stops growing, of 1, 2, 4 and so on; `rate` measures it at a number of lanes."""
    lanes, best = 1, rate(1)
    while lanes < most:
        more = rate(2 * lanes)
        if more <= 0 or more < best * _GROWTH:
            break
        lanes, best = 2 * lanes, more
    return lanes
