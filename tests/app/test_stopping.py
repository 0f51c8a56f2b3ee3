"""Signals for a study on two clouds, in a terminal: once is orderly, twice is at once, nothing is unsaid.

The rented machine is of an emulated EC2, the other one a machine of the user's own; see clouds.py and cloud_walk.py.
"""

import contextlib
import os
import pty
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.cloud_walk import OWNED, RENTED, Stand, Toll
from tests.app.clouds import Sky, unable
from tests.app.kills import acknowledged
from tests.app.warm import ROOT, SHORT, Job
from tests.slices import examples, long

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PULLED = 0
"""In place of a signal: the terminal goes away, as when its window is closed or its connection breaks."""
PHASES = 40
FIRST_S, SECOND_S = 60.0, 2.0
_ENDED = {"GONE", "REFUSED"}


class Terminal:
    """A terminal of the test's own: what was printed on it, a keyboard, and a plug."""

    def __init__(self) -> None:
        self._master, self._slave = pty.openpty()
        self.name = os.ttyname(self._slave)
        self._printed = bytearray()
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError):
                while select.select([self._master], [], [], 0.02)[0]:
                    self._printed += os.read(self._master, 65536)

    def printed(self) -> str:
        """All of it, as one line of words; call it after `close`."""
        return " ".join(self._printed.decode(errors="replace").split())

    def send(self, number: int, job: Job) -> None:
        """A signal; an interrupt is typed, and for PULLED the plug is, as people do."""
        if number == PULLED:
            self.close()
        elif number == signal.SIGINT:
            os.write(self._master, b"\x03")
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(job.pid, number)

    def close(self) -> None:
        """Whoever has it as a terminal is told that it is gone; closing it again does nothing."""
        if not self._over.is_set():
            time.sleep(0.05)  # what was printed last is read
            self._over.set()
            self._reader.join(10)
            os.close(self._slave)
            os.close(self._master)


def leases(out: Path) -> dict[str, tuple[str | None, str]]:
    """By name of each lease in a ledger: its cloud id, and its last event; read without the product's code."""
    if not (out / "study.db").is_file():
        return {}
    with contextlib.closing(sqlite3.connect(out / "study.db")) as database:
        rows = database.execute("SELECT name, cloud_id, event FROM lease ORDER BY id").fetchall()
    found: dict[str, tuple[str | None, str]] = {}
    for name, cloud_id, event in rows:
        found[name] = (cloud_id or found.get(name, (None, ""))[0], event)
    return found


def named(out: Path) -> dict[str, str]:
    """The name of each lease by its token, which is what a folder on a machine of the user's own is called."""
    if not (out / "study.db").is_file():
        return {}
    with contextlib.closing(sqlite3.connect(out / "study.db")) as database:
        return dict(database.execute("SELECT token, name FROM lease").fetchall())


def unsaid(sky: Sky, out: Path, printed: str) -> list[str]:
    """What is left, by the ledger or in truth, and was not listed."""
    known = leases(out)
    listed = {name for name, (id, _) in known.items() if name in printed or (id and id in printed)}
    lines = [f"{name} ({event})" for name, (_, event) in known.items() if name not in listed and event not in _ENDED]
    there = {f"aws {one.kind} {one.id}": dict(one.tags).get("Name", "") for one in sky.cloud.alive()}
    there |= {f"ssh folder {token}": name for token, name in named(out).items()}
    return [f"not listed: {one}" for one in lines] + [
        f"in truth, not listed: {one}"
        for one in sky.left()
        if there.get(one, "") not in listed and one.split()[-1] not in printed
    ]


def signalled(stand: Stand, number: int, times: int, after_s: float, gap_s: float) -> list[str]:
    """One study that gets a signal so many times; what is wrong."""
    out, sky = stand.folder(), stand.sky
    screen = Terminal()
    try:
        job = stand.begin("run", out, terminal=screen.name)
        time.sleep(after_s)
        for count in range(times):
            time.sleep(gap_s if count else 0.0)
            last = time.monotonic()
            screen.send(number, job)
        code = job.wait(2 * FIRST_S)
        took_s = time.monotonic() - last
    finally:
        screen.close()
    printed = screen.printed()
    wrong = [f"a traceback: {printed[-600:]}"] if "Traceback" in printed else []
    if code not in {0, 130} and not (code == -number and not out.exists()):  # -number: it had not even begun
        wrong.append(f"exit code {code}: {printed[-300:]}")
    if times == 1 or number == signal.SIGHUP:  # a closed terminal is never the second signal
        # It is over, and nothing is left: then the end of everything was asked for in time.
        wrong += [f"it took {took_s:.0f} s after one signal"] if took_s > FIRST_S else []
        wrong += [f"left after one signal: {one}" for one in sky.left()]
    else:
        wrong += [f"it took {took_s:.2f} s after the last signal"] if took_s > SECOND_S else []
        wrong += unsaid(sky, out, printed)
    if (out / "study.db").is_file():
        wrong += stand.mend("cleanup", out)
    shutil.rmtree(out, ignore_errors=True)
    return wrong + stand.seen()


def signals(folder: Path, n: int, seed: int) -> Toll:
    """`n` of the 40 phases x 3 signals x 1, 2 or 3 times and 40 pulled plugs; `n` = 400 is each once."""
    chance, toll = random.Random(seed), Toll()
    cases = [(phase, number, times) for phase in range(PHASES) for number in SIGNALS for times in (1, 2, 3)]
    cases += [(phase, PULLED, 1) for phase in range(PHASES)]
    chance.shuffle(cases)
    with Stand(folder) as stand:
        # What forks has imported everything then: that is no part of a study's length.
        stand.warm.start(["--version"], stand.sky.environ, stand.sky.folder).wait()
        began = time.monotonic()
        toll.wrong += stand.mend("resume", stand.folder())
        length_s = time.monotonic() - began
        for phase, number, times in sorted(cases[:n]):
            toll.studies += 1
            after_s = length_s * (phase + chance.random()) / PHASES
            wrong = signalled(stand, number, times, after_s, chance.uniform(0.0, 0.5))
            name = "the plug" if number == PULLED else signal.Signals(number).name
            told = f"{name} x {times} in phase {phase} of seed {seed}"
            toll.wrong += [f"{told}: {one}" for one in wrong]
    return toll


@long
def test_p08_signals_once_and_twice_leave_nothing_that_is_not_said(tmp_path: Path) -> None:
    n = examples(3, 3)
    toll = signals(tmp_path, n, 20260105)
    assert toll.wrong == []
    assert toll.studies == n


def test_p08_who_stops_before_anything_is_made_waits_for_no_answer(tmp_path: Path) -> None:
    with Stand(tmp_path) as stand:
        stand.sky.cloud.inject("RunInstances", "late", seconds=30.0)  # a dry run: whether it may be done
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            out, before = stand.folder(), len(stand.sky.cloud.calls("RunInstances"))
            job = stand.begin("run", out)
            _until(lambda n=before: len(stand.sky.cloud.calls("RunInstances")) > n, job)
            job.kill(number)
            began = time.monotonic()
            assert job.wait(FIRST_S) == 130, job.said()
            assert time.monotonic() - began < SECOND_S
            assert "interrupted" in job.said(), number
            assert not out.exists()
        assert stand.seen() == []


@long
def test_p08_who_stops_many_times_before_anything_is_made_sees_one_line(tmp_path: Path) -> None:
    chance = random.Random(20260105)
    with Stand(tmp_path) as stand:
        stand.sky.cloud.inject("RunInstances", "late", seconds=30.0)
        for count in range(examples(30)):
            number = SIGNALS[count % 3]
            out, before = stand.folder(), len(stand.sky.cloud.calls("DescribeInstanceTypes"))
            job = stand.begin("run", out)
            _until(lambda n=before: len(stand.sky.cloud.calls("DescribeInstanceTypes")) > n, job)
            for _ in range(3):
                time.sleep(chance.uniform(0.0, 0.02))
                job.kill(number)
            assert job.wait(FIRST_S) == 130, job.said()
            assert "Traceback" not in job.said(), job.said()
            assert job.said().count("interrupted") in {1, 2}, job.said()
            assert not out.exists()
        assert stand.seen() == []


LONG = """\
schema: 1
question: Rented or owned?
candidates:
%sprobes:
  - {probe: int, params: {threads: one, duration_s: 60 s}}
launches: 1
runs: 1
budget: 1 USD
"""
"""A study whose machines are all there at one time, however much longer one cloud takes than another."""


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    """Two clouds on which a trial takes a minute."""
    with Stand(tmp_path) as one:
        (one.sky.folder / "study.yaml").write_text(LONG % f"{RENTED}{OWNED}")
        yield one


def _running(stand: Stand, out: Path, **waits: float) -> Job:
    """A study on whose machines a trial runs."""
    job = stand.begin("run", out, **waits)
    _until(lambda: len([id for id, event in leases(out).values() if event == "CREATED"]) == 3, job)
    _until(lambda: _attempts(out) == 2, job)
    return job


def _attempts(out: Path) -> int:
    with contextlib.closing(sqlite3.connect(out / "study.db")) as database:
        return int(database.execute("SELECT count(*) FROM attempt").fetchone()[0])


def _until(so: Callable[[], bool], job: Job) -> None:
    end = time.monotonic() + 30.0
    while not so():
        assert job.code() is None, job.said()
        assert time.monotonic() < end, job.said()
        time.sleep(0.02)


@long
def test_p08_a_trial_that_goes_on_is_cut_short_and_is_no_failure(stand: Stand) -> None:
    out = stand.folder()
    job = _running(stand, out, drain_s=1.0)
    job.kill(signal.SIGTERM)
    began = time.monotonic()
    assert job.wait() == 130, job.said()
    assert time.monotonic() - began < 15.0
    assert stand.sky.left() == []
    assert acknowledged(out) == {}
    assert "within the trial that ran" in job.said()


def test_p08_a_study_under_nohup_outlives_its_terminal(stand: Stand) -> None:
    out = stand.folder()
    job = _running(stand, out, drain_s=0.1, nohup=1.0)
    job.kill(signal.SIGHUP)
    time.sleep(1.0)
    assert job.code() is None
    assert len(stand.sky.left()) > 3
    job.kill(signal.SIGTERM)
    assert job.wait() == 130, job.said()
    assert stand.sky.left() == []


@long
def test_p08_a_terminal_that_is_closed_twice_over_ends_a_study_in_order(stand: Stand) -> None:
    # A shell passes on what the system sends to all of its jobs as well: both within a millisecond.
    out, screen = stand.folder(), Terminal()
    try:
        job = stand.begin("run", out, terminal=screen.name, drain_s=1.0)
        _until(lambda: len([id for id, event in leases(out).values() if event == "CREATED"]) == 3, job)
        job.kill(signal.SIGHUP)
        screen.close()
        job.kill(signal.SIGHUP)
        assert job.wait(FIRST_S) == 130
    finally:
        screen.close()
    assert stand.sky.left() == []
    assert {event for _, event in leases(out).values()} == {"GONE"}


@long
def test_p08_a_closed_terminal_does_not_stop_a_cleanup(stand: Stand) -> None:
    out = stand.folder()
    killed = _running(stand, out)
    killed.kill()
    assert killed.wait() == -9
    screen = Terminal()
    try:
        job = stand.begin("cleanup", out, terminal=screen.name)
        _until(lambda: {"DELETE_ASKED", "GONE"} & {event for _, event in leases(out).values()} != set(), job)
        screen.close()
        job.kill(signal.SIGHUP)
        assert job.wait(FIRST_S) == 0
    finally:
        screen.close()
    assert stand.sky.left() == []


def test_p08_a_terminal_that_goes_away_is_no_fault_of_what_prints_on_it(stand: Stand) -> None:
    out, screen = stand.folder(), Terminal()
    try:
        words = ("run", Path(__file__).with_name("small.yaml"), "--out", out)
        job = stand.warm.start(words, stand.sky.environ, stand.sky.folder, SHORT | {"nohup": 1.0}, screen.name)
        _until((out / "study.db").is_file, job)
        screen.close()
        assert job.wait(2 * FIRST_S) == 0
    finally:
        screen.close()
    assert (out / "report.html").is_file()


@long
def test_p08_a_cleanup_that_is_left_says_what_is_left(stand: Stand) -> None:
    out = stand.folder()
    killed = _running(stand, out)
    killed.kill()
    assert killed.wait() == -9
    with stand.sky.offline():  # so that it has to wait
        job = stand.begin("cleanup", out)
        time.sleep(1.5)
        job.kill(signal.SIGINT)
        began = time.monotonic()
        assert job.wait() == 130, job.said()
        assert time.monotonic() - began < SECOND_S
    assert unsaid(stand.sky, out, " ".join(job.said().split())) == []
    assert "left: aws/us-east-1 instance i-" in job.said()
    assert stand.mend("cleanup", out) == []


_SHORT = "from tests.app import warm; warm.shorten(**(warm.SHORT | {'give_up_s': %g}))"
_COMMAND = "from cloudcmp.cli import entry; entry.main()"


def _unread(stand: Stand, *words: str | Path, give_up_s: float) -> subprocess.Popen[bytes]:
    """The command with pipes that nobody reads any more."""
    code, path = f"{_SHORT % give_up_s}; {_COMMAND}", os.pathsep.join([str(ROOT), *sys.path])
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", code, *words], cwd=stand.sky.folder, stdout=writer, stderr=writer,
            env={**stand.sky.environ, "PYTHONPATH": path},
        )  # fmt: skip
    finally:
        os.close(writer)


@long
def test_p08_a_cleanup_that_nobody_listens_to_comes_to_its_end(stand: Stand) -> None:
    out = stand.folder()
    killed = _running(stand, out)
    killed.kill()
    assert killed.wait() == -9
    with stand.sky.offline():  # so that it has to wait, and would tell for what
        with _unread(stand, "cleanup", out, give_up_s=2.0) as job:
            assert job.wait(FIRST_S) == 3
        assert stand.sky.left() != []
        job = _unread(stand, "cleanup", out, give_up_s=120.0)
        time.sleep(3.0)
        assert job.poll() is None
    assert job.wait(FIRST_S) == 0
    assert stand.sky.left() == []
    assert {event for _, event in leases(out).values()} == {"GONE"}
