"""The best site of each provider, its distribution, and where a provider lacks one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.wide_area.areas import area_of, planted

from cloudcmp.analysis.wide_area.best import best_times, curves, missing, reached
from cloudcmp.analysis.wide_area.vantage_clusters import cluster_codes, without_network
from cloudcmp.model.wide_area import Continent, Site, VantagePoint

_Times = dict[tuple[str, str, str], float | None]
TIMES = st.dictionaries(
    st.tuples(st.sampled_from(["v1", "v2", "v3"]), st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"])),
    st.none() | st.floats(1e-3, 1.0), min_size=1,
)  # fmt: skip


@given(TIMES)
def test_the_best_time_is_the_least_of_those_that_came_back(times: _Times) -> None:
    area = area_of(times)
    found = best_times(area)
    for at, provider in enumerate(found.providers):
        for number, vantage in enumerate(area.vantages):
            own = [
                time
                for (who, to, _), time in times.items()
                if (who, to) == (vantage.name, provider) and time is not None
            ]
            if not own:
                assert math.isnan(found.time_s[at, number])
                assert found.site[at, number] == -1
                continue
            assert found.time_s[at, number] == min(own)
            site = area.sites[found.site[at, number]]
            assert times[vantage.name, provider, site.region] == min(own)


def test_a_provider_is_not_judged_from_its_own_network() -> None:
    area = area_of({("v", "a", "x"): 0.001, ("v", "b", "y"): 0.02}, {"v": VantagePoint("v", network="a")})
    found = best_times(area)
    assert [bool(own) for own in found.own[:, 0]] == [True, False]
    assert math.isnan(found.time_s[0, 0])
    assert [one.provider for one in reached(area, found, 0.1)] == ["b"]


def test_an_unreached_vantage_point_is_above_the_limit_and_counted() -> None:
    times: _Times = {(f"v{at}", "a", "x"): None if at == 0 else 0.02 for at in range(8)}
    area = area_of(times, {f"v{at}": VantagePoint(f"v{at}", weight=3.0 if at == 0 else 1.0) for at in range(8)})
    (found,) = reached(area, best_times(area), 0.1)
    assert (found.n, found.started) == (7, 8)
    assert found.within.value == pytest.approx(7 / 10)
    assert found.quantiles[0].value_s == 0.02


def test_vantage_points_of_one_network_in_one_country_are_a_cluster() -> None:
    area = area_of({(name, "a", "x"): 0.1 for name in "pqrs"}, {
        "p": VantagePoint("p", country="DE", network="AS1"), "q": VantagePoint("q", country="DE", network="AS1"),
        "r": VantagePoint("r", country="FR", network="AS1"), "s": VantagePoint("s", country="DE"),
    })  # fmt: skip
    codes = cluster_codes(area).tolist()
    assert codes[0] == codes[1]
    assert len(set(codes)) == 3


def test_vantage_points_of_one_place_are_a_cluster_if_their_network_is_unknown() -> None:
    places = {"p": (52.5, 13.4), "q": (52.4, 13.1), "r": (48.1, 11.6), "s": None, "t": None, "u": (52.5, 13.4)}
    known = {name: VantagePoint(name, at, network="AS1" if name == "u" else "") for name, at in places.items()}
    area = area_of({(name, "a", "x"): 0.1 for name in known}, known)
    assert cluster_codes(area).tolist() == [0, 0, 1, 2, 3, 4]
    assert without_network(area) == (3, 2, 2)
    names = {name: VantagePoint(name, country=country) for name, country in {"v": "DE", "w": "DE", "x": "FR"}.items()}
    area = area_of({(name, "a", "x"): 0.1 for name in names}, names)
    assert cluster_codes(area).tolist() == [0, 0, 1]


def test_a_provider_does_not_lack_a_region_that_it_has_in_that_city() -> None:
    who = {"lagos": VantagePoint("lagos", (6.5, 3.4), "NG", Continent.AFRICA)}
    frankfurt, london = (50.1, 8.7), (51.5, -0.1)
    sites = {"f1": Site("a", "f1", frankfurt), "f2": Site("b", "f2", (50.2, 8.5)), "l": Site("b", "l", london)}
    times: _Times = {("lagos", "a", "f1"): 0.09, ("lagos", "b", "f2"): 0.12, ("lagos", "b", "l"): None}
    (one,) = missing(area_of(times, who, sites), best_times(area_of(times, who, sites)), 0.1)
    assert (one.provider, one.instead, one.own, one.own_measured) == ("b", "a/f1", "b/f2", True)
    times = {("lagos", "aws", "eu-west-2"): 0.09, ("lagos", "gcp", "europe-west9"): 0.12}
    sites = {"eu-west-2": Site("aws", "eu-west-2", london), "europe-west9": Site("gcp", "europe-west9", (48.9, 2.4))}
    (one,) = missing(area_of(times, who, sites), best_times(area_of(times, who, sites)), 0.1)
    assert (one.own, one.own_measured) == ("gcp/europe-west2", False)


def test_a_missing_region_is_where_another_provider_is_near() -> None:
    far, near = (
        VantagePoint("far", continent=Continent.AFRICA, country="ZA"),
        VantagePoint("near", continent=Continent.EUROPE),
    )
    times: _Times = {("far", "a", "x"): 0.2, ("near", "a", "x"): 0.01, ("far", "b", "cape"): 0.02,
                     ("far", "b", "y"): 0.09, ("near", "b", "y"): 0.02}  # fmt: skip
    area = area_of(times, {"far": far, "near": near}, {"cape": Site("b", "cape", country="ZA")})
    (one,) = missing(area, best_times(area), 0.1)
    assert (one.provider, one.continent, one.over, one.n, one.countries) == ("a", Continent.AFRICA, 1, 1, ("ZA",))
    assert one.instead in {"b/cape", "b/y"}
    assert one.helps == 1
    assert missing(area, best_times(area), 0.3) == ()


def test_curves_are_the_empirical_distribution() -> None:
    area = planted({"a": 1.0, "b": 2.0}, 300, 3)
    for one in curves(area, best_times(area)):
        own = best_times(area).time_s[("a", "b").index(one.provider)]
        assert len(one.x_s) <= 200
        assert one.share == pytest.approx([float((own <= x).mean()) for x in one.x_s])
        assert one.low is not None
        assert one.high is not None
        assert all(low <= share <= high for low, share, high in zip(one.low, one.share, one.high, strict=True))
        assert one.share[-1] == 1.0
    medians = [one.quantiles[0].value_s for one in reached(area, best_times(area), 0.1)]
    assert medians[1] / medians[0] == pytest.approx(2.0, rel=0.25)
    assert np.isfinite(medians).all()
