"""Kills a controller at every crash point on a real store, and lets a successor clean up; run by test_crash_walk.py.

Prints one JSON line a crash: the point, how the child ended, and what the cloud held before and after the cleaning.
"""

import asyncio
import json
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.crash_points import CLOUD_CRASH_POINTS

from cloudcmp.catalog import METRICS
from cloudcmp.model.offering import Faults, Offering, Truth
from cloudcmp.model.plan import Candidate, Launch, Plan, Quote
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.simulated import SimulatedProvider
from cloudcmp.provider.time import VirtualTime
from cloudcmp.provision import Ledger, release_all
from cloudcmp.provision.lifecycle import acquire, release
from cloudcmp.stats import histogram
from cloudcmp.store.study_store import StudyStore

START = datetime(2026, 1, 5, tzinfo=UTC).timestamp()
# Kills do not test fsync, so the folders may be in memory.
FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
POINTS = (*CLOUD_CRASH_POINTS, "lease.before_commit", "lease.after_commit")
OFFERING = Offering("simulated", "nimbus", "small", 1, 2, "general")


def plan_with(faults: Faults) -> Plan:
    candidate = Candidate(0, "nimbus/small", OFFERING, "simulated", truth=Truth(faults=faults))
    launches = tuple(Launch(index, 0, index, None, 100.0 * index, 7 + index) for index in range(2))
    quote = Quote(0, 0.0, None, None, (), 0.03)
    return Plan("walk", "", (candidate,), launches, (), (), (), 2, 1, 1, START, quote)


def provider_of(plan: Plan, folder: Path, time: VirtualTime) -> SimulatedProvider:
    return SimulatedProvider(METRICS, time, histogram.encode, plan.candidates, OwnedPath(folder, ("clouds",)))


async def work(plan: Plan, folder: Path) -> None:
    time = VirtualTime(plan.start_at)
    provider = provider_of(plan, folder, time)
    with StudyStore.open(folder / "study", write=True) as store:
        ledger = Ledger(store, "walk-1", time)
        for launch in plan.launches:
            lease = await acquire(ledger, provider, plan.candidates[0], launch, 3600.0)
            await release(ledger, provider, lease)


async def clean_up(plan: Plan, folder: Path) -> tuple[list[str], list[str], list[str]]:
    time = VirtualTime(plan.start_at)
    provider = provider_of(plan, folder, time)
    before = [resource.cloud_id for resource in provider._inventory if resource.end is None]
    with StudyStore.open(folder / "study", write=True) as store:
        ledger = Ledger(store, "walk-1", time)
        unproved = [item.why for item in await release_all(ledger, {"simulated": provider}) if item.evidence is None]
        left = [lease.name for lease in store.leases() if lease.state.value != "gone"]
    after = [resource.cloud_id for resource in provider_of(plan, folder, time)._inventory if resource.end is None]
    return before, after, unproved + left


def walk(point: str, nth: int, faults: Faults) -> bool:
    """One crash; False when the point was not passed that often."""
    plan = plan_with(faults)
    with tempfile.TemporaryDirectory(dir=FAST) as name:
        folder = Path(name)
        StudyStore.create(folder / "study", plan, study_text="", provenance={}, created_at=plan.start_at).close()
        child = os.fork()
        if child == 0:
            os.environ["CLOUDCMP_CRASH_AT"] = f"{point}:{nth}"
            try:
                asyncio.run(work(plan, folder))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        before, after, open_leases = asyncio.run(clean_up(plan, folder))
        line = {"point": point, "nth": nth, "killed": killed, "before": before, "after": after, "open": open_leases}
        sys.stdout.write(json.dumps(line) + "\n")
        return killed


def main() -> None:
    for faults in (Faults(), Faults(lost_answer=1.0, stale_list_s=30.0)):
        for point in POINTS:
            nth = 1
            while walk(point, nth, faults):
                nth += 1


main()
