"""Times of pages: slow start against a simulation of its rounds, and measured pages beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.wide_area.areas import area_of

from cloudcmp.analysis.wide_area.best import best_times
from cloudcmp.analysis.wide_area.page_time import (
    OLD_INITIAL_WINDOW,
    SEGMENT_BYTES,
    PageModel,
    page_figures,
    page_s,
    rounds,
    transfer_s,
)
from cloudcmp.model.wide_area import PathTime, Phase, WideArea
from cloudcmp.report.wide_area import handshakes


@given(st.integers(1, 10**8), st.integers(1, 100))
def test_rounds_are_those_of_a_window_that_doubles(size: int, segments: int) -> None:
    window, sent, count = segments * SEGMENT_BYTES, 0, 0
    while sent < size:
        sent, window, count = sent + window, 2 * window, count + 1
    assert rounds(size, segments * SEGMENT_BYTES) == count


@pytest.mark.parametrize(
    ("size", "now", "in_2010"), [(1_000, 1, 1), (100_000, 3, 5), (320_000, 5, 7), (2_000_000, 8, 9)]
)
def test_a_page_takes_fewer_rounds_than_in_delgados_time(size: int, now: int, in_2010: int) -> None:
    assert (rounds(size), rounds(size, OLD_INITIAL_WINDOW)) == (now, in_2010)


def test_a_page_is_its_handshakes_and_rounds() -> None:
    assert page_s(1_000, 0.1, PageModel()) == pytest.approx(0.3)
    assert page_s(1_000, 0.1, PageModel(tls=False, server_s=0.05), dns_s=0.02) == pytest.approx(0.27)
    assert page_s(320_000, 0.1, PageModel()) == pytest.approx(0.3 + 4 * 0.1)


@given(st.integers(1, 10**7), st.floats(1e-4, 0.5), st.floats(1e4, 1e9))
def test_a_rate_never_makes_a_transfer_faster(size: int, rtt_s: float, rate: float) -> None:
    slow = transfer_s(size, rtt_s, PageModel(bytes_per_s=rate))
    assert slow >= size / rate * (1 - 1e-9) or slow >= transfer_s(size, rtt_s, PageModel()) - 1e-9
    assert slow <= transfer_s(size, rtt_s, PageModel()) + size / rate + 1e-9


@pytest.mark.parametrize("bad", [(0, 100), (100, 0)])
def test_nothing_has_no_rounds(bad: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="give at least one"):
        rounds(*bad)


def test_measured_pages_stand_beside_the_model_and_phases_add_up() -> None:
    area = area_of({(f"v{at}", "a", "x"): 0.1 for at in range(4)})
    phases = {Phase.DNS: 0.01, Phase.CONNECT: 0.1, Phase.TLS: 0.1}
    parts = [PathTime(at, 0, phase, time, 1, 1) for at in range(3) for phase, time in phases.items()]
    parts += [PathTime(at, 0, phase, time, 1, 1, 100_000) for at in range(3)
              for phase, time in {Phase.FIRST_BYTE: 0.15, Phase.TRANSFER: 0.24}.items()]  # fmt: skip
    parts += [PathTime(3, 0, Phase.PAGE, 0.9, 1, 1, 100_000), PathTime(3, 0, Phase.DNS, 0.01, 1, 1)]
    whole = WideArea(area.vantages, area.sites, (*area.paths, *parts), "planted")
    figures, drawn = page_figures(whole, best_times(whole), PageModel())
    one = next(figure for figure in figures if figure.size_bytes == 100_000)
    assert one.has_dns
    assert one.modelled.value_s == pytest.approx(0.01 + 3 * 0.1 + 2 * 0.1)
    assert one.measured is not None
    assert (one.measured.value_s, one.n_measured) == (pytest.approx(0.6), 4)
    assert one.off == pytest.approx(0.6 / 0.51)
    assert {(each.kind, each.size_bytes) for each in drawn if each.kind == "measured"} == {("measured", 100_000)}
    assert all(figure.measured is None for figure in figures if figure.size_bytes != 100_000)


def test_a_handshake_counts_for_the_providers_that_have_one() -> None:
    area = area_of({(f"v{at}", provider, "x"): 0.1 for at in range(4) for provider in "abc"})
    # Of a, connections and handshakes were measured, of b connections only, of c neither.
    parts = [PathTime(at, site, phase, 0.1, 1, 1) for at in range(4)
             for site, phase in ((0, Phase.CONNECT), (0, Phase.TLS), (1, Phase.CONNECT))]  # fmt: skip
    whole = WideArea(area.vantages, area.sites, (*area.paths, *parts), "planted")
    figures, _ = page_figures(whole, best_times(whole), PageModel())
    found = {one.provider: (one.has_tls, round(one.modelled.value_s, 6)) for one in figures if one.size_bytes == 1000}
    assert found == {"a": (True, 0.3), "b": (False, 0.2), "c": (True, 0.3)}
    assert handshakes(figures) == "connect, TLS where there is one"
    assert handshakes(figures[:1]) == "connect, TLS"
