"""Several machines of an offering as one candidate: what adds up, what is refused, and no chance that pretends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.answer.choice.needs import parse_need
from cloudcmp.answer.choice.objective import parse_objective
from cloudcmp.answer.choice.recommend import recommend
from cloudcmp.answer.choice.several import MOST, check_totals, several_of, with_several
from cloudcmp.answer.choice.small_and_large import with_several_machines
from cloudcmp.catalog.adding_up import NotAdded, width_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, MACHINES, Market, Numbers, OfferKey
from cloudcmp.model.recommendation import Addition, Recommendation

from .markets import market

ALL, ONE = "fma_flop_per_s precision=f64;threads=all", "fma_flop_per_s precision=f64;threads=one"
KEYS = tuple(OfferKey("aws", "north", name) for name in ("m7i.large", "m7i.xlarge", "m7i.8xlarge"))


def sizes(**more: object) -> Market:
    """Three sizes of one family whose work grows less than their price: 10, 18 and 120 for 0.1, 0.2 and 1.6."""
    launches = {ALL: [[10.0, 10.0, 10.0], [18.0, 18.0, 18.0], [120.0, 120.0, 120.0]]}
    facts = {"vcpus": [2.0, 4.0, 32.0], "memory_gib": [8.0, 16.0, 128.0]}
    return market([0.1, 0.2, 1.6], facts, launches=launches, keys=KEYS, **more)  # type: ignore[arg-type]


def values(of: Market, column: str) -> dict[str, float]:
    found = of.columns[column]
    assert isinstance(found, Numbers)
    return {key.name: value for key, value in zip(of.keys, found.value.tolist(), strict=True)}


def answer(of: Market, most: int, *needs: str, minimise: str = "cost") -> Recommendation:
    asked, objective = [parse_need(one) for one in needs], parse_objective(minimise, most=False)
    several, measured = several_of(of, most)
    check_totals(several, objective, asked)
    return with_several_machines(recommend(several, objective, asked), several, most, measured)


@pytest.mark.parametrize(
    ("column", "width"),
    [
        ("vcpus", math.inf),
        ("memory_gib", math.inf),
        (ALL, math.inf),
        (ONE, NotAdded.ONE_THREAD),
        ("unixbench_index copies=1", NotAdded.ONE_THREAD),
        ("unixbench_index copies=4", 4.0),
        ("triad_bytes_per_s store=normal;threads=8", 8.0),
        ("rtt_s path=zone;percentile=50", NotAdded.TIME),
        ("task_time_s task=fft;threads=all", NotAdded.TIME),
        ("chase_latency_s", NotAdded.TIME),
        ("n_index iterations=200;loops=10", NotAdded.UNDECLARED),
        ("stressng_best_n", math.inf),
        ("stressng_1", NotAdded.ONE_THREAD),
        ("passmark_me_latency", NotAdded.TIME),
        ("geekbench_single", NotAdded.ONE_THREAD),
        ("speed of my own (x=y)", NotAdded.UNDECLARED),
    ],
)
def test_what_adds_up_follows_from_declared_facts(column: str, width: float | NotAdded) -> None:
    assert width_of(column) == width


@given(st.integers(2, 9))
def test_a_total_is_that_of_one_times_their_number_and_so_is_the_price(most: int) -> None:
    found = with_several(sizes(), most)
    for count in range(1, most + 1):
        name = "m7i.xlarge" if count == 1 else f"m7i.xlarge x {count}"
        assert values(found, COST)[name] == pytest.approx(0.2 * count)
        assert values(found, f"total {ALL}")[name] == pytest.approx(18 * count)
        assert values(found, "total memory_gib")[name] == 16 * count
        assert values(found, ALL)[name] == pytest.approx(18)  # of each machine
        assert values(found, "memory_gib")[name] == 16
        assert values(found, MACHINES)[name] == count
    assert len(found.keys) == 3 * most


def test_work_of_some_processors_is_no_total_of_larger_machines() -> None:
    cell = "int_op_per_s threads=4"
    found = with_several(sizes(measured={cell: [5.0, 6.0, 7.0]}), 2)
    totals = values(found, f"total {cell}")
    assert totals["m7i.xlarge x 2"] == 12
    assert math.isnan(totals["m7i.8xlarge"])


def test_the_cheapest_may_be_several_small_machines() -> None:
    found = answer(sizes(), 16, f"total {ALL} >= 115")
    assert found.choice is not None
    assert str(found.choice.key) == "aws/north/m7i.large x 12"
    assert found.choice.values == pytest.approx((1.2, 120.0))
    assert [pick.key.name for pick in found.picks] == ["m7i.large x 12", "m7i.xlarge x 7", "m7i.8xlarge"]


def test_needs_on_plain_columns_are_those_of_each_machine() -> None:
    found = answer(sizes(), 16, f"total {ALL} >= 115", "memory_gib >= 100")
    assert found.choice is not None
    assert found.choice.key.name == "m7i.8xlarge"
    few = answer(sizes(), 16, f"total {ALL} >= 115", "machines <= 7")
    assert few.choice is not None
    assert few.choice.key.name == "m7i.xlarge x 7"


def test_small_against_large_at_equal_cost_and_at_equal_time() -> None:
    found = answer(sizes(), 16, f"total {ALL} >= 115").several
    assert found is not None
    assert ({one.small for one in found.against}, found.of) == ({KEYS[0]}, f"total {ALL}")
    larger = {one.large.name: one for one in found.against}
    huge = larger["m7i.8xlarge"]
    assert (huge.cost, huge.work) == pytest.approx((16, 12))
    assert (huge.equal_cost, huge.work_ratio) == (16, pytest.approx(160 / 120))
    assert (huge.equal_work, huge.cost_ratio) == (12, pytest.approx(1.2 / 1.6))
    two = larger["m7i.xlarge"]
    assert (two.equal_cost, two.work_ratio) == (2, pytest.approx(20 / 18))
    assert (two.equal_work, two.cost_ratio) == (2, pytest.approx(1.0))


def test_smaller_machines_are_set_against_a_single_large_choice() -> None:
    found = answer(sizes(), 16, f"total {ALL} >= 115", "memory_gib >= 100").several
    assert found is not None
    assert [(one.small.name, one.large.name) for one in found.against] == [
        ("m7i.large", "m7i.8xlarge"), ("m7i.xlarge", "m7i.8xlarge"),
    ]  # fmt: skip
    assert [one.equal_work for one in found.against] == [12, 7]


def test_more_machines_than_were_asked_for_are_not_set_against_a_large_one() -> None:
    found = answer(sizes(), 4, f"total {ALL} >= 40").several
    assert found is not None
    huge = next(one for one in found.against if one.large.name == "m7i.8xlarge")
    assert (huge.equal_cost, huge.work_ratio, huge.equal_work, huge.cost_ratio) == (None,) * 4


def test_an_assumed_total_has_no_chance_and_a_question_without_totals_keeps_its_own() -> None:
    rng = np.random.default_rng(1)
    rows = [[value * rng.normal(1, 0.01) for _ in range(8)] for value in (10.0, 18.0, 120.0)]
    drawn = market([0.1, 0.2, 1.6], {"vcpus": [2.0, 4.0, 32.0]}, launches={ALL: rows}, keys=KEYS)
    found = answer(drawn, 4, f"total {ALL} >= 35")
    assert found.several is not None
    assert found.several.addition is Addition.ASSUMED
    assert {(one.meets, one.best, one.near_best) for one in found.picks} == {(None, None, None)}
    assert found.distance is not None
    assert found.distance.bounds is None
    plain = answer(drawn, 4, f"{ALL} >= 15")
    assert plain.choice is not None
    assert (plain.choice.key.name, plain.choice.best is None) == ("m7i.xlarge", False)


def test_a_number_of_machines_that_may_miss_the_need_gives_way_to_one_more() -> None:
    rng = np.random.default_rng(1)
    rows = [[value * rng.normal(1, 0.05) for _ in range(8)] for value in (10.0, 18.0, 120.0)]
    drawn = market([0.1, 0.2, 1.6], {"vcpus": [2.0, 4.0, 32.0]}, launches={ALL: rows}, keys=KEYS)
    mean = float(np.exp(np.log(rows[0]).mean()))
    found = answer(drawn, 16, f"total {ALL} >= {5 * mean}", "vcpus = 2")
    assert found.choice is not None
    assert found.choice.key.name == "m7i.large x 6"  # five do as much in half of the draws
    assert [one.pick.key.name for one in found.doubtful] == ["m7i.large x 5"]


def test_measured_groups_give_their_totals_and_the_efficiency_of_other_numbers() -> None:
    keys = (KEYS[0], KEYS[0]._replace(name="m7i.large x 4"))
    of = market([0.1, math.nan], measured={"speed": [10.0, 32.0]}, facts={MACHINES: [1.0, 4.0]}, keys=keys)
    found = with_several(of, 8, ["speed"])
    totals = values(found, "total speed")
    share = (1 / 0.8 - 1) / 3  # of Amdahl's law, from an efficiency of 80 %
    assert totals["m7i.large x 4"] == 32
    for count in (2, 3, 8):
        assert totals[f"m7i.large x {count}"] == pytest.approx(10 * count / (1 + share * (count - 1)))
    assert values(found, COST)["m7i.large x 4"] == pytest.approx(0.4)
    assert len(found.keys) == 8
    assert several_of(of, 8, ["speed"])[1] == {keys[0]}


def test_a_candidate_of_several_machines_is_no_measured_group_and_keeps_its_price_and_cells() -> None:
    keys = (KEYS[0], KEYS[0]._replace(name="m7i.large x 4"))  # as a study with count: 4 names it: its cells are of one
    arrival = "scaling_latency_s count=4;os=linux"
    of = market([0.1, 0.5], measured={ALL: [10.0, 11.0], arrival: [math.nan, 90.0]}, keys=keys)
    few, many = with_several(of, 2), with_several(of, 4)
    assert values(few, f"total {ALL}") == {"m7i.large": 10, "m7i.large x 2": 20, "m7i.large x 4": 44}
    totals, cost = values(many, f"total {ALL}"), values(many, COST)
    assert [key.name for key in many.keys] == ["m7i.large", *(f"m7i.large x {count}" for count in (2, 3, 4))]
    assert (totals["m7i.large x 4"], cost["m7i.large x 4"], cost["m7i.large x 3"]) == (40, 0.5, pytest.approx(0.3))
    assert values(many, arrival)["m7i.large x 4"] == 90
    assert values(few, MACHINES)["m7i.large x 4"] == 4


@pytest.mark.parametrize(
    ("need", "told"),
    [
        (f"total {ONE} >= 1", "it is the work of one thread"),
        ("total rtt_s <= 1", "times, latencies and ratios do not add up"),
        ("total speed >= 1", "whether it adds up is not known; --adds 'speed' declares that it does"),
        ("total none >= 1", "no source has a column 'total none'"),
    ],
)
def test_what_does_not_add_up_is_refused_with_the_reason(need: str, told: str) -> None:
    more = {ONE: [5.0, 5.0, 5.0], "rtt_s path=zone;percentile=50": [1.0, 1.0, 1.0], "speed": [1.0, 2.0, 3.0]}
    with pytest.raises(UserMistake) as refused:
        answer(sizes(measured=more), 4, need)
    assert told in refused.value.faults[0].line()


@pytest.mark.parametrize("most", [0, 1, MOST + 1])
def test_a_number_that_is_none_is_refused(most: int) -> None:
    with pytest.raises(UserMistake, match="--machines"):
        with_several(sizes(), most)


def test_declaring_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserMistake, match="--adds"):
        with_several(sizes(), 2, ["none"])


def test_how_much_one_machine_varies_stays_beside_several() -> None:
    rng = np.random.default_rng(1)
    of = market([0.1], launches={ALL: [[10 * rng.normal(1, 0.01) for _ in range(8)]]}, keys=KEYS[:1])
    varies = Numbers(f"variation of {ALL}", np.array([0.01]), "ratio", freedom=np.array([7.0]), is_measured=True)
    of = Market(of.keys, {**of.columns, varies.name: varies}, of.currency)
    found = with_several(of, 3)
    assert values(found, varies.name) == {"m7i.large": 0.01, "m7i.large x 2": 0.01, "m7i.large x 3": 0.01}
    moved = found.columns[varies.name]
    assert isinstance(moved, Numbers)
    assert moved.freedom is not None
    assert moved.freedom.tolist() == [7, 7, 7]
    assert f"total {varies.name}" not in found.columns
