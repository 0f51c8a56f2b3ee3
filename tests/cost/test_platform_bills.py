"""Published rules of rounding, against worked examples of the providers and by their properties."""

import itertools
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.cost.platform_bills import (
    RULES,
    PlatformBill,
    billed,
    busy_periods,
    cost_of,
    cost_of_load,
    lack_of,
    parse_bill,
    rounded_memory,
)  # fmt: skip
from cloudcmp.errors import UserMistake

MIB = 1 << 20
RULE = st.sampled_from(sorted(RULES))
TIME = st.floats(0.0, 3600.0)
MEMORY = st.integers(1, 10 << 30)


def bill_of(name: str, memory: int = 512 * MIB) -> PlatformBill:
    return PlatformBill(RULES[name], memory, Decimal(1))


@pytest.mark.parametrize(
    ("name", "memory", "time_s", "requests", "money"),
    [
        # AWS News Blog, 2020-12-01: 60 million invocations of 28 ms at 1 GB cost 28 USD, and 12 USD as requests.
        ("lambda", 1024 * MIB, 0.02755, 60_000_000, "40.00"),
        # AWS Lambda's page of prices, example 1 without its free tier: 3 million of 1 s at 512 MB.
        ("lambda", 512 * MIB, 1.0, 3_000_000, "25.60"),
        # Azure Functions: 3 million executions of 1 s at 512 MB; 24 USD of GB-s and 0.60 USD of executions.
        ("azure-functions", 512 * MIB, 1.0, 3_000_000, "24.60"),
        # 1 ms counts as 100 ms, and 129 MB as 256 MB.
        ("azure-functions", 129 * MIB, 0.001, 1_000_000, "0.60"),
        # 101 ms count as 200 ms: 0.2 x (0.000024 + 0.5 x 0.0000025) + 0.0000004.
        ("cloud-run", 512 * MIB, 0.101, 1_000_000, "5.45"),
        # An hour of requests one after the other takes an instance hour.
        ("app-engine", 512 * MIB, 0.1, 36_000, "0.05"),
    ],
)
def test_worked_examples(name: str, memory: int, time_s: float, requests: int, money: str) -> None:
    one = cost_of(bill_of(name, memory), time_s)
    assert one is not None
    assert f"{one * requests:.2f}" == money


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 11, 600])
def test_a_whole_number_of_steps_is_not_rounded_up_further(steps: int) -> None:
    for name in ("lambda", "cloud-run"):
        step = Fraction(RULES[name].time_step_ns, 10**9)
        assert billed(bill_of(name), float(steps * step)).time_s == steps * step


@given(name=RULE, time_s=TIME, memory=MEMORY)
def test_rounding_goes_up_by_less_than_a_step_or_to_the_least(name: str, time_s: float, memory: int) -> None:
    rule = RULES[name]
    found = billed(PlatformBill(rule, memory, Decimal(2)), time_s)
    exact, step = Fraction(round(time_s * 10**9), 10**9), Fraction(rule.time_step_ns, 10**9)
    assert exact <= found.time_s
    assert found.time_s < exact + step or found.time_s == Fraction(rule.least_ns, 10**9)
    held = rounded_memory(rule, memory)
    assert rule.least_memory_bytes <= held
    assert held % rule.memory_step_bytes == 0
    assert rule.most_memory_bytes is None or held <= rule.most_memory_bytes
    assert held >= min(memory, rule.most_memory_bytes or memory)
    assert found.gb_s == found.time_s * Fraction(held, 1 << 30)
    assert found.vcpu_s == 2 * found.time_s


@given(name=RULE, first=TIME, second=TIME, memory=MEMORY)
def test_more_time_never_costs_less_and_one_request_never_more_than_two(
    name: str, first: float, second: float, memory: int
) -> None:
    bill = PlatformBill(RULES[name], memory, Decimal(1))
    costs = [cost_of(bill, time_s) for time_s in (min(first, second), max(first, second), first + second)]
    low, high, both = costs
    assert low is not None
    assert high is not None
    assert both is not None
    assert low <= high <= both
    assert float(both) <= float(low + high) * (1 + 1e-9) + 1e-12


STAYS = st.lists(
    st.tuples(st.floats(0.0, 100.0), st.floats(0.0, 5.0)).map(lambda one: (one[0], one[0] + one[1])), max_size=9
)


@given(STAYS)
def test_busy_periods_cover_each_request_once(stays: list[tuple[float, float]]) -> None:
    periods = busy_periods(stays)
    assert all(first[1] < second[0] for first, second in itertools.pairwise(periods))
    assert all(any(begin <= one[0] and one[1] <= end for begin, end in periods) for one in stays)
    assert sum(end - begin for begin, end in periods) <= sum(end - begin for begin, end in stays) + 1e-6


@given(name=RULE, stays=STAYS)
def test_a_load_costs_what_its_requests_cost_by_themselves_or_less_where_they_share(
    name: str, stays: list[tuple[float, float]]
) -> None:
    bill = bill_of(name)
    alone = sum((cost_of(bill, end - begin) or Decimal(0) for begin, end in stays), Decimal(0))
    whole = cost_of_load(bill, [stays, []])
    assert whole is not None
    if name in {"lambda", "azure-functions"}:
        assert whole == alone
    elif name == "cloud-run":
        assert float(whole) <= float(alone) * (1 + 1e-9) + 1e-12


def test_two_requests_at_once_are_billed_once_on_cloud_run_and_an_instance_as_a_whole_on_app_engine() -> None:
    stays = [(0.0, 0.25), (0.1, 0.3), (1.0, 1.05)]
    # 0.3 s and 0.1 s at 1 vCPU and 0.5 GB, and three requests.
    assert cost_of_load(bill_of("cloud-run"), [stays]) == Decimal("0.4") * Decimal("0.00002525") + 3 * Decimal("4e-7")
    hours = cost_of_load(bill_of("app-engine"), [stays, [(5.0, 6.05)]])
    assert float(hours or 0) == pytest.approx(2.1 / 3600 * 0.05)


def test_what_nobody_knows_is_named_and_has_no_cost() -> None:
    assert (lack_of(parse_bill("lambda")), cost_of(parse_bill("lambda"), 1.0)) == ("memory", None)
    assert lack_of(parse_bill("cloud-run,memory=1GiB")) == "cpus"
    assert lack_of(parse_bill("app-engine")) == ""


def test_a_user_has_the_last_word_on_prices() -> None:
    bill = parse_bill("cloud-run, memory=1GiB, cpus=2, vcpu-s=0.00002 EUR, gb-s=0.000002 EUR, request=0.0000003 EUR")
    assert (bill.rule.currency, bill.memory_bytes, bill.cpus) == ("EUR", 1 << 30, 2)
    assert cost_of(bill, 1.0) == Decimal("0.0000423")
    assert RULES["cloud-run"].currency == "USD"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cloudrun", "there is no rule 'cloudrun'; choose one of lambda, cloud-run"),
        ("lambda,ram=1GiB", "lambda has no 'ram'; choose of memory, cpus, gb-s"),
        ("lambda,memory=512", "needs a unit of size"),
        ("lambda,memory=0 B", "not more than zero"),
        ("cloud-run,cpus=-1", "not more than zero"),
        ("cloud-run,cpus=nan", "not more than zero"),
        ("cloud-run,cpus=many", "'many' is no number"),
        ("lambda,gb-s=0 USD", "not more than zero"),
        ("lambda,gb-s=0.00001 EUR", "several currencies; give request as well"),
        ("lambda,gb-s=0.00001 EUR,request=0.0000002 USD", "several currencies; give all in one"),
    ],
)
def test_a_mistake_in_a_bill_is_one_line(text: str, told: str) -> None:
    with pytest.raises(UserMistake) as raised:
        parse_bill(text)
    (fault,) = raised.value.faults
    assert told in fault.line()
    assert fault.where == "--bill"
