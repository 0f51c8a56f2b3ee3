"""Platforms are measured on runners that play Cloud Run and AWS Lambda, with planted starts and limits."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execute.local_platforms import TOKEN, Plan, aws_lambda, cloud_run

from cloudcmp.analysis import platforms as analysis
from cloudcmp.execute.platforms.connection import Answer, Connection, target_of
from cloudcmp.execute.platforms.limits import Bounds, find_limit
from cloudcmp.execute.platforms.rounds import Course, ask_after_idle, ask_in_rounds, step_load
from cloudcmp.model.platform import LimitKind, Page, Platform, PlatformRun, Request, Stage

START_S = 0.4


def run_of(requests: list[Request], load: int = 0) -> PlatformRun:
    return PlatformRun((Platform("one", "http://one"),), tuple(requests), (), 0.0, 1, load)


@pytest.mark.parametrize("platform", [cloud_run, aws_lambda])
def test_a_planted_start_is_found_in_the_first_requests_of_new_processes(platform, tmp_path: Path) -> None:
    with platform(Plan(start_s=START_S), tmp_path) as local:
        course, connection = Course(time.perf_counter()), Connection(target_of(local.url, TOKEN))
        first = course.ask(connection, 0, Stage.FIRST, Page.PIXEL)
        rounds = list(ask_in_rounds(course, [connection], [Page.PIXEL], 5, random.Random(1), lambda _: None))
        resting = Course(course.began, sleep=lambda _: local.fleet.rest())
        idle = list(ask_after_idle(resting, [connection], 2, 900.0, random.Random(1), lambda _: None))
        connection.close()
    assert not [one.reason for one in (first, *rounds, *idle) if one.reason]
    (cold,) = analysis.cold_starts(run_of([first, *rounds, *idle]))
    assert len(cold.values) == local.fleet.started == 3
    # The process itself takes some milliseconds to start besides what is planted, more on a busy machine.
    assert all(value + cold.warm_s >= START_S for value in cold.values)
    assert cold.centre is not None
    assert (cold.centre.low, cold.centre.high) == (None, None), "three values have no interval of 95 %"
    assert min(cold.values) == pytest.approx(START_S, rel=0.5)
    assert not list(tmp_path.iterdir())


def test_a_step_of_load_finds_the_instances_that_the_platform_started(tmp_path: Path) -> None:
    with cloud_run(Plan(start_s=0.2, most=2), tmp_path) as local:
        target = target_of(local.url, TOKEN)
        found = step_load(Course(time.perf_counter()), target, 0, 2, 0.5)
    (out,) = analysis.scale_outs(run_of(found, load=2))
    assert (out.asked, len(out.points), local.fleet.started) == (2, 2, 2)
    assert out.ok == out.started
    assert out.points[0] >= 0.2
    assert out.settled_s is not None
    assert out.settled_s <= out.lasted_s + 5
    assert {one.handler.parallel for one in found if one.handler} == {1}


def test_requests_that_share_an_instance_are_counted_in_it(tmp_path: Path) -> None:
    with cloud_run(Plan(most=1, at_once=2), tmp_path) as local:
        found = step_load(Course(time.perf_counter()), target_of(local.url, TOKEN), 0, 2, 0.3)
    (out,) = analysis.scale_outs(run_of(found, load=2))
    assert (len(out.points), local.fleet.started) == (1, 1)
    assert max(one.handler.parallel or 0 for one in found if one.handler) == 2


def test_limits_of_memory_and_bodies_are_found_within_a_tenth(tmp_path: Path) -> None:
    plan = Plan(limit_bytes=3_000_000, memory_bytes=60 << 20)
    bounds = Bounds(memory_bytes=128 << 20, body_bytes=8_000_000)
    kinds = (LimitKind.MEMORY, LimitKind.ANSWER, LimitKind.UPLOAD)
    with cloud_run(plan, tmp_path) as local:
        connection = Connection(target_of(local.url, TOKEN))
        found = {kind: find_limit(connection, 0, kind, bounds) for kind in kinds}
        connection.close()
    planted = {LimitKind.ANSWER: 3e6, LimitKind.UPLOAD: 3e6, LimitKind.MEMORY: 60 * 2.0**20}
    reasons = {"memory": "status 503", "answer": "status 500", "upload": "status 413"}
    for kind, limit in found.items():
        assert limit.worked is not None
        assert limit.failed is not None, kind
        assert limit.failed <= 1.1 * limit.worked
        assert limit.worked <= planted[kind] * 1.01
        # A process holds some memory of its own besides what it is asked to hold.
        assert limit.failed >= planted[kind] * (0.75 if kind is LimitKind.MEMORY else 0.99), kind
        assert limit.reason == reasons[kind.value]


def test_a_request_that_takes_too_long_is_refused_by_the_platform(tmp_path: Path) -> None:
    with cloud_run(Plan(limit_s=0.4), tmp_path) as local:
        connection = Connection(target_of(local.url, TOKEN))
        assert connection.get("/wait?seconds=5").reason == "status 504"
        connection.close()


@given(limit=st.floats(0.1, 1e5), most=st.floats(1.0, 900.0))
def test_any_limit_lies_between_what_worked_and_what_failed(limit: float, most: float) -> None:
    class Planted:
        def get(self, path: str, patience_s: float) -> Answer:
            seconds = float(path.partition("=")[2])
            assert seconds <= most + 1e-3
            return Answer(0.0, seconds, 0, None, "" if seconds <= limit else "status 504")

    found = find_limit(Planted(), 0, LimitKind.TIME, Bounds(time_s=most))  # type: ignore[arg-type]
    assert found.requests < 40
    if found.worked is not None:
        assert found.worked <= limit + 1e-3
    if found.failed is None:
        assert found.worked == most
    else:
        assert found.failed > limit - 1e-3
        assert found.worked is None or found.failed <= 1.1 * found.worked
    assert bool(found.reason) == (found.failed is not None)


def test_one_fault_of_the_way_is_no_limit() -> None:
    failures = iter([True, False])

    class Flaky:
        def get(self, path: str, patience_s: float) -> Answer:
            return Answer(0.0, 1.0, 0, None, "closed" if next(failures, False) else "")

    found = find_limit(Flaky(), 0, LimitKind.TIME, Bounds(time_s=4.0))  # type: ignore[arg-type]
    assert (found.worked, found.failed, found.requests) == (4.0, None, 4)


def test_an_answer_that_is_too_long_for_the_runtime_is_a_limit_and_the_function_goes_on(tmp_path: Path) -> None:
    with aws_lambda(Plan(limit_bytes=6 << 20), tmp_path) as local:
        connection = Connection(target_of(local.url, TOKEN))
        limit = find_limit(connection, 0, LimitKind.ANSWER, Bounds(body_bytes=16_000_000))
        after = connection.get("/2mb", expected=2_000_000)
        connection.close()
    assert limit.worked is not None
    assert limit.failed is not None
    # Bodies travel as base64: 4 characters for 3 bytes.
    assert limit.worked < (6 << 20) * 0.75 <= limit.failed * 1.01
    assert limit.reason == "status 502"
    assert (after.reason, local.fleet.started) == ("", 1)


def test_no_limit_is_met_below_the_bound(tmp_path: Path) -> None:
    with cloud_run(Plan(), tmp_path) as local:
        connection = Connection(target_of(local.url, TOKEN))
        limit = find_limit(connection, 0, LimitKind.ANSWER, Bounds(body_bytes=3_000_000))
        connection.close()
    assert (limit.worked, limit.failed, limit.reason, limit.requests) == (3e6, None, "", 3)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ftp://here", "it is no URL of HTTP"),
        ("here", "it is no URL of HTTP"),
        ("http://here:port", "it is no URL"),
        ("http://me:secret@here", "more than a host and a path"),
        ("https://here/?a=1", "more than a host and a path"),
    ],
)
def test_what_is_no_place_of_a_handler_is_named(url: str, told: str) -> None:
    from cloudcmp.errors import UserMistake

    with pytest.raises(UserMistake, match=told):
        target_of(url)
