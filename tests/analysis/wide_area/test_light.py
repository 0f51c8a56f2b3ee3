"""Round trips that light could not make, and addresses that are in several places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.wide_area.areas import area_of, light_s, spots

from cloudcmp.analysis.wide_area.light import SLACK_KM, least_places, without_impossible
from cloudcmp.analysis.wide_area.light import light_s as floor_s
from cloudcmp.model.wide_area import Site, VantagePoint

LONDON, NEW_YORK, SYDNEY = (51.5, -0.1), (40.7, -74.0), (-33.9, 151.2)


def test_light_takes_56_milliseconds_from_london_to_new_york_and_back() -> None:
    assert floor_s(LONDON, NEW_YORK, 0.0) == pytest.approx(0.0557, abs=2e-4)
    assert floor_s(LONDON, NEW_YORK) == pytest.approx(0.0557 - 4 * SLACK_KM / 199_861.6, abs=2e-4)
    assert floor_s(LONDON, LONDON) == 0.0


def test_a_round_trip_below_light_is_named_and_left_out() -> None:
    times = {("London", "p", "ny"): 0.02, ("London", "p", "syd"): 0.25, ("Nowhere", "p", "ny"): 0.001}
    area = area_of(times, {"London": VantagePoint("London", LONDON)},
                   {"ny": Site("p", "ny", NEW_YORK), "syd": Site("p", "syd", SYDNEY)})  # fmt: skip
    sound, found = without_impossible(area)
    assert [(one.vantage, one.site, one.measured_s) for one in found] == [("London", "p/ny", 0.02)]
    assert found[0].light_s == pytest.approx(floor_s(LONDON, NEW_YORK))
    assert [one.median_s for one in sound.paths] == [0.25, 0.001]


@given(st.integers(0, 10_000), st.floats(1.0, 3.0))
def test_no_possible_time_is_left_out(seed: int, detour: float) -> None:
    places = spots(seed, 8)
    times = {
        (f"v{a}", "p", f"r{b}"): light_s(places[a], places[b]) * detour + 1e-4 for a in range(4) for b in range(4, 8)
    }
    area = area_of(times, {f"v{a}": VantagePoint(f"v{a}", places[a]) for a in range(4)},
                   {f"r{b}": Site("p", f"r{b}", places[b]) for b in range(4, 8)})  # fmt: skip
    sound, found = without_impossible(area)
    assert found == ()
    assert sound.paths == area.paths


@given(st.integers(0, 10_000), st.floats(1.0, 4.0))
def test_an_address_in_one_place_is_never_taken_for_two(seed: int, detour: float) -> None:
    here, *places = spots(seed, 20)
    assert least_places(places, [light_s(here, at) * detour for at in places]) == 1


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_an_address_has_at_most_the_places_that_it_is_in(seed: int, count: int) -> None:
    copies, places = spots(seed, count), spots(seed + 1, 30)
    times = [min(light_s(one, at) for one in copies) * 1.3 for at in places]
    assert 1 <= least_places(places, times) <= count


def test_three_places_answer_at_once() -> None:
    near = [(lat + 1, lon) for lat, lon in (LONDON, NEW_YORK, SYDNEY)]
    assert least_places([*near, None], [0.004, 0.004, 0.004, 0.001]) == 3
    assert least_places([], []) == 0
    assert np.isfinite(floor_s(LONDON, SYDNEY))
