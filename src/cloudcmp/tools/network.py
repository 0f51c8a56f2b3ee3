"""ping, iperf and iperf3 between two machines; import only, because cloudcmp has probes of its own."""

import math
import re

from cloudcmp.model.tool import Reader, Reading, Report, UnclearOutput
from cloudcmp.tools import iperf3_json
from cloudcmp.tools.base import BYTES, JITTER, KIB, LATENCY, LOSS, MIB, reading
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


READERS = (
    Reader("ping", "text of iputils' ping, with its summary; one run or several", begins(r"PING \S+ \("), _ping),
    Reader("iperf3", "text or JSON of iperf3's client: TCP and UDP, one run or several", _is_iperf3, _iperf3),
    Reader(
        "iperf",
        "text of iperf 2's client: UDP with the server's report, TCP with intervals or -e",
        begins(r"\s*Client connecting to \S+, (TCP|UDP) port"),
        _iperf,
    ),
)
