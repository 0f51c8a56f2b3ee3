"""Facts and disturbances out of what the agents told."""

import json
from dataclasses import replace

import pytest
from tests.analysis.planted import plan_of

from cloudcmp.analysis import facts_of, late_rounds, quality
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Plan
from cloudcmp.model.trial import Attempt, Outcome

PLAN = plan_of(candidates=2, rounds=2, runs=1)


def attempt(trial: int, notes: dict[str, object] | None = None, **hello: object) -> Attempt:
    facts = json.dumps({**hello, "notes": notes or {}})
    return Attempt(trial, 0, Outcome.OK, 100.0, 110.0, facts=facts)


def test_facts_are_those_that_must_be_alike() -> None:
    host = {
        "kernel": "6.1.0", "os": "Debian 12", "clocksource": "tsc",
        "memory": {
            "thp": "madvise", "total_bytes": 1, "huge_pages": 0, "ksm": "off", "ksm_pages_sharing": 0, "balloon": None,
        },
        "disk": {"fs": "ext4", "free_bytes": 5}, "cpu": {"model": "x"},
    }  # fmt: skip
    notes = {"engine": "io_uring", "isa": "avx2", "page_cache": "cold", "pass": "cut"}
    assert facts_of(PLAN, [attempt(0, notes, version="0.1", target="x86_64", host=host)]) == {
        0: {
            "agent_version": "0.1", "image": "Debian 12", "kernel": "6.1.0", "transparent_huge_pages": "madvise",
            "huge_pages": "0", "page_merging": "off", "clocksource": "tsc", "file_system": "ext4",
            "fma.engine": "io_uring", "fma.page_cache": "cold", "fma.pass": "cut",
        },
        1: {},
    }  # fmt: skip


def test_an_image_is_told_before_the_system_on_it() -> None:
    found = facts_of(PLAN, [attempt(0, host={"image": "ami-1", "os": "Debian 12"})])
    assert found[0] == {"image": "ami-1"}


def test_facts_that_change_between_launches_are_all_named() -> None:
    attempts = [attempt(0, version="2"), attempt(2, version="1"), attempt(1, version="1")]
    assert facts_of(PLAN, attempts) == {0: {"agent_version": "1 and 2"}, 1: {"agent_version": "1"}}
    assert quality(PLAN, attempts) == ("c0: agent version changed between launches: 1 and 2",)
    many = plan_of(candidates=1, rounds=6, runs=1)
    found = facts_of(many, [attempt(at, version=str(at)) for at in range(6)])
    assert found[0]["agent_version"] == "0 and 1 and 2 and 3 more"


def test_the_disk_class_is_what_the_offering_says() -> None:
    offering = Offering("cloud", "r", "c0", attributes=(("disk_class", "ssd"),))
    plan = replace(PLAN, candidates=(replace(PLAN.candidates[0], offering=offering), PLAN.candidates[1]))
    assert facts_of(plan, []) == {0: {"disk_class": "ssd"}, 1: {}}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "null", '"x"', '{"notes": 3}', '{"host": []}', '{"notes": {"steal_s": "a"}}']
)
def test_facts_of_another_form_say_nothing(text: str) -> None:
    one = replace(attempt(0), facts=text)
    assert facts_of(PLAN, [one])[0] == {}
    assert quality(PLAN, [one]) == ()


def test_a_calm_machine_gives_no_line() -> None:
    calm = {"steal_s": 0.0, "disturbed": False, "run_delay_s": 0.001, "cpu_time_s": 1.0, "clock_hz": 3e9}
    assert quality(PLAN, [attempt(0, calm), attempt(2, {**calm, "clock_hz": 2.95e9})]) == ()


@pytest.mark.parametrize(
    ("notes", "line"),
    [
        ({"steal_s": 0.2}, "0.2 s of a processor's time were stolen in 10 s of trials"),
        ({"disturbed": True}, "the machine was never quiet before 1 of 1 trials"),
        ({"throttled_periods": 3, "throttled_s": 0.2}, "a quota of CPU time held it back in 1 of 1 trials"),
        ({"run_delay_s": 0.05, "cpu_time_s": 1.0}, "its threads waited for a processor in 1 of 1 trials"),
        ({"warning": "array of 1 MiB is below 4 x cache"}, "array of 1 MiB is below 4 x cache"),
    ],
)
def test_each_disturbance_has_its_line(notes: dict[str, object], line: str) -> None:
    assert quality(PLAN, [attempt(1, notes)]) == (f"c1: {line}",)


def test_more_threads_than_processors_wait_by_construction() -> None:
    waited = {"run_delay_s": 0.5, "cpu_time_s": 1.0, "threads": 4, "cpus_used": 1}
    assert quality(PLAN, [attempt(1, waited)]) == ()
    assert quality(PLAN, [attempt(1, {**waited, "cpus_used": 4})])


def test_time_is_stolen_from_each_processor_by_itself() -> None:
    assert quality(PLAN, [attempt(1, {"steal_s": 0.15, "cpus_used": 4})]) == ()
    assert quality(PLAN, [attempt(1, {"steal_s": 0.15, "cpus_used": 1})])


def test_a_clock_that_falls_is_throttling() -> None:
    plan = plan_of(candidates=1, rounds=3, runs=1)
    found = quality(plan, [attempt(at, {"clock_hz": hz}) for at, hz in enumerate((3.0e9, 2.5e9, 3.0e9))])
    assert found == ("c0: throttling: a core ran at 2.50 GHz, usually at 3.00 GHz",)


def test_a_core_alone_that_is_faster_than_all_at_once_is_no_throttling() -> None:
    plan = plan_of(candidates=1, rounds=4, runs=1)
    threads = [(("threads", "all" if trial.index % 2 else "one"),) for trial in plan.trials]
    trials = [replace(trial, params=params) for trial, params in zip(plan.trials, threads, strict=True)]
    clocks = [attempt(at, {"clock_hz": 3.1e9 if at % 2 else 3.5e9}) for at in range(4)]
    assert quality(replace(plan, trials=tuple(trials)), clocks) == ()


def test_repeated_warnings_are_counted_and_interruptions_left_out() -> None:
    warned = [attempt(0, {"warning": "small"}), attempt(2, {"warning": "small"})]
    cut = replace(attempt(0, {"disturbed": True}), interrupted=True)
    assert quality(PLAN, [*warned, cut]) == ("c0: small (2 trials)",)


def hourly() -> Plan:
    """Three rounds of two candidates on a real machine, one an hour."""
    plan = plan_of(candidates=2, rounds=3, runs=1, runner="local")
    launches = tuple(replace(one, start_s=one.round * 3600.0) for one in plan.launches)
    return replace(plan, launches=launches, every_s=3600.0, start_at=1e9)


def test_rounds_that_begin_late_are_told_with_the_steps_that_had_none() -> None:
    plan = hourly()
    on_time = {at: 1e9 + (at // 2) * 3600.0 + 60.0 for at in range(6)}
    assert late_rounds(plan, on_time) == ()
    late = {0: 1e9, 1: 1e9, 2: 1e9 + 4 * 3600.0, 3: 1e9 + 4.1 * 3600.0, 4: 1e9 + 5 * 3600.0, 5: 1e9 + 5 * 3600.0}
    (line,) = late_rounds(plan, late)
    assert line.startswith("2 of 3 rounds began late, by up to 3 h 00 min; in 3 steps of 1 h 00 min none began: ")
    assert late_rounds(replace(plan, every_s=None), late) == ()
