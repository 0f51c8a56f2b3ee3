"""What goes with two levels: planted facts are named, and facts without any relation hardly ever."""

from itertools import permutations

import numpy as np
import pytest
from tests.analysis.planted import FMA, plan_of, values_of

from cloudcmp.analysis import estimate
from cloudcmp.analysis.facts import launch_facts
from cloudcmp.analysis.levels import LaunchFacts, two_levels
from cloudcmp.catalog import METRICS
from cloudcmp.model.history import Facts
from cloudcmp.model.plan import Launch, Plan
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.stats.association import split_chance

N = 24


def levels(
    high: "np.ndarray[tuple[int], np.dtype[np.bool_]]", seed: int
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.where(high, 130.0, 100.0) + np.random.default_rng(seed).normal(0.0, 1.0, high.size)


def chance_facts(seed: int, n: int = N) -> tuple[Facts, ...]:
    """Facts of launches that have nothing to do with any level: three that are few, and one machine for each launch."""
    random = np.random.default_rng(seed)
    cpus, zones, kernels = (random.integers(0, count, n) for count in (2, 3, 2))
    return tuple(
        (("cpu", f"cpu{cpus[at]}"), ("kernel", f"6.{kernels[at]}"), ("machine", f"m{at}"), ("zone", f"z{zones[at]}"))
        for at in range(n)
    )


def with_cpu(facts: tuple[Facts, ...], high: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> tuple[Facts, ...]:
    named = ({**dict(own), "cpu": "8370C" if one else "8171M"} for own, one in zip(facts, high, strict=True))
    return tuple(tuple(sorted(own.items())) for own in named)


def test_of_facts_without_a_relation_one_is_named_in_at_most_five_of_a_hundred_cases() -> None:
    plan = plan_of(candidates=1, rounds=N, runs=1)
    named = 0
    for seed in range(200):
        random = np.random.default_rng(1000 + seed)
        high = random.permutation(np.arange(N) < 8)
        begun = {at: 7 * 3600.0 * at for at in range(N)}
        found = two_levels(levels(high, seed), range(N), LaunchFacts(plan, chance_facts(seed), begun.get))
        assert found is not None
        assert found.tested == ("cpu", "day", "hour (UTC)", "kernel", "zone")  # a machine of its own tells nothing
        named += bool(found.facts)
    assert named <= 10


def test_the_planted_processor_is_named_among_facts_without_a_relation() -> None:
    plan = plan_of(candidates=1, rounds=N, runs=1)
    named = 0
    for seed in range(30):
        high = np.random.default_rng(seed).permutation(np.arange(N) < 8)
        facts = with_cpu(chance_facts(seed), high)
        found = two_levels(levels(high, seed), range(N), LaunchFacts(plan, facts))
        assert found is not None
        named += bool(found.facts) and (found.facts[0].fact, found.facts[0].high) == ("cpu", ("8370C",))
    assert named == 30


def test_too_few_launches_name_nothing_although_the_fact_fits() -> None:
    plan = plan_of(candidates=1, rounds=8, runs=1)
    high = np.arange(8) < 3
    facts = with_cpu(chance_facts(1, 8), high)
    found = two_levels(levels(high, 1), range(8), LaunchFacts(plan, facts))
    assert found is None or found.facts == ()


@pytest.mark.parametrize("codes", [[0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 0, 1, 2, 2]])
def test_the_chance_is_that_of_all_assignments(codes: list[int]) -> None:
    high = np.array([True, True, True, False, False, False, False])
    of = np.array(codes)

    def right(flags: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> int:
        return sum(max(flags[of == code].sum(), (~flags[of == code]).sum()) for code in set(codes))

    every = [right(np.array(one)) for one in set(permutations(high.tolist()))]
    exact = np.mean([one >= right(high) for one in every])
    assert split_chance(of, high, seed=1) == pytest.approx(exact, abs=0.02)


def attempts(plan: Plan, cpus: list[str]) -> list[Attempt]:
    return [
        Attempt(one.index, 0, Outcome.OK, 0.0, 1.0,
                facts=f'{{"host": {{"cpu": {{"model": "{cpus[one.launch]}"}}}}, "zones": ["z1"]}}')
        for one in plan.trials
    ]  # fmt: skip


def warned(plan: Plan, cpus: list[str], *, inside: bool) -> str:
    """The warning of two levels of trials whose level follows the processor, or changes inside launches."""
    random = np.random.default_rng(5)

    def value(cell: str, launch: Launch, run: int) -> float:
        high = run % 2 == 0 if inside else cpus[launch.index] == "fast"
        return float((130.0 if high else 100.0) + random.normal())

    values, histograms = values_of(plan, value)
    facts = launch_facts(plan, attempts(plan, cpus))
    (one,) = estimate(plan, values, histograms, METRICS, LaunchFacts(plan, facts))
    return next(line for line in one.warnings if line.startswith("two levels"))


def test_the_warning_of_a_study_names_the_fact_or_says_that_none_is_known() -> None:
    plan = plan_of(candidates=1, rounds=20, runs=4, cells=(FMA,))
    planted = ["fast" if at % 3 == 0 else "slow" for at in range(20)]
    other = ["fast" if at % 3 == 0 else "slow" for at in np.random.default_rng(1).permutation(20).tolist()]
    assert warned(plan, planted, inside=False).endswith("; with the cpu of the launch")
    facts = launch_facts(plan, attempts(plan, other))
    assert dict(facts[0])["zone"] == "z1"
    assert warned(plan, planted, inside=True).endswith("; both inside 20 of 20 launches")


def test_sessions_are_facts_of_launches() -> None:
    plan = plan_of(candidates=1, rounds=12, runs=1, sessions=("peak", "off-peak"))
    high = np.array([one.session == "off-peak" for one in plan.launches])
    found = two_levels(levels(high, 3), range(24), LaunchFacts(plan))
    assert found is not None
    assert [(one.fact, one.low, one.high) for one in found.facts] == [("session", ("peak",), ("off-peak",))]
    assert found.facts[0].p < 0.001
