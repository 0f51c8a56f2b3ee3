"""Launches and trials: all of them, in shuffled order, each with a seed of its own."""

import time
from collections import Counter
from itertools import pairwise

import pytest
from tests.plan.clouds import planned

from cloudcmp.errors import UserMistake
from cloudcmp.model.plan import Plan

NAMES = (("simulated", "small"), ("simulated", "medium"), ("aws", "small"), ("aws", "large"))
FOUR = f"[{', '.join(f'{{provider: {one}, offering: {name}}}' for one, name in NAMES)}]"
MANY = "[{suite: cpu}, {suite: memory}, {probe: rtt, runs: 5}]"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(FOUR, MANY, "launches: 10\nruns: 3\nseed: 5")


def test_every_round_round_tasks_every_candidate_once(plan: Plan) -> None:
    assert len(plan.launches) == 40
    assert set(Counter((one.round, one.candidate) for one in plan.launches).values()) == {1}
    assert [one.index for one in plan.launches] == list(range(40))
    assert [one.round for one in plan.launches] == sorted(one.round for one in plan.launches)


def test_every_launch_runs_everything_as_often_as_asked(plan: Plan) -> None:
    counts = Counter((one.launch, one.probe, one.params) for one in plan.trials)
    assert {runs for (_, probe, _), runs in counts.items() if probe == "rtt"} == {5}
    assert {runs for (_, probe, _), runs in counts.items() if probe != "rtt"} == {3}
    assert len(plan.trials) == plan.quote.trials == 40 * (10 * 3 + 5)
    assert [one.index for one in plan.trials] == list(range(len(plan.trials)))
    assert plan.runs == 3


def test_the_order_is_shuffled_in_every_round_and_on_every_launch(plan: Plan) -> None:
    rounds = {tuple(one.candidate for one in plan.launches if one.round == number) for number in range(10)}
    assert len(rounds) > 5
    launches = {tuple((one.probe, one.params) for one in plan.trials_of(number)) for number in range(40)}
    assert len(launches) == 40


def test_first_places_are_shared_out() -> None:
    long = planned(FOUR, "[{probe: fma}]", "launches: 400")
    first = Counter(long.launches[4 * number].candidate for number in range(400))
    assert min(first.values()) > 70


def test_seeds_are_all_different_and_below_two_to_the_53(plan: Plan) -> None:
    seeds = [one.seed for one in plan.launches] + [one.seed for one in plan.trials]
    assert len(set(seeds)) == len(seeds)
    assert 0 <= min(seeds) <= max(seeds) < 2**53


def test_a_launchs_seed_is_that_of_its_candidate_and_round(plan: Plan) -> None:
    more = planned(FOUR, "[{probe: fma}]", "launches: 12\nruns: 1\nseed: 5")
    ours = {(one.candidate, one.round): one.seed for one in plan.launches}
    theirs = {(one.candidate, one.round): one.seed for one in more.launches}
    assert ours == {key: theirs[key] for key in ours}


def test_a_trials_seed_is_that_of_its_number(plan: Plan) -> None:
    again = planned(FOUR, MANY, "launches: 10\nruns: 3\nseed: 5")
    other = planned(FOUR, MANY, "launches: 10\nruns: 3\nseed: 6")
    assert again == plan
    assert not {one.seed for one in other.trials} & {one.seed for one in plan.trials}


def test_trials_follow_each_other_after_the_boot(plan: Plan) -> None:
    for launch in plan.launches:
        trials = plan.trials_of(launch.index)
        truth = plan.candidates[launch.candidate].truth
        assert trials[0].start_s == pytest.approx(launch.start_s + (truth.boot_s if truth and truth.boot_s else 60))
        for one, after in pairwise(trials):
            assert after.start_s == pytest.approx(one.start_s + one.expected_s)
            assert one.deadline_s > 2 * one.expected_s


def test_parameters_are_all_filled_in(plan: Plan) -> None:
    rtt = next(one for one in plan.trials if one.probe == "rtt")
    assert dict(rtt.params)["protocol"] == "tcp"
    assert rtt.cells[0] == "rtt_s path=loopback;percentile=50;protocol=tcp;size_bytes=64"


def test_twenty_thousand_trials_are_planned_in_two_seconds() -> None:
    planned()
    started = time.process_time()
    large = planned(FOUR, MANY, "launches: 100\nruns: 5")
    assert len(large.trials) >= 20_000
    assert time.process_time() - started < 2


def test_too_many_trials_are_refused() -> None:
    with pytest.raises(UserMistake, match="more than 1000000; split the study"):
        planned(FOUR, MANY, "launches: 10000\nruns: 100")
