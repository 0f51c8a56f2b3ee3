"""A trial's value, with numpy as the second witness, whatever the order of samples, files and threads."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.conftest import CHASE, FMA, QUICK, TOTALS, attempt_of, create, make_plan, run_trial

from cloudcmp.errors import StorageFault
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.trial import Sample
from cloudcmp.store import StudyStore, values

POSITIVE = st.floats(min_value=1e-9, max_value=1e12)
MEASURED = st.lists(st.tuples(POSITIVE, st.floats(min_value=0.001, max_value=10)), min_size=1, max_size=40)


def store_of(folder: Path, rates: list[tuple[float, float]], latencies: list[tuple[float, float]]) -> StudyStore:
    """A store with one trial of rates over intervals of any length and one of latencies."""
    store = create(folder)
    for trial, measured in zip(store.plan.trials, (rates, latencies), strict=False):
        metric, _, params = trial.cells[0].partition(" ")
        ends = np.cumsum([seconds for _, seconds in measured])
        found = [
            Sample(i, metric, params, float(end), value, None)
            for i, ((value, _), end) in enumerate(zip(measured, ends, strict=True))
        ]
        random.Random(1).shuffle(found)
        store.begin_attempt(trial.index, 0, 0.0)
        store.finish_attempt(attempt_of(trial), found)
    return store


@settings(max_examples=10, deadline=None)
@given(MEASURED, MEASURED)
def test_values_agree_with_numpy(rates: list[tuple[float, float]], latencies: list[tuple[float, float]]) -> None:
    with TemporaryDirectory(dir=QUICK) as folder, store_of(Path(folder) / "study", rates, latencies) as store:
        found = store.measured(TOTALS).values
        assert found.cells[:2] == (FMA, CHASE)
        work = sum(value * seconds for value, seconds in rates)
        expected = [work / sum(seconds for _, seconds in rates), np.median([value for value, _ in latencies])]
        np.testing.assert_allclose(found.value, expected, rtol=1e-9)
        store.compact()
        assert store.measured(TOTALS).values.value.tolist() == found.value.tolist()


def test_the_number_of_threads_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    rates = [(chance.lognormvariate(0, 3), chance.uniform(0.1, 2)) for _ in range(5000)]
    with store_of(tmp_path / "study", rates, rates) as store:
        found = []
        for threads in (1, 2, 7):
            monkeypatch.setattr(values.os, "sched_getaffinity", lambda _, n=threads: set(range(n)))
            found.append(store.measured(TOTALS).values.value.tolist())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("ends", "value"), [((0.0, 0.0), 5.0), ((1.0, 2.0), 1.5e308)])
def test_a_total_that_is_no_number_is_not_ok(store: StudyStore, ends: tuple[float, float], value: float) -> None:
    trial = store.plan.trials[0]
    metric, _, params = trial.cells[0].partition(" ")
    store.begin_attempt(0, 0, 0.0)
    store.finish_attempt(attempt_of(trial), [Sample(i, metric, params, end, value, None) for i, end in enumerate(ends)])
    found = store.measured(TOTALS).values
    assert (found.ok.tolist(), found.value.tolist()) == ([False], [0.0])


def test_samples_of_cells_that_the_plan_does_not_have_are_left_out(store: StudyStore) -> None:
    trial = store.plan.trials[0]
    metric, _, params = trial.cells[0].partition(" ")
    store.begin_attempt(0, 0, 0.0)
    known = Sample(0, metric, params, 1.0, 3.0, None)
    others = [
        replace(known, seq=1, params="threads=all", value=9.0),
        replace(known, seq=2, metric="other_s", value=9.0),
    ]
    store.finish_attempt(attempt_of(trial), [known, *others])
    found = store.measured(TOTALS).values
    assert (found.ok.tolist(), found.value.tolist()) == ([True], [3.0])


def test_no_room_for_scratch_is_told_in_one_line(full: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values.tempfile, "tempdir", str(full.folder / "none"))
    with pytest.raises(StorageFault, match="the temporary folder: input or output failed"):
        full.measured(TOTALS)


def test_too_little_memory_is_no_damage(store: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MEMORY_LIMIT", "1MB")
    trial = store.plan.trials[0]
    metric, _, params = trial.cells[0].partition(" ")
    store.begin_attempt(0, 0, 0.0)
    store.finish_attempt(attempt_of(trial), [Sample(i, metric, params, float(i), 1.0, None) for i in range(200_000)])
    with pytest.raises(StorageFault, match="no room to sort the samples; set TMPDIR"):
        store.measured(TOTALS)


def test_several_threads_may_write_and_read(tmp_path: Path) -> None:
    with create(tmp_path / "study", make_plan(rounds=6)) as store:

        def work(trial: PlannedTrial) -> int:
            run_trial(store, trial)
            return len(store.done())

        with ThreadPoolExecutor(6) as pool:
            assert max(pool.map(work, store.plan.trials)) == len(store.plan.trials)
        assert store.measured(TOTALS).values.ok.all()
        store.verify()


def test_many_samples_are_taken_in_steps(full: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = full.measured(TOTALS).values
    monkeypatch.setattr(values, "SAMPLES_AT_ONCE", 5)
    in_steps = full.measured(TOTALS).values
    assert in_steps.value.tolist() == at_once.value.tolist()
    assert in_steps.ok.tolist() == at_once.ok.tolist()
    assert list(values._steps([(7, 0, 3), (2, 0, 3), (3, 1, 2), (9, 0, 99)])) == [(2, 3), (7, 7), (9, 9)]
    assert list(values._steps([])) == []


def _ask_at_length(one: values.Engine) -> None:
    """Some ten seconds' work."""
    one.rows("SELECT sum(a.range * b.range) FROM range(100000) a, range(200000) b")


def _register_for_ever(one: values.Engine) -> None:
    """Tables are read by calls back into Python, which a signal may reach."""
    while True:
        one.register(values._tables([f"rate n={n}" for n in range(50)], [(0, 0, 1)], frozenset()))


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """What a signal does within."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _signal(after_s: float, handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """A signal for this process in a moment, and what it does; on a busy machine it may come before the `yield`."""
    timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGINT))
    with _handled(handler):
        try:
            timer.start()
            yield
        finally:
            timer.join()


@pytest.mark.parametrize("work", [_ask_at_length, *[_register_for_ever] * 30])
def test_a_signal_while_samples_are_read_is_an_interruption(
    tmp_path: Path, work: Callable[[values.Engine], None]
) -> None:
    with store_of(tmp_path, [(1.0, 1.0)], [(1.0, 1.0)]):
        files = sorted(tmp_path.rglob("*.parquet"))
        soon = random.uniform(0.01, 0.1)
        with pytest.raises(KeyboardInterrupt), _signal(soon, signal.default_int_handler), values.engine(files) as one:
            work(one)


def test_a_signal_before_a_query_has_begun_ends_it_all_the_same(tmp_path: Path) -> None:
    def late(one: values.Engine) -> None:
        """Some ten minutes' work, a while after the signal."""
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        one._connection.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b")

    with store_of(tmp_path, [(1.0, 1.0)], [(1.0, 1.0)]):
        files = sorted(tmp_path.rglob("*.parquet"))
        with _handled(signal.default_int_handler), pytest.raises(KeyboardInterrupt), values.engine(files) as one:
            one._in_thread(lambda: late(one))


def test_a_signal_while_duckdb_is_loaded_is_an_interruption(tmp_path: Path) -> None:
    code = """
import importlib.abc, os, signal, sys
from pathlib import Path
from cloudcmp.store import values
class Amid(importlib.abc.MetaPathFinder):
    last = ''
    def find_spec(self, name, *_):
        if self.last == '_duckdb':  # whose module is being made, and asks for another
            os.kill(os.getpid(), signal.SIGINT)
        self.last = name
sys.meta_path.insert(0, Amid())
sys.modules.pop('atexit', None)  # what it asks for
try:
    with values.engine([Path('nowhere')]): pass
except KeyboardInterrupt:
    print('raised')
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "raised\n", "")


def test_a_signal_that_interrupts_nothing_changes_nothing(tmp_path: Path) -> None:
    came: list[int] = []
    with store_of(tmp_path, [(1.0, 1.0)], [(1.0, 1.0)]):
        files = sorted(tmp_path.rglob("*.parquet"))
        with _signal(0.1, lambda number, _: came.append(number)), values.engine(files) as one:
            assert one.rows("SELECT count(*) FROM range(40000) a, range(20000) b") == [(800_000_000,)]
    assert came == [signal.SIGINT]
