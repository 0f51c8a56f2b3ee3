"""The offering of most utility, how sure, and what would change it, against brute force."""

from decimal import Decimal

import numpy as np
import pytest

from cloudcmp.answer.sla.curves import sigmoid
from cloudcmp.answer.sla.utility import most_useful
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey
from cloudcmp.model.metric import Better
from cloudcmp.model.utility import Curve, UtilityQuestion, UtilityTerm
from cloudcmp.units import Money

KEYS = tuple(OfferKey("a", "r", name) for name in ("small", "middle", "large", "unknown"))
TIMES = np.array([0.4, 0.3, 0.1, np.nan])
RATES = np.array([100.0, 160.0, 200.0, 300.0])
PRICES = np.array([0.1, 0.2, 0.5, 0.1])


def _market(scatter: float = 0.02) -> Market:
    random = np.random.default_rng(6)
    launches = TIMES[:, None] * np.exp(random.normal(0, scatter, (4, 8)))
    return Market(
        KEYS,
        {
            "time_s": Numbers("time_s", np.exp(np.log(launches).mean(axis=1)), "s", Better.LOWER, launches,
                              is_measured=True),
            "rate": Numbers("rate", RATES, "op/s", Better.HIGHER),
            COST: Numbers(COST, PRICES, "1/h"),
        },
        "USD",
    )  # fmt: skip


TERMS = (
    UtilityTerm("fast", "time_s", 0.6, Curve.SIGMOID, "200 ms", 4.0),
    UtilityTerm("much", "rate", 0.4, Curve.SIGMOID, "150", 4.0),
)


def test_the_best_within_the_budget_is_chosen_and_an_unknown_value_is_left_out() -> None:
    free = most_useful(UtilityQuestion(TERMS), _market())
    assert free.choice is not None
    assert free.choice.key.name == "large"
    assert free.left_out == ((KEYS[3], "time_s"),)
    found = most_useful(UtilityQuestion(TERMS, budget=Money(Decimal("0.3"), "USD")), _market())
    assert found.choice is not None
    assert found.choice.key.name == "middle"
    expected = 0.6 * sigmoid(np.array([found.choice.values[0]]), 0.2, 4.0, falls=True)[0]
    expected += 0.4 * sigmoid(np.array([160.0]), 150.0, 4.0, falls=False)[0]
    assert found.choice.utility == pytest.approx(expected)
    assert found.choice.best == pytest.approx(1.0, abs=0.01)
    assert sum(one.best or 0 for one in found.options) == pytest.approx(1.0)


def test_a_need_excludes_what_has_more_utility() -> None:
    found = most_useful(UtilityQuestion(TERMS, require=("rate <= 180",)), _market())
    assert found.choice is not None
    assert found.choice.key.name == "middle"
    assert [one.meets for one in found.options] == [True, True, False]


def test_more_scatter_is_less_sure() -> None:
    close = UtilityQuestion((UtilityTerm("fast", "time_s", 1.0, Curve.SIGMOID, "350 ms", 4.0),),
                            budget=Money(Decimal("0.3"), "USD"))  # fmt: skip
    found = most_useful(close, _market(0.4))
    assert found.choice is not None
    assert found.choice.best is not None
    assert 0.5 < found.choice.best < 0.99
    assert found.choice.bounds is not None
    assert found.choice.bounds.low < found.choice.utility < found.choice.bounds.high


def test_the_weights_at_which_the_choice_changes_are_exact() -> None:
    found = most_useful(UtilityQuestion(TERMS, budget=Money(Decimal("0.3"), "USD")), _market())
    for one in found.weights:
        for weight, stays in ((one.low + 1e-6, True), (one.high - 1e-6, True), (one.low - 1e-6, False),
                              (one.high + 1e-6, False)):  # fmt: skip
            if not 0 < weight < 1 or (stays is False and (one.low, one.high) == (0.0, 1.0)):
                continue
            assert (_best(one.name, weight) == "middle") is stays


def _best(name: str, weight: float) -> str:
    """The choice by brute force at another weight of a term."""
    terms = tuple(
        UtilityTerm(one.name, one.of, weight if one.name == name else 1 - weight, one.curve, one.midpoint, one.slope)
        for one in TERMS
    )
    found = most_useful(UtilityQuestion(terms, budget=Money(Decimal("0.3"), "USD")), _market())
    assert found.choice is not None
    return found.choice.key.name


def test_the_choice_at_each_budget_is_what_that_budget_chooses() -> None:
    found = most_useful(UtilityQuestion(TERMS), _market())
    assert [step.budget for step in found.steps] == [0.1, 0.2, 0.5]
    for step in found.steps:
        at = most_useful(UtilityQuestion(TERMS, budget=Money(Decimal(str(step.budget)), "USD")), _market())
        assert at.choice is not None
        assert at.choice.key == step.key


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (UtilityQuestion((UtilityTerm("x", "nothing", 1.0, Curve.SIGMOID, "1", 1.0),)), "no source has a column"),
        (UtilityQuestion((UtilityTerm("x", "time_s", 1.0, Curve.SIGMOID, "3 MB", 1.0),)), "'3 MB' is not"),
        (UtilityQuestion((UtilityTerm("x", "time_s", 1.0, Curve.SIGMOID, "0 s", 1.0),)), "is not above zero"),
        (UtilityQuestion(TERMS, budget=Money(Decimal(1), "EUR")), "the budget is in EUR and the prices are in USD"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(question: UtilityQuestion, told: str) -> None:
    with pytest.raises(UserMistake, match=told):
        most_useful(question, _market())
