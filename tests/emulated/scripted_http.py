"""A small HTTP service that answers by its path: well, late, cut short, or with something that is no HTTP."""

import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_BODIES = {
    "/": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nready\n",
    "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nrea\r\n3\r\ndy\n\r\n0\r\n\r\n",
    "/moved": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
    "/503": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
    "/cut-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nshort",
    "/nothing": b"",
    "/noise": b"\x00\xff what is this\r\n\r\n",
}


class Scripted:
    """The service: its port, whether it is down (`down` closes each connection), and the requests that came."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.down = False
        self.requests: list[bytes] = []
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer._handle(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_: object) -> None:
                """A client that goes away is no fault."""

        self._context = context
        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path: str = "/", scheme: str = "http") -> str:
        """The URL of a path."""
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, raw: socket.socket) -> None:
        if self.down:
            return
        with suppress(OSError):
            connection = raw if self._context is None else self._context.wrap_socket(raw, server_side=True)
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        request = connection.recv(4096)
        while request.startswith(b"GET") and b"\r\n\r\n" not in request and (piece := connection.recv(4096)):
            request += piece
        self.requests.append(request)
        path = request.split()[1].decode() if request.startswith(b"GET ") else "/noise"
        if path == "/slow":
            time.sleep(0.5)
        elif path == "/drip":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(100):
                connection.sendall(b"x")
                time.sleep(0.02)
        connection.sendall(_BODIES.get(path.partition("?")[0], _BODIES["/"]))


@contextmanager
def scripted(context: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    """A service for the time of a test."""
    service = Scripted(context)
    try:
        yield service
    finally:
        service.close()
