"""Seeded simulations: intervals cover as they say, and equal clouds are called different as rarely as they say."""

import numpy as np
from tests.stats.paired import paired_t

from cloudcmp.stats.adjust import holm
from cloudcmp.stats.describe import Interval, median_interval, t_interval
from cloudcmp.stats.tests import welch_t

TRIES = 1500
# Three standard errors of a share near 0.05 over as many tries.
SLACK = 3 * (0.05 * 0.95 / TRIES) ** 0.5


def covers(interval: Interval | None, truth: float) -> bool:
    assert interval is not None
    return interval.low <= truth <= interval.high


def test_the_t_interval_covers_the_mean_of_normal_values() -> None:
    rng = np.random.default_rng(1)
    share = np.mean([covers(t_interval(rng.normal(3, 2, 6)), 3) for _ in range(TRIES)])
    assert abs(share - 0.95) < SLACK


def test_the_median_interval_covers_as_its_ranks_say_whatever_the_distribution() -> None:
    rng = np.random.default_rng(2)
    # The ranks are 2 and 9: 1 - 2 P(Bin(10, 1/2) <= 1).
    planted = 1 - 2 * 11 / 2**10
    share = np.mean([covers(median_interval(rng.lognormal(0, 1.5, 10)), 1.0) for _ in range(TRIES)])
    assert abs(share - planted) < SLACK


def test_equal_clouds_differ_in_five_percent_of_tests() -> None:
    rng = np.random.default_rng(5)
    found = {"paired": 0, "welch": 0}
    for _ in range(TRIES):
        a, b = rng.normal(0, 0.05, 8), rng.normal(0, 0.05, 8)
        paired, welch = paired_t(a - b), welch_t(a, b)
        assert paired is not None
        assert welch is not None
        found["paired"] += paired.p_value < 0.05
        found["welch"] += welch.p_value < 0.05
    shares = {name: times / TRIES for name, times in found.items()}
    assert abs(shares["paired"] - 0.05) < SLACK
    assert abs(shares["welch"] - 0.05) < SLACK


def test_rounds_that_drift_together_are_no_difference_by_pairs() -> None:
    rng = np.random.default_rng(6)
    paired, welch = 0, 0
    for _ in range(TRIES):
        drift = np.cumsum(rng.normal(0, 0.1, 8))
        a, b = drift + rng.normal(0, 0.05, 8), drift + rng.normal(0.08, 0.05, 8)
        by_pairs, apart = paired_t(a - b), welch_t(a, b)
        assert by_pairs is not None
        assert apart is not None
        paired += by_pairs.p_value < 0.05
        welch += apart.p_value < 0.05
    assert paired / TRIES > 0.7
    assert welch / TRIES < 0.2


def test_tied_clouds_over_many_cells_show_a_false_winner_in_at_most_five_percent_of_studies() -> None:
    rng = np.random.default_rng(7)
    studies, cells, raw_wins, wins = 300, 10, 0, 0
    for _ in range(studies):
        values = rng.normal(0, 0.05, (3, cells, 6))
        tests = [paired_t(values[i, c] - values[j, c]) for i, j in ((0, 1), (0, 2), (1, 2)) for c in range(cells)]
        p = np.array([t.p_value for t in tests if t is not None])
        raw_wins += bool(p.min() < 0.05)
        wins += bool(holm(p).min() < 0.05)
    assert raw_wins / studies > 0.5
    assert wins / studies < 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5
