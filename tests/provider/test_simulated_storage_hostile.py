"""No bytes and no document end the simulated storage service, or make it answer as if it had failed by itself."""

import contextlib
import json
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulated.simulated_storage import TABLE, Client, outcome_of, simulated_storage, truth, with_object


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
