"""The network within one machine: the agent beside iperf3 and sockperf over the loopback device, interleaved.

Every tool sends from the first processor to the last one that this process may use. Loopback has no wire: what is
compared is the tools' own cost. Needs iperf3 and sockperf (Debian: apt-get install iperf3 sockperf).

usage: .venv/bin/python benchmarks/net.py [ROUNDS] [--record]        (7 rounds unless given)
"""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from agent import AGENT, cpus, job, missing, rounds, show, side_by_side
from cloudcmp.stats import histogram

SECONDS = "1"
SECRET = "0123456789abcdef" * 4
SENDER, RECEIVER = cpus()[0], cpus()[-1]


def ours(probe: str, params: dict[str, str]) -> list[dict[str, object]]:
    """The client's frames of one trial of two agents."""
    ends = {"duration_s": SECONDS, **params}
    serve = job(probe, ends, cpus=[RECEIVER]) | {"role": "server", "peer": "127.0.0.1:0", "secret": SECRET}
    with _agent(serve) as server:
        address = next(frame["addr"] for frame in _frames(server) if "addr" in frame)
        ask = job(probe, ends, cpus=[SENDER]) | {"role": "client", "peer": address, "secret": SECRET}
        with _agent(ask) as client:
            found = list(_frames(client))
    if not found or found[-1].get("outcome") != "ok":
        raise RuntimeError(f"the agents' trial did not end well: {[one for one in found if one['type'] == 'error']}")
    return found


@contextlib.contextmanager
def _agent(one: dict[str, object]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(one).encode() + b"\n")
        process.stdin.flush()
        yield process


def _frames(process: subprocess.Popen[bytes]) -> Iterator[dict[str, object]]:
    assert process.stdout is not None
    return (json.loads(line) for line in process.stdout)


def rate(probe: str, params: dict[str, str]) -> float:
    """Bytes a second that were received."""
    values = [float(str(one["value"])) for one in ours(probe, params) if one.get("metric") == f"{probe}_bytes_per_s"]
    return sum(values) / len(values)


def latency_s(protocol: str) -> tuple[float, float]:
    """Median and 99th percentile of the round trip."""
    found = ours("rtt", {"protocol": protocol, "size_bytes": "64"})
    hist = next(histogram.from_base64(str(one["hist"])) for one in found if one["type"] == "hist")
    return histogram.percentile_s(hist, 50), histogram.percentile_s(hist, 99)


@contextlib.contextmanager
def _server(words: Sequence[str], protocol: str) -> Iterator[str]:
    """A peer's server on a free port, for as long as it is asked."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    line = ["taskset", "-c", str(RECEIVER), *words, "-p", port]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(100):
                time.sleep(0.05)
                with socket.socket() as trial:
                    if protocol == "udp" or trial.connect_ex(("127.0.0.1", int(port))) == 0:
                        break
            time.sleep(0.2)
            yield port
        finally:
            process.terminate()


def iperf3(*options: str) -> float:
    """Bytes a second that its server received."""
    with _server(["iperf3", "-s"], "tcp") as port:
        line = ["taskset", "-c", str(SENDER), "iperf3", "-c", "127.0.0.1", "-p", port, "-t", SECONDS, "-J", *options]
        done = subprocess.run(line, check=True, capture_output=True, text=True)
    end = json.loads(done.stdout)["end"]
    if "-u" in options:
        return float(end["sum"]["bits_per_second"]) / 8 * (1 - float(end["sum"]["lost_percent"]) / 100)
    return float(end["sum_received"]["bits_per_second"]) / 8


def sockperf(protocol: str) -> tuple[float, float]:
    """Median and 99th percentile of the round trip."""
    tcp = ["--tcp"] if protocol == "tcp" else []
    with _server(["sockperf", "sr", "-i", "127.0.0.1", *tcp], protocol) as port:
        words = ["sockperf", "pp", "-i", "127.0.0.1", "-p", port, "-t", SECONDS, "-m", "64", "--full-rtt", *tcp]
        done = subprocess.run(["taskset", "-c", str(SENDER), *words], check=True, capture_output=True, text=True)
    told = {share: float(us) for share, us in re.findall(r"percentile (\d+\.\d+) =\s+([\d.]+)", done.stdout)}
    return told["50.000"] * 1e-6, told["99.000"] * 1e-6


def main() -> int:
    lost = [tool for tool in ("iperf3", "sockperf", "taskset") if not shutil.which(tool)]
    if why := missing() or (f"no {', '.join(lost)}: apt-get install iperf3 sockperf" if lost else None):
        print(why, file=sys.stderr)
        return 2
    print(f"{'loopback, B/s or s':<34} {'ours':>10} {'peer':>10}   ours/peer")
    turns = rounds(7)
    side_by_side("tcp-1-z", lambda: rate("tcp", {}), lambda: iperf3("-Z"), turns)
    side_by_side("tcp-1", lambda: rate("tcp", {}), iperf3, turns)
    side_by_side("tcp-8", lambda: rate("tcp", {"streams": "8"}), lambda: iperf3("-P", "8"), turns)
    side_by_side("udp", lambda: rate("udp", {}), lambda: iperf3("-u", "-b", "0", "-l", "1448"), turns)
    for protocol in ("tcp", "udp"):
        pairs = [(latency_s(protocol), sockperf(protocol)) for _ in range(turns)]
        for i, name in enumerate(("p50", "p99")):
            show(
                f"rtt-{protocol}-{name}",
                [a[i] / b[i] for a, b in pairs],
                f"{pairs[0][0][i]:>10.4g} {pairs[0][1][i]:>10.4g}",
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
