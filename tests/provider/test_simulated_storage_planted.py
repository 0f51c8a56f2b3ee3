"""Is what was planted in the simulated storage service what a client measures, and what the service counts?"""

import contextlib
import http.client
import json
import math
import re
import signal
import socket
import statistics
import subprocess
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulated.simulated_storage import COMMAND, simulated_storage

from cloudcmp.provider.simulated.storage import (
    Distribution,
    OperationTruth,
    RateLimit,
    Share,
    Stall,
    StorageTruth,
)

BODY = bytes(range(256)) * 4
TABLE = {
    "TableName": "t-planted",
    "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("k", "g")],
    "GlobalSecondaryIndexes": [
        {"IndexName": "by_group", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {}}
    ],
}


def truth(**operations):
    """A service that needs no signatures."""
    return StorageTruth(seed=11, anonymous=True, operations=operations)


class Client:
    """One connection; answers are status and body."""

    def __init__(self, storage, timeout=20):
        self.http = http.client.HTTPConnection("127.0.0.1", storage.port, timeout=timeout)
        self.http.connect()
        self.http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.close()

    def ask(self, method, target, body=b"", **headers):
        self.http.request(method, target, body, headers)
        answer = self.http.getresponse()
        return answer.status, answer.read()

    def table(self, action, **fields):
        target = {"X-Amz-Target": f"DynamoDB_20120810.{action}"}
        status, body = self.ask("POST", "/", json.dumps(fields).encode(), **target)
        return status, json.loads(body)

    def queue(self, action, **fields):
        status, body = self.ask("POST", "/", json.dumps(fields).encode(), **{"X-Amz-Target": f"AmazonSQS.{action}"})
        return status, json.loads(body)


def with_object(storage):
    with Client(storage) as client:
        client.ask("PUT", "/planted")
        assert client.ask("PUT", "/planted/k", BODY)[0] == 200


class Timed:
    """A client of bare bytes that takes no time of its own: sockets that one thread waits for."""

    REQUEST = b"GET /planted/k HTTP/1.1\r\nHost: x\r\n\r\n"

    def __init__(self, storage):
        self.wire = socket.create_connection(("127.0.0.1", storage.port), 20)
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get_s(self):
        """The response time of a download, to its first byte."""
        began = time.perf_counter()
        self.wire.sendall(self.REQUEST)
        data = self.wire.recv(65536)
        took = time.perf_counter() - began
        while not data.endswith(BODY[-64:]):
            data += self.wire.recv(65536)
        return took


# Latency.


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


def test_what_left_is_what_a_client_measures():
    """Request by request, so that nothing of a busy machine is in the difference but the way there and back."""
    with simulated_storage(truth(blob_get=OperationTruth(Distribution(0.02, 0.5)))) as storage:
        with_object(storage)
        client = Timed(storage)
        took = np.array([client.get_s() for _ in range(200)])
        client.wire.close()
        values = storage.of("blob_get", "/-/truth?values")["values"]
        way = took - np.array(values["sent_s"])
        assert way.min() > 0
        assert np.median(way) < 0.001
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


def test_planted_percentiles_leave_the_service_at_500_requests_a_second():
    """Of three runs the best one: a busy machine can only delay, so an undisturbed run shows what the service does."""
    with simulated_storage(truth(blob_get=OperationTruth(Distribution(0.02, 0.5)))) as storage:
        with_object(storage)
        found = []
        for _ in range(3):
            storage.reset()
            load(storage, 500, 1.5, 30)
            counted = storage.of("blob_get")
            planted, sent = counted["response_s"]["percentiles"], counted["sent_s"]["percentiles"]
            found.append(max(sent[name] / planted[name] for name in ("25", "50", "75", "90")))
            if found[-1] < 1.02:
                break
        assert min(found) < 1.02, found


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
    from cloudcmp.provider.simulated.storage.schedule import Schedule

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


# Refusals, counted exactly.


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


def body_of(data):
    """The body in the bytes of an answer; None if some of it, or of the head, is missing."""
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: ([0-9]+)", head)
    return body if end and length and len(body) == int(length[1]) else None


def outcome_of(storage, method="GET", body=b"", timeout=20.0):
    """What one answer is, on a connection of its own; Python's client takes a head that is cut for a whole one."""
    request = f"{method} /planted/k HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    data = b""
    with contextlib.closing(socket.create_connection(("127.0.0.1", storage.port), timeout)) as wire:
        wire.sendall(request)
        while (got := body_of(data)) is None:
            try:
                more = wire.recv(65536)
            except TimeoutError:
                return "silent"
            if not more:
                return "cut"
            data += more
    assert data.startswith(b"HTTP/1.1 200 ")
    expected = BODY if method == "GET" else b""
    if got == expected:
        return "answered"
    return "wrong_body" if len(got) == len(expected) else "short_body" if len(got) < len(expected) else "long_body"


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
        assert all(0.26 <= one < 0.36 for one in times), times


# Consistency.


def versions(client, count, gap_s, change, read):
    """Changes an object and reads it until it is right for long enough; yields the moments of each read's kind."""
    for number in range(1, count + 1):
        asked = time.perf_counter()
        change(client, number)
        answered = time.perf_counter()
        last_stale, first_fresh, stale, reads = -math.inf, math.inf, 0, 0
        while time.perf_counter() < answered + gap_s:
            sent = time.perf_counter()
            fresh = read(client, number)
            reads += 1
            if fresh:
                first_fresh = min(first_fresh, time.perf_counter() - asked)
            else:
                stale += 1
                last_stale = max(last_stale, sent - answered)
        yield last_stale, first_fresh, stale, reads


def put(client, number):
    assert client.ask("PUT", "/planted/k", f"{number:09d}".encode())[0] == 200


def is_new(client, number):
    return client.ask("GET", "/planted/k") == (200, f"{number:09d}".encode())


def test_the_planted_delay_lies_between_the_last_stale_and_the_first_fresh_read():
    planted = Distribution(0.03, 0.4)
    slow = OperationTruth(Distribution(0.002), propagation=planted)
    with simulated_storage(truth(blob_put=slow, blob_get=OperationTruth(stale_share=1.0))) as storage:
        with_object(storage)
        time.sleep(0.3)
        storage.reset()
        with Client(storage) as client:
            found = list(versions(client, 40, 0.12, put, is_new))
        delays = storage.of("blob_put", "/-/truth?values")["values"]["propagation_s"]
        settled = [row for row, delay in zip(found, delays, strict=True) if delay < 0.1]
        assert len(settled) >= 38
        for (last_stale, first_fresh, _, _), delay in zip(found, delays, strict=True):
            assert last_stale < delay < first_fresh
        width = statistics.median(first_fresh - last_stale for last_stale, first_fresh, _, _ in settled)
        assert width < 0.02
        middle = statistics.median((first_fresh + last_stale) / 2 for last_stale, first_fresh, _, _ in settled)
        assert middle == pytest.approx(statistics.median(delays), rel=0.2)


def test_the_planted_share_of_stale_reads_is_recovered_and_strong_reads_are_none():
    share = 0.3
    eventual = truth(
        table_put=OperationTruth(propagation=Distribution(0.03)), table_get=OperationTruth(stale_share=share)
    )

    def change(client, number):
        assert client.table("PutItem", TableName="t-planted", Item={"k": {"S": "a"}, "v": {"N": str(number)}})[0] == 200

    def read(strong):
        asked = {"TableName": "t-planted", "Key": {"k": {"S": "a"}}, "ConsistentRead": strong}
        return lambda client, number: client.table("GetItem", **asked)[1].get("Item", {}).get("v") == {"N": str(number)}

    with simulated_storage(eventual) as storage, Client(storage) as client:
        assert client.table("CreateTable", **TABLE)[0] == 200
        weak = list(versions(client, 40, 0.04, change, read(strong=False)))
        counted = storage.of("table_get")
        stale = sum(row[2] for row in weak)
        assert stale == counted["stale"]
        at_risk = counted["at_risk"]
        assert at_risk > 200
        assert abs(stale - share * at_risk) < 4 * math.sqrt(at_risk * share * (1 - share))
        storage.reset()
        strong = list(versions(client, 10, 0.04, change, read(strong=True)))
        assert sum(row[2] for row in strong) == 0
        assert storage.of("table_get")["at_risk"] == 0


def test_deletes_lists_and_indexes_lag_as_planted():
    lag, stale = OperationTruth(propagation=Distribution(0.3)), OperationTruth(stale_share=1.0)
    planted = truth(blob_put=lag, blob_delete=lag, table_put=lag, blob_get=stale, blob_list=stale, table_query=stale)
    with simulated_storage(planted) as storage, Client(storage) as client:
        client.ask("PUT", "/planted")
        client.table("CreateTable", **TABLE)
        query = {"TableName": "t-planted", "IndexName": "by_group", "KeyConditionExpression": "g = :g"}
        query["ExpressionAttributeValues"] = {":g": {"S": "g1"}}

        def seen():
            listed = client.ask("GET", "/planted?list-type=2")[1].count(b"<Contents>")
            return client.ask("GET", "/planted/k")[0], listed, client.table("Query", **query)[1]["Count"]

        client.ask("PUT", "/planted/k", BODY)
        client.table("PutItem", TableName="t-planted", Item={"k": {"S": "a"}, "g": {"S": "g1"}})
        assert seen() == (404, 0, 0)
        time.sleep(0.4)
        assert seen() == (200, 1, 1)
        client.ask("DELETE", "/planted/k")
        client.table("PutItem", TableName="t-planted", Item={"k": {"S": "a"}, "g": {"S": "g2"}})
        assert seen() == (200, 1, 1)
        time.sleep(0.4)
        assert seen() == (404, 0, 0)
        assert [storage.of(name)["stale"] for name in ("blob_get", "blob_list", "table_query")] == [2, 2, 2]


def test_the_planted_delay_of_a_queue_lies_between_its_last_empty_and_its_first_full_receive():
    planted = Distribution(0.05, 0.3)
    with simulated_storage(truth(queue_send=OperationTruth(propagation=planted))) as storage, Client(storage) as client:
        url = client.queue("CreateQueue", QueueName="planted")[1]["QueueUrl"]
        found = []
        for _ in range(20):
            asked = time.perf_counter()
            client.queue("SendMessage", QueueUrl=url, MessageBody="x")
            answered, last_empty = time.perf_counter(), -math.inf
            while True:
                sent = time.perf_counter()
                messages = client.queue("ReceiveMessage", QueueUrl=url)[1].get("Messages")
                if messages:
                    break
                last_empty = sent - answered
            found.append((last_empty, time.perf_counter() - asked))
            client.queue("DeleteMessage", QueueUrl=url, ReceiptHandle=messages[0]["ReceiptHandle"])
        delays = storage.of("queue_send", "/-/truth?values")["values"]["propagation_s"]
        assert all(low < delay < high for (low, high), delay in zip(found, delays, strict=True))
        assert statistics.median(high - low for low, high in found) < 0.02


# The process, and hostile input.


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


@pytest.fixture(scope="module")
def victim():
    """A service that hostile bytes are sent to: it must still be there at the end, and have made no mistake."""
    with simulated_storage(truth()) as storage:
        with_object(storage)
        yield storage


SAMPLES = [
    b"GET /planted/k HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET /planted?list-type=2&max-keys=2 HTTP/1.1\r\nHost: h\r\n\r\n",
    b"PUT /planted/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 2\r\n\r\n{}",
    b"PUT /planted/y HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
]


@given(st.lists(st.sampled_from(SAMPLES) | st.binary(max_size=60), min_size=1, max_size=3), st.data())
@settings(max_examples=120)
def test_no_bytes_end_the_service(victim, pieces, data):
    stream = bytearray(b"".join(pieces))
    for place in data.draw(st.lists(st.integers(0, max(0, len(stream) - 1)), max_size=3)):
        if stream:
            stream[place] = data.draw(st.integers(0, 255))
    wire = socket.create_connection(("127.0.0.1", victim.port), 5)
    with contextlib.closing(wire), contextlib.suppress(ConnectionError):
        wire.sendall(stream)
        wire.shutdown(socket.SHUT_WR)
        while wire.recv(65536):
            pass
    assert outcome_of(victim) == "answered"


FIELDS = [
    "TableName",
    "Key",
    "Item",
    "IndexName",
    "KeyConditionExpression",
    "ExpressionAttributeValues",
    "Limit",
    "RequestItems",
]
FIELDS += [
    "QueueUrl",
    "MessageBody",
    "WaitTimeSeconds",
    "ReceiptHandle",
    "QueueName",
    "Attributes",
    "tags",
    "UpdateExpression",
]
FIELDS += [
    "KeySchema",
    "AttributeDefinitions",
    "Tags",
    "ResourceArn",
    "k",
    "g",
    "S",
    "N",
    "L",
    "M",
    "t-planted",
    "PutRequest",
    ":g",
]
TEXTS = [
    "t-planted",
    "by_group",
    "g = :g",
    "SET v = :g",
    "http://h/000000000000/planted",
    "planted",
    "a",
    ":g",
    "\ud800",
    "1e999",
    "HASH",
]
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(TEXTS) | st.text(max_size=3)
fields = st.sampled_from(FIELDS)
documents = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=4), max_leaves=10
)
VALID = {
    "TableName": "t-planted",
    "Key": {"k": {"S": "a"}},
    "Item": {"k": {"S": "a"}},
    "IndexName": "by_group",
    "KeyConditionExpression": "g = :g",
    "UpdateExpression": "SET v = :g",
    "ExpressionAttributeValues": {":g": {"S": "a"}},
    "QueueUrl": "http://h/000000000000/planted",
    "QueueName": "planted",
    "MessageBody": "x",
    "ReceiptHandle": "x.1",
    "RequestItems": {"t-planted": [{"PutRequest": {"Item": {"k": {"S": "a"}}}}]},
}
NEEDED = {
    "GetItem": "TableName Key",
    "PutItem": "TableName Item",
    "DeleteItem": "TableName Key",
    "UpdateItem": "TableName Key UpdateExpression ExpressionAttributeValues",
    "Query": "TableName IndexName KeyConditionExpression ExpressionAttributeValues",
    "BatchWriteItem": "RequestItems",
    "CreateTable": "TableName",
    "DescribeTable": "TableName",
    "ListTables": "",
    "TagResource": "",
    "SendMessage": "QueueUrl MessageBody",
    "ReceiveMessage": "QueueUrl",
    "DeleteMessage": "QueueUrl ReceiptHandle",
    "GetQueueAttributes": "QueueUrl",
    "CreateQueue": "QueueName",
    "ListQueues": "",
}
QUEUE_ACTIONS = {name for name, needed in NEEDED.items() if "Queue" in name + needed}


@given(st.sampled_from(sorted(NEEDED)), st.dictionaries(fields, documents, max_size=4))
@settings(max_examples=250)
def test_no_document_ends_the_service(victim, action, changed):
    """A request with fields of other types, or what else a program could send by mistake, is refused or carried out."""
    changed.pop("WaitTimeSeconds", None)  # a wait is no mistake, and takes its time
    with Client(victim) as client:
        client.table("CreateTable", **TABLE)
        client.queue("CreateQueue", QueueName="planted")
        document = {**{name: VALID[name] for name in NEEDED[action].split()}, **changed}
        ask = client.queue if action in QUEUE_ACTIONS else client.table
        status, answer = ask(action, **document)
        assert status in {200, 400, 403}
        assert isinstance(answer, dict)


def test_deep_and_long_documents_are_refused(victim):
    deep = json.dumps({"S": "x"})
    for _ in range(900):
        deep = f'{{"M":{{"a":{deep}}}}}'
    item = f'{{"TableName":"t-planted","Item":{{"k":{{"S":"a"}},"v":{deep}}}}}'
    for body in (b"[" * 200_000, item.encode(), b'{"Limit": ' + b"9" * 10_000 + b"}", b'"\\ud800"', b"NaN"):
        for target in ("DynamoDB_20120810.PutItem", "AmazonSQS.SendMessage"):
            with Client(victim) as client:
                client.table("CreateTable", **TABLE)
                assert client.ask("POST", "/", body, **{"X-Amz-Target": target})[0] == 400


def test_many_requests_in_one_piece_are_answered_in_order(victim):
    keys = [f"k{number}" for number in range(300)]
    with Client(victim) as client:
        for key in keys:
            client.ask("PUT", f"/planted/{key}", key.encode())
    with contextlib.closing(socket.create_connection(("127.0.0.1", victim.port), 20)) as wire:
        wire.sendall(b"".join(b"GET /planted/%b HTTP/1.1\r\nHost: h\r\n\r\n" % key.encode() for key in keys[:-1]))
        wire.sendall(b"GET /planted/%b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" % keys[-1].encode())
        stream = b"".join(iter(lambda: wire.recv(65536), b""))
    assert [part.rpartition(b"\r\n\r\n")[2].decode() for part in stream.split(b"HTTP/1.1 200 OK")[1:]] == keys
