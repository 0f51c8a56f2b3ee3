"""How much measurements vary, in needs and objectives: planted spreads, few launches, and single values."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.analysis.planted import FMA, LOSS, estimate_of, plan_of, values_of

from cloudcmp.analysis import estimate
from cloudcmp.answer.choice.attributes import with_attributes
from cloudcmp.answer.choice.from_study import market_of
from cloudcmp.answer.choice.join import joined
from cloudcmp.answer.choice.lookup import column_of
from cloudcmp.answer.choice.needs import parse_need
from cloudcmp.answer.choice.objective import parse_objective
from cloudcmp.answer.choice.recommend import recommend
from cloudcmp.answer.choice.variation import with_variation
from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers
from cloudcmp.model.plan import Launch
from cloudcmp.model.recommendation import NoChoice
from cloudcmp.model.values import TrialValues
from cloudcmp.stats.draws import drawn_spreads

NAME = f"variation of {FMA}"
CHEAP = parse_objective(COST, most=False)


def market(
    launches: list[list[float]], names: list[str] | None = None, cell: str = FMA, values: TrialValues | None = None,
    runs: int = 1,
) -> Market:  # fmt: skip
    """A study's market, whose candidate c costs 0.1 (c + 1), with the variation of its cell."""
    plan = plan_of(candidates=len(launches), rounds=len(launches[0]), runs=runs, cells=(cell,))
    some = [estimate_of(at, np.array(row), cell) for at, row in enumerate(launches)]
    found = market_of(plan.candidates, some, METRICS, math.nan, "study", {})
    found = with_variation(found, plan, METRICS, values, names)
    cost = Numbers(COST, 0.1 * np.arange(1.0, len(launches) + 1.0), "1/h")
    return with_attributes(Market(found.keys, {**found.columns, COST: cost}, "USD", found.notes))


def spread(cov: float, seed: int, n: int = 12) -> list[float]:
    return [float(one) for one in 100.0 * (1.0 + cov * np.random.default_rng(seed).standard_normal(n))]


def test_the_cheapest_that_is_steady_enough() -> None:
    found = recommend(
        market([spread(0.15, 1), spread(0.015, 2), spread(0.01, 3)]), CHEAP, [parse_need(f"{NAME} <= 5 %")]
    )
    assert found.choice is not None
    assert found.choice.key.name == "c1"
    assert found.choice.meets is not None
    assert found.choice.meets > 0.97
    assert found.choice.launches == 12
    (known,) = found.spreads
    values = np.array(spread(0.015, 2))
    assert known.value == pytest.approx(values.std(ddof=1) / values.mean())
    assert known.bounds.low < known.value < known.bounds.high
    assert known.unseen == pytest.approx(1 - 0.05 ** (1 / 12))
    assert [one.pick.key.name for one in found.misses] == ["c0"]


def test_the_steadiest_for_the_money() -> None:
    objective = parse_objective("cost * variation of fma_flop_per_s", most=False)
    found = recommend(market([spread(0.10, 1), spread(0.01, 2), spread(0.01, 2)]), objective, [])
    assert found.choice is not None
    assert found.choice.key.name == "c1"
    assert found.distance is not None
    assert found.distance.ratio == pytest.approx(1.5)  # equally steady, at 3/2 of the price


def test_few_launches_and_equal_values_are_unknown_and_not_false() -> None:
    few = [*spread(0.01, 1, 5), *[math.nan] * 7]
    plan = plan_of(candidates=1, rounds=5, runs=1)
    known = market_of(plan.candidates, [estimate_of(0, np.array(few[:5]), FMA)], METRICS, math.nan, "study", {})
    found = with_variation(known, plan, METRICS, None, ["variation of fma_flop_per_s"])
    column = column_of(found, NAME, "--require")
    assert isinstance(column, Numbers)
    assert np.isnan(column.value).all()
    assert any("fewer than 6 launches" in note for note in found.notes)
    same = recommend(market([[100.0] * 8]), CHEAP, [parse_need(f"{NAME} <= 5 %")])
    assert same.no_choice is NoChoice.NONE_KNOWN
    assert [(one.miss, one.unknown) for one in same.counts] == [(0, 1), (0, 0)]


def test_runs_inside_launches_have_a_variation_of_their_own() -> None:
    plan = plan_of(candidates=1, rounds=40, runs=3)
    random = np.random.default_rng(4)
    level, noise = random.normal(0, 0.10, 40), random.normal(0, 0.02, 120)

    def value(cell: str, launch: Launch, run: int) -> float:
        return float(100.0 * np.exp(level[launch.round] + noise[3 * launch.round + run]))

    values, histograms = values_of(plan, value)
    (one,) = estimate(plan, values, histograms, METRICS)
    whole = market([list(one.values)], values=values, runs=3)
    within = column_of(whole, "variation within launches of fma_flop_per_s", "--require")
    between = column_of(whole, "variation between launches of fma_flop_per_s", "--require")
    assert isinstance(within, Numbers)
    assert isinstance(between, Numbers)
    assert within.value[0] == pytest.approx(0.02, rel=0.2)
    assert between.value[0] == pytest.approx(0.10, rel=0.3)
    assert within.freedom is not None
    assert 40 < within.freedom[0] <= 80


def test_a_metric_that_can_be_zero_has_a_standard_deviation_in_its_unit() -> None:
    values = [0.0, 0.1, 0.2, 0.0, 0.1, 0.2]
    column = column_of(market([values], cell=LOSS), f"variation of {LOSS}", "--require")
    assert isinstance(column, Numbers)
    assert column.unit == METRICS["udp_loss_ratio"].unit
    assert column.value[0] == pytest.approx(np.std(values, ddof=1))


def test_single_values_and_single_runs_are_said_to_tell_nothing() -> None:
    single = Market(market([spread(0.1, 1)], []).keys, {"speed": Numbers("speed", np.array([1.0]), is_measured=True)})
    with pytest.raises(UserMistake, match="'speed' is a single one: how much it varies is unknown"):
        column_of(single, "variation of speed", "--require")
    with pytest.raises(UserMistake, match="no launch has several runs"):
        column_of(market([spread(0.1, 1)]), "variation within launches of fma_flop_per_s", "--require")
    with pytest.raises(UserMistake, match="no source has a column 'variation of fam_flop_per_s'; --columns"):
        column_of(market([spread(0.1, 1)]), "variation of fam_flop_per_s", "--require")


def test_a_limit_without_its_percent_sign_is_refused() -> None:
    for text, told in (("5", "a variation of 5 is 500 %; write '5 %'"), ("5 apples", "'5 apples' is not a share")):
        with pytest.raises(UserMistake, match=told):
            recommend(market([spread(0.1, 1)]), CHEAP, [parse_need(f"{NAME} <= {text}")])
    assert recommend(market([spread(0.02, 1)]), CHEAP, [parse_need(f"{NAME} <= 0.2")]).choice is not None


def test_no_column_is_made_that_nobody_asks_for() -> None:
    assert not [name for name in market([spread(0.1, 1)], ["cost", "fma_flop_per_s"]).columns if "variation" in name]


def test_joined_markets_keep_what_is_known_of_a_variation() -> None:
    first, second = market([spread(0.02, 1)]), market([spread(0.15, 2), spread(0.02, 3, 12)])
    column = column_of(joined([second, first]), NAME, "--require")
    assert isinstance(column, Numbers)
    assert column.freedom is not None
    assert np.isfinite(column.freedom).all()
    assert column.value[0] == pytest.approx(np.std(spread(0.15, 2), ddof=1) / np.mean(spread(0.15, 2)))


@pytest.mark.parametrize(("sigma", "limit"), [(0.05, 5.0), (0.3, 30.7)])
def test_at_the_limit_a_steady_one_is_recommended_as_rarely_as_the_confidence_says(sigma: float, limit: float) -> None:
    random = np.random.default_rng(7)
    wrong = 0
    for _ in range(300):
        launches = list(100.0 * np.exp(sigma * random.standard_normal(10)))
        wrong += recommend(market([launches]), CHEAP, [parse_need(f"{NAME} <= {limit} %")]).choice is not None
    assert wrong <= 300 * 0.05


def test_the_draws_of_a_spread_are_those_of_the_chi_squared_distribution() -> None:
    drawn = drawn_spreads(np.array([0.1, math.nan]), np.array([7.0, math.nan]), 200_000, 1)
    for share in (0.05, 0.5, 0.95):
        exact = 0.1 * math.sqrt(7.0 / stats.chi2.ppf(1.0 - share, 7.0))
        assert np.quantile(drawn[0], share) == pytest.approx(exact, rel=0.01)
    assert np.isnan(drawn[1]).all()
