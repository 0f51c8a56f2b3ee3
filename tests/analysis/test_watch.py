"""What a watch has seen: outages with their bounds, availability, and what an hour would need."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from cloudcmp.analysis.watch import hour_needs, outages, summarise
from cloudcmp.model.watch import Gap, Watched, WatchSample


def samples(*goods: bool) -> tuple[WatchSample, ...]:
    """One sample a minute."""
    return tuple(
        WatchSample(60.0 * at, good, 0.1 + at / 1000 if good else None, "" if good else "refused")
        for at, good in enumerate(goods)
    )


def test_an_outage_began_and_ended_between_samples() -> None:
    found = outages(samples(True, False, False, True, True, False))
    assert [(one.good_before, one.first_bad, one.last_bad, one.good_after, one.n) for one in found] == [
        (0.0, 60.0, 120.0, 180.0, 2),
        (240.0, 300.0, 300.0, None, 1),
    ]
    assert found[0].reasons == ("refused",)
    assert outages(samples(False))[0].good_before is None
    assert outages(samples(True, True)) == []


@given(st.lists(st.booleans(), max_size=60))
def test_outages_hold_every_failed_sample_once(goods: list[bool]) -> None:
    given_ = samples(*goods)
    found = outages(given_)
    assert sum(one.n for one in found) == goods.count(False)
    for one in found:
        within = [it for it in given_ if one.first_bad <= it.at <= one.last_bad]
        assert len(within) == one.n
        assert not any(it.ok for it in within)


def test_availability_has_the_exact_interval() -> None:
    goods = [True] * 995 + [False] * 5
    found = summarise(Watched("http://a.test/", 60.0, samples(*goods)), (Gap(0, 90.0, "late", 80.0), Gap(0, 9.0, "x")))
    assert (found.n, found.n_ok, found.availability) == (1000, 995, 0.995)
    expected = binomtest(995, 1000).proportion_ci(method="exact")
    assert found.availability_bounds is not None
    assert (found.availability_bounds.low, found.availability_bounds.high) == pytest.approx(tuple(expected))
    assert (found.gaps, found.gap_s) == (2, 89.0)
    assert [one.p for one in found.percentiles] == [0.5, 0.9, 0.95, 0.99]
    assert all(one.bounds is not None and one.bounds.low <= one.value_s <= one.bounds.high for one in found.percentiles)


def test_nothing_is_known_without_samples() -> None:
    found = summarise(Watched("http://a.test/", 60.0, ()))
    assert (found.availability, found.availability_bounds, found.percentiles) == (None, None, ())
    short = summarise(Watched("http://a.test/", 60.0, samples(True, True)))
    assert [one.bounds for one in short.percentiles] == [None] * 4


def test_what_an_hour_proves_is_what_the_exact_interval_gives() -> None:
    for one in hour_needs(60.0):
        low = binomtest(one.samples, one.samples).proportion_ci(method="exact").low
        assert low == pytest.approx(one.proves, rel=1e-12) or low > one.proves
        fewer = binomtest(one.samples - 1, one.samples - 1).proportion_ci(method="exact").low
        assert fewer < one.proves
        assert one.samples * one.every_s == pytest.approx(3600.0)
