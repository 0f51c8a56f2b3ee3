"""Published rules of rounding, against worked examples of the providers and by their properties."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.cost.platform_bills import RULES, PlatformBill, billed, cost_of, lack_of, parse_bill, rounded_memory
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
