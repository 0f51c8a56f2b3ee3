"""Times of people to regions: measured ones stay, modelled ones recover a planted world, and their error is known."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.answer.placement.worlds import INTERCEPT_S, S_PER_KM, SITES, VANTAGES, crowd, line, world

from cloudcmp.analysis.wide_area.places import located
from cloudcmp.answer.placement.geometry import FIBRE_S_PER_KM, distances_km
from cloudcmp.answer.placement.times import times_of
from cloudcmp.catalog.places import distance_km
from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import People
from cloudcmp.model.wide_area import WideArea
from cloudcmp.store.wide_area import read_wide_area

DATA = os.environ.get("CLOUDCMP_DATA")


def test_distances_are_those_of_the_catalogue() -> None:
    places = [(59.3, 18.1), (-33.9, 151.2), (1.3, 103.8)]
    found = distances_km(np.array(places), np.array(places))
    for row, one in enumerate(places):
        for column, other in enumerate(places):
            assert found[row, column] == pytest.approx(distance_km(one, other), abs=1e-6)


def test_a_vantage_point_keeps_its_measured_times_and_the_last_mile_is_added() -> None:
    area = world(noise=0.2)
    people = [People("v3", 5.0), People("v0", 1.0)]
    found = times_of(area, people, last_mile_s=0.01)
    measured = np.array([one.median_s for one in area.paths]).reshape(len(VANTAGES), len(SITES))
    assert found.times == pytest.approx(measured[[3, 0]] + 0.01)
    assert (found.model.measured, found.model.filled, found.errors) == (2, (), None)


def test_a_city_with_the_name_of_a_vantage_point_elsewhere_is_not_that_point() -> None:
    near, far = People("v3", 1.0, (42.1, -71.2)), People("v3", 1.0, (-20.0, 20.0))
    found = times_of(world(), [near, far])
    assert found.modelled.tolist() == [False, True]
    assert found.times[0] != pytest.approx(found.times[1])


def test_a_planted_line_is_recovered_between_the_vantage_points() -> None:
    people = crowd()
    found = times_of(world(), people)
    true = line(distances_km(np.array([one.at for one in people]), np.array([one.at for one in SITES])))
    assert found.model.s_per_km == pytest.approx(S_PER_KM, rel=1e-6)
    assert found.model.intercept_s == pytest.approx(INTERCEPT_S, rel=1e-6)
    assert found.times == pytest.approx(true, rel=1e-6)
    off = found.model.held_out
    assert off is not None
    assert off.median_error == pytest.approx(0.0, abs=1e-6)


def test_the_held_out_error_grows_with_the_noise_and_covers_the_true_times() -> None:
    people = crowd(200)
    true = line(distances_km(np.array([one.at for one in people]), np.array([one.at for one in SITES])))
    errors = []
    for noise in (0.05, 0.3):
        found = times_of(world(noise, seed=4), people)
        off = found.model.held_out
        assert off is not None
        errors.append(off.median_error)
        # The planted noise is that of pairs, so that a place near a vantage point has that point's noise once.
        inside = (true >= found.times * off.low * 0.98) & (true <= found.times * off.high * 1.02)
        assert inside.mean() > 0.85
    assert errors[1] > 2 * errors[0]


def test_a_missing_pair_is_modelled_and_counted() -> None:
    area = world(keep=lambda v, s: (v, s) != (3, 2))
    found = times_of(area, [People("v3", 1.0)])
    assert found.model.filled == ("v3 to a/west",)
    true = line(distances_km(np.array([VANTAGES[3]]), np.array([one.at for one in SITES])))
    assert found.times[0] == pytest.approx(true[0])


def test_no_modelled_time_beats_light() -> None:
    area = world()
    with pytest.raises(UserMistake, match="do not grow with distance"):
        times_of(replace(area, paths=tuple(replace(one, median_s=0.05) for one in area.paths)), crowd())
    people = crowd()
    found = times_of(world(0.4), people)
    away = distances_km(np.array([one.at for one in people]), np.array([one.at for one in SITES]))
    assert (found.times >= FIBRE_S_PER_KM * away - 1e-12).all()


def test_sites_without_times_or_places_are_left_out_by_name() -> None:
    area = world(keep=lambda _, s: s != 5)
    found = times_of(replace(area, sites=(replace(SITES[0], at=None), *SITES[1:])), crowd())
    assert [(str(site), why) for site, why in found.left_out] == [
        ("a/north", "its place is unknown"), ("b/far", "no vantage point has a time to it"),
    ]  # fmt: skip
    assert len(found.sites) == 4


@pytest.mark.parametrize(
    ("area", "people", "told"),
    [
        (WideArea((), SITES, (), "empty"), [People("x", 1.0, (0.0, 0.0))], "no round-trip time is in it"),
        (world(keep=lambda v, _: v < 3), [People("x", 1.0, (0.0, 0.0))], "fewer than 5 vantage points"),
    ],
)
def test_what_cannot_be_modelled_is_refused(area: WideArea, people: list[People], told: str) -> None:
    with pytest.raises(UserMistake, match=told):
        times_of(area, people)


@pytest.mark.skipif(DATA is None, reason="$CLOUDCMP_DATA is not set: no times between real regions")
def test_between_real_regions_the_nearest_vantage_point_is_better_than_the_line_alone() -> None:
    area = located(read_wide_area(Path(DATA or "") / "skyplane_wan" / "latency_rtt_2022-04.csv"))
    people = [People(f"x{at}", 1.0, (lat, lon)) for at, (lat, lon) in enumerate(VANTAGES)]
    found = times_of(area, people)
    off, model = found.model.held_out, found.model
    assert off is not None
    assert off.median_error < 0.15
    assert 1.3e-5 < (model.s_per_km or 0) < 1.8e-5
    placed = [at for at, one in enumerate(area.vantages) if one.at]
    matrix = np.full((len(area.vantages), len(area.sites)), np.nan)
    for one in area.paths:
        matrix[one.vantage, one.site] = one.median_s
    away = distances_km(np.array([area.vantages[at].at for at in placed]), np.array([one.at for one in area.sites]))
    guess = (model.intercept_s or 0) + (model.s_per_km or 0) * away
    assert np.nanmedian(np.abs(matrix[placed] / guess - 1)) > 0.16
