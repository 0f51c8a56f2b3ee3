"""A study's folder: what is written is read back, by this process and by the next."""

import json
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.conftest import (
    CHASE,
    FMA,
    RTT,
    RTT_PARAMS,
    TOTALS,
    as_nobody,
    attempt_of,
    create,
    make_plan,
    run_trial,
    samples_of,
)

from cloudcmp.errors import CloudcmpError, CorruptStore, NewerSchema, StorageFault, StudyBusy, UserMistake
from cloudcmp.model.trial import Attempt, Outcome, Sample
from cloudcmp.model.values import SeriesLimits
from cloudcmp.store import StudyStore, attempts, samples, values
from cloudcmp.store.access import StudyLock
from cloudcmp.store.database import SCHEMA_VERSION
from cloudcmp.store.ledger import LaunchRecord


def test_what_is_created_is_read_back(tmp_path: Path) -> None:
    with create(tmp_path / "a" / "study"):
        pass
    with StudyStore.open(tmp_path / "a" / "study", write=False) as store:
        assert store.plan == make_plan()
        assert store.study_text == "question: which?\n"
        assert store.provenance == {"cloudcmp": "0.1.0"}
        assert store.created_at == 5.0
        assert [(offering, price.currency) for _, _, offering, price in store.prices()] == [("all", "USD")]


def test_values_of_trials(full: StudyStore) -> None:
    values = full.measured(TOTALS).values
    columns = (values.launch.tolist(), values.cell.tolist(), values.ok.tolist(), values.value.tolist())
    rows = [(launch, values.cells[cell], ok, value) for launch, cell, ok, value in zip(*columns, strict=True)]
    assert values.cells == (FMA, CHASE, RTT, RTT.replace("99", "50"))
    assert rows[0] == (0, FMA, True, 11.0)
    assert rows[1] == (0, CHASE, True, 21.0)
    assert rows[2:4] == [(0, RTT, True, 0.0), (0, RTT.replace("99", "50"), True, 0.0)]
    assert rows[5] == (1, CHASE, False, 0.0)
    assert len(rows) == 16


def test_histograms_and_series(full: StudyStore) -> None:
    found = full.measured(TOTALS, SeriesLimits(least=3))
    rows = found.histograms
    assert [(row.launch, row.trial, row.hist) for row in rows] == [(i, 3 * i + 2, f"HIST{3 * i + 2}") for i in range(4)]
    assert {(row.metric, row.params) for row in rows} == {("rtt_s", RTT_PARAMS)}
    series = found.series
    assert [(one.launch, one.trial, one.cell) for one in series[:3]] == [(0, 0, FMA), (0, 1, CHASE), (1, 3, FMA)]
    assert (series[0].t_s, series[0].values) == ((1.0, 2.0, 3.0), (10.0, 11.0, 12.0))
    assert full.measured(TOTALS, SeriesLimits(least=4)).series == full.measured(TOTALS).series == ()
    assert len(full.measured(TOTALS, SeriesLimits(least=3, most=2)).series) == 2


def test_a_long_series_is_thinned(store: StudyStore) -> None:
    trial = store.plan.trials[0]
    store.begin_attempt(0, 0, 0.0)
    store.finish_attempt(attempt_of(trial), samples_of(trial, 1001))
    (series,) = store.measured(TOTALS, SeriesLimits(points=101)).series
    assert len(series.t_s) == 101
    assert (series.t_s[0], series.t_s[1], series.t_s[-1]) == (1.0, 11.0, 1001.0)


def test_nothing_run_has_no_values(store: StudyStore) -> None:
    found = store.measured(TOTALS, SeriesLimits())
    assert len(found.values.value) == 0
    assert (found.histograms, found.series, store.attempts(), store.done()) == ((), (), (), frozenset())
    store.compact()
    store.verify()


def test_a_study_without_percentiles(store: StudyStore) -> None:
    run_trial(store, store.plan.trials[0])
    assert store.measured(TOTALS).histograms == ()
    assert store.measured(TOTALS).values.ok.tolist() == [True]


def test_an_ok_trial_whose_cell_gave_no_sample_is_not_ok(store: StudyStore) -> None:
    store.begin_attempt(0, 0, 0.0)
    done = store.finish_attempt(attempt_of(store.plan.trials[0]), [])
    assert (done.n_samples, done.sha256) == (0, None)
    assert store.measured(TOTALS).values.ok.tolist() == [False]


def test_the_first_ok_attempt_gives_the_value(store: StudyStore) -> None:
    trial = store.plan.trials[0]
    run_trial(store, trial, Outcome.TIMEOUT)
    run_trial(store, trial)
    store.begin_attempt(0, 2, 0.0)
    store.finish_attempt(attempt_of(trial, 2), [replace(sample, value=1e9) for sample in samples_of(trial)])
    assert store.measured(TOTALS).values.value.tolist() == [11.0]
    assert store.earlier(0) == 3
    assert [attempt.outcome for attempt in store.attempts()] == [Outcome.TIMEOUT, Outcome.OK, Outcome.OK]


def test_an_attempt_cut_short_does_not_count(store: StudyStore) -> None:
    trial = store.plan.trials[0]
    run_trial(store, trial, Outcome.FAILED)
    store.begin_attempt(0, 1, 4.0)
    assert store.open_attempts() == ((0, 1, 4.0),)
    assert store.interrupt_open(lambda trial: 100.0 + trial) == 1
    assert store.interrupt_open(lambda trial: 0.0) == 0
    cut = store.attempts()[1]
    assert (cut.outcome, cut.interrupted, cut.started_at, cut.ended_at) == (Outcome.ABORTED, True, 4.0, 100.0)
    assert store.earlier(0) == 1
    assert store.next_attempt(0) == 2
    assert store.done() == {0}
    store.begin_attempt(1, 0, 5.0)
    store.interrupt_open(lambda trial: 6.0)
    assert store.done() == {0}
    assert len(store.measured(TOTALS).values.value) == 1


def test_the_next_attempt_begins_with_the_end_of_the_last(store: StudyStore) -> None:
    first, second, *_ = store.plan.trials
    store.begin_attempt(0, 0, 1.0)
    store.finish_attempt(attempt_of(first), samples_of(first), begin_next=(1, 0, 2.0))
    assert store.open_attempts() == ((1, 0, 2.0),)
    store.finish_attempt(attempt_of(second), samples_of(second))
    assert store.done() == {0, 1}


def test_a_sample_that_is_sent_again_is_kept_once(store: StudyStore) -> None:
    trial = store.plan.trials[0]
    once = samples_of(trial)
    store.begin_attempt(0, 0, 0.0)
    done = store.finish_attempt(attempt_of(trial), [*reversed(once), *once])
    assert done.n_samples == 3
    assert store.measured(TOTALS).values.value.tolist() == [11.0]


def test_misuse_is_refused_and_changes_nothing(store: StudyStore) -> None:
    trial = store.plan.trials[0]
    with pytest.raises(ValueError, match="attempt 0 of trial 0 is not open"):
        store.finish_attempt(attempt_of(trial), [])
    store.begin_attempt(0, 0, 0.0)
    with pytest.raises(ValueError, match="was begun before"):
        store.begin_attempt(0, 0, 0.0)
    with pytest.raises(ValueError, match="not finite"):
        store.finish_attempt(attempt_of(trial), [Sample(0, "a", "", float("nan"), 1.0, None)])
    with pytest.raises(ValueError, match="not finite"):
        store.finish_attempt(attempt_of(trial), [Sample(0, "a", "", 1.0, float("inf"), None)])
    with pytest.raises(ValueError, match="was begun before"):
        store.finish_attempt(attempt_of(trial), [], begin_next=(0, 0, 0.0))
    with pytest.raises(ValueError, match="own"):
        store.set_meta(".digest.x", "y")
    assert store.open_attempts() == ((0, 0, 0.0),)
    assert store.attempts() == ()


def test_launches_are_told_as_they_were_carried_out(store: StudyStore) -> None:
    store.begin_launch(0, 1.0, "i-0")
    store.begin_launch(1, 2.0, "i-1")
    store.end_launch(0, 3.0, "failed", "no capacity")
    store.begin_launch(0, 4.0, "i-0b")
    assert store.launches() == (
        LaunchRecord(0, "i-0", 1.0, 3.0, "failed", "no capacity"),
        LaunchRecord(1, "i-1", 2.0),
        LaunchRecord(0, "i-0b", 4.0),
    )


def test_notes(store: StudyStore) -> None:
    assert store.meta("key") is None
    store.set_meta("key", "one")
    store.set_meta("key", "two")
    assert store.meta("key") == "two"


def test_compaction_changes_no_value(full: StudyStore) -> None:
    before, attempts = full.measured(TOTALS, SeriesLimits(least=1)), full.attempts()
    full.compact()
    full.compact()
    assert [path.name for path in (full.folder / "samples").iterdir()] == ["study-0.parquet"]
    full.verify()
    after = full.measured(TOTALS, SeriesLimits(least=1))
    assert after.values.value.tolist() == before.values.value.tolist()
    assert after.values.ok.tolist() == before.values.ok.tolist()
    assert (after.histograms, after.series, full.attempts()) == (before.histograms, before.series, attempts)


def test_a_study_goes_on_after_compaction(full: StudyStore) -> None:
    full.compact()
    run_trial(full, full.plan.trials[4])
    with StudyStore.open(full.folder, write=False) as reader:
        assert reader.measured(TOTALS).values.ok.all()
        full.compact()
        assert reader.measured(TOTALS).values.ok.all()
    assert [path.name for path in (full.folder / "samples").iterdir()] == ["study-1.parquet"]


def test_each_file_is_read_and_checked_once_by_one_engine(full: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    checked, engines = [], []
    opened, engine = samples._opened, values.engine
    monkeypatch.setattr(samples, "_opened", lambda source: checked.append(source.path.name) or opened(source))
    monkeypatch.setattr(values, "engine", lambda files: engines.append(len(files)) or engine(files))
    found = full.measured(TOTALS, SeriesLimits(least=1))
    assert found.histograms
    assert found.series
    names = [path.name for path in (full.folder / "samples").iterdir()]
    assert sorted(checked) == sorted(names)
    assert engines == [len(names)]


def test_a_reader_reads_rows_again_only_if_they_were_written_since(
    store: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, ended = [], attempts.ended
    monkeypatch.setattr(attempts, "ended", lambda database: reads.append(1) or ended(database))
    first, second = store.plan.trials[:2]
    run_trial(store, first)
    with StudyStore.open(store.folder, write=False) as reader:
        assert [len(reader.attempts()) for _ in range(3)] == [1, 1, 1]
        assert len(reads) == 1
        run_trial(store, second, Outcome.FAILED)
        assert [len(reader.attempts()) for _ in range(3)] == [2, 2, 2]
        assert len(reads) == 2
        assert reader.consistent(reader.attempts) == store.attempts()


def test_a_reader_follows_a_writer_that_compacts_meanwhile(full: StudyStore) -> None:
    with StudyStore.open(full.folder, write=False) as reader:
        seen = 0

        def read(pairs: object, files: object) -> int:
            nonlocal seen
            seen += 1
            if seen == 1:
                full.compact()
                raise CorruptStore
            return seen

        assert reader._reading(read) == 2


def test_only_the_owner_can_read(full: StudyStore) -> None:
    for path in [full.folder, *full.folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def break_nothing(folder: Path) -> None:
    """Leave the folder without anything."""


def break_empty(folder: Path) -> None:
    (folder / "study.db").touch()


def break_other(folder: Path) -> None:
    connection = sqlite3.connect(folder / "study.db")
    connection.execute("CREATE TABLE a (b)")
    connection.close()


@pytest.mark.parametrize("spoil", [break_nothing, break_empty, break_other])
@pytest.mark.parametrize("write", [True, False])
def test_a_folder_without_a_study(spoil: object, write: bool, tmp_path: Path) -> None:
    spoil(tmp_path)  # type: ignore[operator]
    with pytest.raises(UserMistake) as caught:
        StudyStore.open(tmp_path, write=write)
    assert str(caught.value) == f"{tmp_path}: is no cloudcmp study; name a folder that cloudcmp run or import made"
    with pytest.raises(UserMistake):
        StudyStore.open(tmp_path / "none", write=write)


def test_p44_a_later_schema_is_refused_in_one_line(store: StudyStore) -> None:
    store.close()
    connection = sqlite3.connect(store.folder / "study.db")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(NewerSchema) as caught:
        StudyStore.open(store.folder, write=True)
    schemas = f"schema {SCHEMA_VERSION + 1}, this one reads up to {SCHEMA_VERSION}"
    assert f"later version of cloudcmp ({schemas}); use that version" in str(caught.value)
    with pytest.raises(NewerSchema):
        StudyStore.open(store.folder, write=True)


def test_p22_a_second_writer_is_refused_and_readers_are_not(store: StudyStore) -> None:
    with pytest.raises(StudyBusy) as caught:
        StudyStore.open(store.folder, write=True)
    assert str(caught.value) == f"{store.folder}: another process works on this study; wait for it to end, or stop it"
    with StudyStore.open(store.folder, write=False) as reader:
        run_trial(store, store.plan.trials[0])
        assert reader.done() == {0}
        with pytest.raises(CloudcmpError):
            reader.begin_attempt(1, 0, 0.0)
    store.close()
    StudyStore.open(store.folder, write=True).close()


_RACER = """
import sys, time
from pathlib import Path
from cloudcmp.errors import StudyBusy
from cloudcmp.store import StudyStore
print("ready", flush=True)
sys.stdin.readline()
try:
    with StudyStore.open(Path(sys.argv[1]), write=True) as store:
        for _ in range(20):
            store.begin_launch(int(sys.argv[2]), 0.0, "slot")
        print("wrote")
except StudyBusy:
    print("busy")
"""


def test_p22_of_processes_that_start_at_once_no_two_interleave(store: StudyStore) -> None:
    store.close()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _RACER, str(store.folder), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(len(store.plan.launches))
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == b"ready\n"
    said = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(b"\n")
        racer.stdin.flush()
    for racer in racers:
        said.append(racer.communicate()[0].strip())
    with StudyStore.open(store.folder, write=False) as reader:
        order = [record.launch for record in reader.launches()]
    assert set(said) <= {b"wrote", b"busy"}
    assert len(order) == 20 * said.count(b"wrote") > 0
    assert all(len(set(order[at : at + 20])) == 1 for at in range(0, len(order), 20))


def test_a_plan_with_20_000_trials_opens_as_it_was(tmp_path: Path) -> None:
    plan = make_plan(rounds=1667, runs=2)
    assert len(plan.trials) == 20_004
    create(tmp_path / "study", plan).close()
    with StudyStore.open(tmp_path / "study", write=False) as store:
        assert store.plan == plan


def test_opening_a_study_loads_no_library_for_samples(store: StudyStore) -> None:
    code = (
        "import sys; from pathlib import Path; from cloudcmp.store import StudyStore\n"
        f"StudyStore.open(Path({str(store.folder)!r}), write=False).close()\n"
        "print([name for name in ('pyarrow', 'duckdb', 'numpy', 'pandas', 'scipy') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_folder_that_cannot_be_written(full: StudyStore) -> None:
    full.close()
    folder = full.folder
    next_ = "change its permissions or name another folder with --out"
    assert as_nobody(folder, "write") == f"StorageFault: STUDY/study.lock: permission denied; {next_}"
    assert as_nobody(folder, "read") == "16 values"


def test_a_folder_that_cannot_be_made() -> None:
    with pytest.raises(StorageFault, match="/proc/cloudcmp"):
        create(Path("/proc/cloudcmp/study"))


def test_facts_are_kept_as_they_are(store: StudyStore) -> None:
    facts = json.dumps({"host": {"cpu": "Ünï ☃"}, "notes": []})
    store.begin_attempt(0, 0, 0.0)
    attempt = Attempt(0, 0, Outcome.INVALID, 0.0, 1.0, "why ☃", facts=facts)
    assert store.finish_attempt(attempt, []) == attempt
    assert store.attempts() == (attempt,)


def test_a_folder_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    left = tmp_path / ".study.killed__.part"
    left.mkdir()
    (left / "study.lock").touch()
    (left / "reserve").write_bytes(b"left by a process that was killed")
    being_made = tmp_path / ".study.alive___.part"
    being_made.mkdir()
    lock = StudyLock(being_made)
    create(tmp_path / "study").close()
    lock.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".study.alive___.part", "study"]
