"""The map of the world: what is drawn stands at the place of a mark, and counts every one."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.report.charts.map_marks import LARGEST, RADIUS, MapLayer, MapMark, grouped, radius_of
from cloudcmp.report.charts.world_map import HEIGHT, WIDTH, _placed, projected, world_map

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


def test_the_projection_is_equal_earth():
    # Positions of the equator's and the pole's ends in the paper's own units, and Tissot's areas by differences.
    assert projected(0, 180)[0] == pytest.approx(2.7066, abs=1e-3)
    assert projected(90, 0)[1] == pytest.approx(1.3173, abs=1e-3)
    step = 1e-4

    def area(lat, lon):
        (x, y), (xe, ye), (xn, yn) = projected(lat, lon), projected(lat, lon + step), projected(lat + step, lon)
        return abs((xe - x) * (yn - y) - (xn - x) * (ye - y)) / np.cos(np.radians(lat))

    areas = [area(lat, lon) for lat in (-60, -20, 5, 40, 70) for lon in (-150, 0, 90)]
    assert areas == pytest.approx([areas[0]] * len(areas), rel=1e-3)


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
    assert "1 to 40 points in one mark" in svg
    assert "slices: several of these in one mark" in svg


def test_marks_that_are_apart_keep_their_shape_and_need_no_legend_of_sizes():
    svg, marks = _map(_layer("a", "circle", "#0072B2", [(48.0, 5.0), (0.0, 100.0)], counted=True))
    assert [one.tag.rpartition("}")[2] for one in marks] == ["circle", "circle"]
    assert {one.get("r") for one in marks} == {str(RADIUS)}
    assert "in one mark" not in svg


def test_marks_of_one_place_that_are_not_counted_become_one_that_names_all():
    _, (mark,) = _map(_layer("a", "circle", "#0072B2", [(48.0, 5.0)] * 2))
    assert mark.get("aria-label") == "a 0, a 1"


@given(st.integers(2, 10**5))
def test_the_area_of_a_mark_grows_evenly_with_the_count(most):
    areas = [radius_of(count, most) ** 2 for count in (1, (1 + most) / 2, most)]
    assert math.isclose(areas[1] - areas[0], areas[2] - areas[1], rel_tol=1e-6)
    assert radius_of(1, most) == RADIUS
    assert radius_of(most, most) <= LARGEST


def test_marks_lie_on_the_map_and_differ_by_shape():
    spots = [(lat, lon) for lat in (-90.0, -57, 0, 84, 90) for lon in (-180.0, 0, 180)]
    layers = [MapLayer("one", "circle", "#000000", tuple(MapMark(at, f"<&\"{at}") for at in spots)),
              MapLayer("two", "star", "#0072B2", (MapMark((48.9, 2.4), "Paris", filled=False),) * 9),
              MapLayer("three", "plus", "#222222", tuple(MapMark((48.9, 2.4), name) for name in "ab"))]  # fmt: skip
    figure = world_map("m", "A <map>", "caption", layers, ("a",), ((1,),))
    root = ElementTree.fromstring(figure.svg)
    circles = [
        (float(one.get("cx", 0)), float(one.get("cy", 0))) for one in root.iter("{http://www.w3.org/2000/svg}circle")
    ]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT + 20 for x, y in circles)
    labels = [one.get("aria-label") for one in root.iter() if one.get("role") == "graphics-symbol"]
    assert ", ".join(["Paris"] * 9) in labels
    assert "a, b" in labels
