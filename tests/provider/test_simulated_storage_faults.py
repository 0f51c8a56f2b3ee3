"""Are planted faults of the simulated storage service what a client meets, and counted exactly? And its process."""

import math
import signal
import subprocess
import threading
import time

import pytest
from tests.emulated.simulated_storage import (
    BODY,
    COMMAND,
    Client,
    Timed,
    outcome_of,
    simulated_storage,
    truth,
    with_object,
)

from cloudcmp.provider.simulated.storage import Distribution, OperationTruth, RateLimit, Share, StorageTruth


def test_planted_throttles_are_counted_exactly_under_concurrency():
    planted = truth(blob_get=OperationTruth(Distribution(0.002), throttled=Share(every=10), failed=Share(0.05)))
    statuses = []
    with simulated_storage(planted) as storage:
        with_object(storage)

        def run():
            with Client(storage) as client:
                statuses.extend(client.ask("GET", "/planted/k")[0] for _ in range(50))

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        outcomes = storage.of("blob_get")["outcomes"]
    assert statuses.count(503) == outcomes["throttled"] == 40
    assert statuses.count(500) == outcomes["failed"]
    assert statuses.count(200) == outcomes["answered"] == 400 - 40 - outcomes["failed"]
    assert abs(outcomes["failed"] - 18) <= 4 * math.sqrt(360 * 0.05 * 0.95)


def test_a_rate_limit_throttles_what_is_above_it():
    with simulated_storage(StorageTruth(anonymous=True)) as storage:
        with_object(storage)
        storage.plant(StorageTruth(anonymous=True, limit=RateLimit(50.0, 10.0)))
        began = time.perf_counter()
        with Client(storage) as client:
            statuses = [client.ask("GET", "/planted/k")[0] for _ in range(300)]
        seconds = time.perf_counter() - began
        outcomes = storage.of("blob_get")["outcomes"]
    assert statuses.count(200) == outcomes["answered"]
    assert statuses.count(503) == outcomes["throttled"]
    assert statuses[:10] == [200] * 10
    assert outcomes["answered"] <= 10 + 50 * seconds + 1
    assert outcomes["throttled"] >= 300 - 11 - 50 * seconds


@pytest.mark.parametrize("fault", ["wrong_body", "short_body", "long_body", "cut", "silent"])
def test_bad_answers_come_as_planted_and_are_counted(fault):
    with simulated_storage(truth(blob_get=OperationTruth(**{fault: Share(every=3)}))) as storage:
        with_object(storage)
        found = [outcome_of(storage, timeout=1.0) for _ in range(9)]
        assert found == ["answered", "answered", fault] * 3
        assert storage.of("blob_get")["outcomes"] == {"answered": 6, fault: 3}


def test_a_bad_answer_to_a_write_comes_after_the_write():
    with simulated_storage(truth(blob_put=OperationTruth(cut=Share(every=1)))) as storage:
        with Client(storage) as client:
            client.ask("PUT", "/planted")
        assert outcome_of(storage, "PUT", BODY) == "cut"
        assert outcome_of(storage) == "answered"
        assert storage.of("blob_put")["outcomes"] == {"cut": 1}


def test_a_client_that_leaves_is_counted_apart():
    with simulated_storage(truth(blob_get=OperationTruth(Distribution(0.5)))) as storage:
        with_object(storage)
        client = Timed(storage)
        client.wire.sendall(Timed.REQUEST)
        time.sleep(0.1)
        client.wire.close()
        time.sleep(0.7)
        assert storage.of("blob_get")["outcomes"] == {"abandoned": 1}


def test_bodies_move_at_the_planted_pace_both_ways():
    body = b"x" * 1_000_000
    paced = OperationTruth(Distribution(0.01), bytes_per_s=4e6)
    with simulated_storage(truth(blob_get=paced, blob_put=paced)) as storage, Client(storage) as client:
        client.ask("PUT", "/planted")
        times = []
        for method, sent, expected in (("PUT", body, b""), ("GET", b"", body)):
            began = time.perf_counter()
            assert client.ask(method, "/planted/k", sent) == (200, expected)
            times.append(time.perf_counter() - began)
        assert all(0.26 <= one < 1.0 for one in times), times


def test_a_wrong_truth_ends_the_process_with_one_line_and_2():
    for text in (b"", b"{\n", b'{"servers": -1}\n', b"\xff\n"):
        done = subprocess.run(COMMAND, input=text, capture_output=True, timeout=20, check=False)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
        assert done.stderr.startswith(b"truth")


def test_a_signal_ends_it_as_the_end_of_its_input_does():
    with simulated_storage() as storage:
        with_something = storage.control("GET", "/-/truth")
        assert with_something[0] == 200
        storage.process.send_signal(signal.SIGTERM)
    assert storage.final["counted"]["connections"] == 0


def test_the_control_port_refuses_what_it_does_not_know_and_keeps_its_truth():
    with simulated_storage(truth()) as storage:
        before = storage.control("GET", "/-/truth")[1]
        for method, target, body, status in (
            ("PUT", "/-/truth", '{"servers": "x"}', 400),
            ("PUT", "/-/truth", "", 400),
            ("GET", "/-/other", "", 404),
            ("DELETE", "/-/truth", "", 404),
        ):
            assert storage.control(method, target, body)[0] == status
        assert storage.control("GET", "/-/truth")[1] == before
        assert b"simulated-secret" not in before
