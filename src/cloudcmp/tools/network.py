"""ping and iperf3 between two machines, beside cloudcmp's own probes; iperf 2, whose output is only imported."""

import math
import re

from cloudcmp.model.metric import Param, ParamKind
from cloudcmp.model.tool import Measure, PairRun, Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools import iperf3_json
from cloudcmp.tools.base import (
    BYTES,
    JITTER,
    KIB,
    LATENCY,
    LOSS,
    MIB,
    PATH,
    choice,
    count,
    measures,
    reading,
    size,
)
from cloudcmp.tools.page import (
    NUMBER,
    Page,
    above_zero,
    begins,
    follows,
    number,
    scaled,
    whole,
)

_RATES = {"bits/sec": 1 / 8, "Kbits/sec": 1e3 / 8, "Mbits/sec": 1e6 / 8, "Gbits/sec": 1e9 / 8, "Tbits/sec": 1e12 / 8}
_MOVED = {"Bytes": 1.0, "KBytes": KIB, "MBytes": MIB, "GBytes": KIB * MIB, "TBytes": MIB * MIB}
_INTERVAL = rf"\s*\[\s*(SUM|\d+)\]\s+({NUMBER})-\s*({NUMBER})\s+sec\s+({NUMBER}) (\w+)\s+({NUMBER}) ([A-Za-z]+/sec)(.*)"
_UDP = rf"\s+({NUMBER}) ms\s+(\d+)/\s*(\d+) \({NUMBER}%\)\s*"
_UDP3 = rf"{_UDP}(sender|receiver|)\s*"
_CLIENT = r"\s*Client connecting to \S+, (TCP|UDP) port \d+.*"
_STREAM = r"\s*\[\s*(\d+)\] local \S+ port \d+ connected (?:with|to) \S+ port \d+.*"

_PING = r"PING \S+ \(\S+\) (\d+)\(\d+\) bytes of data\."
_RTT = rf"rtt min/avg/max/mdev = ({NUMBER})/({NUMBER})/({NUMBER})/({NUMBER}) ms(?:, pipe \d+)?"
_LOST = rf"(\d+) packets transmitted, (\d+) received,(?: \+\d+ \w+,)* ({NUMBER})% packet loss, time \d+ms"


def _ping(text: str) -> tuple[Report, ...]:
    page = Page(text)
    runs = page.parts(lambda line: re.fullmatch(_PING, line, re.ASCII) is not None)
    return tuple(_of_ping(run) for run in (runs if len(runs) > 1 else [page]))


def _of_ping(page: Page) -> Report:
    _, begins = page.one(_PING, "the size of the packets")
    place, lost = page.one(_LOST, "how many packets were lost")
    sent, back = above_zero(lost[1], place), number(lost[2], place)
    if back > sent or abs(100 * (1 - back / sent) - number(lost[3], place)) > 1:
        raise UnclearOutput(f"{place}: the loss does not follow from the packets")
    place, rtt = page.one(_RTT, "the round-trip times")
    low, mean, high = (above_zero(rtt[i], place) * 1e-3 for i in (1, 2, 3))
    if not low <= mean <= high:
        raise UnclearOutput(f"{place}: the mean is not between the least and the largest")
    times = [above_zero(match[1], where) * 1e-3 for where, match in page.all(rf".*icmp_seq=\d+ .*time=({NUMBER}) ms")]
    if len(times) == back and times:
        follows(mean, math.fsum(times) / len(times), 0.02 + 1e-6 / mean, place)
    readings = (
        reading("rtt_mean", LATENCY, mean),
        reading("rtt_min", LATENCY, low),
        reading("rtt_max", LATENCY, high),
        reading("lost", LOSS, 1 - back / sent),
    )
    return Report("ping", "", {"payload_bytes": begins[1]}, readings)


def _rate(place: str, line: re.Match[str]) -> float:
    """Bytes a second of an interval's line; they must agree with the bytes moved in it."""
    rate = scaled(line[6], line[7], _RATES, place)
    seconds = number(line[3], place) - number(line[2], place)
    if seconds <= 0:
        raise UnclearOutput(f"{place}: the interval has no length")
    follows(rate, scaled(line[4], line[5], _MOVED, place) / seconds, 0.05 + 0.011 / seconds, place)
    return rate


def _iperf(text: str) -> tuple[Report, ...]:
    page = Page(text)
    _, begins = page.one(_CLIENT, "the protocol")
    streams = sorted({match[1] for _, match in page.all(_STREAM)})
    if not streams:
        raise UnclearOutput("no line tells a connection")
    settings = {"protocol": begins[1].lower(), "streams": str(len(streams))}
    lines = page.all(_INTERVAL)
    of_server = [(place, line) for place, line in lines if re.fullmatch(_UDP, line[8], re.ASCII)]
    if begins[1] == "UDP":
        return (Report("iperf", "", settings, _datagrams(of_server, streams)),)
    totals = {one: _total(lines, one) for one in ([*streams, "SUM"] if len(streams) > 1 else streams)}
    place, last = totals["SUM" if len(streams) > 1 else streams[0]]
    settings["duration_s"] = whole(float(round(number(last[3], place))))
    return (Report("iperf", "", settings, (reading("throughput", BYTES, _rate(place, last)),)),)


def _total(lines: list[tuple[str, re.Match[str]]], stream: str) -> tuple[str, re.Match[str]]:
    """The line of a stream's whole time: the last, from 0, marked as such or longer than one before."""
    mine = [(place, line) for place, line in lines if line[1] == stream]
    if not mine:
        raise UnclearOutput(f"no line tells the throughput of [{stream}]: the output is cut")
    place, last = mine[-1]
    alone = len(mine) == 1 and stream != "SUM" and "-1K/" not in last[8]
    if number(last[2], place) != 0 or alone or any(number(line[3], at) > number(last[3], place) for at, line in mine):
        raise UnclearOutput(
            f"{place}: whether this is all of [{stream}] or its first interval is not told; run iperf with -e"
        )
    return place, last


def _datagrams(reports: list[tuple[str, re.Match[str]]], streams: list[str]) -> tuple[Reading, ...]:
    """The server's report of all streams: the sum of the rates, and the share of datagrams lost."""
    if sorted(line[1] for _, line in reports) != streams:
        raise UnclearOutput("not each stream has one report of the server")
    rate = lost = sent = 0.0
    for place, line in reports:
        udp = re.fullmatch(_UDP, line[8], re.ASCII)
        assert udp is not None
        rate += _rate(place, line)
        lost += number(udp[2], place)
        sent += above_zero(udp[3], place)
    return reading("throughput", BYTES, rate), reading("lost", LOSS, lost / sent)


def _is_iperf3(text: str) -> bool:
    return bool(re.search(r"^\s*iperf Done\.\s*$", text, re.MULTILINE)) or iperf3_json.looks_like(text)


def _iperf3(text: str) -> tuple[Report, ...]:
    if iperf3_json.looks_like(text):
        return iperf3_json.reports(text)
    page = Page(text)
    runs = page.parts(lambda line: line.startswith("Connecting to host "))
    return tuple(_of_text(run) for run in (runs if len(runs) > 1 else [page]))


def _of_text(page: Page) -> Report:
    page.one(r"\s*iperf Done\.", "that the run is done")
    streams = sorted({match[1] for _, match in page.all(_STREAM)})
    lines = page.all(_INTERVAL)
    settings = {"streams": str(len(streams))}
    ends = [(place, line) for place, line in lines if line[8].strip().endswith("receiver")]
    udp = [(place, line) for place, line in lines if re.fullmatch(_UDP3, line[8], re.ASCII)]
    if udp:
        return Report("iperf3", "", {**settings, "protocol": "udp"}, _datagrams3(udp, streams))
    stream = "SUM" if len(streams) > 1 else (streams[0] if streams else "")
    sums = [(place, line) for place, line in ends if line[1] == stream]
    if len(sums) != 1:
        raise UnclearOutput(f"{len(sums)} lines tell what the receiver of [{stream}] got, one is needed")
    place, line = sums[0]
    settings["duration_s"] = whole(float(round(number(line[3], place))))
    return Report("iperf3", "", {**settings, "protocol": "tcp"}, (reading("throughput", BYTES, _rate(place, line)),))


def _datagrams3(lines: list[tuple[str, re.Match[str]]], streams: list[str]) -> tuple[Reading, ...]:
    """Rates, loss and jitter of one stream of datagrams.

    Since version 3.7 sender and receiver have a line each. Before, there is one, with the sender's rate: what was
    received follows from the loss.
    """
    of = {match[4]: (place, line, match) for place, line in lines if (match := re.fullmatch(_UDP3, line[8], re.ASCII))}
    if len(of) != len(lines) or of.keys() not in ({""}, {"sender", "receiver"}) or len(streams) != 1:
        raise UnclearOutput("several streams of datagrams are not read, and one needs its sender and its receiver")
    place, line, udp = of["receiver"] if "receiver" in of else of[""]
    lost = number(udp[2], place) / above_zero(udp[3], place)
    if lost > 1:
        raise UnclearOutput(f"{place}: more was lost than sent")
    sent = _rate(*of["sender"][:2]) if "sender" in of else _rate(place, line)
    readings = [reading("sent", BYTES, sent), reading("lost", LOSS, lost)]
    readings.append(reading("jitter", JITTER, number(udp[1], place) * 1e-3))
    if lost < 1:
        received = _rate(place, line) if "receiver" in of else sent * (1 - lost)
        readings.append(reading("throughput", BYTES, received))
    return tuple(readings)


PING = Reader("ping", "text of iputils' ping, with its summary; one run or several", begins(r"PING \S+ \("), _ping)
IPERF3 = Reader("iperf3", "text or JSON of iperf3's client: TCP and UDP, one run or several", _is_iperf3, _iperf3)
READERS = (
    PING,
    IPERF3,
    Reader(
        "iperf",
        "text of iperf 2's client: UDP with the server's report, TCP with intervals or -e",
        begins(r"\s*Client connecting to \S+, (TCP|UDP) port"),
        _iperf,
    ),
)

_ICMP_BYTES = 8  # the header of an echo
_REPLY_S = 2
_OPEN_SINCE = (3, 20)  # strangers can stop or mislead the servers of older versions


def _ping_line(settings: Settings) -> str:
    return (
        f"ping -n -c {settings['packets']} -i {settings['interval_s']} -s {settings['payload_bytes']} "
        f'-W {_REPLY_S} "$CLOUDCMP_PEER"'
    )


def _ping_run(settings: Settings) -> PairRun:
    return PairRun(
        packet_bytes=int(settings["payload_bytes"]) + _ICMP_BYTES,
        packets=int(settings["packets"]),
        spacing_s=float(settings["interval_s"]),
    )


def _iperf3_line(settings: Settings) -> str:
    """The client's line; iperf3 writes why it failed into its JSON, and may end with exit 0 all the same."""
    datagrams = f" -u -l {settings['datagram_bytes']}" if settings["protocol"] == "udp" else ""
    reverse = " -R" if settings["direction"] == "reverse" else ""
    return (
        'iperf3 -J -c "$CLOUDCMP_PEER" -p "$CLOUDCMP_PORT" --connect-timeout 5000 '
        f"-t {settings['duration_s']} -P {settings['streams']}{datagrams}{reverse} "
        f"-b $((CLOUDCMP_BITS_PER_S / {settings['streams']})) >run.json\n"
        "code=$?\ncat run.json\n"
        'why=$(sed -n \'s/.*"error":[[:space:]]*"\\(.*\\)".*/\\1/p\' run.json)\n'
        '[ -z "$why" ] || { echo "$why" >&2; exit 1; }\nexit $code'
    )


def _iperf3_server() -> str:
    """The server's line: one client, on this machine's own address; refuses old versions that others could reach."""
    major, minor = _OPEN_SINCE
    return (
        'case "$CLOUDCMP_ADDRESS" in 127.*|::1) ;; *)\n'
        "version=$(iperf3 --version | sed -n '1s/^iperf \\([0-9]*[.][0-9]*\\).*/\\1/p')\n"
        "major=${version%.*} minor=${version#*.}\n"
        f"[ $((${{major:-0}} * 1000 + ${{minor:-0}})) -ge {major * 1000 + minor} ] || {{\n"
        f'echo "iperf3 $version may not listen beyond loopback, {major}.{minor} and later may" >&2; exit 1; }};;\n'
        'esac\nexec iperf3 -s -1 -B "$CLOUDCMP_ADDRESS" -p "$CLOUDCMP_PORT"'
    )


def _iperf3_run(settings: Settings) -> PairRun:
    rate = settings["rate_bytes_per_s"]
    return PairRun(
        serve=_iperf3_server(),
        bulk_s=float(settings["duration_s"]),
        rate_bytes_per_s=math.inf if rate == "max" else float(rate),
        packet_bytes=int(settings["datagram_bytes"]) if settings["protocol"] == "udp" else 0,
    )


def _iperf3_measures(settings: Settings) -> tuple[Measure, ...]:
    if settings["protocol"] == "tcp":
        return measures(throughput=BYTES)
    return measures(sent=BYTES, throughput=BYTES, lost=LOSS, jitter=JITTER)


TOOLS = (
    Tool("ping", "Round-trip times of ICMP echoes from the first machine of a launch to the second.",
         "What a transport adds; a network may treat ICMP unlike other packets.",
         (("debian", "iputils-ping"), ("fedora", "iputils"), ("alpine", "iputils")),
         (PATH, count("packets", "50", "echoes, one after the other", short="5"),
          Param("interval_s", ParamKind.SECONDS, "0.2", "time between echoes; less than 0.2 s may need root"),
          size("payload_bytes", "56", "payload of an echo")),
         _ping_line, lambda _: measures(rtt_mean=LATENCY, rtt_min=LATENCY, rtt_max=LATENCY, lost=LOSS), PING,
         lambda s: float(s["packets"]) * float(s["interval_s"]) + 1, _ping_run),
    Tool("iperf3", "Bytes a second between the first machine of a launch and the second, over TCP or UDP.",
         "Latency; iperf3 before 3.16 has one thread for all streams.",
         (("debian", "iperf3"), ("fedora", "iperf3"), ("alpine", "iperf3")),
         (PATH, choice("protocol", "tcp udp", "transport"),
          choice("direction", "forward reverse", "from the first machine to the second, or the other way"),
          count("streams", "1", "connections at once"),
          count("duration_s", "10", "length of the run in whole seconds", short="1"),
          Param("rate_bytes_per_s", ParamKind.RATE, "max", "rate of all streams; max: as fast as the caps allow", ("max",)),
          size("datagram_bytes", "1448", "payload of a datagram")),
         _iperf3_line, _iperf3_measures, IPERF3, lambda s: float(s["duration_s"]) + 1, _iperf3_run),
)  # fmt: skip
