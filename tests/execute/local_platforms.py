"""Platforms on this machine: one that plays Cloud Run and one that plays AWS Lambda, with planted times and limits.

Both run the real handler, a process for each instance, on loopback. A context manager ends all of them.
"""

import base64
import http.client
import json
import os
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.agent.locate import locate

TOKEN = "5ec3e7"


@dataclass(frozen=True)
class Plan:
    """What a platform does: `start_s` is planted before each new process, `lag_s` before each answer."""

    start_s: float = 0.0
    lag_s: float = 0.0
    most: int = 4
    at_once: int = 1
    limit_s: float = 30.0
    limit_bytes: int = 32 << 20
    memory_bytes: int = 0


class Server(ThreadingHTTPServer):
    """A server whose refused connections end quietly."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no fault."""


class Quiet(BaseHTTPRequestHandler):
    """Keeps connections, sends each answer as a whole, logs nothing."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def body(self) -> bytes:
        """The request's body."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        """Send a whole answer."""
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a port of loopback; gives `host:port`."""
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(eq=False)
class Instance:
    """A process of the handler, and its requests at this moment."""

    process: subprocess.Popen[str]
    address: str = ""
    present: int = 0
    close: Callable[[], None] = lambda: None
    events: "Queue[dict[str, Any]]" = field(default_factory=Queue)
    answers: "dict[str, Queue[tuple[int, dict[str, Any]]]]" = field(default_factory=dict)


@dataclass
class Fleet:
    """The instances of a platform: one more wherever none is free, until there are as many as there may be."""

    plan: Plan
    folder: Path
    launch: Callable[[], Instance]
    instances: list[Instance] = field(default_factory=list)
    lock: threading.Condition = field(default_factory=threading.Condition)
    starting: int = 0
    started: int = 0

    def place(self) -> Instance:
        """An instance with room for one more request; waits for one where there can be no more."""
        with self.lock:
            while True:
                free = [one for one in self.instances if one.present < self.plan.at_once]
                if free:
                    free[0].present += 1
                    return free[0]
                if len(self.instances) + self.starting < self.plan.most:
                    self.starting += 1
                    break
                self.lock.wait(1.0)
        time.sleep(self.plan.start_s)
        one = self.launch()
        with self.lock:
            self.starting -= 1
            self.started += 1
            one.present = 1
            self.instances.append(one)
            self.lock.notify_all()
        return one

    def leave(self, one: Instance, *, broken: bool = False) -> None:
        """Give a place back; an instance that broke is ended."""
        with self.lock:
            one.present -= 1
            if broken and one in self.instances:
                self.instances.remove(one)
            self.lock.notify_all()
        if broken:
            end(one)

    def rest(self) -> None:
        """End all idle instances, as after a long time without requests."""
        with self.lock:
            idle = [one for one in self.instances if not one.present]
            self.instances = [one for one in self.instances if one.present]
        for one in idle:
            end(one)

    def close(self) -> None:
        """End every instance."""
        with self.lock:
            every, self.instances = self.instances, []
        for one in every:
            end(one)


def start(folder: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start a process of the handler."""
    return subprocess.Popen(
        [str(locate()), "serve", "--limits", "--dir", str(folder)], text=True,
        env={"PATH": os.environ["PATH"], "CLOUDCMP_SERVE_TOKEN": TOKEN, **environment},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip


def end(one: Instance) -> None:
    """End a process, and wait for it."""
    one.process.kill()
    one.process.wait()
    if one.process.stdout is not None:
        one.process.stdout.close()
    one.close()


@dataclass
class LocalPlatform:
    """A running platform: where it answers, and its instances."""

    url: str
    fleet: Fleet


@contextmanager
def cloud_run(plan: Plan, folder: Path) -> Iterator[LocalPlatform]:
    """A platform that forwards requests to containers: it scales out by concurrency, and limits time and memory."""

    def launch() -> Instance:
        process = start(folder, {"PORT": "0"})
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        return Instance(process, ready["addr"].replace("0.0.0.0", "127.0.0.1"))

    fleet = Fleet(plan, folder, launch)

    class Front(Quiet):
        def do_GET(self) -> None:
            body = self.body()
            if len(body) > plan.limit_bytes:
                self.answer(413, {})
                return
            one = fleet.place()
            watched = threading.Event()
            if plan.memory_bytes:
                threading.Thread(target=watch_memory, args=(one, plan.memory_bytes, watched), daemon=True).start()
            time.sleep(plan.lag_s)
            try:
                status, headers, text = forward(one, self, body, plan.limit_s)
            except TimeoutError:
                fleet.leave(one, broken=True)
                self.answer(504, {})
                return
            except (OSError, http.client.HTTPException):
                fleet.leave(one, broken=True)
                self.answer(503, {})
                return
            finally:
                watched.set()
            fleet.leave(one)
            if len(text) > plan.limit_bytes:
                self.answer(500, {})
            else:
                self.answer(status, headers, text)

        do_POST = do_GET  # noqa: N815

    with serving(Front) as address:
        try:
            yield LocalPlatform(f"http://{address}", fleet)
        finally:
            fleet.close()


def forward(one: Instance, request: Quiet, body: bytes, limit_s: float) -> tuple[int, dict[str, str], bytes]:
    """Hand a request to an instance."""
    connection = http.client.HTTPConnection(one.address, timeout=limit_s)
    try:
        kept = {name: value for name, value in request.headers.items() if name.lower().startswith("cloudcmp")}
        connection.request(request.command, request.path, body=body or None, headers=kept)
        response = connection.getresponse()
        return response.status, ours(response.headers.items()), response.read()
    finally:
        connection.close()


def ours(headers: Any) -> dict[str, str]:
    """The headers that a platform lets through."""
    return {name: value for name, value in headers if name.lower().startswith(("cloudcmp", "content-type", "cache"))}


def watch_memory(one: Instance, most: int, stop: threading.Event) -> None:
    """End an instance that takes more memory than it may, as a kernel does."""
    path = Path(f"/proc/{one.process.pid}/statm")
    while not stop.wait(0.005):
        with suppress(OSError, ValueError, IndexError):
            if int(path.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") > most:
                one.process.kill()
                return


@contextmanager
def aws_lambda(plan: Plan, folder: Path, memory_mb: int = 512) -> Iterator[LocalPlatform]:
    """A platform that gives events to functions by the runtime interface, one at a time to each process."""

    def launch() -> Instance:
        one = Instance(None)  # type: ignore[arg-type] - the process needs the address of its interface first
        ending = ExitStack()
        address = ending.enter_context(serving(runtime_of(one, plan.limit_bytes)))
        one.process = start(
            folder, {"AWS_LAMBDA_RUNTIME_API": address, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(memory_mb)}
        )
        one.close = ending.close
        return one

    fleet = Fleet(plan, folder, launch)

    class Front(Quiet):
        def do_GET(self) -> None:
            body = self.body()
            if len(body) * 4 > plan.limit_bytes * 3:
                self.answer(413, {})
                return
            one = fleet.place()
            time.sleep(plan.lag_s)
            number = uuid.uuid4().hex
            one.answers[number] = Queue()
            one.events.put(event_of(self, number, body))
            try:
                status, told = one.answers[number].get(timeout=plan.limit_s)
            except Empty:
                fleet.leave(one, broken=True)
                self.answer(504, {})
                return
            fleet.leave(one)
            if status == 200:
                self.answer(told["statusCode"], ours(told["headers"].items()), base64.b64decode(told["body"]))
            else:
                self.answer(status, {})

        do_POST = do_GET  # noqa: N815

    with serving(Front) as address:
        try:
            yield LocalPlatform(f"http://{address}", fleet)
        finally:
            fleet.close()


def runtime_of(one: Instance, most_bytes: int) -> type[Quiet]:
    """The interface that one process asks for events."""

    class Runtime(Quiet):
        def do_GET(self) -> None:
            while one.process is None or one.process.poll() is None:
                with suppress(Empty):
                    event = one.events.get(timeout=0.05)
                    self.answer(200, {"Lambda-Runtime-Aws-Request-Id": event["id"]}, json.dumps(event).encode())
                    return
            self.close_connection = True

        def do_POST(self) -> None:
            body = self.body()
            *_, number, kind = self.path.split("/")
            too_long = kind == "response" and len(body) > most_bytes
            self.answer(413 if too_long else 202, {})
            if not too_long:
                one.answers[number].put((200 if kind == "response" else 502, json.loads(body)))

    return Runtime


def event_of(request: Quiet, number: str, body: bytes) -> dict[str, Any]:
    """A request as an event of payload format 2.0."""
    parts = urlsplit(request.path)
    headers = {name.lower(): value for name, value in request.headers.items()}
    return {
        "id": number, "version": "2.0", "rawPath": parts.path, "rawQueryString": parts.query, "headers": headers,
        "requestContext": {"http": {"method": request.command}}, "isBase64Encoded": True,
        "body": base64.b64encode(body).decode(),
    }  # fmt: skip
