"""Is what was planted what is measured?"""

import asyncio
import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest

from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.offering import CellTruth
from cloudcmp.provider.simulated.values import Moment, readings
from cloudcmp.stats import histogram

DAY = 86400.0


def of(trial, truth, seed=5, earlier=0, at=0.0):
    return readings(trial, seed, earlier, Moment(at, trial.start_s), truth, METRICS, histogram.encode)


def total(found):
    """The whole run's total over its time, from rates over intervals."""
    ends = [0.0, *(reading.t_s for reading in found)]
    return sum(reading.value * (ends[n + 1] - ends[n]) for n, reading in enumerate(found)) / ends[-1]


@pytest.mark.parametrize(("cov", "between"), [(0.0, 0.0), (0.05, 0.0), (0.0, 0.2), (0.1, 0.3)])
def test_the_planted_mean_is_the_median_and_the_spreads_are_the_planted_ones(plans, cov, between):
    trial = plans.trial("fma")
    truth = {"fma_flop_per_s": CellTruth(1e9, cov=cov, between=between)}
    launches = [
        [total(of(replace(trial, seed=1000 * launch + run), truth, seed=launch)) for run in range(4)]
        for launch in range(600)
    ]
    logs = np.log(launches)
    assert math.exp(np.median(logs)) == pytest.approx(1e9, rel=0.03 * (cov + between) * 3 + 1e-9)
    within = math.sqrt(statistics.mean(np.var(row, ddof=1) for row in logs))
    assert within == pytest.approx(math.sqrt(math.log1p(cov**2)), rel=0.08, abs=1e-9)
    means = np.mean(logs, axis=1)
    expected = math.sqrt(math.log1p(between**2) + math.log1p(cov**2) / 4)
    assert np.std(means, ddof=1) == pytest.approx(expected, rel=0.1, abs=1e-9)


def test_the_planted_winner_wins_whatever_the_spreads(plans):
    trial = plans.trial("lu")
    fast, wild = CellTruth(1.05e9, cov=0.01, between=0.01), CellTruth(1.0e9, cov=0.3, between=0.5)
    medians = [
        statistics.median(
            statistics.median(r.value for r in of(replace(trial, seed=n), {"lu_flop_per_s": truth}, seed=n))
            for n in range(2001)
        )
        for truth in (fast, wild)
    ]
    assert medians[0] > medians[1]


def test_numbers_follow_from_the_seeds_alone(plans):
    trial = plans.trial("disk")
    truth = {name: CellTruth(1e-3) for name in ("disk_op_per_s", "disk_bytes_per_s", "disk_latency_s")}
    first = of(trial, truth)
    assert of(trial, truth) == first
    assert of(trial, dict(reversed(truth.items()))) == first
    assert of(replace(trial, cells=trial.cells[::-1]), truth) == first
    assert of(trial, truth, earlier=1) != first
    assert of(trial, truth, seed=6) != first
    assert of(replace(trial, seed=2), truth) != first


def test_launch_effects_are_independent_between_cells(plans):
    one, other = plans.trial("chase", size_bytes="16384"), plans.trial("chase", size_bytes="1048576")
    truth = {"chase_latency_s": CellTruth(1e-7, cov=0.0, between=0.2)}
    pairs = [[math.log(of(trial, truth, seed=seed)[0].value) for trial in (one, other)] for seed in range(500)]
    assert abs(np.corrcoef(np.transpose(pairs))[0, 1]) < 0.15


def test_a_cell_of_its_own_goes_before_its_metric(plans):
    trial = plans.trial("fma")
    truth = {"fma_flop_per_s": CellTruth(1.0, 0, 0), trial.cells[0]: CellTruth(2.0, 0, 0)}
    assert total(of(trial, truth)) == pytest.approx(2.0)


def test_drift_and_daily_cycle_move_the_truth(plans):
    truth = {"fma_flop_per_s": CellTruth(100.0, 0, 0, drift=0.1, daily=0.2)}
    for days, expected in ((0.0, 100.0), (1.0, 110.0), (0.25, 120 * 1.1**0.25), (0.75, 80 * 1.1**0.75)):
        trial = plans.trial("fma", start_s=days * DAY)
        assert total(of(trial, truth, at=plans.start + days * DAY)) == pytest.approx(expected)


def test_a_run_shows_one_rate_a_second_and_twenty_at_most(plans):
    truth = {"fma_flop_per_s": CellTruth(100.0, cov=0.1)}
    for duration, count in (("1", 1), ("5", 5), ("600", 20), ("0.5", 1)):
        trial = replace(plans.trial("fma", duration_s=duration), deadline_s=1000.0)
        found = of(trial, truth)
        assert len(found) == count
        assert found[-1].t_s == pytest.approx(float(duration))
        assert total(found) == pytest.approx(total(of(replace(trial, params=()), truth)), rel=1e-9)


@pytest.mark.parametrize("percentiles", [("50",), ("99",), ("50", "95", "99"), ("50", "99", "99.9")])
def test_planted_percentiles_are_those_of_the_histogram(plans, percentiles):
    planted = {"50": 1e-4, "95": 2e-4, "99": 5e-4, "99.9": 2e-3}
    params = {"path": "zone", "protocol": "tcp", "size_bytes": "64"}
    cells = [str(Cell.of("rtt_s", {**params, "percentile": one})) for one in percentiles]
    truth = {cell: CellTruth(planted[one], 0, 0) for cell, one in zip(cells, percentiles, strict=True)}
    (found,) = of(replace(plans.trial("rtt", path="zone"), cells=tuple(cells)), truth)
    assert dict(found.params) == params
    seen = histogram.from_base64(found.hist)
    for one in percentiles:
        assert histogram.percentile_s(seen, float(one)) == pytest.approx(planted[one], rel=2e-3)


def test_percentiles_that_are_planted_out_of_order_do_not_fall(plans):
    trial = plans.trial("rtt")
    cells = {"50": 1e-3, "95": 1e-4, "99": 1e-5}
    truth = {cell: CellTruth(cells[Cell.parse(cell).get("percentile")], 0, 0) for cell in trial.cells}
    (found,) = of(trial, truth)
    seen = histogram.from_base64(found.hist)
    assert histogram.percentile_s(seen, 50) == pytest.approx(histogram.percentile_s(seen, 99), rel=2e-3)


@pytest.mark.parametrize("mean", [0.0, 1e-4, 0.5, 0.99])
def test_loss_is_a_ratio_even_where_it_is_nothing(plans, mean):
    trial = plans.trial("udp")
    truth = {"udp_bytes_per_s": CellTruth(1e8), "udp_jitter_s": CellTruth(mean, 1, 1)}
    truth |= dict.fromkeys(("udp_loss_ratio", "udp_reordered_ratio"), CellTruth(mean, cov=0.5, between=0.5))
    losses, jitters = [], []
    for seed in range(200):
        found = of(replace(trial, seed=seed), truth, seed=seed)
        losses.append(statistics.median(one.value for one in found if one.metric == "udp_loss_ratio"))
        jitters.extend(one.value for one in found if one.metric == "udp_jitter_s")
    assert all(0.0 <= loss <= 1.0 for loss in losses)
    assert all(jitter >= 0.0 for jitter in jitters)
    assert statistics.median(losses) == pytest.approx(mean, rel=0.2)


def test_what_is_not_planted_is_named(plans):
    with pytest.raises(UserMistake, match="nothing is planted in the cell fma_flop_per_s precision=f64;threads=one"):
        of(plans.trial("fma"), {})


def test_every_metric_can_be_simulated(plans):
    for metric in METRICS.values():
        params = {name: "99" if name == "percentile" else "1" for name in metric.params}
        cell = str(Cell.of(metric.name, params))
        trial = replace(plans.trial("fma"), cells=(cell,))
        found = of(trial, {metric.name: CellTruth(metric.typical)})
        assert found
        assert all(one.hist or math.isfinite(one.value) for one in found)
        assert metric.signed or all(one.hist or one.value > 0 for one in found)


def test_the_stream_is_the_protocols(plans):
    candidate = plans.candidate({"fma_flop_per_s": CellTruth(1e9)})
    provider = plans.simulated(candidate)
    request = plans.request()

    async def use():
        cloud_id = await provider.create(request)
        instance = await provider.connect(plans.lease(request, cloud_id, "simulated"), candidate, plans.launch())
        async with instance.start(b'{"role":"solo"}', plans.trial("fma"), 0) as channel:
            return b"".join([piece async for piece in channel.stdout()])

    lines = [json.loads(line) for line in asyncio.run(use()).splitlines()]
    assert [line["type"] for line in lines] == ["hello", "sample", "end"]
    assert [line["seq"] for line in lines] == [0, 1, 2]
    assert {line["v"] for line in lines} == {2}
