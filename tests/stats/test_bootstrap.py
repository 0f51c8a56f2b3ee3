"""The launch-cluster bootstrap: fast ways against the plain one, and how often it covers."""

import numpy as np
import pytest

from cloudcmp.stats.bootstrap import cluster_bootstrap_interval
from cloudcmp.stats.describe import Interval

GROUPS = [np.random.default_rng(g).normal(g, 3, 3 + g) for g in range(7)]


@pytest.mark.parametrize(("name", "plain"), [("mean", np.mean), ("median", np.median)])
def test_the_fast_ways_draw_what_the_plain_one_draws(name: str, plain: object) -> None:
    fast = cluster_bootstrap_interval(GROUPS, name, 0.9, np.random.default_rng(5), 300)  # type: ignore[arg-type]
    slow = cluster_bootstrap_interval(GROUPS, plain, 0.9, np.random.default_rng(5), 300)  # type: ignore[arg-type]
    assert fast is not None
    assert slow is not None
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high), rel=1e-12)


def test_the_same_seed_gives_the_same_interval_and_another_a_near_one() -> None:
    draw = [cluster_bootstrap_interval(GROUPS, "median", 0.95, np.random.default_rng(s)) for s in (1, 1, 2)]
    assert draw[0] == draw[1]
    assert draw[0] != draw[2]
    assert draw[0] is not None
    assert draw[2] is not None
    assert draw[0].low == pytest.approx(draw[2].low, abs=0.5)


def test_one_launch_tells_nothing_of_launches() -> None:
    assert cluster_bootstrap_interval([[1.0, 2.0, 3.0]], "mean", 0.95, np.random.default_rng(1)) is None


def test_equal_launches_give_a_point() -> None:
    rng = np.random.default_rng(1)
    assert cluster_bootstrap_interval([[1.0, 3.0]] * 4, "mean", 0.95, rng) == Interval(2.0, 2.0)


def test_what_cannot_be_drawn_is_refused() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="no launches"):
        cluster_bootstrap_interval([], "mean", 0.95, rng)
    with pytest.raises(ValueError, match="launch 2: no values"):
        cluster_bootstrap_interval([[1.0], []], "mean", 0.95, rng)
    with pytest.raises(ValueError, match="give 'mean', 'median' or a function"):
        cluster_bootstrap_interval(GROUPS, "mode", 0.95, rng)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not finite"):
        cluster_bootstrap_interval(GROUPS, lambda _: float("nan"), 0.95, rng)
    with pytest.raises(ValueError, match="draw at least one"):
        cluster_bootstrap_interval(GROUPS, "mean", 0.95, rng, resamples=0)


def test_it_covers_over_launches_where_runs_alone_would_not() -> None:
    rng = np.random.default_rng(8)
    clustered = pooled = 0
    for _ in range(200):
        launches = [rng.normal() + rng.normal(0, 0.5, 8) for _ in range(15)]
        interval = cluster_bootstrap_interval(launches, "mean", 0.95, rng, 400)
        assert interval is not None
        clustered += interval.low <= 0 <= interval.high
        flat = cluster_bootstrap_interval(np.concatenate(launches)[:, None], "mean", 0.95, rng, 400)  # type: ignore[arg-type]
        assert flat is not None
        pooled += flat.low <= 0 <= flat.high
    assert clustered / 200 > 0.86
    assert pooled / 200 < 0.75
