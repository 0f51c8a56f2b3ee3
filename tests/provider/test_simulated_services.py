"""The notes and delays of simulated services agree with their values."""

from dataclasses import replace

import numpy as np
import pytest

from cloudcmp.catalog import METRICS, cells_of, fill
from cloudcmp.model.offering import CellTruth
from cloudcmp.provider.simulated.services import delays, notes_of
from cloudcmp.provider.simulated.values import Moment, readings
from cloudcmp.stats import histogram


def ran(plans, probe, truth, **params):
    filled = fill(probe, params)
    cells = tuple(map(str, cells_of(probe, filled)))
    trial = replace(plans.trial("fma"), probe=probe, params=tuple(filled.items()), cells=cells, deadline_s=100.0)
    found = readings(trial, 5, 0, Moment(0.0, 0.0), truth, METRICS, histogram.encode)
    return found, notes_of(trial, found)


def planted(service, rate, throttled=0.0, failed=0.0):
    rate_of = {"table": "table_op_per_s", "blob": "blob_bytes_per_s", "queue": "queue_op_per_s"}
    truth = {f"{service}_latency_s": CellTruth(0.02), rate_of[service]: CellTruth(rate, 0, 0)}
    truth |= {
        f"{service}_throttled_ratio": CellTruth(throttled, 0, 0),
        f"{service}_failed_ratio": CellTruth(failed, 0, 0),
    }
    return truth | ({"blob_first_byte_s": CellTruth(0.01)} if service == "blob" else {})


@pytest.mark.parametrize(("throttled", "failed"), [(0.0, 0.0), (0.02, 0.001), (0.5, 0.25)])
def test_counts_are_the_planted_shares(plans, throttled, failed):
    _, notes = ran(plans, "table", planted("table", 1000.0, throttled, failed))
    assert notes["operations"] == pytest.approx(10_000 / (1 - throttled - failed), abs=1)
    assert notes["throttled"] == pytest.approx(throttled * notes["operations"], abs=0.6)
    assert notes["server_errors"] + notes["timeouts"] == pytest.approx(failed * notes["operations"], abs=0.6)
    assert (notes["retries"], notes["wrong_bodies"]) == (0, 0)


def test_bytes_of_blobs_are_operations_of_their_size(plans):
    _, notes = ran(plans, "blob", planted("blob", 5e7), size_bytes="10000000")
    assert notes["operations"] == 50
    assert notes["payload_bytes"] == pytest.approx(5e8)
    _, listed = ran(plans, "blob", planted("blob", 32_000.0), op="list")
    assert listed["operations"] == pytest.approx(200, abs=2)  # of the names of 16 blobs each


@pytest.mark.parametrize(
    ("client", "concurrency", "throttled", "limiter"),
    [("native", "1", 0.0, "unknown"), ("native", "32", 0.03, "service throttle"), ("cli", "8", 0.0, "client-bound"),
     ("sdk-python", "16", 0.03, "client-bound")],
)  # fmt: skip
def test_the_limiter_is_named(plans, client, concurrency, throttled, limiter):
    truth = planted("queue", 300.0, throttled)
    _, notes = ran(plans, "queue", truth, client=client, concurrency=concurrency)
    assert notes["limiter"] == limiter


def test_starts_that_an_open_loop_could_not_make_are_counted(plans):
    _, notes = ran(plans, "queue", planted("queue", 300.0), rate_per_s="400")
    assert notes["dropped_starts"] == pytest.approx(1000, abs=2)
    assert ran(plans, "queue", planted("queue", 400.0), rate_per_s="400")[1]["dropped_starts"] == 0


def test_a_machine_gives_no_such_notes(plans):
    assert notes_of(plans.trial("fma"), ()) == {}


@pytest.mark.parametrize("stale", [0.0, 0.1, 0.4])
def test_as_many_changes_are_seen_late_as_reads_are_stale(plans, stale):
    truth = {"stale_read_ratio": CellTruth(stale, 0, 0), "consistency_time_s": CellTruth(0.0, 0, 0)}
    found, notes = ran(plans, "consistency", truth)
    values = [one.value for one in found if one.metric == "consistency_time_s"]
    assert sum(value > 0 for value in values) == round(stale * len(values))
    assert (notes["changes"], notes["censored"]) == (len(values), 0)


def test_a_planted_delay_is_the_median_of_the_changes():
    values = delays(0.08, 0.6, np.random.default_rng(3))
    assert np.median(values) == pytest.approx(0.08)
    assert values.max() > 2 * values.min()
