"""Sends one HTTP request at a time to a watched service, and times its parts."""

import http.client
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from cloudcmp import __version__
from cloudcmp.model.watch import WatchAnswer, WatchTerms

LARGEST_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 64 * 1024
_PORTS = {"http": 80, "https": 443}


class HttpProber:
    """Sends GET requests of the terms of a watch, each on a new connection, and reads the whole answer.

    The time goes from before the name is resolved until after the last byte, by this process's own clock: it includes
    some tenths of a millisecond of this program. Follows no redirection, uses no proxy, keeps no cookie, and tries the
    addresses of a name in the resolver's order, one after the other. `authorities` are PEM text of certificate
    authorities that are trusted besides the system's.
    """

    def __init__(self, terms: WatchTerms, authorities: str = "") -> None:
        self._terms = terms
        self._url = urlsplit(terms.target)
        self._tls: ssl.SSLContext | None = None
        if self._url.scheme == "https":
            self._tls = ssl.create_default_context()
            if authorities:
                self._tls.load_verify_locations(cadata=authorities)
        self._current: _Request | None = None
        self._interrupted = False

    def probe(self) -> WatchAnswer | None:
        """What one request gave within the limit; None if it was interrupted."""
        if self._interrupted:
            return None
        request = self._current = _Request(self._terms, self._url, self._tls)
        threading.Thread(target=request.run, daemon=True).start()  # a name that is not resolved cannot be interrupted
        finished = request.done.wait(self._terms.timeout_s)
        if self._interrupted:
            return None
        answer = request.answer
        if not finished or answer is None:
            request.abandon()
            return WatchAnswer(False, None, "timed out", phases=request.phases())
        if answer.response_s is not None and answer.response_s > self._terms.timeout_s:
            return WatchAnswer(False, answer.response_s, "timed out", answer.status, answer.size_bytes, answer.phases)
        return answer

    def interrupt(self) -> None:
        """Ends the current request, and every later one, at once."""
        self._interrupted = True
        if self._current is not None:
            self._current.abandon()
            self._current.done.set()


@dataclass(slots=True)
class _Request:
    """One request in a thread of its own; `done` is set once `answer` is there."""

    terms: WatchTerms
    url: SplitResult
    tls: ssl.SSLContext | None
    done: threading.Event = field(default_factory=threading.Event)
    answer: WatchAnswer | None = None
    _socket: socket.socket | None = None
    _times: dict[str, float] = field(default_factory=dict)
    _address: str = ""

    def run(self) -> None:
        """Send the request and read the answer."""
        try:
            self.answer = self._ask()
        except Exception as error:  # a service may send anything
            self.answer = WatchAnswer(False, None, reason_of(error), phases=self.phases(), address=self._address)
        finally:
            if self._socket is not None:
                self._socket.close()
            self.done.set()

    def abandon(self) -> None:
        """End the connection, so that the thread ends and closes it."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def phases(self) -> tuple[tuple[str, float], ...]:
        """The parts of the time that are over."""
        return tuple(self._times.copy().items())  # its thread may add another

    def _ask(self) -> WatchAnswer:
        begun = time.perf_counter()
        connection = http.client.HTTPConnection(self.url.hostname or "", self._port(), timeout=self.terms.timeout_s)
        connection.sock = self._connected(begun)
        path = (self.url.path or "/") + (f"?{self.url.query}" if self.url.query else "")
        sent = time.perf_counter()
        connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
        for name, value in (("Host", self._host()), ("User-Agent", f"cloudcmp-watch/{__version__}"),
                            ("Accept", "*/*"), ("Connection", "close")):  # fmt: skip
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        self._times["first_byte"] = time.perf_counter() - sent
        size, has_text = _read(response, self.terms.text.encode())
        response_s = time.perf_counter() - begun
        reason = self._refusal(response.status, size, has_text)
        return WatchAnswer(not reason, response_s, reason, response.status, size, self.phases(), self._address)

    def _refusal(self, status: int, size: int, has_text: bool) -> str:
        """Why a whole answer is not the expected one; empty if it is."""
        expected = self.terms.status
        if (status != expected) if expected is not None else not 200 <= status < 400:
            return f"status {status}"
        if size > LARGEST_BYTES:
            return "too large"
        return "" if has_text else "text missing"

    def _connected(self, begun: float) -> socket.socket:
        """A connection to the first address that takes one, with TLS if the service has it."""
        found = socket.getaddrinfo(self.url.hostname, self._port(), type=socket.SOCK_STREAM)
        resolved = time.perf_counter()
        self._times["dns"] = resolved - begun
        raw = self._socket = self._dialled([(family, address) for family, _, _, _, address in found])
        connected = time.perf_counter()
        self._times["connect"] = connected - resolved
        if self.tls is None:
            return raw
        secured = self._socket = self.tls.wrap_socket(raw, server_hostname=self.url.hostname)
        self._times["tls"] = time.perf_counter() - connected
        return secured

    def _dialled(self, addresses: list[tuple[int, tuple[object, ...]]]) -> socket.socket:
        last: OSError = ConnectionRefusedError()
        for family, address in addresses:
            dialled = self._socket = socket.socket(family, socket.SOCK_STREAM)
            dialled.settimeout(self.terms.timeout_s)
            dialled.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._address = str(address[0])
            try:
                dialled.connect(address)
            except OSError as error:
                dialled.close()
                last = error
            else:
                return dialled
        raise last

    def _port(self) -> int:
        return self.url.port or _PORTS[self.url.scheme]

    def _host(self) -> str:
        name = self.url.hostname or ""
        shown = f"[{name}]" if ":" in name else name
        return shown if self.url.port in {None, _PORTS[self.url.scheme]} else f"{shown}:{self.url.port}"


def _read(response: http.client.HTTPResponse, text: bytes) -> tuple[int, bool]:
    """The size of a body, read to its end or until it is too large, and whether it contains a text."""
    size, found, kept = 0, not text, b""
    while size <= LARGEST_BYTES and (piece := response.read(_PIECE_BYTES)):
        size += len(piece)
        found = found or text in kept + piece
        kept = (kept + piece)[-max(1, len(text)) :]
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return size, found


def reason_of(error: Exception) -> str:
    """The word for a request that failed."""
    words: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
        (TimeoutError, "timed out"),
        (socket.gaierror, "name not resolved"),
        (ssl.SSLCertVerificationError, "certificate not trusted"),
        (ssl.SSLError, "TLS failed"),
        (ConnectionRefusedError, "refused"),
        ((http.client.IncompleteRead, http.client.RemoteDisconnected), "cut short"),
        (ConnectionError, "connection lost"),
        (http.client.HTTPException, "no HTTP"),
        (OSError, "unreachable"),
    )
    return next((word for kind, word in words if isinstance(error, kind)), f"failed ({type(error).__name__})")
