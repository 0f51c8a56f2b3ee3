"""Loads of operations that sleep: closed and open loops, the climb, and how operations are spread over intervals."""

import threading
import time
from collections.abc import Callable

import pytest

from cloudcmp.client.failures import Ended, Failure, Kind, WrongBody
from cloudcmp.client.limiter import Limiter
from cloudcmp.client.load import Asker, Load, climb
from cloudcmp.client.operation import Answers, Done, Operation, perform
from cloudcmp.client.tally import Record, Tally
from cloudcmp.client.trial import Trial


def failure_of(error: Exception) -> Failure:
    return Failure.of(Kind.SERVER_ERROR, error)


def load(call: Callable[[], object], *, lanes: int = 1, rate: float | None = None, duration_s: float = 0.3,
         judge: Callable[[object], Done] = lambda _: Done(10), limiter: Limiter | None = None) -> Tally:  # fmt: skip
    asker = Asker(limiter or Limiter(None, None), Answers(), failure_of)
    return Load(asker, lambda _: Operation(call, judge, 10), lanes, rate, duration_s, 5.0, 7, 0).run()


def test_a_closed_loop_asks_again_when_it_is_answered() -> None:
    tally = load(lambda: time.sleep(0.02), lanes=2)
    assert 4 <= tally.all.begun <= 32
    assert tally.failures == 0
    assert min(tally.latencies_ns()) >= 20e6
    assert tally.rate() == pytest.approx(2 / (sum(tally.latencies_ns()) * 1e-9 / tally.all.begun), rel=0.5)


def test_an_open_loop_counts_from_the_planned_start() -> None:
    tally = load(lambda: time.sleep(0.05), rate=40.0)
    assert tally.planned == 12
    assert tally.all.begun + tally.dropped == 12
    # One lane does 20 a second: the last starts were due long before.
    assert max(tally.latencies_ns()) > 2 * 50e6
    assert tally.waited_s > 0


def test_failures_and_wrong_answers_are_no_latencies() -> None:
    numbers = iter(range(10**6))

    def call() -> int:
        number = next(numbers)
        time.sleep(0.002)
        if number % 3 == 0:
            raise ValueError("planted")
        return number

    def judge(number: object) -> Done:
        if isinstance(number, int) and number % 3 == 1:
            raise WrongBody("planted")
        return Done(10, there=number != 2)

    tally = load(call, judge=judge)
    assert tally.all.failed[Kind.SERVER_ERROR] > 0
    assert tally.all.failed[Kind.WRONG_BODY] > 0
    assert tally.all.empty == 1
    assert tally.failures + len(tally.all.last) + 1 == tally.all.begun
    failure = tally.main_failure()
    assert failure is not None
    assert failure.what == "planted"


def test_a_cap_is_exact_however_many_share_it() -> None:
    asked, lock = [0], threading.Lock()

    def call() -> None:
        with lock:
            asked[0] += 1

    limiter = Limiter(25, None)
    load(call, lanes=4, limiter=limiter)
    assert (asked[0], limiter.reached) == (25, "operations")
    payload = Limiter(None, 99)
    load(call, lanes=4, limiter=payload)
    assert (asked[0] - 25, payload.reached) == (9, "bytes")


def test_a_mistake_of_ours_ends_the_phase() -> None:
    def judge(_: object) -> Done:
        raise KeyError("a mistake")

    with pytest.raises(KeyError):
        load(lambda: None, judge=judge, lanes=2)


def test_a_hidden_retry_is_a_failure() -> None:
    answers = Answers()

    def call() -> None:
        answers.arrived()
        answers.arrived()

    result = perform(Operation(call, lambda _: Done(1), 1), answers, failure_of).result
    assert result == Failure(Kind.BROKEN, "the library sent 2 requests in place of 1")
    assert isinstance(perform(Operation(call, lambda _: Done(1), 1, requests=2), answers, failure_of).result, Done)


@pytest.mark.parametrize(
    ("rate", "reached"),
    [(lambda lanes: min(lanes, 8), 8), (lambda _: 5.0, 1), (float, 64), (lambda _: 0.0, 1)],
)
def test_the_climb_stops_where_more_lanes_bring_nothing(rate: Callable[[int], float], reached: int) -> None:
    assert climb(rate, 64) == reached


def test_an_operation_is_split_over_the_intervals_that_it_spans() -> None:
    record = Record()
    record.done(1_050_000_000, 0, 1_250_000_000, 400)
    record.aside.append((1_200_000_000, 1_300_000_000))
    tally = Tally(record, 1_000_000_000, 0.1, 3, 2, 0.2, 0.4)
    assert tally.bytes_per_s() == pytest.approx([1000.0, 2000.0, 1000.0])
    # One lane of two was aside in the last interval: half of its time was there for operations.
    assert tally.rates() == pytest.approx([2.5, 5.0, 5.0])
    assert (tally.cpu_ratio(1), tally.cpu_ratio(2)) == pytest.approx((0.5, 0.25))


def test_a_fill_stops_at_the_first_failure_and_makes_writes_when_it_is_their_turn() -> None:
    made: list[int] = []

    def write(index: int) -> Operation:
        made.append(index)

        def call() -> None:
            if index >= 20:
                raise ValueError("planted")
            time.sleep(0.001)

        return Operation(call, lambda _: Done(1), 1)

    trial = object.__new__(Trial)
    trial.limiter = Limiter(None, None)
    trial.asker = Asker(trial.limiter, Answers(), failure_of)
    with pytest.raises(Ended, match="planted"):
        trial.fill(10_000, write)
    assert len(made) < 100
    assert trial.fill(20, write) == 20
    assert made[-1] == 19, "the last one says that all others are there"
