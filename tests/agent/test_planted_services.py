"""What the agent measures of a simulated table and queue service is what was planted there."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.agent.made_data_sets import NAME, simulated_aws
from tests.agent.service_trials import Place, Ran, run
from tests.emulated.simulated_storage import SimulatedStorage
from tests.slices import WHOLE
from tests.tries import tries

from cloudcmp.provider.simulated.storage import Distribution, Key, OperationTruth, Share, StorageTruth

# The operations under way when a trial ends are the longest ones, and not counted: on a busy machine, which does few,
# they are a large part of the slowest tenth.
PERCENTILES = (50.0, 90.0) if WHOLE else (50.0,)


@pytest.fixture(scope="module")
def storage() -> Iterator[SimulatedStorage]:
    """A service with an empty table and an empty queue."""
    with simulated_aws() as found:
        yield found


@pytest.fixture(autouse=True)
def plain(storage: SimulatedStorage) -> None:
    """Each test begins with a service that does what it is asked at once."""
    storage.plant(StorageTruth())
    storage.reset()


def place(storage: SimulatedStorage, protocol: str) -> Place:
    name = NAME if protocol == "dynamodb" else f"000000000000/{NAME}"
    return Place(protocol, storage.port, name, Key().access_key, Key().secret_key)


def plant(storage: SimulatedStorage, **operations: OperationTruth) -> None:
    """Has operations behave as told, and counts anew."""
    storage.plant(StorageTruth(operations=operations))
    storage.reset()


@pytest.mark.parametrize(
    ("protocol", "probe", "op", "operation"),
    [
        ("dynamodb", "table", "get", "table_get"),
        ("dynamodb", "table", "put", "table_put"),
        ("dynamodb", "table", "query", "table_query"),
        ("sqs", "queue", "send", "queue_send"),
        ("sqs", "queue", "receive", "queue_receive"),
    ],
)
def test_planted_percentiles_are_recovered(
    protocol: str, probe: str, op: str, operation: str, storage: SimulatedStorage, agent: Path
) -> None:
    place_ = place(storage, protocol)
    more = {"entries": "200"} if probe == "table" else {}
    assert run(agent, place_, probe, op=op, duration_s="0.1", **more).outcome == "ok"
    plant(storage, **{operation: OperationTruth(Distribution(0.05, 0.3))})
    ran = run(agent, place_, probe, op=op, duration_s="3", concurrency="4", **more)
    assert (ran.outcome, ran.values[f"{probe}_failed_ratio"], ran.notes["wrong_bodies"]) == ("ok", [0.0], 0)
    # What a perfect client would measure: the planted times, and how late their answers left.
    sent = storage.of(operation)["sent_s"]
    for percentile in PERCENTILES:
        planted_s, seen_s = sent["percentiles"][f"{percentile:g}"], ran.percentile_s(f"{probe}_latency_s", percentile)
        # No answer is quicker than planted. How much later one is seen tells of a busy machine too, so that is for the
        # row `wholes`, which runs alone.
        assert seen_s >= 0.95 * planted_s, (percentile, planted_s, seen_s)
        assert not WHOLE or seen_s == pytest.approx(planted_s, rel=0.05), (percentile, planted_s, seen_s)
    # A closed loop of 4 does 4 operations in the mean time of one, whatever it has to delete between them.
    rates = ran.values[f"{probe}_op_per_s"]
    assert sum(rates) / len(rates) <= 1.1 * 4 / sent["mean"]
    assert not WHOLE or sum(rates) / len(rates) == pytest.approx(4 / sent["mean"], rel=0.1)


@pytest.mark.parametrize(
    ("protocol", "probe", "op", "operation"),
    [
        ("dynamodb", "table", "get", "table_get"),
        ("dynamodb", "table", "put", "table_put"),
        ("sqs", "queue", "send", "queue_send"),
        ("sqs", "queue", "receive", "queue_receive"),
    ],
)
def test_planted_throttles_and_failures_are_counted_exactly(
    protocol: str, probe: str, op: str, operation: str, storage: SimulatedStorage, agent: Path
) -> None:
    assert run(agent, place(storage, protocol), probe, op=op, duration_s="0.1").outcome == "ok"
    truth = OperationTruth(throttled=Share(every=61), failed=Share(every=97), latency=Distribution(0.001))
    plant(storage, **{operation: truth})
    ran = run(agent, place(storage, protocol), probe, op=op, duration_s="1", concurrency="4")
    outcomes = storage.of(operation)["outcomes"]
    assert ran.outcome == "ok", ran.error
    assert (ran.notes["throttled"], ran.notes["server_errors"]) == (outcomes["throttled"], outcomes["failed"])
    assert ran.notes["throttled"] > 0
    assert ran.notes["limiter"] == "service throttle"
    assert ran.values[f"{probe}_throttled_ratio"] == [ran.notes["throttled"] / ran.notes["operations"]]
    assert ran.values[f"{probe}_failed_ratio"] == [ran.notes["server_errors"] / ran.notes["operations"]]


def test_batches_that_are_throttled_are_rows_that_are_not_written(storage: SimulatedStorage, agent: Path) -> None:
    plant(storage, table_load=OperationTruth(throttled=Share(every=4), latency=Distribution(0.1)))
    ran = run(agent, place(storage, "dynamodb"), "load", entries="1000", concurrency="4")
    assert (ran.outcome, ran.notes["operations"], ran.notes["throttled"]) == ("ok", 40, 10)
    assert (ran.notes["rows_written"], ran.notes["rows_throttled"], ran.notes["rows_failed"]) == (750, 250, 0)
    # Thirty batches of 0.1 s each, four at a time, and refusals that take no time: a busy machine takes longer.
    assert 100 < ran.values["table_load_row_per_s"][0] <= 1.02 * 750 / (30 * 0.1 / 4)


def test_a_wrong_row_is_a_wrong_body(storage: SimulatedStorage, agent: Path) -> None:
    assert run(agent, place(storage, "dynamodb"), "table", duration_s="0.1").outcome == "ok"
    plant(storage, table_get=OperationTruth(wrong_body=Share(every=50)))
    ran = run(agent, place(storage, "dynamodb"), "table", duration_s="0.5")
    assert ran.outcome == "ok"
    assert ran.notes["wrong_bodies"] == storage.of("table_get")["outcomes"]["wrong_body"] > 0


def test_a_planted_delay_of_propagation_is_recovered(storage: SimulatedStorage, agent: Path) -> None:
    plant(storage, queue_send=OperationTruth(propagation=Distribution(0.1)))
    ran = run(agent, place(storage, "sqs"), "propagation", duration_s="3")
    assert (ran.outcome, ran.notes["censored"], ran.notes["strangers"]) == ("ok", 0, 0), ran.error
    assert ran.notes["messages"] > 20
    # A busy machine asks late.
    assert 0.1 <= ran.percentile_s("queue_propagation_s", 50.0) < (0.105 if WHOLE else 0.2)


def test_a_message_that_comes_too_late_counts_as_the_wait(storage: SimulatedStorage, agent: Path) -> None:
    plant(storage, queue_send=OperationTruth(propagation=Distribution(5.0)))
    ran = run(agent, place(storage, "sqs"), "propagation", duration_s="0.4")
    assert ran.outcome == "failed"
    assert "no message came within the wait" in ran.error


def delay_is_found(within_s: tuple[float, float], stale: tuple[float, float], measure: Callable[[], Ran]) -> None:
    """Measures until the median delay (s) and the share of stale reads are within these.

    The delay begins in the service and is timed from its answer: a busy machine gets that late, and reads late.
    """
    low_s, high_s = within_s if WHOLE else (0.01, 0.2)

    def check() -> list[str]:
        ran = measure()
        assert (ran.outcome, ran.notes["censored"]) == ("ok", 0), ran.error
        delays, share = sorted(ran.values["consistency_time_s"]), ran.values["stale_read_ratio"][0]
        good = low_s <= delays[len(delays) // 2] <= high_s and stale[0] < share < stale[1]
        return [] if good else [f"{share} stale, {delays}"]

    tries(check)


def test_planted_staleness_is_recovered_and_strong_reads_have_none(storage: SimulatedStorage, agent: Path) -> None:
    late = OperationTruth(propagation=Distribution(0.05))
    plant(storage, table_put=late, table_get=OperationTruth(stale_share=0.5), table_delete=late)
    consistency = partial(run, agent, place(storage, "dynamodb"), "consistency", service="table")
    for change in ("write", "update", "delete"):
        delay_is_found((0.045, 0.056), (0.3, 0.7), partial(consistency, change=change, duration_s="2"))
    ran = consistency(read="strong", duration_s="1")
    assert (ran.outcome, ran.values["stale_read_ratio"]) == ("ok", [0.0])
    assert set(ran.values["consistency_time_s"]) == {0.0}


def test_planted_staleness_of_a_list_and_of_a_queue_is_recovered(storage: SimulatedStorage, agent: Path) -> None:
    late = OperationTruth(propagation=Distribution(0.05))
    plant(storage, table_put=late, table_query=OperationTruth(stale_share=1.0), queue_send=late)
    for protocol, service, change in (("dynamodb", "table", "list"), ("sqs", "queue", "write")):
        words = {"service": service, "change": change, "duration_s": "1"}
        measure = partial(run, agent, place(storage, protocol), "consistency", **words)
        delay_is_found((0.048, 0.056), (0.9, 1.01), measure)


def test_a_cap_of_operations_is_never_passed(storage: SimulatedStorage, agent: Path) -> None:
    for protocol, probe in (("dynamodb", "table"), ("dynamodb", "load"), ("sqs", "queue"), ("sqs", "propagation")):
        storage.reset()
        params = {"entries": "2000"} if probe == "load" else {}
        ran = run(agent, place(storage, protocol), probe, caps={"operations": 60}, **params)
        asked = storage.counted()["operations"]
        assert (ran.outcome, ran.values, ran.histograms) == ("aborted", {}, {}), probe
        assert "the cap of 60 operations" in ran.error
        assert sum(one["requests"] for one in asked.values()) == 60, (probe, asked)


def test_reads_without_reuse_connect_for_each(storage: SimulatedStorage, agent: Path) -> None:
    ran = run(agent, place(storage, "dynamodb"), "table", op="query", entries="30", reuse="no", duration_s="0.3")
    assert (ran.outcome, ran.notes["connections"] == ran.notes["operations"]) == ("ok", True)
    ran = run(agent, place(storage, "sqs"), "queue", op="send", rate_per_s="200", concurrency="8", duration_s="1")
    assert (ran.outcome, ran.notes["planned_starts"], ran.notes["dropped_starts"]) == ("ok", 200, 0)
