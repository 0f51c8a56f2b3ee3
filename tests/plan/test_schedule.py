"""Rounds start at steps, at openings, or one after the other; a plan that does not fit is refused."""

from itertools import pairwise

import pytest
from tests.plan.clouds import DAY, HOUR, MONDAY, planned

from cloudcmp.errors import UserMistake
from cloudcmp.model.plan import Plan

BOOT = "boot_s: 0, faults: {}"
ONE = f"[{{provider: simulated, offering: x, truth: {{{BOOT}}}}}]"
TEN_MINUTES = "[{probe: unixbench, runs: 1, params: {copies: 1}}]"  # 1407 s each
PEAK = "{name: peak, days: weekdays, hours: 09:00-17:00, timezone: UTC}"
NIGHT = "{name: night, days: all, hours: 22:00-06:00, timezone: UTC}"
SHORT = "{name: short, days: all, hours: 09:00-09:20, timezone: UTC}"


def starts(plan: Plan) -> list[tuple[float, str | None]]:
    return [(one.start_s, one.session) for one in plan.launches if one.candidate == 0]


def test_without_sessions_rounds_follow_each_other() -> None:
    plan = planned(ONE, TEN_MINUTES, "launches: 3")
    took = plan.quote.expected_s / 3
    assert took > 1400
    assert starts(plan) == [(pytest.approx(number * took), None) for number in range(3)]


def test_a_round_starts_at_each_step() -> None:
    plan = planned(ONE, TEN_MINUTES, "launches: 3\nevery: 1 h\nfor: 1 day")
    assert starts(plan) == [(0, None), (HOUR, None), (2 * HOUR, None)]
    assert plan.every_s == HOUR


def test_steps_count_only_while_a_session_is_open() -> None:
    plan = planned(ONE, TEN_MINUTES, f"launches: 9\nevery: 1 h\nfor: 7 days\nsessions: [{PEAK}]")
    hours = [round(start / HOUR, 6) for start, _ in starts(plan)]
    assert hours == [9, 10, 11, 12, 13, 14, 15, 16, 24 + 9]


def test_launches_count_rounds_in_each_session_one_an_opening() -> None:
    plan = planned(ONE, TEN_MINUTES, f"launches: 3\nsessions: [{PEAK}, {NIGHT}]")
    assert plan.rounds == 6
    # It begins at midnight, when the night of Sunday is still open.
    hours = [(round(start / HOUR, 6), name) for start, name in starts(plan)]
    assert hours == [(0, "night"), (9, "peak"), (22, "night"), (33, "peak"), (46, "night"), (57, "peak")]
    assert [one.round for one in plan.launches] == list(range(6))


def test_sessions_that_overlap_take_turns() -> None:
    also = PEAK.replace("peak", "also")
    plan = planned(ONE, TEN_MINUTES, f"launches: 2\nsessions: [{PEAK}, {also}]")
    found = starts(plan)
    assert len(found) == 4
    for (first, _), (second, _) in pairwise(found):
        assert second - first >= 1400


@pytest.mark.parametrize(
    ("rest", "line"),
    [
        ("launches: 30\nevery: 1 h\nfor: 1 day", "for: 24 of 30 rounds fit into 1 d 0 h; write a longer for"),
        (
            "every: 20 min\nfor: 1 day",
            "every: a round takes 23 min 2. s and starts every 20 min 00 s: 0 rounds fit; write a longer",
        ),
        (f"launches: 9\nevery: 1 h\nfor: 1 day\nsessions: [{PEAK}]", "for: 8 of 9 rounds fit"),
        (f"sessions: [{SHORT}]", "session 'short' is open for 20 min .*: 0 rounds fit"),
        ("deadline: 1 h", "deadline: the plan takes 2 h 2. min, longer than 1 h 00 min; write a later deadline"),
    ],
)
def test_what_does_not_fit_is_refused_with_how_many_would(rest: str, line: str) -> None:
    with pytest.raises(UserMistake, match=line) as caught:
        planned(ONE, TEN_MINUTES, rest)
    assert len(caught.value.faults) == 1


def test_candidates_with_one_host_run_one_after_another_and_others_side_by_side() -> None:
    names = (("local", "1cpu"), ("simulated", "small"), ("local", "2cpu"))
    candidates = f"[{', '.join(f'{{provider: {one}, offering: {name}}}' for one, name in names)}]"
    plan = planned(candidates, "[{probe: fma, params: {duration_s: 10 s}}]", "launches: 5")
    for number in range(5):
        times = {one.candidate: one.start_s for one in plan.launches if one.round == number}
        assert abs(times[0] - times[2]) >= 20
        assert times[1] == min(times.values())


def test_a_study_may_begin_anywhere_in_time() -> None:
    late = planned(ONE, TEN_MINUTES, f"launches: 2\nsessions: [{PEAK}]", start_at=MONDAY + 5 * DAY)
    assert starts(late) == [(2 * DAY + 9 * HOUR, "peak"), (3 * DAY + 9 * HOUR, "peak")]
