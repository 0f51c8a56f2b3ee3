"""The map of the world: what is drawn stands at the place of a mark, and counts every one."""

import math
import re
from xml.etree import ElementTree

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.report.charts.map_marks import LARGEST, RADIUS, MapLayer, MapMark, grouped, radius_of
from cloudcmp.report.charts.world_map import WIDTH, _placed, projected, world_map

_UNITS = st.tuples(st.floats(0, WIDTH), st.floats(0, 400))


def _layer(title, shape, colour, places, **more):
    return MapLayer(title, shape, colour, tuple(MapMark(at, f"{title} {n}") for n, at in enumerate(places)), **more)


def _map(*layers):
    figure = world_map("m", "Title", "caption", layers, ("a",), (), "points")
    root = ElementTree.fromstring(figure.svg)
    return figure.svg, [one for one in root.iter() if one.get("role") == "graphics-symbol"]


def _centre(mark):
    """Where a mark's slices begin, or a circle is."""
    if mark.get("cx"):
        return float(mark.get("cx")), float(mark.get("cy"))
    start = re.match(r"M([\d.-]+),([\d.-]+)", mark[0].get("d"))
    return float(start[1]), float(start[2])


def test_the_projection_is_the_published_one():
    x, y = projected(0, 180)
    assert (round(x, 6), y) == (2.706630, 0)
    assert math.isclose(projected(90, 0)[1], 1.317363, abs_tol=1e-6)


@given(st.lists(_UNITS, min_size=1, max_size=60))
def test_every_mark_is_counted_once_and_what_is_drawn_is_at_the_place_of_one_and_hides_none(places):
    layer = _layer("a", "circle", "#000000", [(0.0, 0.0)])
    marks = [(layer, MapMark((0.0, 0.0), str(n)), at) for n, at in enumerate(places)]
    groups = grouped(marks)
    assert sorted(int(mark.label) for one in groups for _, mark in one.members) == list(range(len(places)))
    for one in groups:
        own = [places[int(mark.label)] for _, mark in one.members]
        assert (one.x, one.y) == own[0]
        assert all(math.dist(own[0], at) < 8 for at in own)
    drawn = [(one.x, one.y) for one in groups]
    assert all(math.dist(a, b) >= 8 for n, a in enumerate(drawn) for b in drawn[:n])


def test_thousands_of_points_in_one_part_of_the_world_stay_there():
    rng = np.random.default_rng(1)
    places = [(48 + a, 5 + b) for a, b in rng.uniform(-4, 4, (5000, 2))]
    _, marks = _map(_layer("a", "circle", "#0072B2", places[::2], counted=True),
                    _layer("b", "square", "#E69F00", places[1::2], counted=True))  # fmt: skip
    own = {tuple(round(x, 1) for x in _placed(at)) for at in places}
    assert marks
    assert all(_centre(one) in own for one in marks if one.tag.endswith("}g"))
    counts = [int(re.match(r"([\d,]+) points", one.get("aria-label"))[1].replace(",", "")) for one in marks]
    assert sum(counts) == 5000


def test_two_layers_with_half_of_the_points_each_are_drawn_as_halves():
    svg, (mark,) = _map(_layer("a", "circle", "#0072B2", [(48.0, 5.0)] * 20, counted=True),
                        _layer("b", "square", "#E69F00", [(48.0, 5.0)] * 20, counted=True))  # fmt: skip
    assert [one.get("fill") for one in mark] == ["#0072B2", "#E69F00"]
    assert mark.get("aria-label").startswith("40 points (a 20, b 20): a 0; a 1; a 2; and 37 more")
    assert "1 to 40 points near a place" in svg
    assert "slices: several of these near a place" in svg


def test_marks_that_are_apart_keep_their_shape_and_need_no_legend_of_sizes():
    svg, marks = _map(_layer("a", "circle", "#0072B2", [(48.0, 5.0), (0.0, 100.0)], counted=True))
    assert [one.tag.rpartition("}")[2] for one in marks] == ["circle", "circle"]
    assert {one.get("r") for one in marks} == {str(RADIUS)}
    assert "near a place" not in svg


def test_marks_of_one_place_that_are_not_counted_become_one_that_names_all():
    _, (mark,) = _map(_layer("a", "circle", "#0072B2", [(48.0, 5.0)] * 2))
    assert mark.get("aria-label") == "a 0, a 1"


@given(st.integers(2, 10**5))
def test_the_area_of_a_mark_grows_evenly_with_the_count(most):
    areas = [radius_of(count, most) ** 2 for count in (1, (1 + most) / 2, most)]
    assert math.isclose(areas[1] - areas[0], areas[2] - areas[1], rel_tol=1e-6)
    assert radius_of(1, most) == RADIUS
    assert radius_of(most, most) <= LARGEST
