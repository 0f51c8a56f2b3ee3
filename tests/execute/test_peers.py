"""A trial between peers, with the real agent: the study's caps hold at both ends, and both ends leave in time."""

import asyncio
import ctypes
import json
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.execute.conftest import Rig

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.execute.cast import LaunchTargets
from cloudcmp.execute.context import TrialContext
from cloudcmp.execute.launch import run_trials
from cloudcmp.execute.trial import TrialTask, lease_s, run_trial
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, PlannedTrial
from cloudcmp.model.protocol import Instance
from cloudcmp.model.remote import Channel
from cloudcmp.model.trial import TrialResult
from cloudcmp.provider.local import LocalInstance
from cloudcmp.provider.time import WallTime
from cloudcmp.stats import histogram

_CLONE_NEWNET = 0x40000000
# Of a network of its own: an address that an agent does not take for this machine's inside.
FAR = "10.77.0.1"


@dataclass
class Told:
    """An instance that remembers the jobs that its agents were given."""

    inner: LocalInstance
    jobs: list[dict[str, object]] = field(default_factory=list)

    @property
    def cpus(self) -> tuple[int, ...]:
        return tuple(self.inner.cpus)

    @property
    def address(self) -> str:
        return self.inner.address

    @property
    def folder(self) -> str:
        return self.inner.folder

    def start(self, job: bytes, trial: PlannedTrial, earlier: int) -> AbstractAsyncContextManager[Channel]:
        self.jobs.append(json.loads(job))
        return self.inner.start(job, trial, earlier)


async def gone() -> None:
    return None


@pytest.fixture
def peers(rig: Rig, agent: Path) -> Callable[..., tuple[TrialResult, list[dict[str, object]]]]:
    """Runs one trial between two agents of this machine; what came of it, and the jobs of server and client."""

    def run(
        trial: PlannedTrial, caps: Mapping[str, float] | None, address: str = "127.0.0.1", **more: Any
    ) -> tuple[TrialResult, list[dict[str, object]]]:
        bench = TrialContext(rig.memory, METRICS, PROBES, WallTime(), rig.told, histogram.from_base64)
        told = Told(LocalInstance((0,), str(rig.folder), "token-peers", agent, address))
        other: Instance = told
        turn = TrialTask(trial, 0, LaunchTargets((told, other), gone, **more), caps)
        result = asyncio.run(run_trial(bench, turn))
        assert {job["lease_s"] for job in told.jobs} == {lease_s(bench, trial)}
        return result, told.jobs

    return run


def test_both_ends_are_given_the_same_caps_and_a_lease(rig: Rig, peers: Callable) -> None:
    caps = {"burst_s": 5.0, "bytes_per_s": 1e9, "packets_per_s": 1e6, "bytes": 2**40}
    result, jobs = peers(rig.trial(0, "rtt", duration_s="0.1"), caps)
    assert result.outcome.value == "ok", result.why
    assert [job["role"] for job in jobs] == ["server", "client"]
    assert [job["caps"] for job in jobs] == [caps, caps]


def test_p15_a_launch_gives_each_trial_between_agents_its_own_allowance(rig: Rig, agent: Path) -> None:
    """It is entered before the attempt is begun and left once its facts are written; other trials have none."""
    told, seen = Told(LocalInstance((0,), str(rig.folder), "token-peers", agent)), []
    bench = TrialContext(rig.memory, METRICS, PROBES, WallTime(), rig.told, histogram.from_base64)

    @asynccontextmanager
    async def allowed(trial: PlannedTrial) -> AsyncIterator[dict[str, float]]:
        seen.append((trial.index, len(rig.memory.began), len(rig.memory.attempts)))
        yield {"bytes": 10**9 + trial.index}
        seen.append((trial.index, len(rig.memory.began), len(rig.memory.attempts)))

    trials = [rig.trial(at, probe, duration_s="0.1") for at, probe in enumerate(("fma", "rtt", "rtt"))]
    candidate = Candidate(0, "here", Offering("local", "local", "1cpu"), "local")
    asyncio.run(run_trials(bench, candidate, rig.launch, trials, LaunchTargets((told,), gone, caps=allowed), {}))
    assert rig.outcomes == ["ok"] * 3, [one.why for one in rig.memory.attempts]
    assert [job.get("caps") for job in told.jobs] == [None, *[{"bytes": 10**9 + 1}] * 2, *[{"bytes": 10**9 + 2}] * 2]
    assert seen == [(1, 1, 1), (1, 2, 2), (2, 2, 2), (2, 3, 3)]


def test_p15_lowered_caps_hold_at_the_server_too(rig: Rig, peers: Callable) -> None:
    asked = rig.trial(0, "udp", duration_s="0.1", interval_s="0.1", rate_bytes_per_s="1000000")
    assert peers(asked, {"bytes_per_s": 2e6})[0].outcome.value == "ok"
    result, jobs = peers(asked, {"bytes_per_s": 5e5})
    assert result.outcome.value == "failed"
    assert result.why.startswith("server: ")
    assert "the cap is 500000" in result.why
    assert [job["role"] for job in jobs] == ["server"]


def test_p15_raised_caps_take_effect_between_machines(rig: Rig, peers: Callable) -> None:
    """The agent's own default is 625 MB/s where its address is not this machine's inside."""
    asked = rig.trial(
        0, "udp", duration_s="0.1", interval_s="0.1", rate_bytes_per_s="700000000", size_bytes="60000", path="zone"
    )
    found = in_own_network(lambda: (peers(asked, None, FAR)[0], peers(asked, {"bytes_per_s": 1e9}, FAR)[0]))
    assert (found[0].outcome.value, "the cap is 625000000" in found[0].why) == ("failed", True)
    assert found[1].outcome.value == "ok", found[1].why


def test_behind_translated_addresses_each_listens_at_its_own_and_is_named_by_the_one_outside(
    rig: Rig, peers: Callable
) -> None:
    places = {"zones": ("us-a", "eu-a"), "regions": ("us", "eu"), "addresses": ("203.0.113.5", "203.0.113.6")}
    asked, jobs = rig.trial(0, "rtt", duration_s="0.1", path="regions"), []

    def work() -> tuple[TrialResult, TrialResult]:
        result, told = peers(asked, None, FAR, **places)
        jobs.extend(told)
        return result, result

    result = in_own_network(work)[0]
    assert "cannot connect to 203.0.113.6:" in result.why  # nobody translates here
    server, client = jobs
    assert (server["listen"], server["targets"]) == (f"{FAR}:0", [{"role": "client", "address": "203.0.113.5"}])
    (target,) = client["targets"]
    assert (target["role"], target["address"].rpartition(":")[0]) == ("server", "203.0.113.6")


def in_own_network(work: Callable[[], tuple[TrialResult, TrialResult]]) -> tuple[TrialResult, TrialResult]:
    """The work in a thread with a network of its own that ends with it; skipped where there can be none."""
    found: list[tuple[TrialResult, TrialResult]] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
                pytest.skip("no network of its own can be had here: it takes root")
            for words in ("link set lo up", f"addr add {FAR}/32 dev lo"):
                subprocess.run(["ip", *words.split()], check=True, timeout=10)
            found.append(work())
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    if faults:
        raise faults[0]
    return found[0]
