"""What the kernel says of real connections on loopback, and its counters."""

import socket
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.analysis.felt import felt_times
from cloudcmp.execute.passive import server_watch
from cloudcmp.execute.passive.counters import parse_counters, read_counters
from cloudcmp.execute.passive.sock_diag import Ended, listen_queue, open_connections
from cloudcmp.execute.watch.clock import SystemClock
from cloudcmp.model.passive import Unseen

needs_linux = pytest.mark.skipif(not Path("/proc/net/netstat").exists(), reason="sock_diag is Linux's")


@needs_linux
def test_open_connections_and_the_queue_of_a_port_are_seen() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=7) as server:
        port = server.getsockname()[1]
        assert listen_queue(port) == (0, 7)
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert listen_queue(port) == (1, 7)
            accepted, _ = server.accept()
            with accepted:
                client.sendall(b"x" * 1000)
                accepted.recv(1000)
                accepted.sendall(b"y" * 500)
                client.recv(500)
                ((_, found),) = open_connections(port)
    assert (found.port, found.bytes_received, found.bytes_sent, found.ended) == (port, 1000, 500, False)
    assert 0 < found.min_rtt_s <= found.rtt_s < 1
    assert listen_queue(port) is None


@needs_linux
def test_a_connection_is_heard_of_as_it_ends_with_the_time_that_its_answer_took() -> None:
    try:
        ended = Ended()
    except PermissionError:
        pytest.skip("hearing of connections as they end takes CAP_NET_ADMIN")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                time.sleep(0.2)
                connection.sendall(b"z" * 100)

        threading.Thread(target=answer, daemon=True).start()
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"?")
            while client.recv(100):
                pass
    found, until = [], time.monotonic() + 10
    while not found and time.monotonic() < until:
        found = [one for one in ended.connections() if one.port == port]
        time.sleep(0.01)
    ended.close()
    (one,) = found
    assert (one.ended, one.data_received, one.data_sent, one.retransmits) == (True, 1, 1, 0)
    assert one.last_received_s - one.last_acked_s >= 0.19
    assert one.last_received_s - one.last_sent_s >= 0.19


@needs_linux
def test_without_the_right_a_watch_sees_what_is_open_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> Ended:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(server_watch, "Ended", refused)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, server.accept()[0] as accepted:
            client.sendall(b"?")
            accepted.recv(1)
            accepted.sendall(b"answer")
            client.recv(6)
            seen = server_watch.watch_server(port, 0.02, 0.1, SystemClock(threading.Event()))
    (one,) = seen.connections
    assert (seen.every_end, one.ended, one.bytes_sent, seen.lost) == (False, False, 6, False)
    assert Unseen.SHORT_CONNECTIONS in felt_times(seen).cannot_see
    assert {most for _, most in seen.queue} == {128}


@needs_linux
def test_with_the_right_a_watch_sees_each_connection_once_ended_or_not() -> None:
    try:
        Ended().close()
    except PermissionError:
        pytest.skip("hearing of connections as they end takes CAP_NET_ADMIN")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        kept, gone = (socket.create_connection(("127.0.0.1", port)) for _ in "ab")
        accepted = [server.accept()[0] for _ in "ab"]
        for one in (kept, gone):
            one.sendall(b"?")
        for one in accepted:
            one.recv(1)
            one.sendall(b"answer")
        for one in (kept, gone):
            one.recv(6)

        def close() -> None:
            time.sleep(0.1)
            gone.close()
            accepted[1].close()

        closing = threading.Thread(target=close)
        closing.start()
        seen = server_watch.watch_server(port, 0.02, 0.5, SystemClock(threading.Event()))
        closing.join()
        kept.close()
        accepted[0].close()
    assert seen.every_end
    assert sorted((one.ended, one.bytes_sent) for one in seen.connections) == [(False, 6), (True, 6)]


@needs_linux
def test_accepted_connections_are_counted() -> None:
    before = read_counters()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        server.accept()[0].close()
    after = read_counters()
    assert before.accepted is not None
    assert after.accepted is not None
    assert after.accepted > before.accepted
    assert after.listen_drops is not None


def test_counters_are_read_by_name_and_missing_ones_are_unknown(tmp_path: Path) -> None:
    text = "Tcp: ActiveOpens PassiveOpens\nTcp: 3 -1\nnoise\nTcpExt: ListenDrops\nTcpExt: 12\nTcpExt: 5\n"
    found = parse_counters(text)
    assert found == {("Tcp", "ActiveOpens"): 3, ("Tcp", "PassiveOpens"): -1, ("TcpExt", "ListenDrops"): 12}
    assert read_counters(tmp_path).accepted is None


@given(st.text(max_size=200))
def test_any_text_is_no_counter_or_one(text: str) -> None:
    assert all(isinstance(value, int) for value in parse_counters(text).values())
