"""The requests of a watch to a real service, and what each ending is called."""

import socket
import threading
import time

import pytest
from tests.emulated.arm_tls import authority
from tests.emulated.scripted_http import Scripted, scripted

from cloudcmp.execute.watch.http_prober import HttpProber
from cloudcmp.model.watch import WatchAnswer, WatchTerms


@pytest.fixture(scope="module")
def service():
    with scripted() as running:
        yield running


def ask(url: str, *, timeout_s: float = 5.0, status: int | None = None, text: str = "", ca: str = "") -> WatchAnswer:
    answer = HttpProber(WatchTerms(url, 60.0, timeout_s, status, text), ca).probe()
    assert answer is not None
    return answer


@pytest.mark.parametrize("path", ["/", "/chunked", "/?a=b", ""])
def test_a_whole_answer_is_timed_with_its_parts(path: str, service: Scripted) -> None:
    found = ask(service.url(path), text="ready")
    assert (found.ok, found.reason, found.status, found.size_bytes, found.address) == (True, "", 200, 6, "127.0.0.1")
    assert found.response_s is not None
    assert [name for name, _ in found.phases] == ["dns", "connect", "first_byte"]
    assert 0 < sum(seconds for _, seconds in found.phases) <= found.response_s < 5


def test_the_request_is_plain_and_asks_for_no_kept_connection(service: Scripted) -> None:
    ask(service.url("/?plain"))
    head, *fields = service.requests[-1].decode().split("\r\n")
    assert head == "GET /?plain HTTP/1.1"
    assert f"Host: 127.0.0.1:{service.port}" in fields
    assert "Connection: close" in fields
    assert any(one.startswith("User-Agent: cloudcmp-watch/") for one in fields)


@pytest.mark.parametrize(
    ("path", "reason", "status"),
    [
        ("/503", "status 503", 503),
        ("/cut", "cut short", None),
        ("/cut-chunk", "cut short", None),
        ("/nothing", "cut short", None),
        ("/noise", "no HTTP", None),
    ],
)
def test_a_failure_has_its_reason(path: str, reason: str, status: int | None, service: Scripted) -> None:
    found = ask(service.url(path))
    assert (found.ok, found.reason, found.status) == (False, reason, status)
    assert (found.response_s is None) == (status is None)


@pytest.mark.parametrize("path", ["/slow", "/drip"])
def test_what_comes_too_late_is_no_answer(path: str, service: Scripted) -> None:
    begun = time.monotonic()
    found = ask(service.url(path), timeout_s=0.2)
    assert (found.ok, found.response_s, found.reason) == (False, None, "timed out")
    assert time.monotonic() - begun < 2


def test_what_is_expected_decides(service: Scripted) -> None:
    assert ask(service.url("/moved")).ok
    assert ask(service.url("/moved"), status=302).ok
    assert ask(service.url("/moved"), status=200).reason == "status 302"
    assert ask(service.url("/503"), status=503).ok
    assert ask(service.url("/"), text="READY").reason == "text missing"


def test_a_refused_connection_and_an_unknown_name_are_told_apart(service: Scripted) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert ask(f"http://127.0.0.1:{port}/").reason == "refused"
    assert ask("http://no-such-name.invalid/").reason == "name not resolved"


def test_tls_is_timed_and_an_unknown_authority_is_no_answer() -> None:
    context, file = authority()
    with scripted(context) as secured:
        found = ask(secured.url("/", "https"), ca=file.read_text(encoding="ascii"))
        assert found.ok, found.reason
        assert [name for name, _ in found.phases] == ["dns", "connect", "tls", "first_byte"]
        assert ask(secured.url("/", "https")).reason == "certificate not trusted"
    with scripted() as plain:
        assert ask(plain.url("/", "https")).reason in {"TLS failed", "connection lost"}


def test_an_interrupted_request_says_nothing_of_the_service(service: Scripted) -> None:
    prober = HttpProber(WatchTerms(service.url("/drip"), 60.0, 10.0))
    threading.Timer(0.1, prober.interrupt).start()
    begun = time.monotonic()
    assert prober.probe() is None
    assert time.monotonic() - begun < 5
    assert prober.probe() is None
