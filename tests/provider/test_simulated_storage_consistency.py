"""Are planted propagation and stale reads of the simulated storage service what a client sees?"""

import math
import statistics
import time

import pytest
from tests.emulated.simulated_storage import BODY, TABLE, Client, simulated_storage, truth, with_object

from cloudcmp.provider.simulated.storage import Distribution, OperationTruth


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
        widths = [first_fresh - last_stale for last_stale, first_fresh, _, _ in settled]
        assert min(widths) < 0.03  # a busy machine reads less often
        assert statistics.median(delays) == pytest.approx(planted.median_s, rel=0.3)


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
        assert at_risk > 60
        assert abs(stale - share * at_risk) < 4 * math.sqrt(at_risk * share * (1 - share))
        storage.reset()
        strong = list(versions(client, 10, 0.04, change, read(strong=True)))
        assert sum(row[2] for row in strong) == 0
        assert storage.of("table_get")["at_risk"] == 0


def test_deletes_lists_and_indexes_lag_as_planted():
    lag, stale = OperationTruth(propagation=Distribution(0.5)), OperationTruth(stale_share=1.0)
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
        time.sleep(0.6)
        assert seen() == (200, 1, 1)
        client.ask("DELETE", "/planted/k")
        client.table("PutItem", TableName="t-planted", Item={"k": {"S": "a"}, "g": {"S": "g2"}})
        assert seen() == (200, 1, 1)
        time.sleep(0.6)
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
        assert min(high - low for low, high in found) < 0.03  # a busy machine receives less often
