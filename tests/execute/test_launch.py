import asyncio
import json
import sys

import pytest

from cloudcmp.execute.attempts import record_all
from cloudcmp.execute.launch import was_preempted
from cloudcmp.model.offering import Faults
from cloudcmp.model.trial import LaunchReason, Outcome

PROBES = ("fma", "int", "lu", "stream", "chase", "disk", "tcp", "udp", "rtt")
START = 1_700_000_000.0


def trials_of(rig, count=9):
    return [rig.trial(index, PROBES[index % len(PROBES)]) for index in range(count)]


def test_every_trial_gives_every_cell_on_the_plans_own_times(rig):
    trials = trials_of(rig)
    visit = rig.on_simulated(trials)
    assert (visit.outcome, visit.finished) == (Outcome.OK, True)
    assert rig.outcomes == ["ok"] * len(trials)
    for trial, attempt in zip(trials, rig.memory.attempts, strict=True):
        assert (attempt.trial, attempt.attempt) == (trial.index, 0)
        assert attempt.started_at == START + trial.start_s
        assert attempt.ended_at == START + trial.start_s + trial.expected_s
        given = {sample.metric for sample in rig.memory.samples[trial.index]}
        assert given == {cell.split(" ")[0] for cell in trial.cells}
        assert json.loads(attempt.facts)["host"]["simulated"] is True
    assert rig.told.lines[0] == ("launch", "nimbus/medium", 3)
    assert rig.told.lines[1:] == [("trial", "nimbus/medium", trial.probe, "ok") for trial in trials]
    assert rig.memory.open == set()


def test_the_same_plan_gives_the_same_records(rigs):
    one, other = rigs(), rigs()
    for rig in (one, other):
        rig.on_simulated(trials_of(rig, 30), Faults(hang=0.1, garbage=0.1))
    assert one.memory.attempts == other.memory.attempts
    assert one.memory.samples == other.memory.samples
    assert set(one.outcomes) == {"ok", "timeout", "invalid"}


def test_what_ended_before_is_not_run_again(rig):
    trials = trials_of(rig)
    rig.on_simulated(trials, before={0: Outcome.OK, 1: Outcome.FAILED, 3: Outcome.INVALID})
    assert [attempt.trial for attempt in rig.memory.attempts] == [2, 4, 5, 6, 7, 8]


def test_an_interrupted_attempt_is_run_again_with_the_same_numbers(rigs):
    whole, cut = rigs(), rigs()
    trials = trials_of(whole)
    whole.on_simulated(trials)
    cut.memory.attempts.append(
        whole.memory.attempts[2].__class__(2, 0, Outcome.ABORTED, START, START, "cut short", interrupted=True)
    )
    cut.on_simulated(trials)
    assert [(a.trial, a.attempt) for a in cut.memory.attempts if a.trial == 2] == [(2, 0), (2, 1)]
    assert cut.memory.samples == whole.memory.samples


def test_a_hang_takes_no_time_of_ours_and_all_of_the_trials(rig):
    trials = trials_of(rig)
    rig.on_simulated(trials, Faults(hang=1.0))
    assert rig.outcomes == ["timeout"] * len(trials)
    assert rig.memory.attempts[0].ended_at == START + trials[0].deadline_s
    assert rig.memory.attempts[0].why == "no end within 20 s"
    assert rig.seconds < 2.0


def test_garbage_is_invalid(rig):
    trials = trials_of(rig, 60)
    rig.on_simulated(trials, Faults(garbage=1.0))
    assert rig.outcomes == ["invalid"] * len(trials)
    assert all(samples == () for samples in rig.memory.samples.values())
    assert all(attempt.why.isprintable() and attempt.why for attempt in rig.memory.attempts)


def test_p36_a_machine_that_is_taken_away_ends_its_launch(rig):
    trials = trials_of(rig, 40)
    visit = rig.on_simulated(trials, Faults(preemption=0.04))
    first = rig.outcomes.index("preempted")
    assert 0 < first < 39
    assert rig.outcomes == ["ok"] * first + ["preempted"] * (40 - first)
    assert "was taken back by the cloud" in rig.memory.attempts[first].why
    assert {attempt.why for attempt in rig.memory.attempts[first + 1 :]} == {LaunchReason.MACHINE_LOST.text}
    assert (visit.outcome, visit.finished) == (Outcome.PREEMPTED, True)
    assert rig.memory.open == set()


def test_after_a_resume_a_lost_machine_stays_lost(rigs):
    whole, resumed = rigs(), rigs()
    trials = trials_of(whole, 40)
    whole.on_simulated(trials, Faults(preemption=0.04))
    first = whole.outcomes.index("preempted")
    before = {attempt.trial: attempt.outcome for attempt in whole.memory.attempts[: first + 2]}
    assert was_preempted(trials, before)
    resumed.on_simulated(trials, Faults(preemption=0.04), before)
    assert resumed.memory.attempts == whole.memory.attempts[first + 2 :]


def test_a_stop_lets_the_current_trial_end(rig):
    class Stopper:
        def launch(self, *_):
            pass

        def trial(self, candidate, trial, outcome, why):
            if trial.probe == "lu":
                rig.stop.set()

    visit = rig.on_simulated(trials_of(rig), progress=Stopper())
    # The next attempt was begun with the end of this one; it is cut short, as by the end of the process.
    assert rig.outcomes == ["ok", "ok", "ok"]
    assert (visit.outcome, visit.finished) == (Outcome.ABORTED, False)


def test_a_stop_before_the_first_trial_runs_none(rig):
    rig.stop.set()
    visit = rig.on_simulated(trials_of(rig))
    assert (rig.outcomes, rig.memory.began) == ([], [])
    assert not visit.finished


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.PREEMPTED])
def test_a_machine_that_never_came_fails_each_trial(rig, outcome):
    from cloudcmp.catalog import METRICS
    from cloudcmp.execute.context import TrialContext
    from cloudcmp.model.offering import Offering
    from cloudcmp.model.plan import Candidate
    from cloudcmp.provider.time import VirtualTime

    bench = TrialContext(rig.memory, METRICS, {}, VirtualTime(START), rig.told, str, asyncio.Event())
    candidate = Candidate(0, "nimbus/small", Offering("simulated", "nimbus", "small"), "simulated")
    visit = record_all(
        bench,
        candidate,
        trials_of(rig, 4),
        outcome,
        "nimbus: none left\n\x1b[31mtry later",
        LaunchReason.MACHINE_FAILED,
    )
    assert rig.outcomes == [outcome.value] * 4
    assert {attempt.why for attempt in rig.memory.attempts} == {"nimbus: none left try later"}
    assert [line[3] for line in rig.told.lines if line[0] == "trial"] == [outcome.value] * 4
    assert rig.told.lines.count(("note", "nimbus/small: nimbus: none left try later")) == 1
    assert visit.finished


def calls_of(work) -> int:
    """How many functions of ours a piece of work calls."""
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        calls += event == "call" and "/cloudcmp/" in frame.f_code.co_filename

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def test_a_simulated_trial_is_cheap(rig, rigs):
    """Counted, for a busy machine takes longer: hundreds of calls of ours a trial, however many there are."""
    few, many = (calls_of(lambda n=n: rigs().on_simulated(trials_of(rig, n))) / n for n in (50, 200))
    assert many < 500
    assert many < 1.1 * few


def test_p21_a_trial_that_was_slept_through_is_no_failure_and_is_run_again(rig):
    trials = trials_of(rig, 3)
    nights = iter((0.0, 0.0, 0.0, 7200.0))  # two looks a trial: the second trial sleeps two hours
    visit = rig.on_simulated(trials, Faults(garbage=1.0), slept_s=lambda: next(nights))
    assert (visit.finished, visit.why) == (False, LaunchReason.CONTROLLER_SLEPT.text)
    assert [(one.trial, one.outcome, one.interrupted) for one in rig.memory.attempts] == [
        (0, Outcome.INVALID, False),
        (1, Outcome.ABORTED, True),
    ]
    assert "slept for 7200 s" in rig.memory.attempts[1].why
    rig.on_simulated(trials, before={0: Outcome.INVALID})
    assert [(one.trial, one.outcome) for one in rig.memory.attempts[2:]] == [(1, Outcome.OK), (2, Outcome.OK)]


def test_p21_a_trial_that_ended_well_counts_though_its_controller_slept(rig):
    nights = iter((0.0, 7200.0))
    assert rig.on_simulated(trials_of(rig, 1), slept_s=lambda: next(nights)).finished
    assert rig.outcomes == ["ok"]


def test_p31_no_trial_is_begun_that_its_machine_may_not_live_to_the_end_of(rig):
    trials = trials_of(rig, 4)
    left = iter((1000.0, 500.0, 10.0, 10.0))  # before the first trial, then after each
    visit = rig.on_simulated(trials, left_s=lambda: next(left))
    assert (visit.outcome, visit.finished, visit.why) == (Outcome.ABORTED, False, LaunchReason.TIME_TO_LIVE.text)
    assert [(one.trial, one.outcome) for one in rig.memory.attempts] == [(0, Outcome.OK), (1, Outcome.OK)]
    assert not rig.memory.open


def test_p21_a_machine_that_ended_at_its_time_to_live_while_its_controller_slept_was_not_taken_away(rig):
    trials = trials_of(rig, 3)
    nights, left = iter((0.0, 0.0, 0.0, 90000.0)), iter((9e4, 9e4, 9e4 - 1, 0.0))
    visit = rig.on_simulated(trials, Faults(garbage=1.0), slept_s=lambda: next(nights), left_s=lambda: next(left))
    assert visit.why == LaunchReason.CONTROLLER_SLEPT.text
    again = rig.on_simulated(trials, Faults(preemption=1.0), before={0: Outcome.INVALID}, left_s=lambda: 0.0)
    assert (again.finished, again.why) == (False, LaunchReason.TIME_TO_LIVE.text)
    assert Outcome.PREEMPTED not in {one.outcome for one in rig.memory.attempts}
