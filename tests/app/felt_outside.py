"""What clients really felt behind a link with planted loss and delay, and what the server's own kernel says of it."""

import json
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cloudcmp.execute.watch.http_prober import HttpProber
from cloudcmp.model.watch import WatchAnswer, WatchTerms
from cloudcmp.stats.describe import median, share_interval, t_interval
from tests.emulated.lossy_link import ADDRESSES, lossy_link

PORT = 8080
START = "from cloudcmp.cli.entry import main; main()"
_WORKERS = 8


@dataclass(frozen=True)
class Both:
    """The answers that the prober outside got, the document of the passive watch, and what the link lost."""

    answers: list[WatchAnswer]
    felt: Any
    lost_share: float

    @property
    def times(self) -> list[float]:
        """What each request took."""
        return [one.response_s for one in self.answers if one.response_s is not None]


def serve(server_s: float, size: int, backlog: int, at_once: bool) -> socket.socket:
    """A server of one answer a connection, in the namespace of the caller; it takes `server_s` for each."""
    listening = socket.create_server((ADDRESSES[0], PORT), backlog=backlog)

    def answer(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(30)
            request = b""
            while b"\r\n\r\n" not in request and (piece := connection.recv(4096)):
                request += piece
            time.sleep(server_s)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                if at_once:
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()
                else:
                    answer(connection)

    threading.Thread(target=accept, daemon=True).start()
    return listening


def felt(
    requests: int, *, delay_s: float, loss: float, server_s: float = 0.02, size: int = 2000, backlog: int = 1024,
    at_once: bool = True, workers: int = _WORKERS, seed: int = 1,
) -> Both:  # fmt: skip
    """Ask a server behind a link so often, while `cloudcmp watch --passive` runs beside the server."""
    terms = WatchTerms(f"http://{ADDRESSES[0]}:{PORT}/", 60.0, 60.0)
    with lossy_link(delay_s, loss, seed) as (server, client, link):
        listening = server.run(lambda: serve(server_s, size, backlog, at_once))
        command = [sys.executable, "-c", START, "watch", "--passive", "--port", str(PORT), "--for", "10min", "--json"]
        watching = server.run(
            lambda: subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        server.run(wait_for_listener)
        before = (link.passed, link.lost)

        def ask_all() -> list[WatchAnswer]:
            with ThreadPoolExecutor(workers) as pool:
                return [
                    one for one in pool.map(lambda _: HttpProber(terms).probe(), range(requests)) if one is not None
                ]

        answers = client.run(ask_all)
        lost, passed = link.lost - before[1], link.passed - before[0]
        time.sleep(0.5)  # the last ends are reported when they are over
        watching.terminate()
        out, err = watching.communicate(timeout=60)
        listening.close()
    assert watching.returncode == 130, err
    return Both(answers, json.loads(out)["data"]["felt"], lost / (lost + passed))


def disagreements(requests: int, *, delay_s: float, loss: float, size: int, usual: bool = True) -> list[str]:
    """Where the estimate does not agree with what was planted and what was felt outside; none if it does.

    The intervals of both means overlap; the planted loss is within the interval of 99.99 % of the estimated one, or a
    thousandth from it, because a kernel also repeats what is only late. With `usual`, the median is the same within a
    tenth and a few ticks of the kernel: a busy computer delays the prober, which no server sees.
    """
    both = felt(requests, delay_s=delay_s, loss=loss, size=size)
    found, case = both.felt, f"{delay_s} s, {loss}, {size} B"
    outside = t_interval(both.times, 0.99)
    assert outside is not None
    mean, middle, segments = found["mean"]["bounds"], found["median"]["value"], found["loss"]["n"]
    lost = share_interval(round(found["loss"]["value"] * segments), segments, 0.9999)
    wrong = [] if found["n"] >= 0.98 * requests else [f"{case}: {found['n']} of {requests} connections were used"]
    if not (mean["low"] <= outside.high and outside.low <= mean["high"]):
        wrong.append(f"{case}: the mean is {mean}, and outside {outside}")
    if not lost.low - 0.001 <= both.lost_share <= lost.high + 0.001:
        wrong.append(f"{case}: the loss is {lost}, and {both.lost_share:.4f} were lost")
    if usual and abs(middle - median(both.times)) > 0.1 * middle + 0.02:
        wrong.append(f"{case}: the median is {middle}, and outside {median(both.times):.4f}")
    return wrong


def wait_for_listener(within_s: float = 30.0) -> None:
    """Wait until somebody hears of ended connections in this namespace: the passive watch has begun."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        with open("/proc/thread-self/net/netlink", encoding="ascii") as file:  # noqa: PTH123
            if any(line.split()[1] == "4" and int(line.split()[3], 16) for line in file.readlines()[1:]):
                return
        time.sleep(0.02)
    raise AssertionError("the passive watch did not begin")
