"""How a study goes, while it runs."""

import io
import re

from rich.cells import cell_len
from rich.console import Console

from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Progress
from cloudcmp.model.trial import Outcome
from cloudcmp.report.progress import LiveProgress, Silence, WarningsOnly, progress_on


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _trial(probe: str, expected_s: float, *params: tuple[str, str]) -> PlannedTrial:
    return PlannedTrial(0, 0, probe, params, (), 0, 0.0, expected_s, 60.0, 1)


def _run(progress: Progress, clock: Clock) -> None:
    progress.begin(4, 8.0)
    for round_ in range(2):
        progress.launch("local/\x1b[2Jone-cpu", round_)
        for outcome in (Outcome.OK, Outcome.TIMEOUT):
            clock.now += 4.0
            progress.trial("local/one-cpu", _trial("stream", 2.0), outcome, "")
    progress.end()


def test_without_a_terminal_there_is_a_line_for_each_launch_and_failure() -> None:
    out, clock = io.StringIO(), Clock()
    _run(LiveProgress(Console(file=out, width=80), clock), clock)
    assert out.getvalue().splitlines() == [
        "4 trials, about 8.0 s",
        "round 1: local/one-cpu (0 of 4 trials done)",
        "local/one-cpu: stream timeout",
        "round 2: local/one-cpu (2 of 4 trials done, 1 not ok, about 8.0 s left)",
        "4 trials in 16 s, 2 of them not ok",
    ]


def test_a_failure_is_told_with_its_reason_once_a_candidate() -> None:
    out = io.StringIO()
    progress = LiveProgress(Console(file=out, width=80), Clock())
    progress.begin(5, 5.0)
    encode = _trial("command", 1.0, ("command", "encode"), ("threads", "1"))
    for candidate, why in (("a", "exit 3"), ("a", "exit 3"), ("b", "exit 3"), ("a", "exit \x1b[1m4")):
        progress.trial(candidate, encode, Outcome.FAILED, why)
    progress.launch("a", 1)
    assert out.getvalue().splitlines() == [
        "5 trials, about 5.0 s",
        "a: command encode failed: exit 3",
        "b: command encode failed: exit 3",
        "a: command encode failed: exit 4",
        "round 2: a (4 of 5 trials done, 4 not ok, about 0.0 s left)",
    ]


def test_time_left_follows_the_pace_so_far() -> None:
    clock = Clock()
    progress = LiveProgress(Console(file=io.StringIO(), width=80), clock)
    progress.begin(10, 20.0)
    assert progress.left_s() is None
    clock.now += 3.0
    progress.trial("a", _trial("fma", 2.0), Outcome.OK, "")
    assert progress.left_s() == 27.0


def test_time_left_goes_by_trials_where_the_plan_is_in_virtual_time() -> None:
    out, clock = io.StringIO(), Clock()
    progress = LiveProgress(Console(file=out, width=80), clock)
    progress.begin(10, 0.0)
    clock.now += 3.0
    progress.trial("a", _trial("fma", 600.0), Outcome.OK, "")
    assert progress.left_s() == 27.0
    assert out.getvalue() == "10 trials\n"


def test_rounds_that_are_taken_away_are_not_left() -> None:
    for expected_s, left_s in ((20.0, 4.0), (0.0, 4.0)):
        clock = Clock()
        progress = LiveProgress(Console(file=io.StringIO(), width=80), clock)
        progress.begin(10, expected_s)
        for _ in range(2):
            clock.now += 2.0
            progress.trial("a", _trial("stream", 2.0), Outcome.OK, "")
        progress.replan(2, expected_s / 5)
        assert progress.left_s() == left_s


def test_in_a_terminal_a_bar_comes_and_goes() -> None:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, width=80, force_terminal=True, color_system=None)
    _run(LiveProgress(console, clock), clock)
    assert "4/4" in out.getvalue()
    shown = re.sub(r"\x1b\[[0-9?]*[A-Za-z]", "", out.getvalue().replace("\r", "\n"))
    assert max(cell_len(line) for line in shown.splitlines()) <= 80
    assert "[2J" not in out.getvalue()
    assert "4 trials in 16 s, 2 of them not ok" in out.getvalue()


def test_nobody_is_told_where_nobody_listens() -> None:
    assert isinstance(progress_on(None), Silence)
    assert isinstance(progress_on(None, quiet=True), Silence)
    _run(Silence(), Clock())
    assert isinstance(progress_on(io.StringIO()), LiveProgress)


def test_quiet_progress_keeps_failures_and_notes() -> None:
    for terminal in (False, True):
        out, clock = io.StringIO(), Clock()
        progress = WarningsOnly(Console(file=out, width=80, force_terminal=terminal, color_system=None), clock)
        progress.step("checking first: aws")
        progress.money("0.80 of 1.00 USD spent")
        _run(progress, clock)
        progress.note("put off: none left")
        assert out.getvalue().splitlines() == ["local/one-cpu: stream timeout", "put off: none left"]


def test_a_step_is_one_line() -> None:
    out = io.StringIO()
    LiveProgress(Console(file=out, width=80), Clock()).step("checking first:\n\x1b[2Jaws")
    assert out.getvalue().count("\n") == 1
    assert "[2J" not in out.getvalue() or "\x1b" not in out.getvalue()
