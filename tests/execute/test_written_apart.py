"""A trial whose changes one machine makes and another reads: what each agent is given, and what comes of caps."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.agent.made_data_sets import NAME, simulated_aws
from tests.agent.service_trials import REGION, Place
from tests.emulated.simulated_storage import SimulatedStorage
from tests.execute.conftest import Rig
from tests.execute.test_peers import Told, gone

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.execute.cast import LaunchTargets
from cloudcmp.execute.context import TrialContext
from cloudcmp.execute.trial import TrialTask, run_trial
from cloudcmp.model.cast import DataSet
from cloudcmp.model.trial import TrialResult
from cloudcmp.provider.local import LocalInstance
from cloudcmp.provider.simulated.storage import Key, StorageTruth
from cloudcmp.provider.time import WallTime
from cloudcmp.stats import histogram

Ran = tuple[TrialResult, list[dict[str, object]], list[dict[str, object]]]


@pytest.fixture(scope="module")
def storage() -> Iterator[SimulatedStorage]:
    """A service with an empty table."""
    with simulated_aws() as found:
        yield found


@pytest.fixture
def apart(rig: Rig, agent: Path, storage: SimulatedStorage) -> Callable[..., Ran]:
    """Runs one trial on two machines at one address; the result, and the jobs of the first and the second machine."""
    storage.plant(StorageTruth())
    credential = Place("dynamodb", storage.port, NAME, Key().access_key, Key().secret_key).credential()

    def run(caps: Mapping[str, float] | None = None) -> Ran:
        context = TrialContext(rig.memory, METRICS, PROBES, WallTime(), rig.told, histogram.from_base64)
        first, second = (Told(LocalInstance((0,), str(rig.folder), f"token-{n}", agent)) for n in (1, 2))
        own = (("127.0.0.1",), ("127.0.0.1", "127.0.0.1"))
        data_sets = [
            DataSet("dynamodb", f"http://127.0.0.1:{storage.port}", NAME, REGION, addresses=some, credential=credential)
            for some in own
        ]
        trial = rig.trial(0, "consistency", deadline_s=6.0, writer="zone", duration_s="0.3")
        task = TrialTask(trial, 0, LaunchTargets((first, second), gone), caps, data_sets=data_sets)
        return asyncio.run(run_trial(context, task)), first.jobs, second.jobs

    return run


def test_the_first_machine_reads_the_second_writes_and_each_has_what_it_needs(apart: Callable[..., Ran]) -> None:
    result, reads, writes = apart({"operations": 10_000})
    assert result.outcome.value == "ok", result.why
    assert {sample.metric for sample in result.samples} == set(PROBES["consistency"].metrics)
    (reader,), (writer,) = reads, writes
    assert (reader["role"], writer["role"]) == ("client", "server")
    # Each asks the addresses that its own machine finds, with the same narrow key, and both share what was quoted.
    found = [[one for one in job["targets"] if one["role"] == "service"] for job in (reader, writer)]  # type: ignore[attr-defined]
    assert [one["addresses"] for (one,) in found] == [["127.0.0.1"], ["127.0.0.1", "127.0.0.1"]]
    assert reader["credentials"] == writer["credentials"]
    assert reader["secret"] == writer["secret"]
    assert (reader["caps"], writer["caps"]) == ({"operations": 9_600}, {"operations": 400})


def test_a_trial_without_caps_gives_none(apart: Callable[..., Ran]) -> None:
    result, reads, writes = apart()
    assert result.outcome.value == "ok", result.why
    assert "caps" not in reads[0]
    assert "caps" not in writes[0]


def test_a_writer_that_reaches_its_cap_ends_the_trial_as_aborted(apart: Callable[..., Ran]) -> None:
    result, reads, writes = apart({"operations": 6})
    assert (reads[0]["caps"], writes[0]["caps"]) == ({"operations": 3}, {"operations": 3})
    assert result.outcome.value == "aborted"
    assert "the cap of 3 operations" in result.why
    assert result.samples == ()
