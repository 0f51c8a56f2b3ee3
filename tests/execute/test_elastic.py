"""What the controller times: samples of what was seen, outcomes of what was not, and nothing clamped."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execute.conftest import START, Memory, Told

from cloudcmp.catalog import METRICS, PROBES, cells_of, expected_s, fill
from cloudcmp.errors import (
    ACCOUNT_FAULTS,
    CONTROLLER_FAULTS,
    ConnectionLost,
    IncompleteListing,
    NoCapacity,
    ProviderFault,
    Refused,
)
from cloudcmp.execute.context import LaunchResult, TrialContext, TrialsByTurn
from cloudcmp.execute.lifecycle.disturbance import MachineActions, run_last
from cloudcmp.execute.lifecycle.machine_times import (
    arrival,
    give_up_s,
    record_arrival,
    record_release,
)
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, PlannedTrial
from cloudcmp.model.safety import Timeline
from cloudcmp.model.trial import Outcome, Sample
from cloudcmp.provider.time import VirtualTime
from cloudcmp.stats import histogram

CLOUD = Candidate(0, "cloud/small", Offering("cloud", "eu", "small"), "cloud")
SEEN = Timeline(1.5, 30.0, 42.0, 55.0, 20.0)


def trial(probe: str, index: int = 0, **params: str) -> PlannedTrial:
    """A trial as the plan makes it."""
    filled = fill(probe, params)
    cells = tuple(str(cell) for cell in cells_of(probe, filled))
    deadline_s = float(filled["give_up_s"]) if "give_up_s" in filled else 20.0
    return PlannedTrial(
        index, 0, probe, tuple(sorted(filled.items())), cells, 0, 10.0, expected_s(probe, filled), deadline_s, index
    )


class Desk:
    """A bench on virtual time with its records in memory."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.told = Told()
        self.time = VirtualTime(START)
        self.bench = TrialContext(self.memory, METRICS, PROBES, self.time, self.told, histogram.from_base64)

    @property
    def outcomes(self) -> list[str]:
        return [one.outcome.value for one in self.memory.attempts]

    def values(self, index: int = 0) -> dict[str, float | None]:
        """The samples of a trial by metric."""
        return {one.metric: one.value for one in self.memory.samples[index]}


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_the_steps_of_one_machine_are_the_samples_of_its_launch(desk: Desk) -> None:
    asked = trial("scaling")
    record_arrival(desk.bench, CLOUD, [asked], [SEEN], 0.25)
    assert desk.values() == {
        "scaling_latency_s": 55.0, "provisioning_latency_s": 35.0, "booting_latency_s": 20.0, "api_latency_s": 1.5,
        "running_latency_s": 30.0, "reachable_latency_s": 42.0,
    }  # fmt: skip
    assert desk.memory.samples[0][0] == Sample(0, "scaling_latency_s", "count=1;os=linux", 0.0, 55.0, None)
    (attempt,) = desk.memory.attempts
    assert (attempt.outcome, attempt.why) == (Outcome.OK, "")
    assert attempt.ended_at - attempt.started_at == 55.0
    facts = json.loads(attempt.facts)
    assert facts["by"] == "controller"
    assert facts["notes"] == {"poll_s": 0.25}
    assert facts["timelines"][0]["reachable_s"] == 42.0
    assert desk.told.lines == [("trial", "cloud/small", "scaling", "ok")]
    assert not desk.memory.open


def test_every_cell_of_the_trial_has_one_sample(desk: Desk) -> None:
    for index, params in enumerate(({}, {"count": "2"}, {"os": "windows"})):
        asked = trial("scaling", index, **params)
        lines = [SEEN] * int(dict(asked.params)["count"])
        record_arrival(desk.bench, CLOUD, [asked], lines, 0.25)
        assert {f"{one.metric} {one.params}" for one in desk.memory.samples[index]} == set(asked.cells)
    assert desk.outcomes == ["ok"] * 3


def test_a_batch_is_there_when_its_last_machine_is(desk: Desk) -> None:
    lines = [SEEN, replace(SEEN, answered_s=9.0, running_s=31.0), replace(SEEN, usable_s=80.0, uptime_s=60.0)]
    record_arrival(desk.bench, CLOUD, [trial("scaling", count="3")], lines, 0.25)
    assert desk.values() == {
        "scaling_latency_s": 80.0, "provisioning_latency_s": 20.0, "booting_latency_s": 60.0, "api_latency_s": 9.0,
        "running_latency_s": 31.0, "reachable_latency_s": 42.0,
    }  # fmt: skip


def test_a_windows_machine_is_there_when_its_port_answers(desk: Desk) -> None:
    record_arrival(desk.bench, CLOUD, [trial("scaling", os="windows")], [Timeline(1.5, 30.0, 200.0)], 0.25)
    assert desk.values() == {
        "scaling_latency_s": 200.0, "api_latency_s": 1.5, "running_latency_s": 30.0, "reachable_latency_s": 200.0,
    }  # fmt: skip


NEVER = [
    ([], "", "timeout", "0 of 1 machines came: not within 1200 s"),
    ([Timeline(1.0)], "", "timeout", "0 of 1 machines came, one was not running: not within 1200 s"),
    ([Timeline(1.0, 20.0)], "", "timeout", "one was not reachable"),
    ([Timeline(1.0, 20.0, 30.0)], "", "timeout", "one was not usable"),
    ([Timeline(1.0, 20.0)], "it is stopped", "failed", "one was not reachable: it is stopped"),
    ([SEEN], "another machine answers", "failed", "1 of 1 machines came: another machine answers"),
    ([], "no capacity", "failed", "0 of 1 machines came: no capacity"),
]


@pytest.mark.parametrize(("lines", "why", "outcome", "says"), NEVER)
def test_a_machine_that_never_comes_says_which_step_it_did_not_reach(
    desk: Desk, lines: Sequence[Timeline], why: str, outcome: str, says: str
) -> None:
    record_arrival(desk.bench, CLOUD, [trial("scaling")], lines, 0.25, why)
    (attempt,) = desk.memory.attempts
    assert attempt.outcome.value == outcome
    assert says in attempt.why
    assert json.loads(attempt.facts)["notes"] == {"poll_s": 0.25}
    assert desk.memory.samples[0] == ()


def test_one_machine_of_a_batch_that_never_comes_fails_the_batch(desk: Desk) -> None:
    record_arrival(desk.bench, CLOUD, [trial("scaling", count="2")], [SEEN, Timeline(1.0)], 0.25, "no address")
    assert desk.memory.attempts[0].why == "1 of 2 machines came, one was not running: no address"
    record_arrival(desk.bench, CLOUD, [trial("scaling", 1, count="2")], [SEEN], 0.25, "no capacity")
    assert desk.memory.attempts[1].why == "1 of 2 machines came: no capacity"


def test_a_machine_that_was_waited_for_in_vain_is_a_timeout_with_what_was_seen_last(desk: Desk) -> None:
    record_arrival(desk.bench, CLOUD, [trial("scaling")], [Timeline(1.0)], 0.25, "it is still pending", late=True)
    record_release(desk.bench, CLOUD, [trial("scale_in", 1)], None, 1.0, "it is still shutting-down", late=True)
    assert desk.outcomes == ["timeout", "timeout"]
    assert [one.why for one in desk.memory.attempts] == [
        "0 of 1 machines came, one was not running: it is still pending", "it is still shutting-down",
    ]  # fmt: skip


def test_a_machine_that_comes_too_late_is_a_timeout(desk: Desk) -> None:
    record_arrival(desk.bench, CLOUD, [trial("scaling", give_up_s="50 s")], [SEEN], 0.25)
    assert desk.outcomes == ["timeout"]
    assert desk.memory.attempts[0].why == "usable only after 55 s"


WRONG = [
    (replace(SEEN, uptime_s=55.0), "not below"),
    (replace(SEEN, uptime_s=60.0), "its uptime of 60 s is not below the 55 s since it was asked for: a wrong clock"),
    (replace(SEEN, uptime_s=None), "its uptime is not known"),
    (replace(SEEN, uptime_s=0.0), "its uptime is not known"),
    (replace(SEEN, uptime_s=float("nan")), "its uptime is not known"),
    (replace(SEEN, running_s=43.0), "out of order"),
    (replace(SEEN, answered_s=-1.0), "out of order"),
    (replace(SEEN, answered_s=0.0), "out of order"),
    (replace(SEEN, reachable_s=float("nan")), "out of order"),
]


@pytest.mark.parametrize(("line", "says"), WRONG)
def test_clocks_that_contradict_each_other_are_invalid_and_nothing_is_clamped(
    desk: Desk, line: Timeline, says: str
) -> None:
    record_arrival(desk.bench, CLOUD, [trial("scaling")], [line], 0.25)
    assert desk.outcomes == ["invalid"]
    assert says in desk.memory.attempts[0].why
    assert desk.memory.samples[0] == ()


STEP = st.one_of(st.none(), st.floats(-10, 2000, allow_nan=False), st.just(float("nan")), st.just(float("inf")))
LINES = st.lists(st.builds(Timeline, STEP, STEP, STEP, STEP, STEP), max_size=3)
GOOD = st.lists(st.floats(0.01, 900), min_size=5, max_size=5).map(sorted).map(
    lambda ends: Timeline(ends[0], ends[1], ends[2], ends[4], min(ends[3], ends[4] * 0.999))
)  # fmt: skip


@given(LINES | st.lists(GOOD, min_size=1, max_size=3), st.sampled_from(["linux", "windows"]))
def test_an_ok_trial_holds_what_must_hold_of_times(lines: list[Timeline], system: str) -> None:
    asked = trial("scaling", os=system, count=str(max(1, len(lines))))
    found = arrival(asked, lines, 0.5)
    assert (found.outcome is Outcome.OK) == bool(found.samples)
    assert found.why or found.outcome is Outcome.OK
    if found.samples:
        values = {one.metric: one.value or 0.0 for one in found.samples}
        assert min(values.values()) > 0
        assert values["api_latency_s"] <= values["running_latency_s"] <= values["reachable_latency_s"]
        assert values["reachable_latency_s"] <= values["scaling_latency_s"] <= asked.deadline_s
        if system == "linux":
            parts = values["provisioning_latency_s"] + values["booting_latency_s"]
            assert parts == pytest.approx(values["scaling_latency_s"])
            assert values["booting_latency_s"] < values["scaling_latency_s"]


@given(st.lists(GOOD, min_size=1, max_size=4))
def test_honest_clocks_are_always_believed(lines: list[Timeline]) -> None:
    assert arrival(trial("scaling", count=str(len(lines))), lines, 0.5).outcome is Outcome.OK


def test_going_is_timed_until_all_are_seen_gone(desk: Desk) -> None:
    record_release(desk.bench, CLOUD, [trial("scale_in", count="4")], 12.5, 1.0)
    assert desk.values() == {"scale_in_latency_s": 12.5}
    record_release(desk.bench, CLOUD, [trial("scale_in", 1)], None, 1.0)
    record_release(desk.bench, CLOUD, [trial("scale_in", 2)], None, 1.0, "it was never there")
    record_release(desk.bench, CLOUD, [trial("scale_in", 3, give_up_s="10 s")], 12.5, 1.0)
    assert desk.outcomes == ["ok", "timeout", "failed", "timeout"]
    assert [one.why for one in desk.memory.attempts[1:]] == [
        "not seen gone within 600 s", "it was never there", "not seen gone within 10 s",
    ]  # fmt: skip


def test_trials_have_their_turn_and_a_simulated_machine_answers_for_all() -> None:
    trials = [trial(name, at) for at, name in enumerate(("scaling", "fma", "recovery", "resize", "scale_in"))]
    turns = TrialsByTurn.of(PROBES, CLOUD, trials)
    names = [[one.probe for one in some] for some in (turns.arrival, turns.during, turns.last, turns.release)]
    assert names == [["scaling"], ["fma"], ["recovery", "resize"], ["scale_in"]]
    simulated = TrialsByTurn.of(PROBES, replace(CLOUD, runner="simulated"), trials)
    assert simulated.during == tuple(trials)
    assert not simulated.arrival
    assert give_up_s(turns.arrival, 900.0) == 1200.0
    assert give_up_s((), 900.0) == 900.0


class Guest:
    """A machine that comes back as told, on virtual time."""

    def __init__(self, desk: Desk, back_s: float = 30.0, fault: ProviderFault | None = None) -> None:
        self.desk, self.back_s, self.fault = desk, back_s, fault
        self.boots, self.became, self.taken = 1, "", ""
        self.reboots, self.blind = True, False

    async def resize(self, to: str) -> None:
        await self.desk.time.sleep(10.0)
        self._ends()
        self.became = to

    async def die(self) -> None:
        self._ends()

    def _ends(self) -> None:
        if self.fault is not None:
            raise self.fault
        self.boots += self.reboots

    async def back(self, limit_s: float) -> str:
        await self.desk.time.sleep(min(self.back_s, limit_s))
        if self.back_s > limit_s:
            raise TimeoutError
        return f"boot-{self.boots}"

    async def gone(self) -> str | None:
        return self.taken or None

    def runs(self, *trials: PlannedTrial) -> LaunchResult:
        hands = MachineActions(
            self.desk.time.monotonic, 0.25, "boot-1", self.resize, self.die, self.back, self.gone, lambda: self.blind
        )
        return asyncio.run(run_last(self.desk.bench, CLOUD, trials, hands))


LAST = (trial("recovery", 0), trial("resize", 1, to="large"))


def test_recovery_and_resize_are_timed_until_another_boot_answers(desk: Desk) -> None:
    guest = Guest(desk)
    visit = guest.runs(*LAST)
    assert (visit.outcome, visit.finished, guest.became) == (Outcome.OK, True, "large")
    assert desk.values(0) == {"recovery_latency_s": pytest.approx(30.0)}
    assert desk.values(1) == {"resize_latency_s": pytest.approx(40.0)}
    assert json.loads(desk.memory.attempts[0].facts)["notes"] == {"poll_s": 0.25}


def test_a_machine_that_answers_without_another_boot_was_not_disturbed(desk: Desk) -> None:
    guest = Guest(desk)
    guest.reboots = False
    assert guest.runs(LAST[0]).finished
    assert desk.outcomes == ["invalid"]
    assert "without another boot" in desk.memory.attempts[0].why


FAULTS = [
    (Refused.at("i-1", "it cannot be resized", "leave resize out"), "failed", "cannot be resized"),
    (NoCapacity.at("i-1", "no large one is left", "try later"), "failed", "no large one is left"),
    (ProviderFault.at("i-1", "it cannot be reached", "see its console"), "failed", "cannot be reached"),
]


@pytest.mark.parametrize(("fault", "outcome", "says"), FAULTS)
def test_what_a_machine_refuses_is_a_result_and_what_follows_fails_with_it(
    desk: Desk, fault: ProviderFault, outcome: str, says: str
) -> None:
    Guest(desk, fault=fault).runs(*LAST)
    assert desk.outcomes == [outcome, "failed"]
    assert says in desk.memory.attempts[0].why
    assert desk.memory.attempts[1].why.startswith("after recovery: ")


@pytest.mark.parametrize("kind", [*ACCOUNT_FAULTS, *CONTROLLER_FAULTS, ConnectionLost])
def test_p31_what_is_not_the_machines_own_counts_nowhere_and_is_left_to_be_run_again(
    desk: Desk, kind: type[ProviderFault]
) -> None:
    visit = Guest(desk, fault=kind.at("i-1", "no answer")).runs(*LAST)
    assert not visit.finished
    assert [(one.trial, one.outcome.value, one.interrupted) for one in desk.memory.attempts] == [(0, "aborted", True)]
    assert "no answer" in visit.why
    assert issubclass(IncompleteListing, ACCOUNT_FAULTS)


def test_p31_p35_what_came_back_while_nobody_could_look_is_not_timed(desk: Desk) -> None:
    guest = Guest(desk)
    guest.blind = True
    assert not guest.runs(*LAST).finished
    assert [(one.outcome.value, one.interrupted) for one in desk.memory.attempts] == [("aborted", True)]


def test_a_machine_that_does_not_come_back_is_a_timeout(desk: Desk) -> None:
    visit = Guest(desk, back_s=700.0).runs(LAST[0])
    assert desk.outcomes == ["timeout"]
    assert desk.memory.attempts[0].why == "not usable again within 600 s"
    assert visit.finished


def test_p36_a_machine_that_its_provider_took_is_preempted_with_what_follows(desk: Desk) -> None:
    guest = Guest(desk, back_s=700.0)
    guest.taken = "it is terminated: spot"
    assert guest.runs(*LAST).outcome is Outcome.PREEMPTED
    assert desk.outcomes == ["preempted", "preempted"]


def test_stopped_on_request_begins_nothing_more(desk: Desk) -> None:
    desk.bench.stop.set()
    assert not Guest(desk).runs(*LAST).finished
    assert desk.memory.attempts == []
    assert not desk.memory.open


def test_p35_what_was_slept_through_is_not_timed(desk: Desk) -> None:
    guest, nights = Guest(desk), iter((0.0, 600.0))
    desk.bench = replace(desk.bench, slept_s=lambda: next(nights))
    guest.runs(LAST[0])
    (attempt,) = desk.memory.attempts
    assert (attempt.outcome, attempt.interrupted, attempt.n_samples) == (Outcome.ABORTED, True, 0)
    assert "slept for 600 s" in attempt.why
