"""Fleets: which machines move, how surely, what is never moved, and what to measure first."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.answer.choice.markets import market

from cloudcmp.answer.choice.needs import parse_need
from cloudcmp.answer.fleet.answer import fleet_answer
from cloudcmp.answer.fleet.sentences import with_cautions
from cloudcmp.answer.fleet.space import FleetQuestion
from cloudcmp.errors import UserMistake
from cloudcmp.model.fleet import Fate, FleetAnswer, FleetMachine, Inventory, Untold
from cloudcmp.model.market import Market, OfferKey

TODAY = date(2026, 11, 27)
KEYS = [OfferKey("aws", "r", name) for name in ("m5.xlarge", "m6i.large", "m7g.large", "t3.large", "m7i.large")]
SPEED = {"speed": [100.0, 70.0, 90.0, 80.0, 96.0]}
MEMORY = {"memory_gib": [16.0, 8.0, 8.0, 8.0, 16.0]}
SOLD = market([0.20, 0.10, 0.08, 0.05, 0.15], MEMORY, SPEED, keys=KEYS)
ASKED = FleetQuestion(metric="speed")
ONE = FleetMachine("a", KEYS[0], price=0.2, has_list_price=False, cpu=0.4, memory=0.3)


def asked(
    *machines: FleetMachine, sold: Market = SOLD, of: FleetQuestion = ASKED, currency: str = "USD"
) -> FleetAnswer:
    return with_cautions(fleet_answer(Inventory(machines, currency), sold, of, TODAY))


def targets(found: FleetAnswer) -> list[str | None]:
    return [one.to.name if one.to else None for one in found.answers]


def test_a_machine_needs_what_it_uses_with_head_room() -> None:
    # 40 % of 100 with 30 % more are 52, and 30 % of 16 GiB are 6.24: m6i is enough; m7g is ARM, t3 is burstable.
    found = asked(ONE)
    assert targets(found) == ["m6i.large"]
    assert found.answers[0].fate is Fate.MAY_MOVE
    assert found.single.amount == Decimal("73.0")
    assert found.moves[0].speed == pytest.approx(70 / 52)
    assert (found.saving.amount, found.bounds, found.chance) == (0, None, None)


def test_a_machine_of_unknown_use_needs_what_it_has() -> None:
    # 3 % less is as good; the memory must be there.
    assert targets(asked(replace(ONE, cpu=None, memory=None))) == [None]
    slower = market([0.20, 0.15], {"memory_gib": [16, 16]}, {"speed": [100.0, 97.1]}, keys=[KEYS[0], KEYS[4]])
    assert targets(asked(replace(ONE, cpu=None, memory=None), sold=slower)) == ["m7i.large"]


def test_a_hot_machine_needs_no_more_than_it_has() -> None:
    found = asked(replace(ONE, cpu=0.95))
    assert targets(found) == [None]
    assert found.hot == 1
    assert found.stays == 1


def test_architecture_and_burstable_types_may_be_allowed() -> None:
    assert targets(asked(ONE, of=replace(ASKED, architecture=True))) == ["m7g.large"]
    assert targets(asked(ONE, of=replace(ASKED, allow_burstable=True))) == ["t3.large"]
    assert targets(asked(replace(ONE, architecture="any"))) == ["m7g.large"]
    assert targets(asked(replace(ONE, architecture="arm64"), of=replace(ASKED, allow_burstable=True))) == ["m7g.large"]


def test_provider_and_region_stay_unless_they_may_change() -> None:
    keys = [KEYS[0], OfferKey("aws", "other", "m5.xlarge"), OfferKey("gcp", "r", "n2-standard-4")]
    sold = market([0.2, 0.1, 0.05], {"memory_gib": [16] * 3}, {"speed": [100.0] * 3}, keys=keys)
    assert targets(asked(ONE, sold=sold)) == [None]
    moved = asked(ONE, sold=sold, of=replace(ASKED, region=True))
    assert moved.answers[0].to == keys[1]
    free = asked(ONE, sold=sold, of=replace(ASKED, region=True, provider=True))
    assert free.answers[0].to == keys[2]
    kept = asked(ONE, sold=sold, of=replace(ASKED, region=True, require=(parse_need("region != other"),)))
    assert targets(kept) == [None]


def test_a_local_disk_is_kept_and_bare_metal_replaces_only_itself() -> None:
    keys = [KEYS[0], OfferKey("aws", "r", "m6i.large"), OfferKey("aws", "r", "m6i.metal"), KEYS[4]]
    facts = {"memory_gib": [16.0] * 4, "storage_gb": [100.0, 0.0, 200.0, 150.0]}
    sold = market([0.2, 0.05, 0.06, 0.1], facts, {"speed": [100.0] * 4}, keys=keys)
    assert targets(asked(ONE, sold=sold)) == ["m7i.large"]


def test_what_must_not_become_worse_is_not_scaled_by_use() -> None:
    sold = market(
        [0.2, 0.1, 0.15], {"memory_gib": [16] * 3}, {"speed": [100.0, 90, 80], "one": [10.0, 8, 9.8]},
        keys=[KEYS[0], KEYS[1], KEYS[4]],
    )  # fmt: skip
    assert targets(asked(ONE, sold=sold)) == ["m6i.large"]
    found = asked(ONE, sold=sold, of=replace(ASKED, on=("one",)))
    assert targets(found) == ["m7i.large"]
    assert found.kept == ("one",)


def test_a_commitment_holds_a_machine_until_it_ends() -> None:
    later = replace(ONE, name="b", commitment="reserved", until=date(2027, 6, 30))
    over = replace(ONE, name="c", commitment="reserved", until=date(2026, 6, 30))
    unknown = replace(ONE, name="d", commitment="savings plan")
    found = asked(later, over, unknown)
    assert [one.fate for one in found.answers] == [Fate.MAY_MOVE, Fate.MAY_MOVE, Fate.COMMITTED]
    assert found.single.amount == Decimal("73.0")
    assert (found.later.amount, found.later_from) == (Decimal("73.0"), date(2027, 6, 30))
    assert found.committed == 1
    assert found.undecided.amount == Decimal("73.0")  # the money of a commitment cannot move yet


def test_what_is_unknown_is_listed_and_is_not_no_saving() -> None:
    keys = [
        KEYS[0],
        KEYS[1],
        OfferKey("aws", "r", "g5.xlarge"),
        OfferKey("x", "r", "a"),
        OfferKey("aws", "r", "m6a.large"),
    ]
    sold = market(
        [0.2, math.nan, 0.3, 0.1, 0.1], {"memory_gib": [16, 8, 16, 8, math.nan]},
        {"speed": [100.0, math.nan, 50, 50, 50]}, keys=keys,
    )  # fmt: skip
    machines = [
        FleetMachine("nowhere", OfferKey("aws", "r", "m1.large"), price=1.0, has_list_price=False),
        FleetMachine("other-region", OfferKey("aws", "elsewhere", "m5.xlarge")),
        FleetMachine("no-price", KEYS[1]),
        FleetMachine("no-metric", KEYS[1], price=0.1, has_list_price=False),
        FleetMachine("gpu", keys[2]),
        FleetMachine("no-architecture", keys[3]),
        FleetMachine("no-memory", keys[4]),
        FleetMachine("windows", KEYS[0], system="Windows"),
        FleetMachine("free", KEYS[0], has_list_price=False),
    ]
    found = asked(*machines, sold=sold)
    assert [one.untold for one in found.answers] == [
        Untold.NO_OFFERING, Untold.NO_OFFERING, Untold.NO_PRICE, Untold.NO_METRIC, Untold.ACCELERATED,
        Untold.NO_ARCHITECTURE, Untold.NO_MEMORY, Untold.OTHER_SYSTEM, Untold.NO_PRICE,
    ]  # fmt: skip
    assert sum(one.machines for one in found.untold) == len(machines)
    assert found.cost.amount == Decimal("1168.0")  # of those with a price: 1.0, 0.1, 0.3, 0.1 and 0.1 an hour
    assert not found.moves


def test_a_name_in_other_letters_and_a_table_without_regions() -> None:
    keys = [OfferKey("azure", "", "Standard_D4s_v5"), OfferKey("azure", "", "Standard_D4as_v5")]
    sold = market([0.2, 0.1], {"memory_gib": [16, 16]}, {"speed": [100.0, 100.0]}, keys=keys)
    found = asked(FleetMachine("a", OfferKey("azure", "eastus", "standard_d4s_v5")), sold=sold)
    assert targets(found) == ["Standard_D4as_v5"]


def test_what_is_paid_above_the_list_price_is_no_saving() -> None:
    found = asked(replace(ONE, price=0.5))
    assert found.single.amount == Decimal("73.0")
    assert found.dear == 1
    assert found.cost.amount == Decimal("365.0")


def test_a_discount_is_named() -> None:
    found = asked(replace(ONE, price=0.15))
    assert found.paid == pytest.approx(0.75)
    assert any("25 % below list prices" in one for one in found.cautions)


def test_the_chance_is_that_of_two_lognormal_values() -> None:
    sold = market([0.2, 0.1], {"memory_gib": [16, 16]}, {"speed": [100.0, 100.0]}, keys=[KEYS[0], KEYS[1]])
    for share in (0.7, 0.75, 0.77):
        found = asked(replace(ONE, cpu=share / 1.3 * 1.3 / 1.0, memory=0.1), sold=sold,
                      of=replace(ASKED, headroom=0.0, spread=0.1, confidence=0.5))  # fmt: skip
        deviation = math.sqrt(2 * math.log1p(0.1**2))
        expected = stats.norm.cdf(-math.log(share) / deviation)
        assert found.moves[0].chance == pytest.approx(expected, abs=0.01)
        assert found.chance == found.moves[0].chance


def test_launches_of_one_study_are_compared_by_rounds() -> None:
    # Both vary by 20 % from round to round, together: the second is 10 % above what is needed in each.
    rounds = np.random.default_rng(3).lognormal(0.0, 0.2, 12)
    noise = np.random.default_rng(4).lognormal(0.0, 0.01, 12)
    launches = {"speed": [(100 * rounds).tolist(), (100 * 1.07 * rounds * noise).tolist()]}
    sold = market([0.2, 0.1], {"memory_gib": [16, 16]}, launches=launches, keys=[KEYS[0], KEYS[1]])
    found = asked(replace(ONE, cpu=None, memory=None), sold=sold)
    assert found.moves[0].chance is not None
    assert found.moves[0].chance > 0.99
    assert found.saving.amount == Decimal("73.0")
    assert found.bounds is not None
    assert found.bounds[0].amount == Decimal("73.0")


def test_the_interval_of_the_saving_follows_the_moves_together() -> None:
    # Two types move to one offering: if it is too slow, both savings fail at once.
    keys = [KEYS[0], OfferKey("aws", "r", "m5.large"), KEYS[4]]
    sold = market([0.2, 0.3, 0.1], {"memory_gib": [16] * 3}, {"speed": [100.0, 100.0, 100.0]}, keys=keys)
    of = replace(ASKED, spread=0.05, confidence=0.6)
    machines = [replace(ONE, cpu=0.72), replace(ONE, name="b", key=keys[1], cpu=0.72, price=0.3)]
    found = asked(*machines, sold=sold, of=of)
    assert found.saving.amount == Decimal("219.0")
    assert found.bounds is not None
    assert found.bounds[0].amount == Decimal("0.0")
    assert found.bounds[1].amount == Decimal("219.0")
    least = min(one.chance or 0 for one in found.moves)
    assert found.chance is not None
    assert least <= found.chance < 1 - (1 - least) ** 2  # more than either, less than if they were independent


def test_a_cheaper_one_in_doubt_is_worth_measuring_and_not_chosen() -> None:
    keys = [KEYS[0], KEYS[1], KEYS[4]]
    sold = market([0.2, 0.1, 0.15], {"memory_gib": [16] * 3}, {"speed": [100.0, 53.0, 80.0]}, keys=keys)
    found = asked(replace(ONE, count=10), sold=sold, of=replace(ASKED, spread=0.05))
    assert targets(found) == ["m7i.large"]
    assert found.saving.amount == Decimal("365.0")
    (one,) = found.measurements or (None,)
    assert found.undecided.amount == Decimal("365.0")
    assert one is None  # 53 against 52 needed: thirty launches would not tell
    assert found.close == found.undecided
    clearer = market([0.2, 0.1, 0.15], {"memory_gib": [16] * 3}, {"speed": [100.0, 56.0, 80.0]}, keys=keys)
    found = asked(replace(ONE, count=10), sold=clearer, of=replace(ASKED, spread=0.05))
    (one,) = found.measurements
    assert one is not None
    assert (one.of, one.to, one.money.amount) == (keys[0], keys[1], Decimal("365.0"))
    deviation = math.sqrt(2 * math.log1p(0.05**2))
    chance = stats.norm.cdf(math.log(56 / 52) / deviation)
    assert one.chance == pytest.approx(chance, abs=0.02)
    assert one.expected is not None
    assert float(one.expected.amount) == pytest.approx(365 * chance, abs=8)
    launches = math.ceil((2.487 * 0.05 * math.sqrt(2) / math.log(56 / 52)) ** 2)
    assert one.launches == max(6, launches)
    assert float(one.price.amount) == pytest.approx(one.launches * 0.25 * 0.3)
    assert one.settled == 1.0


def test_an_offering_that_is_measured_already_is_not_paid_again() -> None:
    keys = [KEYS[0], KEYS[1], OfferKey("aws", "r", "c5.xlarge")]
    sold = market([0.2, 0.1, 0.2], {"memory_gib": [16.0, 16, 16]}, {"speed": [100.0, 70, 90]}, keys=keys)
    machines = [replace(ONE, count=50), replace(ONE, name="b", key=keys[2], count=10)]
    first, second = asked(*machines, sold=sold).measurements
    assert (first.to, second.to) == (keys[1], keys[1])
    assert first.price.amount == Decimal("0.45")  # six launches of both, a quarter of an hour each
    assert second.price.amount == Decimal("0.3")
    assert first.settled == pytest.approx(5 / 6)
    assert second.settled == pytest.approx(1.0)


def test_a_type_that_is_cheap_elsewhere_needs_no_measurement() -> None:
    keys = [KEYS[0], OfferKey("aws", "other", "m5.xlarge")]
    sold = market([0.2, 0.1], {"memory_gib": [16, 16]}, {"speed": [100.0, 100.0]}, keys=keys)
    speed = replace(sold.columns["speed"], origin=np.zeros(2, np.int64))  # type: ignore[call-arg]
    shared = replace(sold, columns={**sold.columns, "speed": speed})
    found = asked(replace(ONE, cpu=None), sold=shared, of=replace(ASKED, region=True))
    assert (found.answers[0].fate, found.answers[0].chance) == (Fate.MOVES, 1.0)


def test_mistakes_are_said_in_one_line() -> None:
    with pytest.raises(UserMistake, match="the inventory is in EUR and the prices are in USD"):
        asked(ONE, currency="EUR")
    with pytest.raises(UserMistake, match="no source has the column stressng_best_n"):
        asked(ONE, of=FleetQuestion())
    with pytest.raises(UserMistake, match="no source has a column 'sped'; did you mean speed"):
        asked(ONE, of=FleetQuestion(metric="sped"))
    lower = market([0.2], {"memory_gib": [16]}, {"passmark_me_latency": [1.0]}, keys=KEYS[:1])
    with pytest.raises(UserMistake, match="less of 'passmark_me_latency' is better"):
        asked(ONE, sold=lower, of=FleetQuestion(metric="passmark_me_latency"))


MACHINE = st.builds(
    FleetMachine,
    name=st.just("a"),
    key=st.sampled_from([*KEYS, OfferKey("aws", "r", "gone")]),
    count=st.integers(1, 50),
    hours=st.floats(1, 730),
    price=st.none() | st.floats(0.01, 1),
    has_list_price=st.booleans(),
    cpu=st.none() | st.floats(0, 1),
    memory=st.none() | st.floats(0, 1),
    architecture=st.sampled_from(["", "any", "arm64"]),
    commitment=st.sampled_from(["", "", "reserved"]),
    until=st.sampled_from([None, date(2027, 1, 1), date(2026, 1, 1)]),
)
QUESTION = st.builds(
    FleetQuestion,
    metric=st.just("speed"),
    headroom=st.floats(0, 1),
    architecture=st.booleans(),
    spread=st.none() | st.floats(0.01, 0.3),
    allow_burstable=st.booleans(),
)


@given(st.lists(MACHINE, max_size=12), QUESTION)
def test_the_money_adds_up_and_every_move_is_allowed(some: Sequence[FleetMachine], of: FleetQuestion) -> None:
    found = asked(*some, of=of)
    now = [one for one in found.answers if one.to is not None and one.since is None]
    later = [one for one in found.answers if one.to is not None and one.since is not None]
    assert sum(one.saving.amount for one in now if one.saving) == found.saving.amount + found.single.amount
    assert sum(one.saving.amount for one in later if one.saving) == found.later.amount
    assert (
        sum(one.saving.amount for one in found.moves) == found.saving.amount + found.single.amount + found.later.amount
    )
    assert sum(one.machines for one in found.moves) == sum(one.count for one in (*now, *later))
    assert found.machines == sum(one.count for one in some)
    moved = sum(one.machines for one in found.moves)
    untold = sum(one.machines for one in found.untold)
    assert moved + untold + found.stays + found.committed == found.machines
    settled = [one.settled for one in found.measurements]
    assert settled == sorted(settled)
    assert all(one <= 1 + 1e-9 for one in settled)
    if found.bounds is not None:
        assert found.bounds[0].amount <= found.bounds[1].amount <= found.saving.amount + Decimal("0.01")
    place = {key: at for at, key in enumerate(KEYS)}
    for machine, one in zip(some, found.answers, strict=True):
        if one.to is None:
            continue
        at, to = place[machine.key], place[one.to]
        assert one.saving is not None
        assert one.saving.amount >= 0
        share = min(0.97, (1.0 if machine.cpu is None else machine.cpu) * (1 + of.headroom))
        assert of.spread is not None or SPEED["speed"][to] >= SPEED["speed"][at] * share * (1 - 1e-9)
        memory = MEMORY["memory_gib"][at] * min(
            1, (1.0 if machine.memory is None else machine.memory) * (1 + of.headroom)
        )
        assert MEMORY["memory_gib"][to] >= memory * (1 - 1e-6)
        assert of.allow_burstable or one.to.name != "t3.large"
        assert one.chance is None or one.chance >= of.confidence
