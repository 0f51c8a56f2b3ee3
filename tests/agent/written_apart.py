"""Two real agents on one storage service: one makes the changes that the other orders and reads."""

import contextlib
import json
import queue
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.agent.service_trials import HOST, REGION, Place, Ran, ran_of

from cloudcmp.agent import JobTarget, encode_job
from cloudcmp.model.plan import PlannedTrial


@dataclass(frozen=True, slots=True)
class Pair:
    """What the reader gave, what the writer gave, and how long the reader took (s)."""

    reader: Ran
    writer: Ran
    took_s: float


@dataclass
class Way:
    """A link between the agents: each byte comes `delay_s` later, and after `cut_at` bytes of the writer nothing does.

    `closes` says whether the link is closed then, or silent.
    """

    delay_s: float = 0.0
    cut_at: int | None = None
    closes: bool = True
    forwarded: int = 0
    _open: list[socket.socket] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    @contextlib.contextmanager
    def to(self, address: str) -> Iterator[str]:
        """The address at which the link leads to another address, until it is left."""
        host, _, port = address.rpartition(":")
        with socket.create_server((HOST, 0)) as listener:
            listener.settimeout(20.0)
            self._begin(lambda: self._accept(listener, (host, int(port))))
            try:
                yield f"{HOST}:{listener.getsockname()[1]}"
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                self._end()
                for thread in list(self._threads):
                    thread.join(10.0)
                for one in self._open:
                    one.close()

    def _begin(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=work, daemon=True))
        self._threads[-1].start()

    def _accept(self, listener: socket.socket, server: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                self._open.append(near)
                far = socket.create_connection(server, 20.0)
                self._open.append(far)
                for one in (near, far):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._forward(near, far, self.delay_s, counts=False)
                self._forward(far, near, self.delay_s, counts=True)

    def _forward(self, source: socket.socket, sink: socket.socket, delay_s: float, *, counts: bool) -> None:
        pieces: queue.Queue[tuple[float, bytes]] = queue.Queue()

        def read() -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    pieces.put((time.monotonic() + delay_s, data))
            pieces.put((time.monotonic() + delay_s, b""))

        def write() -> None:
            with contextlib.suppress(OSError):
                while True:
                    due, data = pieces.get()
                    time.sleep(max(0.0, due - time.monotonic()))
                    if not data:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    room = len(data) if self.cut_at is None else max(0, self.cut_at - self.forwarded)
                    if not counts:
                        sink.sendall(data)
                        continue
                    sink.sendall(data[:room])
                    self.forwarded += len(data[:room])
                    if room < len(data):
                        if self.closes:
                            self._end()
                        return

        for work in (read, write):
            self._begin(work)

    def _end(self) -> None:
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def run_pair(
    agent: Path,
    place: Place,
    *,
    written_at: Place | None = None,
    way: Way | None = None,
    caps: tuple[Mapping[str, int] | None, Mapping[str, int] | None] = (None, None),
    deadline_s: float = 10.0,
    meanwhile: Callable[["subprocess.Popen[bytes]"], None] = lambda _: None,
    **params: str,
) -> Pair:
    """One trial: the reader at `place`, the writer there or at `written_at`; `caps` are the reader's and the writer's.

    `meanwhile` gets the writer's process once the reader runs.
    """
    secret, filled = secrets.token_hex(32), tuple(sorted({"writer": "loopback", **params}.items()))
    trial = PlannedTrial(0, 0, "consistency", filled, (), 0, 0.0, 1.0, deadline_s, 7)

    def job(role: str, of: Place, other: JobTarget, own: Mapping[str, int] | None, listen: str | None = None) -> bytes:
        service = JobTarget(
            "service", endpoint=f"http://{HOST}:{of.port}", credential_ref="mine", protocol=of.protocol,
            data_set=of.name, region=REGION, addresses=(HOST,),
        )  # fmt: skip
        credentials = {"mine": of.credential()}
        return encode_job(
            trial, cpus=[0], folder=None, role=role, listen=listen, targets=[other, service], secret=secret,
            credentials=credentials, caps=own,
        )  # fmt: skip

    writes = job("server", written_at or place, JobTarget("client", address=HOST), caps[1], f"{HOST}:0")
    with _started(agent, writes) as writer:
        said, at = b"", ""
        while not at:
            line = writer.stdout.readline()  # type: ignore[union-attr]
            assert line, said
            said, at = said + line, json.loads(line).get("addr", "")
        with (way or Way()).to(at) if way else contextlib.nullcontext(at) as reached:
            began = time.monotonic()
            with _started(agent, job("client", place, JobTarget("server", address=reached), caps[0])) as reader:
                assert reader.stdout is not None
                threading.Thread(target=meanwhile, args=(writer,), daemon=True).start()
                read = reader.stdout.read()
            took_s = time.monotonic() - began
        if ran_of(read).outcome == "ok":  # then it ends by itself, on a busy machine a moment later
            with contextlib.suppress(subprocess.TimeoutExpired):
                writer.wait(5)
        assert writer.stdin is not None
        writer.stdin.close()  # as a controller does whose client has ended
        said += writer.stdout.read()  # type: ignore[union-attr]
    assert not any(hidden in read + said for hidden in _hidden(place, written_at))
    return Pair(ran_of(read), _if_ended(said), took_s)


def _hidden(*places: Place | None) -> list[bytes]:
    keys: list[Any] = [one.credential()["keys"] for one in places if one]
    return [*(one.secret.encode() for one in places if one), *(key.encode() for some in keys for key in some.values())]


def _if_ended(said: bytes) -> Ran:
    """What a writer gave; one that was killed gave no end."""
    ended = b'"type":"end"' in said
    return ran_of(said) if ended else replace(ran_of(said), outcome="killed")


@contextlib.contextmanager
def _started(agent: Path, line: bytes) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()
            yield process
        finally:
            process.kill()
