"""Launches on machines that are honest, hostile or simulated, with their records in memory."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cloudcmp.catalog import METRICS, PROBES, cells_of, expected_s, fill
from cloudcmp.execute.cast import LaunchTargets
from cloudcmp.execute.context import LaunchResult, TrialContext
from cloudcmp.execute.launch import run_trials
from cloudcmp.model.lease import CreateRequest, Handle, Lease, LeaseState
from cloudcmp.model.offering import CellTruth, Faults, Offering, Truth
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.protocol import Provider
from cloudcmp.model.trial import Attempt, Outcome, Sample
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalProvider
from cloudcmp.provider.simulated import SimulatedProvider
from cloudcmp.provider.time import VirtualTime, WallTime
from cloudcmp.stats import histogram

START = 1_700_000_000.0

# Of this process alone: ending a lease ends every process that bears its token, on the whole machine.
TOKEN = f"token-{os.getpid()}"


@dataclass
class Memory:
    """Records that refuse what the store would refuse."""

    attempts: list[Attempt] = field(default_factory=list)
    samples: dict[int, tuple[Sample, ...]] = field(default_factory=dict)
    open: set[tuple[int, int]] = field(default_factory=set)
    began: list[int] = field(default_factory=list)

    def next_attempt(self, trial: int) -> int:
        return sum(attempt.trial == trial for attempt in self.attempts) + sum(trial == one for one, _ in self.open)

    def earlier(self, trial: int) -> int:
        return sum(attempt.trial == trial and not attempt.interrupted for attempt in self.attempts)

    def begin_attempt(self, trial: int, attempt: int, started_at: float) -> None:
        assert (trial, attempt) not in self.open
        self.open.add((trial, attempt))
        self.began.append(trial)

    def finish_attempt(
        self, attempt: Attempt, samples_of: Sequence[Sample], *, begin_next: tuple[int, int, float] | None = None
    ) -> Attempt:
        self.open.remove((attempt.trial, attempt.attempt))
        self.attempts.append(attempt)
        self.samples[attempt.trial] = tuple(samples_of)
        assert not samples_of or attempt.outcome is Outcome.OK
        if begin_next is not None:
            self.begin_attempt(*begin_next)
        return attempt


@dataclass
class Told:
    """Progress, as it was told."""

    lines: list[tuple[object, ...]] = field(default_factory=list)

    def begin(self, trials: int, expected_s: float) -> None:
        self.lines.append(("begin", trials))

    def replan(self, trials: int, expected_s: float) -> None:
        self.lines.append(("replan", trials))

    def launch(self, candidate: str, round: int) -> None:
        self.lines.append(("launch", candidate, round))

    def trial(self, candidate: str, trial: PlannedTrial, outcome: Outcome, why: str) -> None:
        self.lines.append(("trial", candidate, trial.probe, outcome.value))

    def money(self, text: str) -> None:
        """Nothing is kept."""

    def step(self, text: str) -> None:
        self.lines.append(("step", text))

    def note(self, text: str) -> None:
        self.lines.append(("note", text))

    def end(self) -> None:
        self.lines.append(("end",))


class Rig:
    """One candidate's launch: `run` takes it from creation to destruction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = Memory()
        self.told = Told()
        self.stop = asyncio.Event()
        self.launch = Launch(0, 0, 3, None, 0.0, 77)
        self.seconds = 0.0

    @staticmethod
    def trial(index: int, probe: str, deadline_s: float = 20.0, **params: str) -> PlannedTrial:
        filled = fill(probe, params)
        cells = tuple(str(cell) for cell in cells_of(probe, filled))
        pairs = tuple(sorted(filled.items()))
        return PlannedTrial(
            index, 0, probe, pairs, cells, 0, 10.0 * index, expected_s(probe, filled), deadline_s, 1000 + index
        )

    def script(self, body: str) -> Path:
        path = self.folder / "agent.py"
        path.write_text(f"#!{sys.executable} -IS\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def on_local(
        self, agent: Path, trials: Sequence[PlannedTrial], before: Mapping[int, Outcome] | None = None, **bench: object
    ) -> LaunchResult:
        provider = LocalProvider(OwnedPath(self.folder / "work"), agent, "a")
        offering = provider.offerings()[-1]
        return self._run(provider, Candidate(0, "here", offering, "local"), WallTime(), trials, before or {}, bench)

    def on_simulated(
        self,
        trials: Sequence[PlannedTrial],
        faults: Faults | None = None,
        before: Mapping[int, Outcome] | None = None,
        **bench: object,
    ) -> LaunchResult:
        cells = tuple((metric.name, CellTruth(metric.typical)) for metric in METRICS.values())
        offering = Offering("simulated", "nimbus", "medium", 2, 8, "general")
        truth = Truth(cells, None, faults or Faults())
        candidate = Candidate(0, "nimbus/medium", offering, "simulated", truth=truth)
        clock = VirtualTime(START)
        provider = SimulatedProvider(METRICS, clock, histogram.encode, (candidate,))
        return self._run(provider, candidate, clock, trials, before or {}, bench)

    def _run(
        self,
        provider: Provider,
        candidate: Candidate,
        clock: VirtualTime | WallTime,
        trials: Sequence[PlannedTrial],
        before: Mapping[int, Outcome],
        bench_with: Mapping[str, object],
    ) -> LaunchResult:
        request = CreateRequest(
            "launch-0", 1, "instance", "cloudcmp-a-launch-0-1", TOKEN, "r", candidate.offering.name, 3600.0,
            (("cloudcmp:study", "a"),), 0, 0, 123456, START,
        )  # fmt: skip
        bench = TrialContext(self.memory, METRICS, PROBES, clock, self.told, histogram.from_base64, self.stop)
        left = {key: value for key, value in bench_with.items() if key == "left_s"}
        bench_with = {key: value for key, value in bench_with.items() if key not in left}

        async def whole() -> LaunchResult:
            cloud_id = await provider.create(request)
            lease = Lease("launch-0", 1, LeaseState.LIVE, provider.name, "r", "instance", "n", TOKEN, cloud_id, START)
            instance = await provider.connect(lease, candidate, self.launch)
            targets = LaunchTargets((instance,), lambda: provider.gone(Handle("instance", "r", cloud_id)), **left)
            try:
                return await run_trials(replace(bench, **bench_with), candidate, self.launch, trials, targets, before)
            finally:
                await provider.destroy(Handle("instance", "r", cloud_id))
                assert await provider.gone(Handle("instance", "r", cloud_id))

        began = time.monotonic()
        try:
            return asyncio.run(whole())
        finally:
            self.seconds = time.monotonic() - began

    @property
    def outcomes(self) -> list[str]:
        return [attempt.outcome.value for attempt in self.memory.attempts]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """A launch to be run."""
    return Rig(tmp_path)


@pytest.fixture
def rigs(tmp_path: Path) -> Callable[[], Rig]:
    """Makes launches to be run."""
    return lambda: Rig(tmp_path)
