"""Time to consistency of what another agent has written: planted delays are recovered, and faults are told."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agent.made_data_sets import NAME, simulated_aws
from tests.agent.service_trials import HOST, Place
from tests.agent.written_apart import Pair, Way, run_pair
from tests.emulated.simulated_storage import SimulatedStorage
from tests.slices import WHOLE
from tests.tries import tries

from cloudcmp.provider.simulated.storage import Distribution, Key, OperationTruth, Share, StorageTruth

DELAY_S, ONE_WAY_S = 0.05, 0.02
LATE = OperationTruth(propagation=Distribution(DELAY_S))
STALE = OperationTruth(stale_share=1.0)
LATE_EVERYWHERE = {
    "table_put": LATE, "table_delete": LATE, "table_get": STALE, "table_query": STALE, "blob_put": LATE,
    "blob_delete": LATE, "blob_get": STALE, "blob_list": STALE, "queue_send": LATE,
}  # fmt: skip


@pytest.fixture(scope="module")
def storage() -> Iterator[SimulatedStorage]:
    """A service with an empty bucket, an empty table and an empty queue."""
    with simulated_aws() as found:
        yield found


@pytest.fixture(autouse=True)
def plain(storage: SimulatedStorage) -> None:
    """Each test begins with a service that does what it is asked at once."""
    storage.plant(StorageTruth())
    storage.reset()


def place(storage: SimulatedStorage, service: str = "table") -> Place:
    protocol = {"table": "dynamodb", "blob": "s3", "queue": "sqs"}[service]
    name = f"000000000000/{NAME}" if service == "queue" else NAME
    return Place(protocol, storage.port, name, Key().access_key, Key().secret_key)


def plant(storage: SimulatedStorage, operations: dict[str, OperationTruth]) -> None:
    """Has operations behave as told, and counts anew."""
    storage.plant(StorageTruth(operations=operations))
    storage.reset()


def median(pair: Pair) -> float:
    """The middle of the delays that the reader saw, s."""
    delays = sorted(pair.reader.values["consistency_time_s"])
    return delays[len(delays) // 2]


@pytest.mark.parametrize(
    ("service", "change"),
    [
        ("table", "write"),
        ("table", "update"),
        ("table", "delete"),
        ("table", "list"),
        ("blob", "delete"),
        ("blob", "list"),
        ("queue", "write"),
    ],
)
def test_a_planted_delay_is_seen_of_what_another_process_wrote(
    service: str, change: str, storage: SimulatedStorage, agent: Path
) -> None:
    plant(storage, LATE_EVERYWHERE)

    def check() -> list[str]:
        pair = run_pair(agent, place(storage, service), service=service, change=change, duration_s="0.6")
        assert (pair.reader.outcome, pair.writer.outcome) == ("ok", "ok"), pair
        notes = pair.reader.notes
        assert (notes["censored"], notes["writer_failures"], pair.writer.values) == (0, 0, {})
        # Every change is one order and one operation of the writer; all operations are in the reader's count.
        assert notes["writer_operations"] == pair.writer.notes["operations"] >= notes["changes"]
        assert 0 < notes["writer_way_s"] <= notes["writer_way_max_s"]
        # The delay begins in the service and is timed from its answer: a busy machine gets that late, and reads late.
        low, high = (0.048, 0.056) if WHOLE else (0.01, 0.2)
        delay_s, stale = median(pair), pair.reader.values["stale_read_ratio"][0]
        good = low <= delay_s + notes["writer_way_max_s"] and delay_s <= high and stale > 0.9
        return [] if good else [f"{delay_s} s, {stale} stale"]

    tries(check)


@pytest.mark.parametrize("service", ["blob", "queue"])
def test_over_a_slow_link_the_stated_way_covers_what_the_reader_cannot_see(
    service: str, storage: SimulatedStorage, agent: Path
) -> None:
    plant(storage, LATE_EVERYWHERE)
    pair = run_pair(agent, place(storage, service), way=Way(ONE_WAY_S), service=service, duration_s="1")
    assert pair.reader.outcome == "ok", pair
    seen_s, way_s = median(pair), pair.reader.notes["writer_way_s"]
    assert way_s >= 2 * ONE_WAY_S
    assert seen_s + pair.reader.notes["writer_way_max_s"] >= (0.98 * DELAY_S if WHOLE else DELAY_S / 2)
    if WHOLE:  # the answer took half of the way
        assert way_s == pytest.approx(2 * ONE_WAY_S, rel=0.1)
        assert seen_s == pytest.approx(DELAY_S - ONE_WAY_S, abs=0.006)


def test_a_delay_within_the_way_is_not_seen_and_is_within_its_bound(storage: SimulatedStorage, agent: Path) -> None:
    plant(storage, {"table_put": OperationTruth(propagation=Distribution(0.01)), "table_get": STALE})
    pair = run_pair(agent, place(storage), way=Way(ONE_WAY_S), service="table", duration_s="0.5")
    assert (median(pair), pair.reader.values["stale_read_ratio"]) == (0.0, [0.0])
    assert pair.reader.notes["writer_way_s"] >= 0.01


def test_strong_reads_of_another_writers_rows_have_no_delay(storage: SimulatedStorage, agent: Path) -> None:
    plant(storage, LATE_EVERYWHERE)
    pair = run_pair(agent, place(storage), service="table", read="strong", duration_s="0.5")
    assert (pair.reader.outcome, pair.reader.values["stale_read_ratio"]) == ("ok", [0.0])
    assert set(pair.reader.values["consistency_time_s"]) == {0.0}


def test_a_writer_with_a_wrong_key_is_told_with_the_services_own_code(storage: SimulatedStorage, agent: Path) -> None:
    for service in ("blob", "queue"):
        wrong = replace(place(storage, service), secret="not the key")
        pair = run_pair(agent, place(storage, service), written_at=wrong, service=service, duration_s="1")
        assert (pair.reader.outcome, pair.reader.values) == ("failed", {})
        assert "the writer: 403 SignatureDoesNotMatch" in pair.reader.error, pair.reader.error
        notes = pair.reader.notes
        assert notes["client_errors"] == notes["writer_failures"] == pair.writer.notes["client_errors"] == 4


def test_throttled_writes_are_counted_apart(storage: SimulatedStorage, agent: Path) -> None:
    plant(storage, {"table_put": OperationTruth(throttled=Share(every=3))})
    pair = run_pair(agent, place(storage), service="table", duration_s="1")
    throttled = storage.of("table_put")["outcomes"]["throttled"]
    notes = pair.reader.notes
    assert (pair.reader.outcome, notes["throttled"], notes["writer_failures"]) == ("ok", throttled, throttled)
    assert throttled > 1
    assert len(pair.reader.values["consistency_time_s"]) == notes["changes"] == notes["writer_operations"] - throttled
    plant(storage, {"table_put": OperationTruth(throttled=Share(every=1))})
    pair = run_pair(agent, place(storage), service="table", duration_s="1")
    assert pair.reader.outcome == "failed"
    assert "the writer: 400 ProvisionedThroughputExceededException" in pair.reader.error


def test_a_service_that_is_silent_to_the_writer_is_a_timeout_of_its_own(storage: SimulatedStorage, agent: Path) -> None:
    with socket.create_server((HOST, 0)) as silent:
        there = replace(place(storage), port=silent.getsockname()[1])
        pair = run_pair(agent, place(storage), written_at=there, deadline_s=4.0, service="table", duration_s="0.4")
    assert (pair.reader.outcome, pair.reader.notes["timeouts"]) == ("failed", 1)
    assert "the writer: " in pair.reader.error
    assert pair.took_s < 4.0


def test_a_writer_that_dies_or_stands_still_ends_the_trial_in_one_line(storage: SimulatedStorage, agent: Path) -> None:
    def killed(writer: "subprocess.Popen[bytes]") -> None:
        time.sleep(0.3)
        writer.kill()

    def stopped(writer: "subprocess.Popen[bytes]") -> None:
        time.sleep(0.3)
        writer.send_signal(signal.SIGSTOP)
        time.sleep(3.2)
        writer.send_signal(signal.SIGCONT)

    for harm, why in ((killed, "the peer is gone"), (stopped, "the peer says nothing")):
        pair = run_pair(agent, place(storage), meanwhile=harm, deadline_s=4.0, service="table", duration_s="1")
        assert pair.reader.outcome == "failed", pair
        assert pair.reader.error.startswith(f"the writer does not answer: {why}")
        assert "\n" not in pair.reader.error
        assert pair.took_s < 4.0


@pytest.mark.parametrize("at_byte", [0, 1, 49, 60, 90, 131, 200, 400])
def test_a_link_that_is_cut_at_any_byte_gives_no_value(at_byte: int, storage: SimulatedStorage, agent: Path) -> None:
    way = Way(cut_at=at_byte)
    # It ends with the cut, long before its time is over: a busy machine needs that to come to the byte.
    pair = run_pair(agent, place(storage), way=way, deadline_s=12.0, service="table", duration_s="6")
    assert pair.reader.outcome == "failed", pair
    assert pair.reader.error
    assert "\n" not in pair.reader.error
    assert (way.forwarded, pair.took_s < 12.0) == (at_byte, True)
    # The writer fails too, unless the byte is in its last word: that this was lost it cannot know.


@pytest.mark.parametrize("at_byte", [131])
def test_a_link_that_falls_silent_ends_by_the_deadline(at_byte: int, storage: SimulatedStorage, agent: Path) -> None:
    way = Way(cut_at=at_byte, closes=False)
    pair = run_pair(agent, place(storage), way=way, deadline_s=2.0, service="table", duration_s="0.5")
    assert pair.reader.outcome in {"failed", "timeout"}
    assert pair.reader.error
    assert pair.took_s < 3.0


def test_each_agent_keeps_its_own_cap_of_operations(storage: SimulatedStorage, agent: Path) -> None:
    for caps in (({"operations": 10_000}, {"operations": 4}), ({"operations": 40}, {"operations": 400})):
        storage.reset()
        pair = run_pair(agent, place(storage), caps=caps, service="table", duration_s="1")
        asked = storage.counted()["operations"]
        assert pair.reader.outcome == "aborted", pair
        most = min(one["operations"] for one in caps)
        assert f"the cap of {most} operations" in pair.reader.error
        assert asked["table_put"]["requests"] <= caps[1]["operations"]
        assert asked["table_get"]["requests"] <= caps[0]["operations"]
        assert most in {asked["table_put"]["requests"], asked["table_get"]["requests"]}
