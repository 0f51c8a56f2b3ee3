"""Figures of platforms from planted requests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.analysis.platforms import centre_of, cold_starts, page_figures, scale_outs
from cloudcmp.model.platform import Handler, Page, Platform, PlatformRun, Request, Stage


def request(
    response_s: float | None, instance: str = "a", *, page: Page = Page.CPU, stage: Stage = Stage.ROUNDS,
    first: bool = False, at_s: float = 0.0, took_s: float = 0.0, task_s: float | None = None,
) -> Request:  # fmt: skip
    handler = None if response_s is None else Handler(instance, 1.0, took_s, task_s, first)
    return Request(0, stage, page, at_s, response_s, handler, "" if response_s is not None else "status 503")


def run_of(requests: list[Request], load: int = 0) -> PlatformRun:
    return PlatformRun((Platform("one", "http://one"),), tuple(requests), (), 0.0, 1, load)


@given(st.lists(st.lists(st.floats(1e-3, 10.0), min_size=1, max_size=9), min_size=1, max_size=9))
def test_the_unit_is_the_instance_where_there_are_enough_of_them(groups: list[list[float]]) -> None:
    some = [request(value, f"i{at}") for at, group in enumerate(groups) for value in group]
    found = centre_of(some, lambda one: one.response_s)
    assert found is not None
    assert (found.n, found.instances) == (len(some), len(groups))
    assert found.of_instances == (len(groups) >= 6)
    values = [float(np.median(group)) for group in groups] if len(groups) >= 6 else [v for g in groups for v in g]
    assert found.median == pytest.approx(float(np.median(values)))
    assert (found.low is None) == (len(values) < 6)
    if found.low is not None and found.high is not None:
        assert found.low <= found.median <= found.high


def test_first_requests_and_failures_are_no_warm_times() -> None:
    requests = [request(9.0, first=True), *(request(1.0 + at / 100, task_s=0.5) for at in range(7)), request(None)]
    (figure,) = page_figures(run_of(requests))
    assert figure.response is not None
    assert figure.task is not None
    assert (figure.response.median, figure.response.n) == (1.03, 7)
    assert (figure.task.median, figure.ok, figure.started) == (0.5, 8, 9)


def test_a_page_that_never_answered_has_no_time() -> None:
    (figure,) = page_figures(run_of([request(None), request(None)]))
    assert (figure.response, figure.task, figure.ok, figure.started) == (None, None, 0, 2)


def test_a_cold_start_is_what_a_first_request_takes_outside_the_handler_beyond_warm_ones_of_its_page() -> None:
    warm = [request(0.010, page=Page.PIXEL), request(0.510, took_s=0.5), request(0.710, took_s=0.7)]
    first = [
        request(0.260, "b", page=Page.PIXEL, first=True, stage=Stage.IDLE),
        request(2.310, "c", first=True, took_s=2.0, stage=Stage.LOAD),
        request(5.0, "d", page=Page.DISK, first=True),  # no warm request of this page tells its way
    ]
    (cold,) = cold_starts(run_of([*warm, *first]))
    assert cold.values == pytest.approx((0.25, 0.30))
    assert cold.warm_s == pytest.approx(0.010)
    assert cold.centre is not None
    assert (cold.centre.low, cold.centre.n) == (None, 2)


def test_cold_starts_that_were_not_seen_are_unknown_and_not_zero() -> None:
    (cold,) = cold_starts(run_of([request(0.01, page=Page.PIXEL)]))
    assert (cold.values, cold.centre) == ((), None)
    (nothing,) = cold_starts(run_of([]))
    assert nothing.warm_s is None


def test_a_planted_scale_out_is_recovered_with_its_rates() -> None:
    """Instance k answers each second from second k on, so that the rate grows from 1 to 4 a second."""
    some = [
        request(1.0, f"i{instance}", stage=Stage.LOAD, at_s=100.0 + second)
        for instance in range(4) for second in range(instance, 20)
    ]  # fmt: skip
    some += [request(None, stage=Stage.LOAD, at_s=105.0)]
    (out,) = scale_outs(run_of(some, load=4))
    assert out.points == (1.0, 2.0, 3.0, 4.0)
    assert (out.settled_s, out.asked, out.ok, out.started) == (4.0, 4, 20 + 19 + 18 + 17, 75)
    assert out.rate_after == pytest.approx(4.0, rel=0.3)
    assert out.rate_before < out.rate_after
    assert out.refusals == (("status 503", 1),)


def test_a_load_without_an_answer_has_no_instance() -> None:
    (out,) = scale_outs(run_of([request(None, stage=Stage.LOAD, at_s=at) for at in (0.0, 1.0)], load=1))
    assert (out.points, out.settled_s, out.rate_after) == ((), None, 0.0)
