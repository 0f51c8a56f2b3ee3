"""The rules of selection: their formulas, what holds for every market, and how rarely they are wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from tests.stats import markets
from tests.stats.markets import KINDS, Markets

from cloudcmp.model.selection import EndReason
from cloudcmp.stats.play import play
from cloudcmp.stats.selection import (
    ENDS,
    Budget,
    Certify,
    Ranking,
    Rule,
    State,
    expected_gain,
    kim_nelson_limit,
    next_state,
)

TOLERANCE = float(np.log1p(0.02))
RULES: dict[str, Rule] = {
    "certify": Certify(TOLERANCE),
    "ranking": Ranking(TOLERANCE),
    "best alone": Ranking(TOLERANCE, best_alone=True),
    "budget": Budget(1.0, np.full(4, 1e-4), 60),
}


def ended(state: State) -> EndReason | None:
    return ENDS[int(state.ended)]


def rounds(costs: np.ndarray, rule: Rule) -> State:
    """The state after rounds with these costs, shape (rounds, candidates)."""
    state = State.new(costs.shape[1])
    for row in costs:
        state = next_state(rule, state, row)
    return state


@given(st.integers(0, 10_000), st.integers(1, 30), st.floats(0.0, 0.5))
def test_the_sums_are_those_of_the_common_rounds(seed: int, n: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.normal(3.0, 1.0, (n, 4))
    costs[rng.random(costs.shape) < missing] = np.nan
    state = State.new(4)
    for row in costs:
        state = state.with_round(row)
    for b in range(4):
        for a in range(4):
            apart = costs[:, a] - costs[:, b]
            apart = apart[~np.isnan(apart)]
            assert state.n[b, a] == apart.size
            if apart.size:
                assert state.mean[b, a] == pytest.approx(apart.mean(), abs=1e-12)
                assert state.squares[b, a] == pytest.approx(((apart - apart.mean()) ** 2).sum(), abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(list(RULES)))
def test_many_markets_at_once_are_each_of_them_alone(seed: int, name: str) -> None:
    rule, rng = RULES[name], np.random.default_rng(seed)
    costs = rng.normal(0.0, 0.05, (40, 3, 4)) + rng.normal(0.0, 0.08, (3, 4))
    played = play(rule, lambda number: costs[number], (3, 4), 40)
    for market in range(3):
        alone = play(rule, lambda number, market=market: costs[number, market : market + 1], (1, 4), 40)
        for field in ("launches", "rounds", "ended", "lead"):
            assert getattr(alone, field)[0] == getattr(played, field)[market], field


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.permutations(range(4)), st.sampled_from(list(RULES)))
def test_the_order_of_the_candidates_does_not_matter(seed: int, order: list[int], name: str) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.normal(0.0, 0.05, (60, 4)) + rng.normal(0.0, 0.08, 4)
    state, other = rounds(costs, RULES[name]), rounds(costs[:, order], RULES[name])
    assert ended(state) is ended(other)
    assert order[int(other.lead)] == int(state.lead)
    assert list(other.active) == [state.active[at] for at in order]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(["certify", "ranking", "best alone"]), st.floats(-5, 5))
def test_what_a_round_does_to_all_of_its_launches_cancels(seed: int, name: str, size: float) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.normal(0.0, 0.05, (30, 4)) + rng.normal(0.0, 0.08, 4)
    shared = size * np.cumsum(rng.standard_normal((30, 1)), axis=0)
    state, other = rounds(costs, RULES[name]), rounds(costs + shared, RULES[name])
    assert ended(state) is ended(other)
    assert list(state.active) == list(other.active)


def test_a_clear_best_is_named_after_six_rounds_and_not_before() -> None:
    rng = np.random.default_rng(1)
    costs = np.array([0.0, 0.5, 0.7]) + rng.normal(0.0, 0.01, (6, 3))
    assert ended(rounds(costs[:5], RULES["certify"])) is None
    state = rounds(costs, RULES["certify"])
    assert (ended(state), int(state.lead), list(state.active)) == (EndReason.BEST, 0, [True, False, False])
    assert list(Certify(TOLERANCE).behind(state)) == [False, True, True]


def test_equal_candidates_end_as_a_tie_and_without_tolerance_do_not() -> None:
    rng = np.random.default_rng(2)
    costs = np.array([0.0, 0.0, 0.6]) + rng.normal(0.0, 0.03, (200, 3))
    state = rounds(costs, RULES["certify"])
    assert ended(state) is EndReason.TIE
    named = {int(state.lead), *np.flatnonzero(Certify(TOLERANCE).equals(state))}
    assert named == {0, 1}
    assert ended(rounds(costs, Certify(1e-9))) is None


def test_candidates_that_always_cost_the_same_end() -> None:
    for name in ("certify", "ranking", "best alone"):
        state = rounds(np.zeros((12, 3)), RULES[name])
        assert ended(state) is not None, name


def test_a_candidate_without_values_stays_in_question() -> None:
    costs = np.array([0.0, 0.5, np.nan]) + np.random.default_rng(3).normal(0.0, 0.01, (20, 3))
    state = rounds(costs, RULES["certify"])
    assert ended(state) is None
    assert list(state.active) == [True, False, True]


def test_costs_of_who_is_not_measured_are_ignored_and_an_end_is_final() -> None:
    costs = np.array([0.0, 0.05, 0.7]) + np.random.default_rng(4).normal(0.0, 0.05, (100, 3))
    state = rounds(costs, RULES["certify"])
    wild = costs.copy()
    wild[10:, 2] = -5.0  # it was dropped after six rounds
    assert ended(rounds(wild, RULES["certify"])) is ended(state) is not None
    after = next_state(RULES["certify"], state, np.array([9.0, -9.0, -9.0]))
    assert (after.lead, after.ended) == (state.lead, state.ended)


def test_a_candidate_comes_back_when_another_one_leads() -> None:
    """It was settled against the first leader only, and the new one is further ahead or less steady."""
    rule, back = Certify(TOLERANCE), False
    for seed in range(400):
        rng = np.random.default_rng(seed)
        costs = np.array([0.0, 0.0, 0.02]) + rng.normal(0.0, (0.01, 0.1, 0.01), (80, 3))
        state, out = State.new(3), np.zeros(3, dtype=bool)
        for row in costs:
            state = next_state(rule, state, row)
            back |= bool((out & state.active).any()) and state.ended == 0
            out = ~state.active
        if back:
            return
    raise AssertionError("none came back")


@pytest.mark.parametrize(("candidates", "first"), [(2, 10), (6, 10), (20, 24)])
def test_the_constant_of_kim_and_nelson_solves_its_equation(candidates: int, first: int) -> None:
    """g(eta) = beta with c = 1: (1 + 2 eta / 1)^(-(n0 - 1) / 2) / 2 = alpha / (k - 1); solved numerically."""
    alpha = 0.05 / (candidates - 1)
    eta = optimize.brentq(lambda x: 0.5 * (1.0 + 2.0 * x) ** (-(first - 1) / 2.0) - alpha, 1e-9, 1e3)
    r, variance, tolerance = 30.0, 0.01, 0.03
    limit = kim_nelson_limit(np.array(r), np.array(variance), tolerance, alpha, first)
    h2 = 2.0 * eta * (first - 1)
    assert float(limit) == pytest.approx(max(0.0, tolerance / 2.0 * (h2 * variance / tolerance**2 - r)))
    end = h2 * variance / tolerance**2
    assert kim_nelson_limit(np.array(end + 1), np.array(variance), tolerance, alpha, first) == 0.0


@pytest.mark.parametrize(("behind", "error", "df"), [(0.0, 1.0, 5), (0.3, 0.2, 5), (2.0, 0.5, 11), (-0.4, 0.3, 9)])
def test_the_expected_gain_is_an_integral_over_t(behind: float, error: float, df: int) -> None:
    expected, _ = integrate.quad(lambda x: max(0.0, -x) * stats.t.pdf(x, df, behind, error), -np.inf, 0.0)
    found = expected_gain(np.array(behind), np.array(error), np.array(float(df)))
    assert float(found) == pytest.approx(expected, rel=1e-6)


def test_the_gain_without_an_error_is_the_distance_and_one_difference_has_none() -> None:
    found = expected_gain(np.array([0.2, -0.2, 0.1]), np.array([0.0, 0.0, 0.1]), np.array([5.0, 5.0, 1.0]))
    assert list(found[:2]) == [0.0, 0.2]
    assert np.isnan(found[2])


def test_a_budget_stops_at_once_if_launches_are_dear_and_goes_on_if_they_are_free() -> None:
    costs = np.array([0.0, 0.01, 0.02, 0.3]) + np.random.default_rng(6).normal(0.0, 0.05, (30, 4))
    dear, free = (replace_costs(one) for one in (10.0, 0.0))
    assert ended(rounds(costs[:6], dear)) is EndReason.REGRET
    assert ended(rounds(costs[:29], free)) is None
    assert 0.0 < dear.regret(rounds(costs[:6], dear)) < 0.2


def test_a_budget_leaves_out_who_is_too_dear_to_be_tried() -> None:
    """Two rivals are as close; the launches of one cost a thousand times as much."""
    costs = np.array([0.0, 0.02, 0.02, 0.3]) + np.random.default_rng(11).normal(0.0, 0.05, (8, 4))
    state = rounds(costs, Budget(1.0, np.array([1e-5, 1e-5, 1e-2, 1e-5]), 60))
    assert list(state.active) == [True, True, False, False]


def replace_costs(cost: float) -> Budget:
    return Budget(1.0, np.full(4, cost), 60)


@pytest.mark.parametrize(
    "kind", ["hard (S1)", "at the edge of the tolerance", "spikes (S1)", "shared AR(1) drift (S1)"]
)
def test_a_certified_candidate_is_rarely_beyond_the_tolerance(kind: str) -> None:
    made = KINDS[kind](400, 3)
    played = play(RULES["certify"], made.draw, made.shape, 250)
    wrong = (played.ended != 0) & (made.behind(played.lead) > 0.02)
    assert (played.ended != 0).mean() > 0.8
    assert wrong.mean() <= 0.05


def test_the_goals_for_six_clouds() -> None:
    """At most 130 launches in hard markets and 60 in ordinary ones, where 200 of each cloud would be 1200."""
    for make, goal in ((markets.hard, 130), (markets.ordinary, 60)):
        made = make(600, 20101)
        played = play(RULES["certify"], made.draw, made.shape, 400)
        assert np.median(played.launches) <= goal
        assert (made.behind(played.lead) <= 0.02).mean() > 0.99


def test_a_ranking_orders_every_pair_that_differs() -> None:
    made: Markets = markets.ordinary(200, 5)
    played = play(Ranking(float(np.log1p(0.03))), made.draw, made.shape, 400)
    apart = made.truth[:, :, None] - made.truth[:, None, :] >= np.log1p(0.03) - 1e-12
    wrong = (played.settled & apart).any(axis=(1, 2))
    assert (played.ended != 0).mean() > 0.9
    assert wrong.mean() <= 0.05


def test_an_unknown_end_is_none() -> None:
    assert ENDS[0] is None
    assert set(ENDS[1:]) == set(EndReason)
    assert replace(State.new(2), rounds=3).rounds == 3
