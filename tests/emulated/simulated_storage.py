"""A simulated storage service as a process, and requests to its control port."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
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
        assert (process.returncode, mistakes) == (0, b"")
    finally:
        process.kill()
        process.communicate()
