"""A simulated storage service as a process, requests to its control port, and plain clients without signatures."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.model.codec import to_json
from cloudcmp.provider.simulated.storage import StorageTruth

COMMAND = (sys.executable, "-m", "cloudcmp.provider.simulated.storage")


@dataclass(slots=True)
class SimulatedStorage:
    """A running service; `final` is its last document, once it has ended."""

    process: subprocess.Popen[bytes]
    ready: dict[str, Any]
    final: dict[str, Any] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        """The URL of the service."""
        return str(self.ready["endpoint"])

    @property
    def port(self) -> int:
        """The port of the service."""
        return int(self.ready["port"])

    def control(self, method: str, target: str, body: str = "") -> tuple[int, bytes]:
        """An answer of the control port: status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ready["control_port"], timeout=20)
        with contextlib.closing(connection):
            connection.request(method, target, body.encode())
            answer = connection.getresponse()
            return answer.status, answer.read()

    def counted(self, target: str = "/-/truth") -> dict[str, Any]:
        """What the service counted so far."""
        found: dict[str, Any] = json.loads(self.control("GET", target)[1])["counted"]
        return found

    def of(self, operation: str, target: str = "/-/truth") -> dict[str, Any]:
        """What the service counted of one operation."""
        found: dict[str, Any] = self.counted(target)["operations"][operation]
        return found

    def reset(self) -> dict[str, Any]:
        """What the service counted so far; it counts anew."""
        found: dict[str, Any] = json.loads(self.control("POST", "/-/reset")[1])["counted"]
        return found

    def plant(self, truth: StorageTruth) -> None:
        """Has the service behave as another truth says."""
        status, body = self.control("PUT", "/-/truth", to_json(truth))
        assert status == 204, body


@contextlib.contextmanager
def simulated_storage(truth: StorageTruth | None = None) -> Iterator[SimulatedStorage]:
    """A service with a truth, until it is left; fails if it made a mistake of its own."""
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(to_json(truth or StorageTruth()).encode() + b"\n")
        process.stdin.flush()
        storage = SimulatedStorage(process, json.loads(process.stdout.readline()))
        yield storage
        process.stdin.close()
        process.stdin = None
        out, mistakes = process.communicate(timeout=20)
        storage.final = json.loads(out)
        assert (process.returncode, mistakes) == (0, b""), mistakes.decode()
    finally:
        process.kill()
        process.communicate()


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
    """A client of bare bytes: it adds as little time as Python can."""

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
