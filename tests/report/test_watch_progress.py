"""The progress of a watch: changes of the service, heads for a witness, and a live line in a terminal only."""

import io

import pytest
from rich.console import Console

from cloudcmp.model.watch import WatchSample
from cloudcmp.report.watch_progress import CountDown, WatchProgress

URL = "https://example.com/"


def sampled(progress: WatchProgress, *goods: bool) -> None:
    for at, ok in enumerate(goods):
        sample = WatchSample(1.76e9 + 60 * at, ok, 0.1 if ok else None, "" if ok else "refused")
        progress.sampled(URL, sample, at + 3)


def test_each_change_is_a_line_and_each_head_goes_to_the_witness() -> None:
    stream, heads = io.StringIO(), []
    with WatchProgress(Console(file=stream, width=80), witness=heads.append) as progress:
        sampled(progress, True, True, False, False, True)
        progress.signed(URL, 7, "ab")
        progress.note(URL, "the clock of this computer was set by +3 s")
        progress.listening("http://127.0.0.1:9464/metrics")
    assert stream.getvalue().splitlines() == [
        "2025-10-09 08:55:20 https://example.com/: refused",
        "2025-10-09 08:57:20 https://example.com/: good again",
        "https://example.com/: the clock of this computer was set by +3 s",
        "metrics at http://127.0.0.1:9464/metrics",
    ]
    assert heads == ["head 7 ab https://example.com/"]


def test_a_quiet_watch_prints_only_notes() -> None:
    stream = io.StringIO()
    with WatchProgress(Console(file=stream, width=80), quiet=True) as progress:
        sampled(progress, True, False)
        progress.listening("http://127.0.0.1:9464/metrics")
        progress.signed(URL, 7, "ab")
        progress.note(URL, "the disk is full")
    assert stream.getvalue().splitlines() == ["https://example.com/: the disk is full"]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_live_line_is_for_terminals(terminal: bool) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=terminal)
    with WatchProgress(console) as progress:
        sampled(progress, True, True)
    with CountDown(console) as count_down:
        count_down.show(12, 34.0)
    for text in ("2 samples, 0 failed; 2025-10-09 08:54:20 good in 100 ms", "12 connections, 34 s left"):
        assert (text in stream.getvalue()) is terminal
