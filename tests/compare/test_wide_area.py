"""Providers paired by vantage point: planted winners are found, equal ones called the same, and few tell nothing."""

import pytest
from tests.analysis.wide_area.areas import area_of, planted

from cloudcmp.analysis.wide_area.best import best_times
from cloudcmp.compare.wide_area import best_providers, reach_pairs
from cloudcmp.model.reach import ReachPair
from cloudcmp.model.result import Verdict
from cloudcmp.model.wide_area import VantagePoint, WideArea


def pairs_of(area: WideArea) -> tuple[ReachPair, ...]:
    return reach_pairs(area, best_times(area))


def test_a_planted_winner_is_found_with_its_ratio() -> None:
    area = planted({"a": 1.0, "b": 1.5, "c": 0.7}, 60, 1)
    pairs = pairs_of(area)
    by_pair = {(one.a, one.b): one for one in pairs}
    for (a, b), ratio in {("a", "b"): 1 / 1.5, ("a", "c"): 1 / 0.7, ("b", "c"): 1.5 / 0.7}.items():
        one = by_pair[a, b]
        assert one.ratio_bounds is not None
        assert one.ratio_bounds.low < ratio < one.ratio_bounds.high
        assert one.verdict is (Verdict.BETTER if ratio < 1 else Verdict.WORSE)
        assert one.detectable is not None
        assert one.n == 60
    assert best_providers(("a", "b", "c"), pairs) == (("c",), True)


def test_providers_within_a_percent_are_practically_the_same() -> None:
    (one,) = pairs_of(planted({"a": 1.0, "b": 1.005}, 80, 2, spread=0.01))
    assert one.verdict is Verdict.SAME


def test_few_clusters_tell_nothing_however_many_vantage_points() -> None:
    (one,) = pairs_of(planted({"a": 1.0, "b": 3.0}, 50, 3, networks=4))
    assert (one.verdict, one.n, one.clusters) == (Verdict.CANNOT_TELL, 50, 4)
    assert one.reason == "4 of at least 6 networks or places"
    assert (one.ratio_bounds, one.difference_bounds, one.p_value, one.needed) == (None, None, None, None)
    assert best_providers(("a", "b"), (one,)) == (("a", "b"), False)


def test_a_provider_that_often_gives_no_reply_cannot_win() -> None:
    times = {(f"v{at}", "a", "x"): 0.01 if at > 2 else None for at in range(20)} | {
        (f"v{at}", "b", "x"): 0.05 + at / 1e4 for at in range(20)
    }
    (one,) = pairs_of(area_of(times))
    assert (one.verdict, one.reason) == (Verdict.CANNOT_TELL, "3 of 20 vantage points reached one only")


def test_vantage_points_inside_one_of_the_two_do_not_pair_them() -> None:
    times = {(f"v{at}", provider, "x"): 0.01 for at in range(9) for provider in "ab"}
    area = area_of(times, {f"v{at}": VantagePoint(f"v{at}", network="a" if at < 4 else "") for at in range(9)})
    (one,) = pairs_of(area)
    assert (one.n, one.clusters) == (5, 5)
    inside = area_of(times, {f"v{at}": VantagePoint(f"v{at}", network="b") for at in range(9)})
    assert pairs_of(inside)[0].reason == "no vantage point sees both from outside"


def test_weights_decide_whose_times_count() -> None:
    times = {(f"v{at}", provider, "x"): 0.01 * (1 + (provider == ("a" if at < 10 else "b"))) * (1 + at / 1e3)
             for at in range(20) for provider in "ab"}  # fmt: skip
    heavy = {f"v{at}": VantagePoint(f"v{at}", weight=1e6 if at >= 10 else 1.0) for at in range(20)}
    even, weighted = pairs_of(area_of(times))[0], pairs_of(area_of(times, heavy))[0]
    assert even.ratio == pytest.approx(1.0)
    assert weighted.ratio == pytest.approx(0.5, rel=1e-3)


def test_one_vantage_point_with_all_the_weight_decides_nothing() -> None:
    times = {(f"v{at}", "a", "x"): 0.027 if at == 0 else 0.01 * (1 + at) for at in range(8)} | {
        (f"v{at}", "b", "x"): 0.03 for at in range(8)
    }
    who = {f"v{at}": VantagePoint(f"v{at}", weight=5e7 if at == 0 else 1e5) for at in range(8)}
    (one,) = pairs_of(area_of(times, who))
    assert (one.verdict, one.clusters, round(one.effective)) == (Verdict.CANNOT_TELL, 8, 1)
    assert one.reason == "v0 has 98.6 % of the weight, so that 8 networks or places count as 1.0 of at least 6"
    assert one.ratio_bounds is None


def test_many_names_at_one_place_are_not_many_networks() -> None:
    times = {(f"v{at}", provider, "x"): (0.02 if provider == "a" else 0.024) * (1 + at / 100)
             for at in range(12) for provider in "ab"}  # fmt: skip
    (one,) = pairs_of(area_of(times, {f"v{at}": VantagePoint(f"v{at}", (52.5, 13.4)) for at in range(12)}))
    assert (one.n, one.clusters, one.verdict) == (12, 1, Verdict.CANNOT_TELL)


def test_the_same_ratio_everywhere_is_no_measure_of_its_spread() -> None:
    times = {(f"v{at}", provider, "x"): (0.010 if provider == "a" else 0.011) * (1 + at)
             for at in range(9) for provider in "ab"}  # fmt: skip
    (one,) = pairs_of(area_of(times))
    assert (one.verdict, one.ratio_bounds) == (Verdict.CANNOT_TELL, None)
    assert one.reason == "the ratio is the same everywhere, which tells nothing of its spread"


def test_equal_providers_rarely_get_a_verdict() -> None:
    wrong = 0
    for seed in range(50):
        pairs = pairs_of(planted({"a": 1.0, "b": 1.0, "c": 1.0}, 24, 1000 + seed))
        wrong += any(one.verdict in {Verdict.BETTER, Verdict.WORSE} for one in pairs)
    assert wrong / 50 <= 0.1
