"""Requests of HTTP/1.1 out of a stream of bytes, and answers as bytes."""

import re
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

HEAD_BYTES_MAX = 65536
BODY_BYTES_MAX = 256 * 1024 * 1024
_HEADERS_MAX = 200
_CHUNK_LINE_MAX = 256
_REQUEST_LINE = re.compile(rb"([A-Z]{1,16}) ([\x21-\x7e]{1,16384}) HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?")


class BadMessage(Exception):
    """The bytes are no request that can be answered; `status` is the answer's, after which the connection ends."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """The request line and the headers of a request, their names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    keeps_open: bool

    @property
    def path(self) -> str:
        """The path as it was sent, still encoded."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query as it was sent, still encoded."""
        return self.target.partition("?")[2]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to one request."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    code: str = ""
    """The service's code of an error."""
    length: int | None = None
    """The length to announce where no body is sent: the answer to HEAD."""

    def head(self, clock_s: float, body_bytes: int, *, keeps_open: bool) -> bytes:
        """The head as bytes, which announces `body_bytes`; `clock_s` is the service's clock as Unix time."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = ""
        lines = [f"HTTP/1.1 {self.status} {phrase}", f"Date: {http_date(int(clock_s))}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.status != 204:
            lines.append(f"Content-Length: {body_bytes}")
        if not keeps_open:
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


@lru_cache(maxsize=64)
def http_date(unix_s: int) -> str:
    """A Unix time as headers have it."""
    return formatdate(unix_s, usegmt=True)


class RequestReader:
    """Reads requests from the bytes of one connection."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._body = bytearray()
        self._left: int | None = None  # of the body or its chunk; None between requests
        self._chunked = self._ends = False
        self.head: Head | None = None
        """The head of the request whose body is being read."""

    def feed(self, data: bytes) -> None:
        """Takes bytes as they came."""
        self._buffer += data

    @property
    def waiting_bytes(self) -> int:
        """The number of bytes that no request has taken yet."""
        return len(self._buffer)

    def next(self) -> tuple[Head, bytes] | None:
        """The next complete request with its body; None if more bytes are needed. Raises BadMessage."""
        if self.head is None and not self._read_head():
            return None
        assert self.head is not None
        complete = self._read_chunks() if self._chunked else self._read_body()
        if not complete:
            return None
        head, body = self.head, bytes(self._body)
        self.head, self._left, self._body = None, None, bytearray()
        return head, body

    def _read_head(self) -> bool:
        while self._buffer[:2] == b"\r\n" and not self._searched:  # as RFC 9112 asks, before a request line
            del self._buffer[:2]
        end = self._buffer.find(b"\r\n\r\n", max(0, self._searched - 3))
        if end > HEAD_BYTES_MAX or (end < 0 and len(self._buffer) > HEAD_BYTES_MAX):
            raise BadMessage(431, "the head is too long")
        if end < 0:
            self._searched = len(self._buffer)
            return False
        lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        self._searched = 0
        self.head = _parse_head(lines)
        self._chunked, self._left = _framing(self.head.headers)
        self._ends = False
        return True

    def _read_body(self) -> bool:
        assert self._left is not None
        if self._left:
            taken = self._buffer[: self._left]
            del self._buffer[: self._left]
            self._body += taken
            self._left -= len(taken)
        return self._left == 0

    def _read_chunks(self) -> bool:
        """Reads chunks as far as they came; the bytes of a chunk are followed by an empty line."""
        while True:
            if self._left is not None and self._left > 0:
                if not self._read_body():
                    return False
                self._left = -1
            line = self._line()
            if line is None:
                return False
            if self._left == -1:
                if line:
                    raise BadMessage(400, "a chunk is longer than announced")
                self._left = 0
            elif self._ends:  # trailers, up to an empty line
                if not line:
                    return True
            else:
                self._begin_chunk(line)

    def _begin_chunk(self, line: bytes) -> None:
        size = _CHUNK.fullmatch(line)
        if size is None:
            raise BadMessage(400, "the size of a chunk is no number")
        self._left = int(size[1], 16)
        self._ends = self._left == 0
        if len(self._body) + self._left > BODY_BYTES_MAX:
            raise BadMessage(413, "the body is too long")

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n", 0, _CHUNK_LINE_MAX)
        if end < 0:
            if len(self._buffer) >= _CHUNK_LINE_MAX:
                raise BadMessage(400, "a line between chunks is too long")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line


def _parse_head(lines: list[bytes]) -> Head:
    request = _REQUEST_LINE.fullmatch(lines[0])
    if request is None:
        raise BadMessage(400, "the first line is no request")
    if len(lines) > _HEADERS_MAX:
        raise BadMessage(431, "there are too many headers")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise BadMessage(400, "a line is no header")
        name, value = match[1].decode("ascii").lower(), match[2].decode("latin-1").strip(" \t")
        if name in headers and name in {"content-length", "host", "transfer-encoding"}:
            raise BadMessage(400, f"{name} comes twice")
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    if request[3] == b"1" and "host" not in headers:
        raise BadMessage(400, "there is no host")
    target = request[2].decode("ascii")
    if not target.startswith("/"):
        raise BadMessage(400, "the target is no path")
    tokens = {token.strip() for token in headers.get("connection", "").lower().split(",")}
    keeps_open = "close" not in tokens and (request[3] == b"1" or "keep-alive" in tokens)
    return Head(request[1].decode("ascii"), target, headers, keeps_open)


def _framing(headers: dict[str, str]) -> tuple[bool, int]:
    """Whether the body comes in chunks, and its length otherwise."""
    encoding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if encoding is not None:
        if encoding.lower() != "chunked" or length is not None:
            raise BadMessage(400, "the length of the body is ambiguous")
        return True, 0
    if length is None:
        return False, 0
    if not _LENGTH.fullmatch(length.encode("latin-1")):
        raise BadMessage(400, "content-length is no number")
    if int(length) > BODY_BYTES_MAX:
        raise BadMessage(413, "the body is too long")
    return False, int(length)
