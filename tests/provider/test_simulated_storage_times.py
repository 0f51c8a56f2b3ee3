"""Are the planted latency, stalls and capacity of the simulated storage service what a client measures?"""

import signal
import socket
import sys
import threading
import time

import numpy as np
import pytest
from tests.emulated.simulated_storage import Timed, simulated_storage, truth, with_object

from cloudcmp.provider.simulated.storage import Distribution, OperationTruth, Stall, StorageTruth, arrival
from cloudcmp.provider.simulated.storage.schedule import Schedule


def test_a_constant_latency_is_never_undercut_and_hardly_exceeded():
    with simulated_storage(truth(blob_get=OperationTruth(Distribution(0.01)))) as storage:
        with_object(storage)
        client = Timed(storage)
        took = sorted(client.get_s() for _ in range(200))
        client.wire.close()
        assert took[0] >= 0.01
        # Other processes can only add to it: the quickest tenth shows what the service does by itself.
        assert took[20] < 0.0106
        assert storage.of("blob_get")["response_s"]["percentiles"]["50"] == pytest.approx(0.01)


class Interrupted:
    """The clocks of this computer, to a process that is held up after each look at them."""

    def time(self) -> float:
        return self._held_up(time.time())

    def monotonic(self) -> float:
        return self._held_up(time.monotonic())

    def _held_up(self, now_s: float) -> float:
        time.sleep(0.005)
        return now_s


def test_no_request_arrived_before_it_was_sent(monkeypatch):
    monkeypatch.setattr(arrival, "time", Interrupted())
    with arrival.ArrivalSocket.listening("127.0.0.1", 0) as listener:
        listener.listen()
        with socket.create_connection(listener.getsockname()) as client:
            served, _ = listener.accept()
            with served:
                sent_s = time.monotonic()
                client.sendall(b"x")
                assert served.recv(1) == b"x"
                assert sent_s <= served.arrived_s[served.fileno()] <= time.monotonic()


def test_what_left_is_what_a_client_measures():
    """Request by request, so that nothing of a busy machine is in the difference but the way there and back."""
    with simulated_storage(truth(blob_get=OperationTruth(Distribution(0.02, 0.5)))) as storage:
        with_object(storage)
        client = Timed(storage)
        took = np.array([client.get_s() for _ in range(200)])
        client.wire.close()
        values = storage.of("blob_get", "/-/truth?values")["values"]
        way = took - np.array(values["sent_s"])
        # The service reads its clock once its answer has left: on a busy machine now and then after the client did.
        assert np.quantile(way, 0.1) > 0
        assert np.quantile(way, 0.25) < 0.001
        planted = Distribution(0.02, 0.5)
        assert values["response_s"] == pytest.approx(values["service_s"], abs=1e-9)
        assert np.median(values["service_s"]) == pytest.approx(planted.median_s, rel=0.15)
        assert np.std(np.log(values["service_s"])) == pytest.approx(0.5, rel=0.15)


def load(storage, rate_per_s, seconds, connections):
    """Response times of downloads at planned moments, from as many connections in turn."""
    took, lock = [], threading.Lock()
    begin, step = time.perf_counter() + 0.05, connections / rate_per_s

    def run(number):
        client, mine = Timed(storage), []
        for turn in range(int(seconds / step)):
            planned = begin + number / rate_per_s + turn * step
            time.sleep(max(0.0, planned - time.perf_counter()))
            mine.append(client.get_s())
        client.wire.close()
        with lock:
            took.extend(mine)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def test_answers_leave_at_their_planted_moments_at_500_requests_a_second():
    """Never early, and one in twenty at the moment: a busy machine can only delay.

    How late the others are is measured by benchmarks/storage_truth.py.
    """
    with simulated_storage(truth(blob_get=OperationTruth(Distribution(0.02, 0.5)))) as storage:
        with_object(storage)
        found = []
        for _ in range(3):
            storage.reset()
            load(storage, 500, 1.5, 30)
            counted = storage.of("blob_get")
            assert counted["outcomes"] == {"answered": 750}
            assert counted["late_s"]["min"] >= 0
            found.append(counted["late_s"]["percentiles"]["5"])
            if found[-1] < 0.0004:  # 2 % of the median
                break
        assert min(found) < 0.0004, found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when bytes arrived")
def test_what_is_planted_counts_from_the_arrival_even_if_the_service_is_kept_from_reading():
    with simulated_storage(truth(blob_get=OperationTruth(Distribution(0.6)))) as storage:
        with_object(storage)
        client = Timed(storage)
        storage.process.send_signal(signal.SIGSTOP)
        resume = threading.Timer(0.4, storage.process.send_signal, (signal.SIGCONT,))
        resume.start()
        took = client.get_s()
        client.wire.close()
        resume.join()
        assert 0.6 <= took < 0.9  # not 1.0


# Stalls and load.


def closed_loop(schedule, seconds, service_s):
    """Response times of a client that waits for each answer before it asks again."""
    now, took = 0.0, []
    while now < seconds:
        end = schedule.answer_at(now, service_s)
        took.append(end - now)
        now = end
    return took


def test_a_closed_loop_misses_a_stall_that_an_open_loop_sees():
    """One second in ten: a tenth of all arrivals meets it, and of a closed loop's requests one in a period."""

    planted = StorageTruth(stall=Stall(10.0, 1.0))
    closed = closed_loop(Schedule(planted), 100.0, 0.01)
    schedule = Schedule(planted)
    opened = [schedule.answer_at(index / 100, 0.01) - index / 100 for index in range(10_000)]
    assert sum(one > 0.02 for one in closed) == 10
    assert np.percentile(closed, 99) == pytest.approx(0.01)
    assert sum(one > 0.02 for one in opened) / len(opened) == pytest.approx(0.1, abs=0.002)
    assert np.percentile(opened, 95) == pytest.approx(0.5, abs=0.03)


def test_a_stall_is_met_by_a_client():
    planted = StorageTruth(anonymous=True, stall=Stall(1.0, 0.4), default=OperationTruth(Distribution(0.005)))
    with simulated_storage(planted) as storage:
        with_object(storage)
        storage.reset()
        client, took = Timed(storage), []
        end = time.perf_counter() + 3.0  # three periods, so that it begins in no more than one stall
        while time.perf_counter() < end:
            took.append(client.get_s())
        client.wire.close()
        slow = [one for one in took if one > 0.2]
        assert 2 <= len(slow) <= 4
        assert max(slow) >= 0.395
        counted = storage.of("blob_get", "/-/truth?values")["values"]["response_s"]
        assert sum(one > 0.2 for one in counted) == pytest.approx(len(slow), abs=1)


def test_servers_limit_what_is_answered_in_a_second():
    """Two servers of 10 ms answer 200 a second, whatever is asked."""
    planted = StorageTruth(anonymous=True, servers=2, operations={"blob_get": OperationTruth(Distribution(0.01))})
    with simulated_storage(planted) as storage:
        with_object(storage)
        began = time.perf_counter()
        took = load(storage, 2000, 0.2, 20)
        assert time.perf_counter() - began >= len(took) / 200
        assert storage.of("blob_get")["response_s"]["max"] > 0.05
