"""The network between two namespaces: the agent beside iperf3, nuttcp and sockperf, interleaved.

The namespaces are joined by a pair of virtual devices. One stream goes from the first processor that this process may
use to the last one; with 8 streams both ends may use both. What is compared is the tools' own cost. Where namespaces
cannot be had, both ends are on the loopback device, under names of their own that are not recorded. Needs iperf3,
nuttcp and sockperf (Debian: apt-get install iperf3 nuttcp sockperf).

usage: .venv/bin/python benchmarks/net.py [ROUNDS] [--record]        (7 rounds unless given)
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from namespaces import LOOPBACK, Ends, NoNamespaces, joined

from agent import AGENT, cpus, job, missing, rounds, show
from cloudcmp.stats import histogram

SECONDS = "2"
SECRET = "0123456789abcdef" * 4
CAPS = {"bytes": 2**60, "bytes_per_s": 1e12, "packets_per_s": 1e12, "burst_s": 600.0}  # none that could be met
FIRST, LAST = cpus()[0], cpus()[-1]
BOTH = sorted({FIRST, LAST})
DATAGRAM_BYTES = 1448
LISTENING = "0A"  # the state of a socket in /proc/net/tcp


@dataclass(frozen=True)
class Run:
    """Bytes a second that arrived, and the processor seconds of each end for a gigabit of them; None if unknown."""

    rate: float
    sender_s: float
    receiver_s: float


class Pair:
    """Runs both ends of one tool after the other between the same two ends, on the same processors."""

    def __init__(self, ends: Ends, senders: Sequence[int], receivers: Sequence[int]) -> None:
        self.ends, self._senders, self._receivers = ends, senders, receivers

    def ours(self, probe: str, params: dict[str, str]) -> tuple[list[dict[str, Any]], float, float]:
        """The client's frames of one trial of two agents, and the processor seconds of client and server."""
        own = {"duration_s": SECONDS, **params}
        shared: dict[str, object] = {"secret": SECRET, "caps": CAPS}
        serve = job(probe, own, cpus=self._receivers) | shared | {"role": "server", "listen": f"{self.ends.receiver}:0"}
        serve |= {"targets": [{"role": "client", "address": self.ends.sender}]}
        with self._start(self._receiving([str(AGENT)]), serve) as server:
            address = next((frame["addr"] for frame in _frames(server) if "addr" in frame), None)
            ask = job(probe, own, cpus=self._senders) | shared | {"role": "client"}
            ask |= {"targets": [{"role": "server", "address": address}]}
            with self._start(self._sending([str(AGENT)]), ask) as client:
                found = list(_frames(client))
                sender_s = _processor_s(client)
            list(_frames(server))
            receiver_s = _processor_s(server)
        if not found or found[-1].get("outcome") != "ok":
            raise RuntimeError(
                f"the agents' trial did not end well: {[one for one in found if one['type'] == 'error']}"
            )
        return found, sender_s, receiver_s

    def bulk(self, probe: str, params: dict[str, str] | None = None) -> Run:
        """What arrived in a trial of ours."""
        found, sender_s, receiver_s = self.ours(probe, params or {})
        values = [float(one["value"]) for one in found if one.get("metric") == f"{probe}_bytes_per_s"]
        notes = {one["key"]: one["value"] for one in found if one["type"] == "note"}
        came = notes["datagrams_received"] * DATAGRAM_BYTES if probe == "udp" else notes["payload_bytes"]
        return _run(statistics.mean(values), float(came), sender_s, receiver_s)

    def latency_s(self, protocol: str) -> tuple[float, float]:
        """Median and 99th percentile of our round trip."""
        found, _, _ = self.ours("rtt", {"protocol": protocol, "size_bytes": "64"})
        hist = next(histogram.from_base64(str(one["hist"])) for one in found if one["type"] == "hist")
        return histogram.percentile_s(hist, 50), histogram.percentile_s(hist, 99)

    def iperf3(self, *options: str) -> Run:
        """What iperf3's server received."""
        port = str(_free_port())
        with self._server(["iperf3", "-s", "-1", "-B", self.ends.receiver, "-p", port], int(port)) as server:
            words = ["iperf3", "-c", self.ends.receiver, "-p", port, "-t", SECONDS, "-J", *options]
            text, sender_s = self._client(words)
            receiver_s = _processor_s(server)
        end = json.loads(text)["end"]
        if "-u" in options:
            share = 1 - float(end["sum"]["lost_percent"]) / 100
            came = float(end["sum"]["bytes"]) * share
            return _run(float(end["sum"]["bits_per_second"]) / 8 * share, came, sender_s, receiver_s)
        came = end["sum_received"]
        return _run(float(came["bits_per_second"]) / 8, float(came["bytes"]), sender_s, receiver_s)

    def nuttcp(self, *options: str) -> Run:
        """What nuttcp's server received."""
        port, data = _free_port(), _free_port()
        with self._server(["nuttcp", "-1", "--nofork", "-P", str(port), "-p", str(data)], port) as server:
            words = ["nuttcp", "-t", "-T", SECONDS, "-fparse", "-P", str(port), "-p", str(data), *options]
            text, sender_s = self._client([*words, self.ends.receiver])
            receiver_s = _processor_s(server)
        told = dict(re.findall(r"(\w+)=(\S+)", text))
        came = float(told["megabytes"]) * 2**20
        return _run(came / float(told["real_seconds"]), came, sender_s, receiver_s)

    def sockperf(self, protocol: str) -> tuple[float, float]:
        """Median and 99th percentile of sockperf's round trip."""
        port, tcp = _free_port(), ["--tcp"] if protocol == "tcp" else []
        at = ["-i", self.ends.receiver, "-p", str(port), *tcp]
        with self._server(["sockperf", "sr", *at], port if tcp else None):
            text, _ = self._client(["sockperf", "pp", *at, "-t", SECONDS, "-m", "64", "--full-rtt"])
        told = {share: float(us) for share, us in re.findall(r"percentile (\d+\.\d+) =\s+([\d.]+)", text)}
        return told["50.000"] * 1e-6, told["99.000"] * 1e-6

    def _sending(self, words: Sequence[str]) -> list[str]:
        return [*self.ends.sending, "taskset", "-c", ",".join(map(str, self._senders)), *words]

    def _receiving(self, words: Sequence[str]) -> list[str]:
        return [*self.ends.receiving, "taskset", "-c", ",".join(map(str, self._receivers)), *words]

    @contextlib.contextmanager
    def _start(self, words: Sequence[str], line: Mapping[str, object]) -> Iterator[subprocess.Popen[bytes]]:
        with _ended(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as process:
            assert process.stdin is not None
            process.stdin.write(json.dumps(dict(line)).encode() + b"\n")
            process.stdin.flush()
            yield process

    @contextlib.contextmanager
    def _server(self, words: Sequence[str], port: int | None) -> Iterator[subprocess.Popen[bytes]]:
        """A peer's server; waits until its TCP port, if any, listens: some serve only the first to connect."""
        process = subprocess.Popen(self._receiving(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with _ended(process):
            until = time.monotonic() + 5
            while port is not None and not _listens(process.pid, port) and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.1)
            yield process

    def _client(self, words: Sequence[str]) -> tuple[str, float]:
        """The output of a peer's client, and its processor seconds."""
        process = subprocess.Popen(self._sending(words), stdout=subprocess.PIPE)
        with _ended(process):
            assert process.stdout is not None
            text = process.stdout.read().decode()
            processor_s = _processor_s(process)
        if process.returncode:
            raise RuntimeError(f"{' '.join(words)} ended with exit {process.returncode}: {text[-300:]}")
        return text, processor_s


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is stopped in the end if it still runs."""
    with process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.terminate()


def _frames(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    return (json.loads(line) for line in process.stdout)


def _processor_s(process: subprocess.Popen[bytes]) -> float:
    """The processor seconds of a process that ends by itself, with its threads."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def _run(rate: float, came: float, sender_s: float, receiver_s: float) -> Run:
    gigabits = came * 8e-9
    return Run(rate, sender_s / gigabits, receiver_s / gigabits)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _listens(pid: int, port: int) -> bool:
    """Whether a TCP port listens in the network of a process."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in _lines(Path(f"/proc/{pid}/net/{name}"))]
    return any(row[1].endswith(f":{port:04X}") and row[3] == LISTENING for row in rows)


def _lines(table: Path) -> list[str]:
    try:
        return table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []  # it has ended, or knows no IPv6


def beside(name: str, label: str, ours: Callable[[], Run], peers: Mapping[str, Callable[[], Run]], turns: int) -> None:
    """Runs ours and each peer in turn, A B C A B C, and shows the ratios of rates and of processor time."""
    runs = [(ours(), {more: peer() for more, peer in peers.items()}) for _ in range(turns)]
    for more in peers:
        pairs = [(own, others[more]) for own, others in runs]
        _show(f"{name}{more}{label}", [(a.rate, b.rate) for a, b in pairs])
        _show(f"{name}{more}-cpu-sender{label}", [(a.sender_s, b.sender_s) for a, b in pairs])
        _show(f"{name}{more}-cpu-receiver{label}", [(a.receiver_s, b.receiver_s) for a, b in pairs])


def _show(name: str, pairs: Sequence[tuple[float, float]]) -> None:
    a, b = (statistics.median(side) for side in zip(*pairs, strict=True))
    show(name, [x / y for x, y in pairs], f"{a:>10.4g} {b:>10.4g}", "shared with others")


def compare(ends: Ends, turns: int) -> None:
    """All figures between two ends."""
    one, many = Pair(ends, [FIRST], [LAST]), Pair(ends, BOTH, BOTH)
    size = str(DATAGRAM_BYTES)
    print(f"{'B/s, s/Gbit or s':<34} {'ours':>10} {'peer':>10}   ours/peer")
    streams = {"-z": lambda: one.iperf3("-Z"), "": one.iperf3, "-nuttcp": one.nuttcp}
    beside("tcp-1", ends.label, lambda: one.bulk("tcp"), streams, turns)
    eight = {"": lambda: many.iperf3("-P", "8"), "-nuttcp": lambda: many.nuttcp("-N", "8")}
    beside("tcp-8", ends.label, lambda: many.bulk("tcp", {"streams": "8"}), eight, turns)
    datagrams = {
        "": lambda: one.iperf3("-u", "-b", "0", "-l", size),
        "-nuttcp": lambda: one.nuttcp("-u", "-R", "unlimited", "-l", size),
    }
    beside("udp", ends.label, lambda: one.bulk("udp"), datagrams, turns)
    for protocol in ("tcp", "udp"):
        pairs = [(one.latency_s(protocol), one.sockperf(protocol)) for _ in range(turns)]
        for i, name in enumerate(("p50", "p99")):
            _show(f"rtt-{protocol}-{name}{ends.label}", [(a[i], b[i]) for a, b in pairs])


def main() -> int:
    tools = ("iperf3", "nuttcp", "sockperf", "taskset", "setpriv")
    lost = [tool for tool in tools if not shutil.which(tool)]
    if why := missing() or (f"no {', '.join(lost)}: apt-get install iperf3 nuttcp sockperf" if lost else None):
        print(why, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with joined() as ends:
            compare(ends, rounds(7))
    except NoNamespaces as reason:
        print(f"both ends on loopback, because two namespaces cannot be had: {reason}")
        compare(LOOPBACK, rounds(7))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
