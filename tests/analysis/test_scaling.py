"""How fast machines come, from estimates: shares in time, failures, parts, and how finely it was looked."""

import json
from dataclasses import replace

import pytest
from tests.plan.clouds import planned

from cloudcmp.analysis import scaling
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Estimate
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.stats.describe import share_interval

CELL = "scaling_latency_s count=1;os=linux"
PARTS = tuple(f"{part}_latency_s count=1;os=linux" for part in ("provisioning", "booting"))
ONE = "[{provider: aws, region: eu, offering: small}]"


def plan_of(within: str = "90 s") -> Plan:
    """Twenty launches of one machine."""
    return planned(ONE, f"[{{probe: scaling, params: {{within_s: {within}}}}}]", "launches: 20")


def estimate(values: tuple[float, ...], n_started: int = 20, cell: str = CELL, candidate: int = 0) -> Estimate:
    """What a candidate showed; the other launches failed."""
    n = len(values)
    return Estimate(candidate, cell, n_started, n, n, values, (None,) * n, (None,) * n)


def with_parts(values: tuple[float, ...]) -> tuple[Estimate, ...]:
    return (estimate(values), *(estimate(values, cell=part) for part in PARTS))


def test_the_chance_counts_launches_that_failed_as_not_in_time() -> None:
    (found,) = scaling(plan_of(), with_parts((50.0, 60.0, 60.1, 90.0, 400.0)), ())
    assert {deadline: (one.k, one.n) for deadline, one in found.in_time} == {
        60.0: (2, 20), 90.0: (4, 20), 120.0: (4, 20), 300.0: (4, 20), 600.0: (5, 20),
    }  # fmt: skip
    share = dict(found.in_time)[60.0]
    exact = share_interval(2, 20)
    assert (share.value, share.bounds.low, share.bounds.high) == (0.1, exact.low, exact.high)
    assert found.failed is not None
    assert (found.failed.k, found.failed.n) == (15, 20)
    assert (found.cell, found.provisioning, found.booting, found.by) == (CELL, *PARTS, "median")


def test_p31_a_candidate_whose_launches_all_failed_is_never_in_time() -> None:
    (found,) = scaling(plan_of(), with_parts(()), ())
    assert {one.k for _, one in found.in_time} == {0}
    assert {one.n for _, one in found.in_time} == {20}
    assert dict(found.in_time)[600.0].bounds.high == pytest.approx(0.1684, abs=1e-4)


def test_a_study_that_was_not_begun_has_no_chance_to_tell() -> None:
    (found,) = scaling(plan_of(), [replace(one, n_started=0) for one in with_parts(())], ())
    assert found.in_time == ()
    assert found.failed is None


def test_what_cannot_be_had_is_left_out_and_windows_has_no_parts() -> None:
    windows = estimate((200.0,), 1, "scaling_latency_s count=1;os=windows", 1)
    gone = replace(estimate((), 0, candidate=1), offered=False)
    found = scaling(plan_of(), (*with_parts((50.0,)), gone, windows), ())
    assert [(one.candidate, one.provisioning) for one in found] == [(0, PARTS[0]), (1, None)]


def test_nothing_is_told_where_nothing_was_asked() -> None:
    assert scaling(planned(ONE, "[{probe: fma}]"), [estimate((1.0,), cell="fma_flop_per_s")], ()) == ()


def test_the_mean_is_taken_where_the_study_takes_it() -> None:
    plan = replace(plan_of(), aggregation=("runs:median", "launch:mean", "session:mean"))
    assert scaling(plan, with_parts((50.0,)), ())[0].by == "mean"


def test_the_interval_at_which_was_looked_is_the_longest() -> None:
    facts = [json.dumps({"by": "controller", "notes": {"poll_s": poll}}) for poll in (0.25, 1.0)]
    attempts = [
        Attempt(at, 1, Outcome.OK, 0.0, 1.0, facts=text) for at, text in enumerate([*facts, "{}", "not json", "[]"])
    ]
    assert scaling(plan_of(), with_parts((50.0,)), attempts)[0].poll_s == 1.0
    assert scaling(plan_of(), with_parts((50.0,)), ())[0].poll_s is None
