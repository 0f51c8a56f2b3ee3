"""The watcher on a virtual clock: samples, gaps, steps of the clock, deaths at every point."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evidence import START, TERMS, by_program, opened
from tests.execute.watched_week import Acknowledged, Service, VirtualClock, die_at, lost_in_week, watch_once, week

from cloudcmp.answer.sla.downtime import downtime_of
from cloudcmp.answer.sla.timeline import timeline
from cloudcmp.app.evidence import evidence_in
from cloudcmp.errors import CorruptStore
from cloudcmp.execute.watch.watcher import HEAD_S, Watcher
from cloudcmp.model.watch import LineSpan, WatchAnswer, WatchSample
from cloudcmp.store.watch.log import EvidenceLog

HOUR = 3600.0


def watch(folder: Path, clock: VirtualClock, service: Service | None = None, for_s: float = HOUR) -> Acknowledged:
    """A watch that ends by itself."""
    told = Acknowledged()
    assert watch_once(folder, clock, service or Service(clock), told, for_s, TERMS) == "finished"
    return told


def stored(samples: tuple[WatchSample, ...] | list[WatchSample]) -> list[tuple[float, bool]]:
    """What a sample must keep."""
    return [(round(one.at, 6), one.ok) for one in samples]


def test_a_sample_is_taken_at_every_interval_and_a_head_signed_at_start_every_five_minutes_and_end(
    tmp_path: Path,
) -> None:
    clock = VirtualClock()
    told = watch(tmp_path / "w", clock, Service(clock, down=((600.0, 900.0),)), for_s=2.5 * HOUR)
    found = evidence_in(tmp_path / "w")
    assert stored(found.watched.samples) == stored(told.samples)
    assert [one.at - START for one in told.samples] == pytest.approx([60.0 * at for at in range(150)])
    assert Counter(one.ok for one in told.samples) == {True: 145, False: 5}
    # Samples 10 to 14 fail: the heads of the first failed sample and of the first good one restart the five minutes.
    assert [lines for lines, _ in told.heads] == [3, 8, 13, 18, *range(23, 153, int(HEAD_S / 60)), found.lines]
    assert (found.gaps, found.steps, found.ended, found.signed_lines) == ((), (), "finished", found.lines)


def test_an_outage_is_signed_as_it_begins_and_ends_and_a_flapping_service_seldom(tmp_path: Path) -> None:
    terms = replace(TERMS, every_s=1.0, timeout_s=1.0)
    for name, down, expected in (
        ("one", ((100.0, 102.0),), [0, 100, 102, 180]),
        ("flapping", tuple((at, at + 1.0) for at in range(100, 130, 2)), [0, 100, 101, 110, 111, 120, 121, 130, 180]),
    ):
        clock, told = VirtualClock(), Acknowledged()
        assert watch_once(tmp_path / name, clock, Service(clock, down), told, 180.0, terms) == "finished"
        # Lines 1 and 2 begin the watch, and the samples follow, one each second; the last head is that of the end.
        assert [min(lines - 3, 180) for lines, _ in told.heads] == expected, name


def test_an_outage_that_a_dead_watcher_saw_is_signed_and_what_is_left_out_is_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service is down from sample 10 on, which is signed; the watcher dies after two more, which are not."""
    clock, told = VirtualClock(), Acknowledged()
    service = Service(clock, down=((600.0, 900.0),))
    die_at(monkeypatch, lambda name: name == "evidence.before_write" and len(told.samples) == 13)
    assert watch_once(tmp_path / "w", clock, service, told, HOUR, TERMS) == "died"
    die_at(monkeypatch, lambda _: False)
    clock.pass_s(10.0)
    assert watch_once(tmp_path / "w", clock, service, Acknowledged(), HOUR, TERMS) == "finished"
    found = evidence_in(tmp_path / "w")
    assert (found.unsigned_samples, found.unsigned_failed) == (2, 2)
    assert next(one.at - START for one in found.signed.samples if not one.ok) == pytest.approx(600.0)
    (gap,) = found.signed_gaps
    following = next(one.at for one in found.signed.samples if one.at > gap.start)
    assert (gap.start - START, gap.end, gap.why) == (pytest.approx(660.0), following, "not signed")
    assert found.signed.left_out == ((gap.start, gap.end),)
    line = timeline(found.signed)
    assert line.seen_s(gap.start, gap.end) == 0.0
    (before, after), *_ = downtime_of(line).most
    assert (before - START, after > following) == (pytest.approx(540.0), True)
    assert timeline(found.watched).seen_s(gap.start, gap.end) > 100.0


def test_a_computer_that_sleeps_leaves_a_gap_and_the_grid_of_times_stays(tmp_path: Path) -> None:
    clock = VirtualClock()

    class Sleepy(Service):
        def probe(self) -> WatchAnswer | None:
            answer = super().probe()
            if self.clock.wall - START == pytest.approx(300.02):
                self.clock.pass_s(1000.0)
            return answer

    told = watch(tmp_path / "w", clock, Sleepy(clock))
    found = evidence_in(tmp_path / "w")
    (gap,) = found.gaps
    assert (gap.start - START, gap.why) == (pytest.approx(300.0), "late")
    assert gap.end - gap.start == pytest.approx(gap.elapsed_s)
    assert 1000 < gap.end - gap.start < 1060
    assert len(told.samples) == 60 - 16 + (gap.end - START) % 60 // 59


@pytest.mark.parametrize("step", [7200.0, -7200.0, 3.0, -0.5])
def test_a_clock_that_is_set_is_written_down_and_nothing_is_moved(step: float, tmp_path: Path) -> None:
    clock = VirtualClock()

    class Stepped(Service):
        def probe(self) -> WatchAnswer | None:
            if self.clock.steady == pytest.approx(5000.0 + 600.0):
                self.clock.wall += step
            return super().probe()

    told = watch(tmp_path / "w", clock, Stepped(clock))
    found = evidence_in(tmp_path / "w")
    (only,) = found.steps
    assert only.step_s == pytest.approx(step)
    assert only.at - START == pytest.approx(660 + step)
    assert found.gaps == ()
    assert len(found.watched.samples) == 60
    assert told.notes == [f"the clock of this computer was set by {step:+.3g} s"]


def test_slewing_of_a_clock_is_no_step(tmp_path: Path) -> None:
    clock = VirtualClock()

    class Slewed(Service):
        def probe(self) -> WatchAnswer | None:
            self.clock.wall += 0.03  # the most that a time service slews in a minute
            return super().probe()

    watch(tmp_path / "w", clock, Slewed(clock))
    assert evidence_in(tmp_path / "w").steps == ()


@pytest.mark.parametrize("boots", [True, False])
def test_a_restart_leaves_a_gap_whose_length_a_new_boot_does_not_know(boots: bool, tmp_path: Path) -> None:
    clock = VirtualClock()
    watch(tmp_path / "w", clock, for_s=600.0)
    clock.pass_s(400.0)
    if boots:
        clock.boot, clock.steady = "another", 3.0
    watch(tmp_path / "w", clock, for_s=HOUR)
    found = evidence_in(tmp_path / "w")
    (gap,) = found.gaps
    assert (gap.start - START, gap.why) == (540.0, "not watched")
    assert gap.end - START == pytest.approx(940.02)
    assert gap.elapsed_s == (None if boots else pytest.approx(400.02))
    assert (found.starts, found.steps) == (2, ())
    assert found.watched.samples[-1].at < START + HOUR


def test_a_clock_that_went_back_over_a_new_boot_is_written_down(tmp_path: Path) -> None:
    clock = VirtualClock()
    watch(tmp_path / "w", clock, for_s=600.0)
    clock.boot, clock.steady, clock.wall = "another", 3.0, START - 86400.0
    watch(tmp_path / "w", clock, for_s=HOUR)
    (step,) = evidence_in(tmp_path / "w").steps
    assert step.step_s is None


def test_what_could_not_be_stored_is_a_gap_and_no_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cloudcmp.store.faults import disk_full

    clock, told, real = VirtualClock(), Acknowledged(), EvidenceLog.append

    def append(self: EvidenceLog, kind: str, at: float, **fields: object) -> int:
        if 600 <= at - START < 1200:
            raise disk_full(tmp_path)
        return real(self, kind, at, **fields)

    monkeypatch.setattr(EvidenceLog, "append", append)
    assert watch_once(tmp_path / "w", clock, Service(clock), told, HOUR, TERMS) == "finished"
    found = evidence_in(tmp_path / "w")
    (gap,) = found.gaps
    assert (gap.start - START, gap.why) == (pytest.approx(540.0), "not stored")
    assert gap.elapsed_s == pytest.approx(660.0)
    assert stored(found.watched.samples) == stored(told.samples)
    assert len(told.samples) == 50
    assert [note.partition(": ")[2] for note in told.notes] == [
        "the disk is full; free some space, then go on with --resume; it is tried again with each sample"
    ]


def test_a_watch_that_goes_on_says_how_long_and_what_nobody_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, told = VirtualClock(), Acknowledged()
    die_at(monkeypatch, lambda name: name == "evidence.before_write" and len(told.samples) == 20)
    assert watch_once(tmp_path / "w", clock, Service(clock), told, HOUR, TERMS) == "died"
    die_at(monkeypatch, lambda _: False)
    clock.pass_s(600.0)
    later = Acknowledged()
    assert watch_once(tmp_path / "w", clock, Service(clock), later, HOUR, TERMS) == "finished"
    assert later.notes == [
        "goes on for the 30 min 00 s that are left of 1 h 00 min",
        "lines 19 to 22 were not signed when this watch went on; anyone with the folder could have written them, and "
        "claims leave them out",
    ]
    found = evidence_in(tmp_path / "w")
    assert (found.unsigned, found.signed_lines) == ((LineSpan(19, 22),), found.lines)
    assert len(found.watched.samples) - len(found.signed.samples) == 4
    start = [line for line in (tmp_path / "w/evidence.jsonl").read_text().splitlines() if '"start"' in line][1]
    assert '"found":22,"signed":18' in start


def test_a_watch_that_is_stopped_ends_with_a_signed_head(tmp_path: Path) -> None:
    clock, told = VirtualClock(), Acknowledged()
    log = opened(tmp_path / "w")
    ended = Watcher(log, 60.0, HOUR, Service(clock), clock, told, lambda: len(told.samples) == 7).run()
    log.close()
    found = evidence_in(tmp_path / "w")
    assert (ended, found.ended, found.lines, found.signed_lines) == ("stopped", "stopped", 10, 10)


def test_a_death_at_every_point_loses_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = died = 0
    while died == at:
        at += 1
        passed = 0

        def wanted(_: str, at: int = at) -> bool:
            nonlocal passed
            passed += 1
            return passed == at

        folder, clock, told = tmp_path / str(at), VirtualClock(), Acknowledged()
        die_at(monkeypatch, wanted)
        if watch_once(folder, clock, Service(clock), told, 180.0, TERMS) == "died":
            died += 1
            clock.pass_s(10.0)
            assert watch_once(folder, clock, Service(clock), told, 180.0, TERMS) == "finished"
        found = evidence_in(folder)
        assert not Counter(stored(told.samples)) - Counter(stored(found.watched.samples)), at
        assert (found.ended, found.signed_lines) == ("finished", found.lines)
    assert died > 35


def test_a_week_with_deaths_and_power_failures_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lost_in_week(tmp_path / "w", 1, monkeypatch) == []
    found = evidence_in(tmp_path / "w")
    assert found.starts > 15
    assert found.mends > 0
    done = by_program(tmp_path / "w")
    spans = [f"UNSIGNED: lines {one.first} to {one.last}" for one in found.unsigned]
    assert [line.partition(" are chained")[0] for line in done.stdout.splitlines()[:-1]] == spans
    assert spans


def test_without_fsync_the_same_week_loses_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the test above can fail."""
    monkeypatch.setattr(EvidenceLog, "_is_synced", lambda _: True)
    with pytest.raises(CorruptStore, match=r"line \d+ is incomplete|lines, and \d+ were signed"):
        week(tmp_path / "w", 1, monkeypatch)
