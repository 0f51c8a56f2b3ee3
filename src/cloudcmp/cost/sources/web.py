"""Downloads price lists: streamed to a file, with deadlines, a size limit, and few attempts."""

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cloudcmp.errors import NotAllowed, ProviderFault, Throttled, Unreached, UserMistake
from cloudcmp.model.untrusted_text import one_line

if TYPE_CHECKING:
    import httpx

LIST_BYTES = 8 * 2**30
PAGE_BYTES = 64 * 2**20
_TRIES = 4
_PART = 1 << 16
_NEXT = "try again later, or save the list and name it with --from"
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}

ReportProgress = Callable[[str, int, int | None], None]
"""Reports a download: its name, the received bytes, and the total, None if unknown."""


def no_report(what: str, done: int, whole: int | None) -> None:
    """Reports nothing."""


@dataclass(slots=True)
class Web:
    """A client for price lists. Uses the environment's proxies; follows no redirects.

    `idle_s` is the longest silence of a server, `deadline_s` the longest time for a list. Limits apply to uncompressed
    bytes.
    """

    idle_s: float = 30.0
    deadline_s: float = 1800.0
    pause_s: float = 1.0
    report: ReportProgress = no_report
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _client: "httpx.Client | None" = field(default=None, init=False)

    def __enter__(self) -> "Web":
        import httpx

        agent = {"User-Agent": "cloudcmp", "Accept-Encoding": "gzip"}
        timeout = httpx.Timeout(self.idle_s, connect=min(15.0, self.idle_s))
        self._client = httpx.Client(timeout=timeout, headers=agent, follow_redirects=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def get(
        self, url: str, into: Path, *, what: str, most_bytes: int = PAGE_BYTES, headers: Mapping[str, str] | None = None
    ) -> None:
        """Downloads an address to a file.

        Raises ProviderFault if the response is invalid, too slow, truncated or too large, NotAllowed if it is refused,
        Unreached if there is no connection; the content of the file is then undefined.
        """
        check_url(url)
        ends = self.clock() + self.deadline_s
        for tries in range(1, _TRIES + 1):
            try:
                self._try(url, into, what, most_bytes, headers or {}, ends)
                return
            except (Throttled, Unreached):
                if tries == _TRIES or self.clock() > ends:
                    raise
                self.sleep(self.pause_s * 2 ** (tries - 1))

    def _try(self, url: str, into: Path, what: str, most_bytes: int, headers: Mapping[str, str], ends: float) -> None:
        import httpx

        assert self._client is not None
        try:
            with self._client.stream("GET", url, headers=dict(headers)) as answer:
                _check_status(answer, what)
                self._write(answer, into, what, most_bytes, ends)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            why = f"there is no way to {_host(url)} ({one_line(error) or 'no answer'})"
            raise Unreached.at(what, why, _NEXT) from None
        except httpx.TimeoutException:
            raise _fault(what, f"{_host(url)} sent nothing for {self.idle_s:g} s") from None
        except httpx.HTTPError as error:
            raise _fault(what, f"the answer broke off ({one_line(error)})") from None

    def _write(self, answer: "httpx.Response", into: Path, what: str, most_bytes: int, ends: float) -> None:
        size = 0
        announced = answer.headers.get("Content-Length", "")
        whole = int(announced) if announced.isascii() and announced.isdigit() else None
        with into.open("wb") as file:
            for part in _inflate(answer, what):
                size += len(part)
                if size > most_bytes:
                    raise _fault(what, f"the answer has more than {most_bytes} bytes")
                if self.clock() > ends:
                    raise _fault(what, f"it took longer than {self.deadline_s:g} s")
                file.write(part)
                self.report(what, answer.num_bytes_downloaded, whole)


def _inflate(answer: "httpx.Response", what: str) -> Iterator[bytes]:
    """Yields the response uncompressed, in parts of a bounded size; raises ProviderFault if it is truncated."""
    coding = answer.headers.get("Content-Encoding", "identity")
    if coding == "identity":
        yield from answer.iter_raw(_PART)
        return
    if coding != "gzip":
        raise _fault(what, f"it is compressed by {one_line(coding)!r}, which was not requested")
    inflater = zlib.decompressobj(31)
    try:
        for part in answer.iter_raw(_PART):
            rest = part
            while rest:
                yield inflater.decompress(rest, _PART * 16)
                rest = inflater.unconsumed_tail
        yield inflater.flush()
    except zlib.error as error:
        raise _fault(what, f"its compression cannot be read ({one_line(error)})") from None
    if not inflater.eof or inflater.unused_data:
        raise _fault(what, "its compression is cut short, or goes on after its end")


def check_url(url: str) -> str:
    """Returns the address if it uses HTTPS or is on this machine; else raises UserMistake."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return url
    raise UserMistake.at(one_line(url)[:80], "prices are fetched over HTTPS alone", "name an address with https://")


def same_origin(url: str, base: str) -> bool:
    """True if two addresses have the same scheme, host and port."""
    one, other = urlsplit(url), urlsplit(base)
    ports = {"https": 443, "http": 80}
    try:
        return (one.scheme, one.hostname, one.port or ports.get(one.scheme)) == (
            other.scheme,
            other.hostname,
            other.port or ports.get(other.scheme),
        )
    except ValueError:  # a port that is no number
        return False


def _check_status(answer: "httpx.Response", what: str) -> None:
    code = answer.status_code
    if code == 200:
        return
    why = f"the answer was {code} {one_line(answer.reason_phrase)}".rstrip()
    if code in {401, 403}:
        raise _fault(what, f"the answer was {code}: it is not allowed", NotAllowed, "check the API key that is used")
    raise _fault(what, why, Throttled if code == 429 or code >= 500 else ProviderFault)


def _fault(what: str, why: str, kind: type[ProviderFault] = ProviderFault, advice: str = _NEXT) -> ProviderFault:
    """Returns a fault that affects a whole list."""
    return kind.at(f"{what}, every SKU", why, advice)


def _host(url: str) -> str:
    return one_line(urlsplit(url).hostname)
