"""A study's caps on their way to an agent: what each trial is given, and what counts against the study's bytes."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.plan.clouds import planned

from cloudcmp import agent
from cloudcmp.errors import BudgetSpent
from cloudcmp.execute.traffic import allowance, sent_in_all
from cloudcmp.model.plan import Plan, PlannedTrial
from cloudcmp.model.study import Caps
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.plan import caps_of, most_bytes
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Guard, Limits
from cloudcmp.store import StudyStore

PAIR = "[{provider: aws, region: eu, offering: small, count: 2}]"
TCP = "[{probe: tcp, params: {path: zone, duration_s: 1}}]"
RATE = 1e6
"""Bytes a second; a trial of 1 s, its start-up of 0.1 s and the 2 s by which it may be cut late come to 3.1 MB."""
MOST = 3_100_000


def test_the_agent_takes_the_widest_caps() -> None:
    job = {
        "v": 2, "seq": 0, "type": "job", "probe": "rtt", "params": {"path": "zone"}, "role": "server", "cpus": [0],
        "dir": None, "listen": "127.0.0.1:0", "targets": [{"role": "client", "address": "127.0.0.1"}],
        "secret": "ab" * 32, "deadline_s": 5.0, "seed": 1,
        "caps": caps_of(Caps(), "qemu"),
    }  # fmt: skip
    done = subprocess.run(
        [agent.locate()], input=json.dumps(job) + "\n", capture_output=True, text=True, timeout=20, check=False
    )
    # It reads the job, then sees that nobody waits for it; a job that it does not take ends with 2.
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["outcome"] == "aborted"


def test_p15_what_the_study_says_is_what_its_agents_are_given() -> None:
    said = Caps(burst_s=5.0, bytes_per_s=1e6, packets_per_s=100.0, bytes=10**9)
    rates = {"burst_s": 5.0, "bytes_per_s": 1e6, "packets_per_s": 100.0}
    assert caps_of(said, "aws") == rates  # and its share of the bytes, when its turn comes
    assert caps_of(Caps(burst_s=5.0), "aws") == {"burst_s": 5.0}
    assert caps_of(Caps(), "aws") == {}
    assert caps_of(said, "qemu") == rates | {"bytes": 2**60}


def test_a_trial_can_send_no_more_than_its_rate_for_its_length() -> None:
    (tcp,) = planned(PAIR, probes=TCP).trials[:1]
    assert most_bytes({"bytes_per_s": RATE}, tcp.probe, dict(tcp.params)) == MOST
    assert most_bytes({"bytes_per_s": RATE, "burst_s": 0.5}, tcp.probe, dict(tcp.params)) == 2_500_000
    (rtt,) = planned(PAIR, probes="[{probe: rtt, params: {path: zone, duration_s: 1, size_bytes: 100}}]").trials[:1]
    assert most_bytes({"packets_per_s": 10.0, "burst_s": 0.1}, rtt.probe, dict(rtt.params)) == 3000


@dataclass
class TrialContext:
    """Only what says that it is time to stop."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class RunContext:
    """As much of a crew as an allowance asks for."""

    plan: Plan
    store: StudyStore
    guard: Guard
    trials: TrialContext = field(default_factory=TrialContext)


@dataclass
class LaunchContext:
    """One launch of the plan's candidate."""

    run: RunContext

    @property
    def candidate(self) -> object:
        return self.run.plan.candidates[0]


@contextmanager
def crew(folder: Path, cap: int) -> Iterator[RunContext]:
    """A study with this cap on bytes, of trials that may send 3.1 MB each."""
    plan = planned(PAIR, probes=TCP, rest="caps: {duty: 100 %, rate: 1 MB/s, bytes: 1 GB}\n")
    plan = replace(plan, caps=replace(plan.caps, bytes=cap))
    with StudyStore.create(folder / "out", plan, study_text="", provenance={}, created_at=1.0) as store:
        yield RunContext(
            plan,
            store,
            Guard(None, {}, lambda number: store.lease_rows()[number:], WallTime(), Limits(traffic_bytes=cap)),
        )


def ended(store: StudyStore, trial: PlannedTrial, sent: int | None, outcome: Outcome = Outcome.ABORTED) -> None:
    """The next attempt at a trial, whose agent notes what it sent or never says."""
    number = store.next_attempt(trial.index)
    store.begin_attempt(trial.index, number, 10.0)
    facts = "" if sent is None else json.dumps({"notes": {"payload_bytes": sent}})
    store.finish_attempt(Attempt(trial.index, number, outcome, 10.0, 12.0, "why", facts=facts), ())


def test_p15_launches_side_by_side_share_the_bytes_of_the_study(tmp_path: Path) -> None:
    """The second trial waits for what the first leaves, and gets no more than that."""
    with crew(tmp_path, 5_000_000) as made:
        first, second, third = made.plan.trials[:3]
        order: list[object] = []

        async def one(trial: PlannedTrial, sent: int | None) -> None:
            async with allowance(LaunchContext(made), trial) as caps:
                order.append((trial.index, caps["bytes"]))
                await asyncio.sleep(0.2)
                ended(made.store, trial, sent)
                order.append(trial.index)

        async def both() -> None:
            async with asyncio.timeout(20), asyncio.TaskGroup() as group:
                group.create_task(one(first, 1_000_000))
                group.create_task(one(second, None))

        asyncio.run(both())
        assert order == [(first.index, MOST), first.index, (second.index, MOST), second.index]
        assert made.guard.traffic_bytes == 1_000_000 + MOST  # the second never said
        asyncio.run(one(third, None))
        assert order[-2] == (third.index, 900_000)
        with pytest.raises(BudgetSpent, match="the cap on traffic is 5000000 bytes, 5000000 are counted"):
            asyncio.run(one(made.plan.trials[3], 0))
        # Whoever resumes the study counts the same.
        assert sent_in_all(made.plan, made.store.attempts()) == 5_000_000


def test_what_was_never_begun_gives_its_allowance_back_and_what_is_open_does_not(tmp_path: Path) -> None:
    with crew(tmp_path, 5_000_000) as made:
        trial = made.plan.trials[0]

        async def left(*, begun: bool) -> None:
            async with allowance(LaunchContext(made), trial):
                if begun:
                    made.store.begin_attempt(trial.index, made.store.next_attempt(trial.index), 10.0)

        asyncio.run(left(begun=False))
        assert made.guard.traffic_bytes == 0
        asyncio.run(left(begun=True))
        assert made.guard.traffic_bytes == MOST


def test_a_machine_that_never_came_sent_nothing_and_a_controller_that_died_counts_in_full(tmp_path: Path) -> None:
    with crew(tmp_path, 5_000_000) as made:
        store, (first, second) = made.store, made.plan.trials[:2]
        store.begin_attempt(first.index, 0, 10.0)
        store.finish_attempt(Attempt(first.index, 0, Outcome.FAILED, 10.0, 10.0, "no capacity"), ())
        assert sent_in_all(made.plan, store.attempts()) == 0
        store.begin_attempt(second.index, 0, 10.0)
        store.interrupt_open(lambda _: 11.0)
        assert sent_in_all(made.plan, store.attempts()) == MOST


@pytest.mark.parametrize("facts", ['{"notes":5}', '{"notes":{"payload_bytes":Infinity}}', "{}"])
def test_a_note_that_is_no_number_of_bytes_counts_as_all_that_may_have_been_sent(tmp_path: Path, facts: str) -> None:
    with crew(tmp_path, 5_000_000) as made:
        store, first = made.store, made.plan.trials[0]
        store.begin_attempt(first.index, 0, 10.0)
        store.finish_attempt(Attempt(first.index, 0, Outcome.FAILED, 10.0, 11.0, "lost", facts=facts), ())
        assert sent_in_all(made.plan, store.attempts()) == MOST


def test_what_stays_on_its_machine_counts_for_nothing(tmp_path: Path) -> None:
    plan = planned(PAIR, probes="[{probe: tcp}]", rest="caps: {bytes: 1 GB}\n")
    with StudyStore.create(tmp_path / "out", plan, study_text="", provenance={}, created_at=1.0) as store:
        ended(store, plan.trials[0], 10**8)
        assert sent_in_all(plan, store.attempts()) == 0
