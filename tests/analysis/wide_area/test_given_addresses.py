"""How well a provider maps vantage points to its addresses."""

import pytest
from tests.analysis.wide_area.areas import area_of

from cloudcmp.analysis.wide_area.given_addresses import mappings
from cloudcmp.model.wide_area import AddressTime, NameAnswers, VantagePoint, WideArea

PLACES = {"Oslo": (59.9, 10.8), "Rome": (41.9, 12.5), "Tokyo": (35.7, 139.7), "Lima": (-12.0, -77.0)}


def test_given_addresses_are_set_beside_the_best_ones() -> None:
    base = area_of(
        {(name, "a", "x"): 0.3 for name in PLACES}, {name: VantagePoint(name, at) for name, at in PLACES.items()}
    )
    near, far, anywhere = 0, 1, 2
    times = [AddressTime(vantage, near, 0.010, 1, 1) for vantage in range(3)]
    times += [AddressTime(vantage, far, 0.050, 1, 1) for vantage in range(3)]
    times += [AddressTime(vantage, anywhere, 0.002 + vantage / 1e3, 1, 1) for vantage in (0, 2)]
    times += [AddressTime(3, near, None, 0, 1)]
    answers = ((0, anywhere), (1, far), (2, near), (2, far), (3, near))
    name = NameAnswers("a", "web.example", ("near", "far", "any"), answers, tuple(times))
    (found,), curves = mappings(WideArea(base.vantages, base.sites, base.paths, "planted", names=(name,)))
    assert (found.addresses, found.n) == (3, 3)
    assert found.best is not None
    assert found.best.value == pytest.approx(1 / 3)
    assert [one.value_s for one in found.excess] == pytest.approx([0.026, 0.04])
    assert found.anycast == (("near", 2), ("any", 2))
    assert [(one.kind, one.n) for one in curves] == [("given", 3), ("optimal", 3)]


def test_a_name_without_times_has_its_addresses_alone() -> None:
    base = area_of({("Oslo", "a", "x"): 0.3})
    name = NameAnswers("a", "web.example", ("near",), ((0, 0),), ())
    (found,), curves = mappings(WideArea(base.vantages, base.sites, base.paths, "planted", names=(name,)))
    assert (found.addresses, found.n, found.best, found.excess, found.anycast, curves) == (1, 0, None, (), (), ())
