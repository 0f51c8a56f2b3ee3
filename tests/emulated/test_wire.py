"""The server of the emulations: a mistake in one of them ends its test at once, and says where it is."""

import asyncio
import signal
import threading
import time
import traceback
import urllib.request

import pytest

from tests.emulated.wire import Answer, EmulationFault, Request, Server


def _mistaken(request: Request) -> Answer:
    if request.path == "/good":
        return Answer(body=b"good")
    raise KeyError("no such field")


def _ask(server: Server, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=20) as answer:
        return bytes(answer.read())


def _fails(server: Server) -> None:
    """Run into the mistake, and wait for what never comes."""
    with pytest.raises((OSError, EmulationFault)) as fault:
        _ask(server, "/bad")
    if isinstance(fault.value, EmulationFault):
        raise fault.value
    asyncio.run(asyncio.sleep(30))


def _used() -> None:
    with Server(_mistaken) as server:
        assert _ask(server, "/good") == b"good"
        _fails(server)


def test_a_mistake_interrupts_a_test_that_waits() -> None:
    began = time.monotonic()
    with pytest.raises(EmulationFault, match="no such field") as fault:
        _used()
    assert time.monotonic() - began < 20
    assert "_mistaken" in "".join(traceback.format_exception(fault.value.__cause__))


def _left() -> None:
    with Server(_mistaken) as server, pytest.raises(OSError, match=r"."):
        _ask(server, "/bad")


def test_a_mistake_is_raised_on_leaving_where_nothing_is_interrupted() -> None:
    found: list[BaseException] = []

    def run() -> None:
        try:
            _left()
        except EmulationFault as fault:
            found.append(fault)

    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(30)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert len(found) == 1
