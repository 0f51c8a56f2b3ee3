"""Rounds that are added to a plan are like those that it has."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp import study as studies
from cloudcmp.catalog import PROBES
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import When
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.plan import make, with_measured, with_more_rounds

TEXT = """
schema: 1
name: grow
question: Which one grows?
candidates:
  - {provider: simulated, region: a, offering: x}
  - {provider: simulated, region: b, offering: y}
  - {provider: simulated, region: c, offering: z}
launches: 4
runs: 2
seed: 5
probes:
  - {probe: fma, params: {threads: [one, all]}}
  - {probe: chase}
  - {probe: scaling}
  - {probe: recovery}
"""


def host_of(candidate: Candidate) -> str:
    return "shared" if candidate.index < 2 else candidate.id


def planned(more: str = "", launches: int = 4) -> Plan:
    text = TEXT.replace("launches: 4", f"launches: {launches}") + more
    read = studies.read_text(text, "grow.yaml", providers=frozenset({"simulated"}))
    return make(read, offerings_of=lambda *_: (), host_of=host_of, start_at=0.0)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_what_was_planned_stays_and_what_is_added_is_like_it(added: list[int]) -> None:
    first = plan = planned()
    for more in added:
        longer = with_more_rounds(plan, more, host_of)
        assert longer.launches[: len(plan.launches)] == plan.launches
        assert longer.trials[: len(plan.trials)] == plan.trials
        plan = longer
    assert plan.rounds == first.rounds + sum(added)
    assert [one.index for one in plan.launches] == list(range(3 * plan.rounds))
    assert [one.index for one in plan.trials] == list(range(len(plan.trials)))
    assert len({one.seed for one in plan.trials}) == len(plan.trials)
    assert len(plan.looks) == len(added)
    assert all(first.launches[-1].start_s < one.start_s for one in plan.launches[plan.looks[0] :])
    for launch in plan.launches:
        some = [one for one in plan.trials if one.launch == launch.index]
        like = next(one for one in first.launches if one.candidate == launch.candidate)
        assert tasks(plan, launch.index) == tasks(first, like.index)
        phases = [list(When).index(PROBES[one.probe].when) for one in some]
        assert phases == sorted(phases)
        assert all(one.start_s >= launch.start_s for one in some)


def tasks(plan: Plan, launch: int) -> Counter[object]:
    return Counter((one.probe, one.params, one.run, one.cells, one.cast) for one in plan.trials if one.launch == launch)


def test_added_rounds_are_those_of_a_longer_plan_but_for_the_order_of_trials() -> None:
    grown, whole = with_more_rounds(planned(), 3, host_of), planned(launches=7)
    assert [(one.candidate, one.round, one.seed) for one in grown.launches] == [
        (one.candidate, one.round, one.seed) for one in whole.launches
    ]
    assert grown.quote.expected_s == pytest.approx(whole.quote.expected_s)
    assert [one.start_s for one in grown.launches] == pytest.approx([one.start_s for one in whole.launches])
    assert (grown.quote.trials, grown.usage) == (whole.quote.trials, whole.usage)


def test_what_is_detectable_is_that_of_more_rounds_at_a_stricter_level() -> None:
    short = with_more_rounds(planned(launches=6), 1, host_of).quote.detectable
    long = with_more_rounds(planned(launches=6), 60, host_of).quote.detectable
    assert [cell for cell, _ in short] == [cell for cell, _ in long]
    assert all(more < less for (_, less), (_, more) in zip(short, long, strict=True))


@pytest.mark.parametrize("more", [0, -1, 10_001])
def test_no_number_of_rounds_is_one_line(more: int) -> None:
    with pytest.raises(UserMistake, match="write 1 to 10000"):
        with_more_rounds(planned(), more, host_of)


def test_a_study_with_times_of_its_own_takes_no_more() -> None:
    timed = replace(planned(), every_s=3600.0)
    with pytest.raises(UserMistake, match="plan another study with more launches"):
        with_more_rounds(timed, 1, host_of)


def test_a_deadline_holds_for_what_is_added() -> None:
    plan = planned()
    with pytest.raises(UserMistake, match="longer than"):
        with_more_rounds(replace(plan, deadline_s=plan.quote.expected_s * 1.1), 4, host_of)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 4), st.sets(st.integers(0, 2), min_size=1), st.sets(st.integers(0, 2), min_size=1))
def test_later_rounds_measure_only_who_is_named_and_anybody_can_come_back(
    rounds: int, first: set[int], then: set[int]
) -> None:
    whole = planned()
    seeds = {(one.candidate, one.round): one.seed for one in whole.launches}
    for measured in (first, then):
        plan = with_measured(whole, rounds, measured, host_of)
        kept = [one for one in whole.launches if one.round < rounds]
        assert list(plan.launches[: len(kept)]) == kept
        assert plan.trials[: sum(one.launch < len(kept) for one in whole.trials)] == tuple(
            one for one in whole.trials if one.launch < len(kept)
        )
        assert [one.index for one in plan.launches] == list(range(len(plan.launches)))
        assert [one.index for one in plan.trials] == list(range(len(plan.trials)))
        for number in range(rounds, 4):
            assert {one.candidate for one in plan.launches if one.round == number} == measured
        counts = Counter(one.candidate for one in plan.launches)
        assert {one.candidate: one.launches for one in plan.usage} == {at: counts[at] for at in range(3)}
        assert plan.quote.trials == len(plan.trials)
        assert all(one.seed == seeds[one.candidate, one.round] for one in plan.launches)
        assert 0.0 < plan.quote.expected_s <= planned().quote.expected_s + 1e-9
        whole = plan
    assert with_measured(planned(), 2, range(3), host_of).rounds == 4
