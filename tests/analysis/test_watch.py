"""What a watch has seen: outages with their bounds, availability, and what an hour would need."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from cloudcmp.analysis.watch import hour_needs, outages, summarise
from cloudcmp.answer.sla.claims import parse_claim
from cloudcmp.answer.sla.requirements import requirement_of
from cloudcmp.model.watch import Gap, Watched, WatchSample
from cloudcmp.report.watch import percent


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


def test_availability_has_exact_bounds_of_95_percent_each() -> None:
    goods = [True] * 995 + [False] * 5
    found = summarise(Watched("http://a.test/", 60.0, samples(*goods)), (Gap(0, 90.0, "late", 80.0), Gap(0, 9.0, "x")))
    assert (found.n, found.n_ok, found.availability) == (1000, 995, 0.995)
    exact = binomtest(995, 1000, alternative="greater"), binomtest(995, 1000, alternative="less")
    expected = exact[0].proportion_ci(method="exact").low, exact[1].proportion_ci(method="exact").high
    assert found.availability_bounds is not None
    assert (found.availability_bounds.low, found.availability_bounds.high) == pytest.approx(expected)
    assert (found.gaps, found.gap_s) == (2, 89.0)
    assert [one.p for one in found.percentiles] == [0.5, 0.9, 0.95, 0.99]
    assert all(one.bounds is not None and one.bounds.low <= one.value_s <= one.bounds.high for one in found.percentiles)


def test_nothing_is_known_without_samples() -> None:
    found = summarise(Watched("http://a.test/", 60.0, ()))
    assert (found.availability, found.availability_bounds, found.percentiles) == (None, None, ())
    short = summarise(Watched("http://a.test/", 60.0, samples(True, True)))
    assert [one.bounds for one in short.percentiles] == [None] * 4


def lower_bound(n: int) -> float:
    """The exact bound of n good samples of n that is wrong in 5 % of cases."""
    return binomtest(n, n, alternative="greater").proportion_ci(0.95, method="exact").low


def test_what_an_hour_proves_is_what_the_exact_bound_gives() -> None:
    for one in hour_needs(60.0):
        low = lower_bound(one.samples)
        assert low == pytest.approx(one.proves, rel=1e-12) or low > one.proves
        assert lower_bound(one.samples - 1) < one.proves
        assert one.samples * one.every_s == pytest.approx(3600.0)


def test_an_hour_needs_as_many_samples_as_a_claim_of_a_service_level_takes() -> None:
    for one in hour_needs(60.0)[1:]:
        claim = parse_claim(f"availability >= {one.proves * 100:g} %")
        assert one.samples == requirement_of(claim, 0.95).needed[0].samples
    assert [one.samples for one in hour_needs(60.0)] == [60, 299, 2995, 29956]


@given(st.integers(1, 40_000))
def test_no_hour_is_said_to_prove_what_it_does_not(samples: int) -> None:
    """2,994 samples prove 99.8999 %, which is not said to be 99.90 %."""
    here, *more = hour_needs(3600.0 / samples)
    said = float(percent(here.proves, math.floor).removesuffix(" %")) / 100
    assert said <= here.proves + 1e-12
    for one in more:
        assert (said >= one.proves - 1e-12) <= (here.samples >= one.samples)
