"""What copies cost and avoid, by hand and by simulation."""

from decimal import Decimal

import numpy as np
import pytest
from tests.answer.sla.watches import watch

from cloudcmp.answer.sla.nines import correlation_of, joint_share, money_against_nines
from cloudcmp.errors import UserMistake
from cloudcmp.model.nines import Arrangement
from cloudcmp.units import Money

LOSS = Money(Decimal(500), "USD")


def _usd(amount: int) -> Money:
    return Money(Decimal(amount), "USD")


COSTS = {Arrangement.ONE_ZONE: _usd(300), Arrangement.TWO_ZONES: _usd(620), Arrangement.TWO_REGIONS: _usd(2000)}


def test_two_zones_at_99_5_percent_each() -> None:
    found = money_against_nines("shop", 0.995, None, 0, LOSS, COSTS)
    one, two, regions = found.arrangements
    assert one.joints[0].down_s == pytest.approx(0.005 * 30 * 86400)
    assert float(one.joints[0].total) == pytest.approx(300 + 3.6 * 500)
    assert two.joints[0].availability == pytest.approx(1 - 0.005**2)
    # 320 USD more for 216 - 1.08 minutes less
    assert float(two.per_minute or 0) == pytest.approx(320 / (216 * 0.995))
    assert two.pays_below == pytest.approx(1 - 320 / (1800 * 0.995))
    assert regions.pays_below == pytest.approx(1 - 1700 / (1800 * 0.995))
    assert two.joints[-1].down_s == pytest.approx(one.joints[0].down_s)


def test_at_the_correlation_at_which_a_copy_pays_both_cost_the_same() -> None:
    found = money_against_nines("shop", 0.995, None, 0, LOSS, COSTS)
    one, two, _ = found.arrangements
    down = joint_share(0.005, two.pays_below or 0)
    assert 620 + 500 * 720 * down == pytest.approx(float(one.joints[0].total))


def test_a_copy_that_avoids_too_little_never_pays() -> None:
    found = money_against_nines("shop", 0.99999, None, 0, LOSS, COSTS)
    assert [one.pays_below for one in found.arrangements] == [None, None, None]


def test_the_joint_share_is_that_of_two_correlated_coins() -> None:
    random = np.random.default_rng(9)
    common = random.random(400_000) < 0.3  # with this chance both have the same outage
    first = random.random(400_000) < 0.05
    second = np.where(common, first, random.random(400_000) < 0.05)
    correlation = float(np.corrcoef(first, second)[0, 1])
    assert np.mean(first & second) == pytest.approx(joint_share(0.05, correlation), rel=0.03)


def test_two_watches_tell_how_their_outages_are_correlated() -> None:
    a = watch(5000, down=[*range(100, 150), *range(3000, 3050)])
    b = watch(5000, down=[*range(100, 150), *range(4000, 4050)])
    expected = float(np.corrcoef(~a.ok, ~b.ok)[0, 1])
    assert correlation_of(a, b) == pytest.approx(expected)
    assert correlation_of(a, watch(5000)) is None
    assert correlation_of(a, watch(5000, start=1.0, down=[4])) is None  # another year


def test_costs_in_another_currency_are_refused() -> None:
    with pytest.raises(UserMistake, match="the loss is in USD and a cost is in EUR"):
        money_against_nines("shop", 0.99, None, 0, LOSS, {Arrangement.ONE_ZONE: Money(Decimal(1), "EUR")})
