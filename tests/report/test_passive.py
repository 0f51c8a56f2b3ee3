"""What a passive watch and a watch print: the answer first, in 80 columns."""

import io
from dataclasses import replace

from rich.console import Console

from cloudcmp.analysis.felt import felt_times
from cloudcmp.analysis.watch import summarise
from cloudcmp.model.passive import ConnectionInfo, Counters, ServerWatch
from cloudcmp.model.watch import LineSpan, Watched, WatchSample
from cloudcmp.model.watch_summary import WatchedFolder
from cloudcmp.report.passive import show_felt
from cloudcmp.report.watch import percent, show_watched

ONE = ConnectionInfo(
    port=443, rtt_s=0.03, min_rtt_s=0.03, rto_s=0.23, last_received_s=0.1, last_sent_s=0.04, last_acked_s=0.01,
    busy_s=0.03, bytes_received=100, bytes_sent=2000, bytes_again=100, data_received=1, data_sent=2, retransmits=0,
    needless_retransmits=0, ended=True,
)  # fmt: skip


def drawn() -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, width=80, highlight=False), stream


def test_the_estimate_comes_first_and_what_it_cannot_see_last() -> None:
    console, stream = drawn()
    seen = ServerWatch(443, 60.0, (ONE,) * 200, Counters(230, 20, 20, 3), ((3, 128),), False, True, 0.004)
    show_felt(console, felt_times(seen))
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("ANSWER       port 443: clients felt ")
    assert max(map(len, lines)) <= 80
    text = " ".join(stream.getvalue().split())
    assert "estimated from 200 connections in 1 min 00 s" in text
    assert "30 were accepted, here or at other ports, and not seen" in text
    assert text.rpartition("CANNOT SEE")[2].count("handshakes") == 2


def test_no_time_is_told_closer_than_a_tick_of_the_kernel() -> None:
    console, stream = drawn()
    quick = replace(
        ONE,
        rtt_s=6e-6,
        min_rtt_s=6e-6,
        bytes_again=0,
        last_received_s=0.1,
        last_sent_s=0.1,
        last_acked_s=0.1,
        busy_s=0.0,
    )
    show_felt(console, felt_times(ServerWatch(80, 8.0, (quick,) * 100, Counters(100, 0, 0, 0), (), True, False, 0.004)))
    lines = stream.getvalue().splitlines()
    for name in ("request to whole answer", "median without these waits", "95 % without these waits"):
        (line,) = (one for one in lines if one.startswith(name))
        assert "under 4.00 ms" in line, line
        assert " to 4.0" in line, line
    (line,) = (one for one in lines if one.startswith("connect, a round trip"))
    assert "6.00 µs" in line  # round trips have a clock of microseconds
    text = " ".join(stream.getvalue().split())
    assert "clients felt under 4.00 ms (0 s to " in text
    assert "times under 4.00 ms: the kernel counts those of answers in such ticks" in text


def test_a_port_without_requests_is_said_so() -> None:
    console, stream = drawn()
    show_felt(console, felt_times(ServerWatch(443, 60.0, (), Counters(None, None, None, None), (), True, False, 0.004)))
    assert stream.getvalue().startswith("ANSWER       port 443: no answered request in 1 min 00 s")
    assert "estimate " not in stream.getvalue()


def test_a_watch_shows_outages_between_samples_and_what_is_not_signed() -> None:
    console, stream = drawn()
    goods = [True] * 10 + [False] * 3 + [True] * 400
    samples = tuple(WatchSample(1.76e9 + 60 * at, ok, 0.1 if ok else None, "" if ok else "refused")
                    for at, ok in enumerate(goods))  # fmt: skip
    summary = summarise(Watched("https://example.com/", 60.0, samples))
    folder = WatchedFolder(
        "w", summary, 420, 400, (LineSpan(401, 420),), 18, 5, 7, "SHA256:" + "x" * 43, "a" * 64, 2, 1, 1, ""
    )
    show_watched(console, [folder])
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    assert "good in 410 of 413 samples, 99.27 %" in flat
    assert "2 min 00 s to 4 min 00 s" in flat
    for part in (
        "18 samples are left out, of which 5 failed, as nobody signed them: with them 423 of 431 are good, 98.1 %, as "
        "'cloudcmp sla --unsigned' counts",
        "lines 401 to 420 are after the last head",
        "1 restart ",
        "1 damaged last line, cut off and kept",
        "its watcher still runs, or was killed",
    ):
        assert part in flat


def test_a_share_keeps_the_digits_of_what_is_missing() -> None:
    assert [percent(one) for one in (1.0, 0.5, 0.94, 0.99943, 0.9999999)] == [
        "100.0 %", "50.0 %", "94.0 %", "99.943 %", "99.999990 %",
    ]  # fmt: skip
