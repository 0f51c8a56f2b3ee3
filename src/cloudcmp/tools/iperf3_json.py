"""The JSON of iperf3's client (-J): TCP and UDP, forward, in reverse, or both at once; one run or several."""

from typing import Any

from cloudcmp.model.tool import Reading, Report, UnclearOutput
from cloudcmp.tools.base import BYTES, JITTER, LOSS, reading
from cloudcmp.tools.page import amount, documents, entry, follows, positive, whole, word

_REVERSE = "_bidir_reverse"


def looks_like(text: str) -> bool:
    """True if a text holds such a document, whole or cut."""
    return '"sum_sent"' in text or ('"test_start"' in text and '"num_streams"' in text)


def reports(text: str) -> tuple[Report, ...]:
    """A report of each run, or of each direction of a run in both at once; raises UnclearOutput."""
    return tuple(report for output in documents(text) for report in _of_run(output))


def _of_run(output: Any) -> list[Report]:
    if isinstance(output, dict) and output.get("error"):
        raise UnclearOutput(f"the run ended with an error: {str(output['error'])[:60]}")
    start, end = entry(output, "start"), entry(output, "end")
    test = entry(start, "test_start")
    settings = _settings(test)
    version = str(start.get("version", ""))[:40]
    read = _datagrams if settings["protocol"] == "udp" else _stream
    if not isinstance(end, dict):
        raise UnclearOutput("end is no JSON object")
    if amount(test, "bidir") if "bidir" in test else f"sum_received{_REVERSE}" in end:
        # At once, each direction takes from the other: neither is a run in one direction.
        return [
            Report("iperf3", version, {**settings, "direction": name}, read(end, suffix))
            for name, suffix in (("forward_of_both", ""), ("reverse_of_both", _REVERSE))
        ]
    if "reverse" in test:
        settings["direction"] = "reverse" if amount(test, "reverse") else "forward"
    return [Report("iperf3", version, settings, read(end, ""))]


def _settings(test: Any) -> dict[str, str]:
    settings = {"protocol": word(str(entry(test, "protocol"))).lower(), "streams": whole(positive(test, "num_streams"))}
    if "bytes" in test and amount(test, "bytes"):
        settings["moved_bytes"] = whole(positive(test, "bytes"))
    else:
        settings["duration_s"] = whole(positive(test, "duration"))
    if "target_bitrate" in test and amount(test, "target_bitrate"):
        settings["target_bits_per_s"] = whole(positive(test, "target_bitrate"))
    return settings


def _stream(end: Any, suffix: str) -> tuple[Reading, ...]:
    """Bytes a second of all streams, as received."""
    return (reading("throughput", BYTES, _rate(end, f"sum_received{suffix}")),)


def _datagrams(end: Any, suffix: str) -> tuple[Reading, ...]:
    """Bytes a second sent and received, the share of datagrams lost, and the mean jitter of all streams.

    Before version 3.10 there is one sum, with the sender's bytes: what was received follows from the loss.
    """
    name = f"sum{suffix}"
    total = entry(end, name)
    lost = amount(total, "lost_packets") / positive(total, "packets")
    if not 0 <= lost <= 1 or abs(amount(total, "lost_percent") / 100 - lost) > 0.01:
        raise UnclearOutput(f"end.{name}: the loss does not follow from the packets")
    jitter_ms = amount(total, "jitter_ms")
    if jitter_ms < 0:
        raise UnclearOutput(f"end.{name}.jitter_ms: {jitter_ms:g} is below zero")
    sent = _rate(end, f"sum_sent{suffix}" if f"sum_sent{suffix}" in end else name)
    readings = [reading("sent", BYTES, sent), reading("lost", LOSS, lost), reading("jitter", JITTER, jitter_ms * 1e-3)]
    if lost < 1:
        told = f"sum_received{suffix}"
        received = _rate(end, told) if told in end else sent * (1 - lost)
        readings.append(reading("throughput", BYTES, received))
    return tuple(readings)


def _rate(end: Any, name: str) -> float:
    """Bytes a second of a sum; they must agree with its bytes and seconds."""
    total = entry(end, name)
    rate = positive(total, "bits_per_second") / 8
    follows(rate, positive(total, "bytes") / positive(total, "seconds"), 0.01, f"end.{name}")
    return rate
