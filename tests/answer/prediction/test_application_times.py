"""Predicted times on markets that are written here."""

from dataclasses import replace

import numpy as np
import pytest

from cloudcmp.answer.prediction.predict import predict
from cloudcmp.answer.prediction.sentences import with_sentences
from cloudcmp.errors import UserMistake
from cloudcmp.model.application import Application, ApplicationKind, CellWish, Demand, Part, Ran, Way
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts
from cloudcmp.model.metric import Better
from cloudcmp.model.prediction import Aim, Basis, Lack, Predicted

NAMES = ("home", "fast", "wide", "slow")
INT = "int_op_per_s threads=one"
KEYS = tuple(OfferKey("cloud", "r", name) for name in NAMES)


def numbers(name: str, values: list[float], better: Better | None = None, unit: str = "", **kinds: object) -> Numbers:
    return Numbers(name, np.array(values, np.float64), unit, better, is_measured=better is not None, **kinds)  # type: ignore[arg-type]


def market(*more: Numbers) -> Market:
    """Home; one of twice its speed; one with four processors of its speed; one of half its speed."""
    columns = [
        numbers("vcpus", [2.0, 2.0, 4.0, 2.0]),
        numbers("memory_gib", [8.0, 8.0, 8.0, 1.0]),
        numbers(COST, [0.10, 0.30, 0.20, np.nan], unit="1/h"),
        numbers(INT, [1e9, 2e9, 1e9, 5e8], Better.HIGHER, "op/s"),
        numbers("int_op_per_s threads=all", [2e9, 4e9, 4e9, 1e9], Better.HIGHER, "op/s"),
        *more,
    ]
    return Market(KEYS, {one.name: one for one in columns}, "USD")


def program(*demands: Demand, **changed: object) -> Application:
    demands = demands or (Demand("cpu", Way.CPU, 10.0),)
    given = {"home": KEYS[0], "elapsed_s": 10.0, **changed}
    return Application("app", ApplicationKind.PROGRAM, (Part("app", demands),), **given)  # type: ignore[arg-type]


def times(application: Application, sold: Market, aim: Aim = Aim.TIME) -> dict[str, Predicted]:
    return {one.key.name: one for one in predict(application, sold, aim).candidates}


def test_processor_time_follows_the_benchmark_from_home() -> None:
    found = times(program(), market())
    assert {name: one.time_s for name, one in found.items()} == pytest.approx(
        {"home": 10.0, "fast": 5.0, "wide": 10.0, "slow": 20.0}
    )
    assert found["fast"].cost == pytest.approx(5.0 * 0.30 / 3600)
    assert found["slow"].cost is None
    assert found["home"].ran_s == pytest.approx(10.0)


def test_threads_that_can_run_at_once_use_more_processors() -> None:
    """16 s of processors with 8 threads ready: 8 s on two of the reference, 4 s on four."""
    found = times(program(Demand("cpu", Way.CPU, 16.0), parallel=((8, 1.0),), elapsed_s=8.0), market())
    assert found["home"].time_s == pytest.approx(8.0)
    assert found["wide"].time_s == pytest.approx(4.0)


def test_of_its_transfers_the_share_it_waited_for_at_home_delays_a_program() -> None:
    """At home the disk needs 4 s and the program was blocked for 3 s, of a 13 s run: 1 s of the disk was hidden."""
    disk = numbers("disk_bytes_per_s op=read", [1e8, 1e8, 4e8, 1e8], Better.HIGHER, "B/s")
    read = Demand("read", Way.BYTES, 4e8, CellWish("disk_bytes_per_s", (("op", "read"),)))
    application = program(Demand("cpu", Way.CPU, 10.0), read, elapsed_s=13.0, blocked_s=3.0)
    found = times(application, market(disk))
    assert found["wide"].time_s == pytest.approx(10.0 + 3.0 / 4)
    assert found["fast"].time_s == pytest.approx(5.0 + 3.0)
    assert (found["fast"].overlapped_s, found["fast"].serial_s) == pytest.approx((5.0, 9.0))


def test_what_it_waits_for_without_a_measurement_stays_and_is_said() -> None:
    read = Demand("read", Way.BYTES, 4e8, CellWish("disk_bytes_per_s", (("op", "read"),)))
    found = predict(program(Demand("cpu", Way.CPU, 10.0), read, elapsed_s=12.0, blocked_s=2.0), market(), Aim.TIME)
    assert next(one for one in found.candidates if one.key.name == "fast").time_s == pytest.approx(7.0)
    assert [one.cell for one in found.uncounted] == ["disk_bytes_per_s op=read"]
    assert any("no source measures it" in text for text in with_sentences(found).cautions)


def test_a_disturbed_run_counts_by_its_own_counters() -> None:
    found = predict(program(elapsed_s=25.0), market(), Aim.TIME)
    assert next(one for one in found.candidates if one.key.name == "home").time_s == pytest.approx(10.0)
    assert "other work took 15 s" in found.notes[0]


def test_memory_that_was_moved_follows_the_memory() -> None:
    """5 of 10 s are spent on memory at home: 5e10 bytes at 1e10 bytes a second."""
    triad = numbers("triad_bytes_per_s threads=one", [1e10, 1e10, 2e10, 1e10], Better.HIGHER, "B/s")
    found = times(program(moved_bytes=5e10), market(triad))
    assert found["wide"].time_s == pytest.approx(5.0 + 2.5)


def test_two_machines_that_ran_it_give_an_interval_and_a_measurement_that_explains_it() -> None:
    chase = numbers("chase_latency_s size_bytes=67108864", [8e-8, 8e-8, 2e-8, 9e-8], Better.LOWER, "s")
    ran = (Ran(KEYS[1], 10.0), Ran(KEYS[2], 2.5))
    found = predict(program(ran=ran, elapsed_s=10.0), market(chase), Aim.TIME)
    assert found.basis is Basis.LEFT_OUT
    assert found.explained[0].name == "chase_latency_s size_bytes=67108864"
    assert found.explained[0].exponent > 0.9
    slow = next(one for one in found.candidates if one.key.name == "slow")
    assert slow.time_s == pytest.approx(10.0 * 9 / 8, rel=0.03)
    assert slow.interval is not None
    assert slow.interval.low < 10.0 * 9 / 8 < slow.interval.high
    assert slow.excluded
    assert found.short_list[0].key.name == "wide"


def test_without_a_home_two_machines_that_ran_it_are_enough() -> None:
    application = program(home=None, elapsed_s=None, ran=(Ran(KEYS[0], 10.0), Ran(KEYS[1], 5.0)))
    assert times(application, market())["slow"].time_s == pytest.approx(20.0)


def test_a_machine_without_one_measurement_is_predicted_from_the_others() -> None:
    """What is missing on a machine does not count for it; without half of the measurements it is not predicted."""
    ran = tuple(Ran(key, time) for key, time in zip(KEYS, (10.0, 5.0, 10.0), strict=False))
    scores = [numbers(f"score_{at}", [1.0, 2.0, 1.0, 0.5 if at % 2 else 0.25], Better.HIGHER) for at in range(4)]
    blind = program(home=None, elapsed_s=None, benchmarks=("score_*",), ran=ran)
    keys = {one.name: one for one in scores}
    whole = times(blind, Market(KEYS, keys))["slow"].time_s
    gap = replace(scores[2], value=np.array([1.0, 2.0, 1.0, np.nan]))
    assert 20.0 < whole < 40.0
    assert times(blind, Market(KEYS, {**keys, "score_2": gap}))["slow"].time_s < whole
    gaps = {name: replace(gap, name=name) for name in ("score_1", "score_2", "score_3")}
    found = predict(blind, Market(KEYS, {**keys, **gaps}), Aim.TIME)
    assert [(one.key.name, one.lack) for one in found.left_out] == [("slow", Lack.UNMEASURED)]


def test_a_table_of_somebody_else_is_used_whole() -> None:
    """Columns of a known direction, without the application's own; a latency of the table is one without a unit."""
    own = numbers("own_s", [10.0, 5.0, np.nan, np.nan], Better.LOWER, "s")
    table = [numbers("stressng_1", [1.0, 2.0, 2.0, 1.0]), numbers("passmark_me_latency", [2.0, 1.0, 1.0, 4.0])]
    sold = Market(KEYS, {one.name: one for one in (*table, numbers("of_unknown_direction", [1.0] * 4), own)})
    found = predict(program(home=None, elapsed_s=None, ran_cell="own_s"), sold, Aim.TIME)
    assert {one.name for one in found.explained} == {"stressng_1", "passmark_me_latency"}
    assert {one.key.name: one.time_s for one in found.candidates} == pytest.approx(
        {"home": 10.0, "fast": 5.0, "wide": 5.0, "slow": 10.0 * 2**0.5}, rel=0.01
    )


def test_a_column_can_hold_the_times_it_took() -> None:
    own = numbers("command_time_s command=app", [10.0, 5.1, np.nan, np.nan], Better.LOWER, "s")
    found = predict(program(ran_cell="command_time_s command=app"), market(own), Aim.TIME)
    assert (found.ran, found.basis) == (2, Basis.LEFT_OUT)


def test_launches_give_an_interval_without_the_error_of_the_model() -> None:
    rounds = np.exp(np.random.default_rng(1).normal(0, 0.05, (4, 8)))
    launches = np.array([[1e9], [2e9], [1e9], [5e8]]) * rounds
    column = replace(
        numbers(INT, np.exp(np.log(launches).mean(axis=1)).tolist(), Better.HIGHER, "op/s"), launches=launches
    )
    found = with_sentences(predict(program(), market(column), Aim.TIME))
    assert found.basis is Basis.LAUNCHES
    fast = next(one for one in found.candidates if one.key.name == "fast")
    assert fast.interval is not None
    assert fast.interval.low < fast.time_s < fast.interval.high
    assert any("not the error of the model" in text for text in found.cautions)


@pytest.mark.filterwarnings("error")
def test_two_launches_give_an_interval_that_may_be_endless() -> None:
    launches = np.array([[1e9, 1.4e9], [2e9, 2.9e9], [1e9, 3e9], [5e8, 5e8]])
    column = replace(
        numbers(INT, np.exp(np.log(launches).mean(axis=1)).tolist(), Better.HIGHER, "op/s"), launches=launches
    )
    for one in predict(program(), market(column), Aim.TIME).candidates:
        if one.ran_s is not None:
            continue
        assert one.interval is not None
        assert one.interval.low < one.time_s < one.interval.high


def test_a_burstable_machine_comes_last_however_fast_it_is() -> None:
    sold = market()
    words = Texts("burstable", ("no", "yes", "no", ""))
    found = with_sentences(predict(program(), replace(sold, columns={**sold.columns, "burstable": words}), Aim.TIME))
    assert [one.key.name for one in found.candidates][-1] == "fast"
    assert any("1 burstable" in text for text in found.cautions)


def test_too_little_memory_is_left_out() -> None:
    found = predict(program(memory_bytes=2.0**31), market(), Aim.TIME)
    assert [(one.key.name, one.lack) for one in found.left_out] == [("slow", Lack.MEMORY)]


def test_the_least_cost_may_be_another_one_and_an_unknown_price_is_last() -> None:
    found = predict(program(), market(), Aim.COST)
    assert [one.key.name for one in found.candidates] == ["home", "fast", "wide", "slow"]
    assert found.candidates[-1].cost is None


@pytest.mark.parametrize(
    ("application", "told"),
    [
        (
            program(home=OfferKey("local", "local", "2cpu")),
            "local/local/2cpu, where its processor time was measured, is in no",
        ),
        (program(home=None, elapsed_s=None), "its processor time has no home, and fewer than two machines"),
        (program(benchmarks=("fma",)), "no source has a column 'fma'"),
        (program(ran_cell="nothing"), "no source has a column 'nothing'"),
    ],
)
def test_what_cannot_be_predicted_is_a_mistake(application: Application, told: str) -> None:
    with pytest.raises(UserMistake, match=told):
        predict(application, market(), Aim.TIME)


def test_without_any_measurement_there_is_no_prediction() -> None:
    bare = Market(KEYS, {"vcpus": numbers("vcpus", [1.0, 1.0, 1.0, 1.0])})
    with pytest.raises(UserMistake, match="no source measures cpu"):
        predict(program(), bare, Aim.TIME)
    unknown = Market(KEYS, {INT: market().columns[INT]})
    with pytest.raises(UserMistake, match="how many processors each machine has"):
        predict(program(parallel=((4, 1.0),)), unknown, Aim.TIME)
    page = Application(
        "shop", ApplicationKind.PAGES, (Part("a", (Demand("get", Way.COUNT, 1.0, CellWish("table_latency_s")),)),)
    )
    with pytest.raises(UserMistake, match=r"no source measures get \(table_latency_s\)"):
        predict(page, bare, Aim.TIME)


def test_without_a_profile_a_machine_of_another_size_is_not_predicted() -> None:
    """Home and fast have two processors; wide has four, and how many slow has is unknown."""
    sold = market()
    unknown = replace(sold, columns={**sold.columns, "vcpus": numbers("vcpus", [2.0, 2.0, 4.0, np.nan])})
    application = program(home=None, elapsed_s=None, ran=(Ran(KEYS[0], 10.0), Ran(KEYS[1], 5.0)))
    found = with_sentences(predict(application, unknown, Aim.TIME))
    assert {one.key.name: (one.lack, one.what) for one in found.left_out} == {
        "wide": (Lack.SIZE, "4 processors, it ran on 2"),
        "slow": (Lack.SIZE, "an unknown number of processors, it ran on 2"),
    }
    assert any("2 candidates have more or fewer processors" in text for text in found.cautions)
    assert {one.key.name for one in predict(program(ran=application.ran), unknown, Aim.TIME).candidates} == set(NAMES)


def test_one_launch_has_no_interval() -> None:
    launches = np.array([[1e9, 1.1e9], [2e9, np.nan], [1e9, 1.1e9], [5e8, 5.2e8]])
    column = replace(numbers(INT, [1e9, 2e9, 1e9, 5e8], Better.HIGHER, "op/s"), launches=launches)
    found = times(program(), market(column))
    assert found["fast"].interval is None
    assert found["slow"].interval is not None
    single = replace(column, launches=launches[:, :1])
    assert predict(program(), market(single), Aim.TIME).basis is Basis.NONE


def test_a_mistyped_machine_that_ran_it_is_named() -> None:
    application = program(home=None, elapsed_s=None, ran=(Ran(KEYS[0], 1.0), Ran(OfferKey("cloud", "r", "fats"), 2.0)))
    with pytest.raises(UserMistake, match=r"cloud/r/fats, which ran it, is in no source \(did you mean fast\?\)"):
        predict(application, market(), Aim.TIME)
