"""Cost per task and work per money; what has no price has no cost."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, LOSS, RTT50, TASK, estimate_of, plan_of, price

from cloudcmp.catalog import METRICS
from cloudcmp.cost import price_of, with_cost, work_unit
from cloudcmp.model.offering import Price
from cloudcmp.model.result import Estimate
from cloudcmp.units import Money

INDEX = "unixbench_index copies=1"


def priced(cell: str, value: float, *prices: Price | None) -> tuple[Estimate, ...]:
    plan = plan_of(candidates=len(prices), prices=prices)
    return with_cost(plan, [estimate_of(at, [value] * 6, cell) for at in range(len(prices))], METRICS)


def test_a_task_costs_its_share_of_an_hour() -> None:
    (one,) = priced(TASK, 18.0, price("0.40"))
    assert one.cost_per_task == Money(Decimal("0.002"), "USD")
    assert one.work_per_money is None


def test_a_rate_gives_work_for_money() -> None:
    (one,) = priced(FMA, 5e10, price("0.10"))
    assert one.work_per_money == pytest.approx(5e10 * 3600 / 0.10)
    assert one.cost_per_task is None
    assert work_unit(METRICS["fma_flop_per_s"], "USD") == "flop/USD"


def test_a_score_is_set_against_the_price_of_an_hour() -> None:
    (one,) = priced(INDEX, 900.0, price("0.45"))
    assert one.work_per_money == pytest.approx(2000.0)
    assert work_unit(METRICS["unixbench_index"], "EUR") == "index/(EUR/h)"


@pytest.mark.parametrize("cell", [CHASE, LOSS, RTT50])
def test_latencies_and_losses_are_no_work(cell: str) -> None:
    (one,) = priced(cell, 1e-3, price("0.10"))
    assert (one.cost_per_task, one.work_per_money) == (None, None)


def test_the_tasks_of_the_table() -> None:
    found = {name for name, metric in METRICS.items() if metric.is_task}
    assert found == {
        "command_time_s",
        "npb_time_s",
        "pi_time_s",
        "postmark_time_s",
        "task_time_s",
        "tool_time_s",
        "twolf_time_s",
    }


@pytest.mark.parametrize("amount", [None, "0", "-0.1", "NaN", "Infinity"])
@pytest.mark.parametrize("cell", [FMA, TASK, INDEX])
def test_p13_an_unknown_price_is_never_free(cell: str, amount: str | None) -> None:
    (one,) = priced(cell, 5.0, None if amount is None else price(amount))
    assert (one.cost_per_task, one.work_per_money, one.warnings) == (None, None, ())


def test_no_figure_has_no_cost() -> None:
    plan = plan_of(candidates=1, prices=(price("0.1"),))
    bare = replace(estimate_of(0, (), FMA), reason="12 of 12 trials failed")
    assert with_cost(plan, [bare], METRICS) == (bare,)


def test_currencies_are_never_mixed_silently() -> None:
    one, two, three = priced(TASK, 18.0, price("0.4"), price("0.4", "EUR"), None)
    assert one.warnings == ("its cost is in USD; other prices are in EUR",)
    assert two.warnings == ("its cost is in EUR; other prices are in USD",)
    assert three.warnings == ()
    assert {str(some.cost_per_task and some.cost_per_task.currency) for some in (one, two)} == {"USD", "EUR"}
    assert all(some.warnings == () for some in priced(CHASE, 1.0, price("0.4"), price("0.4", "EUR")))


def test_all_instances_of_a_candidate_are_paid_for() -> None:
    plan = plan_of(candidates=1, prices=(price("0.10"),))
    pair = replace(plan.candidates[0], count=2)
    assert price_of(pair) == Money(Decimal("0.20"), "USD")
    (one,) = with_cost(replace(plan, candidates=(pair,)), [estimate_of(0, [36.0] * 6, TASK)], METRICS)
    assert one.cost_per_task == Money(Decimal("0.002"), "USD")


@given(st.decimals("0.0001", "1000", places=4), st.floats(1e-3, 1e5))
def test_twice_as_fast_at_twice_the_price_costs_the_same(amount: Decimal, seconds: float) -> None:
    (one,) = priced(TASK, seconds, Price(amount, "USD", "test"))
    (two,) = priced(TASK, seconds / 2, Price(amount * 2, "USD", "test"))
    assert one.cost_per_task is not None
    assert two.cost_per_task is not None
    assert float(one.cost_per_task.amount) == pytest.approx(float(two.cost_per_task.amount), rel=1e-12)


def test_an_hour_of_an_instance_is_not_what_operations_and_traffic_cost() -> None:
    for name in ("table_op_per_s", "blob_bytes_per_s", "tcp_bytes_per_s"):
        assert work_unit(METRICS[name], "USD") is None
    assert work_unit(METRICS["disk_bytes_per_s"], "USD") == "B/USD"
