"""Starts a server of the table on free ports of loopback, and ends it."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.servers.fetch import Absent, fetched
from tests.servers.kinds import KINDS, Kind, Launch

_KEEPER = Path(__file__).with_name("keeper.py")
_ANSWERS_S = 90.0
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers: where, and whom it lets in.

    `endpoints` has a URL for each protocol, named as a study names it. `access` and `secret` are an access key and its
    secret, an account and its key, or a user and a password; both are empty where everybody is let in. `keeper` is the
    id of the process whose only child is the server.
    """

    name: str
    endpoints: Mapping[str, str]
    access: str
    secret: str
    keeper: int

    def host(self, protocol: str) -> str:
        """Host and port of a protocol, as gRPC clients take them."""
        return self.endpoints[protocol].partition("://")[2].partition("/")[0]


@contextlib.contextmanager
def serving(name: str, limit_s: float = 1800.0) -> Iterator[Served]:
    """A server of the table, empty, until the end of the block or for `limit_s` seconds.

    A light one is fetched if it is not there. Raises `Absent` if it cannot be had, RuntimeError if it does not answer.
    """
    kind = KINDS[name]
    if sys.platform != "linux":
        raise Absent("servers of other projects are started on Linux only, whose kernel ends them with the tests")
    place = fetched(kind.fetched_as, kind.source, kind.item, only_present=kind.heavy) if kind.source else Path()
    with contextlib.ExitStack() as stack:
        for left in reversed(range(_TRIES)):  # another process may take a free port first
            try:
                one = stack.enter_context(running(kind, place, limit_s))
                break
            except RuntimeError:
                if not left:
                    raise
        yield one


@contextlib.contextmanager
def running(kind: Kind, place: Path, limit_s: float) -> Iterator[Served]:
    """A server that lies at a place, in an empty folder, until the end of the block."""
    with contextlib.ExitStack() as stack:
        made = tempfile.TemporaryDirectory(prefix="cloudcmp-server-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(made))
        log = stack.enter_context(tempfile.TemporaryFile())
        launch = kind.launch(place, folder, _free(kind.ports))
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), str(os.getpid()), str(limit_s), str(kind.memory_mib),
             str(folder), *launch.command],
            cwd=folder, env=_environ(folder, launch), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        stack.callback(_end, keeper)
        yield _answering(kind, launch, keeper, log)


def _environ(folder: Path, launch: Launch) -> dict[str, str]:
    """Nothing of the user's but the path: what a server writes into its home or for the time being is in its folder."""
    return {
        "PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8",
        "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder), **launch.environ,
    }  # fmt: skip


def _free(n: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [each.getsockname()[1] for each in made]


def _end(keeper: "subprocess.Popen[bytes]") -> None:
    """The keeper ends its server first; if it does not, the kernel does when the keeper is killed."""
    keeper.terminate()
    try:
        keeper.wait(10)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()


def _answering(kind: Kind, launch: Launch, keeper: "subprocess.Popen[bytes]", log: IO[bytes]) -> Served:
    until = time.monotonic() + _ANSWERS_S
    while True:
        alive = keeper.poll() is None
        if alive and (said := _said(launch)) is not None and all(map(_answers, said.endpoints.values())):
            return Served(kind.name, said.endpoints, said.access, said.secret, keeper.pid)
        if not alive or time.monotonic() > until:
            log.seek(0)
            words = log.read().decode(errors="replace").splitlines()[-15:]
            raise RuntimeError("\n".join([f"{kind.name} does not answer:", *words]))
        time.sleep(0.02)


def _said(launch: Launch) -> Any:
    """The launch as it was asked for, or with what the server wrote of itself; None before it has."""
    if launch.card is None:
        return launch
    with contextlib.suppress(OSError, json.JSONDecodeError):
        return launch.told(json.loads(launch.card.read_text()))
    return None


def _answers(url: str) -> bool:
    """Whether somebody answers at a URL: HTTP with any status, anything else with a connection."""
    scheme, _, rest = url.partition("://")
    host, _, port = rest.partition("/")[0].partition(":")
    try:
        if scheme == "grpc":
            socket.create_connection((host, int(port)), 2).close()
        else:
            link = http.client.HTTPConnection(host, int(port), timeout=5)
            link.request("GET", "/")
            link.getresponse().read()
            link.close()
    except (OSError, http.client.HTTPException):
        return False
    return True
