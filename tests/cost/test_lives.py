"""What studies cost on markets at random is what was said, by a count that shares no code with the product's."""

import random
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.cost import lives
from tests.cost.lives import broken, play, wrong
from tests.cost.market import market
from tests.cost.test_account_pricing import candidate
from tests.slices import examples, spread

from cloudcmp.cost import metering, parts, quote
from cloudcmp.cost.metering import graduated
from cloudcmp.model.plan import Extra
from cloudcmp.model.price import Purchase
from cloudcmp.model.terms import NO_TERMS

SEED = 20260105


def test_p12_p14_bills_at_random() -> None:
    """A slice; `make promises` plays 10,000."""
    assert wrong(examples(160, 4), SEED) == []


def test_the_studies_meet_what_they_are_about() -> None:
    """Each kind of thing that is billed is met, alone and together."""
    told = [play(SEED * 1_000_003 + number, faults=number % 2 == 1) for number in range(120)]
    assert sum(one.truth > Fraction(one.expected) for one in told) > 30
    assert sum(one.truth > Fraction(one.worst) * Fraction(9, 10) for one in told) > 3  # the bound is no idle one
    assert all(one.guarded <= one.held for one in told)
    assert sum(any("a spot machine may cost" in note for note in one.told) for one in told) > 10
    assert sum(one.moves and one.truth > Fraction(one.worst) for one in told) > 0  # what is said of them is needed


def test_a_spot_price_moves_by_the_second_or_the_hour_and_not_above_its_cap() -> None:
    """By hand: 0.5 and 1.25 of a price of 1 an hour, each for ten minutes, for half an hour from five minutes on."""
    where = replace(market(random.Random(1)), minimum_s=1, step_s=1, spot=(Fraction(1, 2), Fraction(5, 4)))
    life = lives.Life(0, 0, candidate(), 300, 2100)  # 5 min at 0.5, 10 at 1.25, 10 at 0.5, 5 at 1.25
    for by_hour, capped, sixtieths in (
        (False, False, Fraction(15, 2) + Fraction(75, 4)),
        (False, True, Fraction(15, 2) + 15),
        (True, False, Fraction(15)),
        (True, True, Fraction(15)),
    ):
        own = replace(where, by_hour=by_hour, capped=capped)
        assert own._spot(life, 300, 1800) == sixtieths / 60
        assert own.taken_s(300, 2100) == (600 if capped else 2100)
        assert own.taken_s(700, 1100) == 1100


def _once(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, change: Any) -> None:
    before = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *some, **more: change(before(*some, **more)))


def _no_extra(found: Any) -> Any:
    return replace(found, usage=tuple(replace(stay, extra=Extra()) for stay in found.usage))


def _spot_at_half(found: Any) -> Any:
    use, rate = found
    if use.purchase is not Purchase.SPOT:
        return found
    return use, replace(rate, rows=tuple(replace(row, amount=row.amount / 2) for row in rate.rows))


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "no minimum and no steps": (metering, "paid_s", lambda found: found * Decimal("0.5")),
    "no addresses": (parts, "_address", lambda found: []),
    "no disks": (parts, "_disks", lambda found: ()),
    "no traffic": (parts, "_traffic", lambda found: ()),
    "no fee of a region": (parts, "_worst_fee", lambda found: []),
    "a spot machine is counted at half": (parts, "_machine", _spot_at_half),
    "a spot price without a maximum is said to be bound": (quote, "_spot_notes", lambda found: []),
    "a start is free": (parts, "_worst_periods", lambda found: found[:1]),
    "a month's free part is counted on": (metering, "_spread", None),
    "the guard counts machines alone": (lives, "with_quote", _no_extra),
    "support is free": (lives, "with_quote", lambda found: replace(found, terms=NO_TERMS)),
}


@pytest.mark.parametrize("mutant", spread([*MUTANTS], 4))
def test_the_bills_notice(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thing that is counted, left out, is noticed within a few hundred studies."""
    where, name, change = MUTANTS[mutant]
    if change is None:
        monkeypatch.setattr(where, name, lambda quantity, had, rate, *, worst: graduated(quantity, had, rate.rows))
    elif mutant == "support is free":  # the market still bills what the study's terms say
        before = lives.extra_costs_of
        monkeypatch.setattr(lives, "extra_costs_of", lambda plan: before(replace(plan, terms=NO_TERMS)))
    else:
        _once(monkeypatch, where, name, change)
    seeds = range(SEED * 1_000_003, SEED * 1_000_003 + 400)
    assert any(broken(play(seed, faults=faults), faults=faults) for seed in seeds for faults in (True, False))
