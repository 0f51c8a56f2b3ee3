"""What is planted: what the study says, and plausible numbers for the rest."""

import math

import pytest
from tests.plan.clouds import planned

from cloudcmp.catalog import APART, METRICS, PROBES
from cloudcmp.model.metric import Group
from cloudcmp.model.offering import CellTruth
from cloudcmp.model.plan import Plan

ALL = f"[{', '.join(f'{{probe: {name}}}' for name in PROBES if name not in APART)}]"


def truths(plan: Plan, number: int = 0) -> dict[str, CellTruth]:
    truth = plan.candidates[number].truth
    assert truth is not None
    return dict(truth.cells)


def one(cells: str) -> str:
    return f"[{{provider: simulated, offering: x, truth: {{cells: {cells}}}}}]"


@pytest.mark.parametrize("seed", range(3))
def test_every_cell_of_every_simulated_candidate_has_a_plausible_truth(seed: int) -> None:
    plan = planned(probes=ALL, rest=f"seed: {seed}")
    # Machines serve pages without TLS.
    cells = {cell for trial in plan.trials for cell in trial.cells if not cell.startswith("wan_tls_s")}
    for number in (0, 1):
        found = truths(plan, number)
        assert set(found) == cells
        for cell, truth in found.items():
            metric = METRICS[cell.partition(" ")[0]]
            if metric.group is not Group.STORAGE:  # tests/plan/test_service_truth.py has those of services
                assert metric.typical / 10 < truth.mean < metric.typical * 30
            assert 0 < truth.cov <= 0.05
            assert 0 < truth.between <= 0.05


def test_what_is_drawn_follows_from_seed_candidate_and_cell_alone() -> None:
    few, many = planned(probes="[{probe: fma}]"), planned(probes=ALL)
    assert truths(few) == {cell: truths(many)[cell] for cell in truths(few)}
    assert truths(few) != truths(few, 1)
    assert truths(few) != truths(planned(probes="[{probe: fma}]", rest="seed: 2"))


def test_ratios_stay_on_their_side_of_one() -> None:
    for seed in range(20):
        for cell, truth in truths(planned(probes="[{probe: exchange}, {probe: share}]", rest=f"seed: {seed}")).items():
            if cell.startswith("straggler_ratio"):
                assert truth.mean - 10 * (truth.mean * truth.cov + truth.between) > 1
            if cell.startswith("fairness_ratio"):
                assert truth.mean + 10 * (truth.mean * truth.cov + truth.between) < 1


def test_percentiles_rise() -> None:
    plan = planned(probes=ALL)
    for number in (0, 1):
        found = truths(plan, number)
        for cell, truth in found.items():
            if "percentile=50" in cell:
                p95, p99 = (found[cell.replace("percentile=50", f"percentile={one}")].mean for one in (95, 99))
                assert truth.mean < p95 < p99


def test_threads_add_up() -> None:
    plan = planned(
        "[{provider: simulated, region: stratus, offering: medium}]", "[{probe: fma, params: {threads: [one, all]}}]"
    )
    found = truths(plan)
    ratio = (
        found["fma_flop_per_s precision=f64;threads=all"].mean / found["fma_flop_per_s precision=f64;threads=one"].mean
    )
    assert 0.7 < ratio < 4


def test_what_the_study_plants_is_kept() -> None:
    plan = planned(one("{fma_flop_per_s: {mean: 7e9, cov: 9 %, between: 8 %, drift: 1 %, daily: 2 %}}"))
    assert truths(plan) == {"fma_flop_per_s precision=f64;threads=one": CellTruth(7e9, 0.09, 0.08, 0.01, 0.02)}


def test_the_text_that_names_most_counts() -> None:
    plan = planned(
        one("{int_op_per_s: 1e9, int_op_per_s threads=all: 4e9}"), "[{probe: int, params: {threads: [one, 2, all]}}]"
    )
    assert {cell: truth.mean for cell, truth in truths(plan).items()} == {
        "int_op_per_s threads=one": 1e9,
        "int_op_per_s threads=2": 1e9,
        "int_op_per_s threads=all": 4e9,
    }


def test_a_planted_latency_is_the_median_and_equal_medians_are_ties_everywhere() -> None:
    two = "{provider: simulated, offering: x, truth: {cells: {rtt_s: 100 us}}}"
    plan = planned(f"[{two}, {two}]", "[{probe: rtt}]")
    found = truths(plan)
    assert found == truths(plan, 1)
    means = [
        found[f"rtt_s path=loopback;percentile={number};protocol=tcp;size_bytes=64"].mean for number in (50, 95, 99)
    ]
    assert means[0] == pytest.approx(1e-4)
    assert means == sorted(means)


def test_a_planted_percentile_is_that_percentile() -> None:
    plan = planned(one("{rtt_s percentile=99: 5 ms}"), "[{probe: rtt}]")
    assert truths(plan)["rtt_s path=loopback;percentile=99;protocol=tcp;size_bytes=64"].mean == 5e-3


def test_boot_and_faults() -> None:
    planted = "{provider: simulated, offering: x, truth: {boot_s: 12, faults: {hang: 3 %}}}"
    plan = planned(f"[{planted}, {{provider: simulated, offering: small}}]")
    first, second = (candidate.truth for candidate in plan.candidates)
    assert first is not None
    assert second is not None
    assert (first.boot_s, first.faults.hang) == (12, 0.03)
    assert second.boot_s is not None
    assert 20 <= second.boot_s <= 90


def test_candidates_are_apart_by_what_a_market_shows() -> None:
    means = [truths(planned(rest=f"seed: {seed}"), 0) for seed in range(200)]
    logs = [math.log(next(iter(one.values())).mean / 5e10) for one in means]
    spread = math.sqrt(sum(one * one for one in logs) / len(logs))
    assert 0.14 < spread < 0.22


DISK = "{probe: disk, params: {op: read, pattern: random, block_bytes: 4 KiB, depth: 16}}"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("given", ["{}", "{disk_op_per_s: {mean: 20000, cov: 1 %, between: 1 %}}"])
def test_figures_of_one_disk_agree_with_each_other(given: str, seed: int) -> None:
    """20.7 thousand operations of 4 KiB are 85 MB a second, never 208."""
    found = truths(planned(one(given), f"[{DISK}]", f"seed: {seed}"))
    mean = {cell.partition(" ")[0] + cell.rpartition("percentile=")[2][:2] * ("percentile" in cell): truth.mean
            for cell, truth in found.items()}  # fmt: skip
    assert mean["disk_bytes_per_s"] == pytest.approx(4096 * mean["disk_op_per_s"], rel=1e-3)
    assert mean["disk_latency_s50"] * mean["disk_op_per_s"] == pytest.approx(16, rel=0.01)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("given", ["{}", "{fma_flop_per_s threads=all: {mean: 100 Gflop/s, cov: 2 %, between: 2 %}}"])
def test_more_threads_are_faster_and_never_by_more_than_their_number(given: str, seed: int) -> None:
    clouds = one(given).replace("offering: x", "region: stratus, offering: medium")
    plan = planned(clouds, "[{probe: fma, params: {threads: [one, 2, all]}}]", f"seed: {seed}")
    mean = {cell.rpartition("threads=")[2]: truth.mean for cell, truth in truths(plan).items()}
    processors = plan.candidates[0].offering.vcpus
    assert processors == 2
    assert mean["one"] < mean["2"] == pytest.approx(mean["all"])
    assert mean["all"] / mean["one"] / processors < 1.0
