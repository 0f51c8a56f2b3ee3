"""One HTTP/1.1 connection to a handler, over which one request at a time is timed."""

import http.client
import math
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from cloudcmp.errors import UserMistake
from cloudcmp.model.platform import Handler

PATIENCE_S = 60.0
"""How long an answer may take, besides what it was asked to take."""
_STALE_S = 4.0
"""A connection that was idle for longer is opened anew: the other end may close it at any moment."""
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """A handler's address, and the token that it asks for."""

    host: str
    port: int
    tls: bool
    path: str
    token: str = ""
    context: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: the time to its last byte (None if none came whole), its length, and what it tells of the handler."""

    began: float
    response_s: float | None
    received_bytes: int
    handler: Handler | None
    reason: str = ""


def target_of(url: str, token: str = "", ca: str = "") -> Target:
    """Read a URL; `ca` is PEM text of authorities that are trusted besides the system's.

    Raises UserMistake for a URL that is none of HTTP, or has a user, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UserMistake.at(url, "it is no URL", "write e.g. https://handler.example.org") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UserMistake.at(url, "it is no URL of HTTP", "write e.g. https://handler.example.org")
    if parts.username is not None or parts.query or parts.fragment:
        raise UserMistake.at(url, "it has more than a host and a path", "write e.g. https://handler.example.org/api")
    tls = parts.scheme == "https"
    context = ssl.create_default_context() if tls else None
    if context and ca:
        context.load_verify_locations(cadata=ca)
    return Target(parts.hostname, port or (443 if tls else 80), tls, parts.path.rstrip("/"), token, context)


class Connection:
    """A connection that is opened where it is needed, outside of what is timed."""

    def __init__(self, target: Target, clock: Callable[[], float] = time.perf_counter) -> None:
        self._target = target
        self._clock = clock
        self._open: http.client.HTTPConnection | None = None
        self._used = -math.inf

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def get(self, path: str, patience_s: float = PATIENCE_S, expected: int | None = None) -> Answer:
        """Ask for a page; an answer of another length than `expected` is none."""
        return self._ask("GET", path, None, patience_s, expected)

    def post(self, path: str, body: bytes, patience_s: float = PATIENCE_S) -> Answer:
        """Send a body."""
        return self._ask("POST", path, body, patience_s, None)

    def _ask(self, method: str, path: str, body: bytes | None, patience_s: float, expected: int | None) -> Answer:
        began = self._clock()
        try:
            opened = self._ready(patience_s)
            began = self._clock()
            opened.request(method, self._target.path + path, body=body, headers=self._headers())
            response = opened.getresponse()
            text = response.read(_MOST_BYTES)
            ended = self._clock()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return Answer(began, None, 0, None, reason_of(error))
        self._used = ended
        if response.will_close:
            self.close()
        handler = handler_of(response.headers.get)
        answer = Answer(began, ended - began, len(text), handler)
        if response.status != http.client.OK:
            return replace(answer, response_s=None, reason=f"status {response.status}")
        if expected is not None and len(text) != expected:
            return replace(answer, response_s=None, reason="wrong length")
        return answer

    def _ready(self, patience_s: float) -> http.client.HTTPConnection:
        target = self._target
        if self._open is not None and self._clock() - self._used > _STALE_S:
            self.close()
        if self._open is None:
            if target.context:
                opened: http.client.HTTPConnection = http.client.HTTPSConnection(
                    target.host, target.port, timeout=patience_s, context=target.context
                )
            else:
                opened = http.client.HTTPConnection(target.host, target.port, timeout=patience_s)
            opened.connect()
            with suppress(OSError):
                opened.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open = opened
        self._open.sock.settimeout(patience_s)
        return self._open

    def _headers(self) -> dict[str, str]:
        token = {"cloudcmp-token": self._target.token} if self._target.token else {}
        return {"Accept-Encoding": "identity", "Cache-Control": "no-cache", "User-Agent": "cloudcmp", **token}


def reason_of(error: Exception) -> str:
    """A word for a failure that every language of a system gives alike."""
    words = (
        (TimeoutError, "timed out"),
        (ConnectionRefusedError, "refused"),
        (socket.gaierror, "unknown host"),
        (ssl.SSLCertVerificationError, "untrusted certificate"),
        (ssl.SSLError, "no TLS"),
        (http.client.IncompleteRead, "cut off"),
        (http.client.RemoteDisconnected, "closed"),
        (ConnectionError, "closed"),
        (http.client.HTTPException, "no HTTP"),
    )
    return next((word for kind, word in words if isinstance(error, kind)), "unreachable")


def handler_of(header: Callable[[str], str | None]) -> Handler | None:
    """What headers tell of the handler's process; None if they are not those of our handler."""
    instance = (header("cloudcmp-instance") or "")[:64]
    if not instance.isalnum():
        return None
    return Handler(
        instance=instance,
        age_s=_number(header("cloudcmp-age-s")),
        took_s=_number(header("cloudcmp-took-s")),
        task_s=_number(header("cloudcmp-task-s")),
        first=header("cloudcmp-first") == "1",
        parallel=_whole(header("cloudcmp-parallel")),
        memory_bytes=_whole(header("cloudcmp-memory-bytes")),
        disk_in_memory=header("cloudcmp-disk") == "memory",
    )


def _number(text: str | None) -> float | None:
    """A duration that a header states; None if it states none."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 20 else None
