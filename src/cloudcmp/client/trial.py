"""What the probes share: the client and the caps, a load in a closed or an open loop, and its notes."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from cloudcmp.client.adapter import Client, connect
from cloudcmp.client.failures import Ended, Failure, Kind, failed
from cloudcmp.client.job import Job
from cloudcmp.client.limiter import Limiter
from cloudcmp.client.load import MOST_LANES, Asker, Choose, FollowUps, Load, climb
from cloudcmp.client.operation import Done, Operation
from cloudcmp.client.output import Output
from cloudcmp.client.tally import Tally
from cloudcmp.model.plan import CLI

_SILENCE_S = (0.2, 30.0)
_STEP_SHARE = 0.05  # of the measured time, for a step of the climb
_CLIENT_BOUND, _THROTTLED = 0.5, 0.01
_SATURATED_S = 1.0
_FILL_LANES, _TRIES, _REST_S = 8, 6, 0.1
_OPEN_WARM = 8  # a cap of an open loop has room for so many operations that are not planned
_LATE_NS = 1_000_000
_MOST_PROCESSES = 32  # of a command that a climb reaches: each takes the memory of an interpreter


class Trial:
    """One trial of a service. `began_s` is when its deadline began, by `time.monotonic`."""

    def __init__(self, job: Job, out: Output, began_s: float) -> None:
        self.job, self.out = job, out
        self._until_s = began_s + job.deadline_s
        self.duration_s = float(job.params.get("duration_s", 0.0))
        self.rate = job.whole("rate_per_s")
        if self.rate and job.params["concurrency"] == "max":
            raise failed("bad job: a rate and concurrency max exclude each other", "choose one of them")
        self.most_lanes = job.whole("concurrency") or (_MOST_PROCESSES if job.client == CLI else MOST_LANES)
        self.silence_s = min(max(self.left_s() / 2, _SILENCE_S[0]), _SILENCE_S[1])
        place = replace(job.place, silence_s=self.silence_s, lanes=self.most_lanes)
        self.client: Client = connect(place, job.client)
        self.limiter = Limiter(job.operations, job.payload)
        self.asker = Asker(self.limiter, self.client.measured.answers, self.client.failure_of)
        out.note("client_version", self.client.version)

    def left_s(self) -> float:
        """The time until the deadline that the measured phase does not need."""
        return self._until_s - time.monotonic() - self.duration_s

    def ask(self, operation: Operation) -> Done:
        """Performs one operation outside the measured phase; raises Ended if it fails."""
        return self._persist(operation, tries=1)

    def fill(self, n: int, write: Callable[[int], Operation]) -> int:
        """Performs n writes, some at a time, and the last one when all others are done; returns how many.

        Each is made when it is its turn: all bodies together may not fit into memory.
        """

        stop = threading.Event()

        def one(index: int) -> None:
            if not stop.is_set():
                try:
                    self._persist(write(index))
                except Ended:
                    stop.set()
                    raise

        with ThreadPoolExecutor(_FILL_LANES) as pool:
            for _ in pool.map(one, range(n - 1)):
                pass
        one(n - 1)
        return n

    def _persist(self, operation: Operation, tries: int = _TRIES) -> Done:
        rest_s = _REST_S
        for attempt in range(1, tries + 1):
            performed = self.asker.ask(operation)
            if performed is None:
                self.limiter.check()
                raise failed("the trial was stopped", "report this")
            result = performed.result
            if isinstance(result, Done):
                if not result.unwritten:
                    return result
                result = Failure(Kind.THROTTLED, f"{result.unwritten} rows of a batch were not written")
            if result.kind is not Kind.THROTTLED or attempt == tries:
                raise failed(f"the service could not be prepared: {result.what}", result.kind.advice)
            time.sleep(rest_s)
            rest_s *= 2
        raise failed("the trial was stopped", "report this")

    def measure(self, choose: Choose, follow_ups: FollowUps | None = None) -> Tally:
        """Runs the measured phase, after a search for the best concurrency where that is max."""
        lanes, left_s = self.job.whole("concurrency"), self.duration_s
        if lanes is None:
            step_s, steps = _STEP_SHARE * self.duration_s, 0

            def rate(some: int) -> float:
                nonlocal steps
                steps += 1
                return self._load(choose, follow_ups, some, step_s).rate()

            lanes = climb(rate, self.most_lanes)
            left_s = max(left_s - steps * step_s, self.duration_s / 2)
            self.out.note("concurrency_reached", lanes)
        return self._load(choose, follow_ups, lanes, left_s)

    def _load(self, choose: Choose, follow_ups: FollowUps | None, lanes: int, duration_s: float) -> Tally:
        warm = lanes if self.rate is None else min(lanes, _OPEN_WARM)
        if self.client.command:
            warm = 0  # each process makes its own connection
        rate = None if self.rate is None else float(self.rate)
        tally = Load(self.asker, choose, lanes, rate, duration_s, self.silence_s, self.job.seed, warm, follow_ups).run()
        self.limiter.check()
        return tally

    def report(self, service: str, tally: Tally) -> float:
        """Writes the latencies and the shares of what did not succeed; returns the end of the phase in s."""
        self.note(tally)
        done = tally.latencies_ns()
        if not done:
            raise _no_success(tally)
        t_end = tally.intervals * tally.interval_s
        self.out.histogram(f"{service}_latency_s", t_end, done)
        self.out.sample(f"{service}_throttled_ratio", t_end, tally.throttled / tally.all.begun)
        self.out.sample(f"{service}_failed_ratio", t_end, (tally.failures - tally.throttled) / tally.all.begun)
        return t_end

    def report_series(self, metric: str, values: Sequence[float | None], interval_s: float) -> None:
        """Writes the value of each interval that has one."""
        for at, value in enumerate(values):
            if value is not None:
                self.out.sample(metric, (at + 1) * interval_s, value)

    def note(self, tally: Tally) -> None:
        """Writes the counts of a measured phase, and what may have limited it."""
        out, all_ = self.out, tally.all
        out.note("payload_bytes", self.limiter.used_bytes)
        out.note("operations", all_.begun)
        for kind in Kind:
            out.note(kind.value, all_.failed[kind])
        out.note("retries", 0 if self.client.measured.tries == 1 else "unknown")
        failure = tally.main_failure()
        if failure is not None:
            out.note("failure", failure.what)
        out.note("op_per_s", tally.rate())
        out.note("threads", tally.lanes)
        # Threads of Python share one processor; processes of a command have those of the launch.
        processors = min(tally.lanes, len(self.job.cpus)) if self.client.command else 1
        ratio = tally.cpu_ratio(processors)
        out.note("client_cpu_ratio", ratio)
        throttled = tally.throttled + all_.unwritten > _THROTTLED * all_.begun
        bound = "client-bound" if ratio > _CLIENT_BOUND else "unknown"
        out.note("limiter", "service throttle" if throttled else bound)
        out.note("loop", "closed" if self.rate is None else "open")
        if self.rate is None:
            return
        out.note("planned_starts", tally.planned)
        out.note("dropped_starts", tally.dropped)
        out.note("saturated", tally.dropped > 0 or tally.waited_s > _SATURATED_S)
        late = sorted(all_.late)
        if late:
            for name, share in (("p50", 0.5), ("p99", 0.99)):
                out.note(f"start_lateness_{name}_s", late[min(len(late) - 1, int(share * len(late)))] * 1e-9)
            out.note("starts_late_by_1_ms", sum(one > _LATE_NS for one in late))


def _no_success(tally: Tally) -> Ended:
    """The end of a trial in which no operation succeeded."""
    failure = tally.main_failure()
    if failure is not None:
        what = f"none of {tally.all.begun} operations succeeded: {failure.what}"
        return failed(what, failure.kind.advice)
    if tally.all.empty:
        return failed(f"each of {tally.all.empty} receives found nothing", "raise duration_s")
    return failed("no operation ended within the time", "raise duration_s")


Run = Callable[[Trial], None]
"""A probe."""
