"""The budget: worst cases are kept within it, rounded up, and every price that says nothing is refused."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.errors import BudgetSpent, Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE, LeaseEvent, LeaseNote, LeaseRow
from cloudcmp.model.offering import Billing, Offering, Price, Volume
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Safeguard
from cloudcmp.provision.budget import BudgetRequest, Guard, Limits
from cloudcmp.provision.ledger_cost import Charge, accrued_cost, charges, committed_cost, terms_of
from cloudcmp.provision.prices import FRESH_DAYS, price_to_create
from cloudcmp.units import Money

HOUR = 3600.0
TODAY = date(2026, 1, 5)
BY_SECOND = Billing(60, 1)
BY_HOUR = Billing(3600, 3600)

PRICES = st.decimals(Decimal("0.0001"), Decimal(100), places=4)
BILLINGS = st.builds(
    Billing, st.sampled_from([0.0, 1.0, 60.0, 600.0, 3600.0]), st.sampled_from([1.0, 0.1, 60.0, 3600.0])
)
TIMES = st.floats(1.0, 1e6)


class Moment:
    """A wall clock that can be set, and one that nobody sets."""

    def __init__(self) -> None:
        self.wall, self.own = 1_700_000_000.0, 0.0

    def at(self, planned_s: float) -> float:
        return self.wall + planned_s

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.own

    async def sleep(self, seconds: float) -> None:
        self.go(seconds)

    def go(self, seconds: float) -> None:
        self.wall += seconds
        self.own += seconds


def row(
    slot: str, event: LeaseEvent, at: float, price: Decimal | None = None, ttl_s: float | None = None, **more: object
) -> LeaseRow:
    base = LeaseRow(slot, 1, event, "aws", "eu", INSTANCE, f"cloudcmp-{slot}", f"token-{slot}", at)
    return replace(base, price_per_hour=price, currency="USD" if price else None, ttl_s=ttl_s, **more)


def life(
    slot: str, price: Decimal, ttl_s: float, *, at: float = 0.0, until: float | None = None, ends: bool = True
) -> list[LeaseRow]:
    intent = row(slot, LeaseEvent.INTENT, at, price, ttl_s, notes=frozenset({LeaseNote.ENDS_BY_ITSELF} if ends else ()))
    rows = [intent, row(slot, LeaseEvent.CREATED, at + 1)]
    return rows if until is None else [*rows, row(slot, LeaseEvent.GONE, until)]


def ask_for(
    price: Decimal | None = Decimal(1),
    ttl_s: float = HOUR,
    *,
    shortest_s: float = 60.0,
    slots: tuple[str, ...] = ("a",),
    currency: str | None = "USD",
    provider: str = "aws",
) -> BudgetRequest:
    return BudgetRequest(provider, "aws/eu/small", price, currency, ttl_s, shortest_s, slots)


def guard_of(
    budget: str | None,
    rows: list[LeaseRow],
    billing: Billing = BY_SECOND,
    moment: Moment | None = None,
    **limits: object,
) -> Guard:
    money = None if budget is None else Money(Decimal(budget), "USD")
    return Guard(money, {"aws": billing}, lambda number: rows[number:], moment or Moment(), Limits(**limits))


def test_a_machine_costs_what_it_was_there_for_and_at_worst_its_whole_life() -> None:
    found = charges(life("a", Decimal("3.6"), HOUR), 100.0)
    assert accrued_cost(found, {"aws": BY_SECOND}, "USD") == Money(Decimal("0.1"), "USD")
    assert committed_cost(found, {"aws": BY_SECOND}, "USD") == Money(Decimal("3.6"), "USD")
    assert accrued_cost(found, {"aws": BY_HOUR}, "USD") == Money(Decimal("3.6"), "USD")


def test_one_that_is_gone_costs_until_it_was_seen_gone_and_no_more() -> None:
    found = charges(life("a", Decimal("3.6"), HOUR, until=200.0), 1e6)
    assert accrued_cost(found, {"aws": BY_SECOND}, "USD") == Money(Decimal("0.2"), "USD")
    assert committed_cost(found, {"aws": BY_SECOND}, "USD") == Money(Decimal("0.2"), "USD")


def after_a_weekend(*seen_at: float) -> tuple[Charge, ...]:
    """The controller died; when somebody looked again the machine was gone, but for the moments at which it was not."""
    seen = [row("a", LeaseEvent.DELETE_ASKED, at, notes=frozenset({LeaseNote.STILL_THERE})) for at in seen_at]
    asked = row("a", LeaseEvent.DELETE_ASKED, 65 * HOUR - 10)
    return charges([*life("a", Decimal("3.6"), HOUR), *seen, asked, row("a", LeaseEvent.GONE, 65 * HOUR)], 70 * HOUR)


def test_one_that_ended_by_itself_while_nobody_looked_costs_its_time_to_live_and_the_slack() -> None:
    terms = {"aws": replace(BY_SECOND, ends=True)}
    assert accrued_cost(after_a_weekend(), terms, "USD") == Money(Decimal("3.6") + Decimal("0.001") * 360, "USD")
    assert committed_cost(after_a_weekend(), terms, "USD") == accrued_cost(after_a_weekend(), terms, "USD")


def test_one_that_was_seen_after_its_time_to_live_costs_until_it_was_seen_gone() -> None:
    terms = {"aws": replace(BY_SECOND, ends=True)}
    assert accrued_cost(after_a_weekend(2 * HOUR), terms, "USD") == Money(Decimal("3.6") * 65, "USD")


def test_so_does_one_that_nothing_ends_and_one_that_is_not_seen_gone_yet() -> None:
    assert accrued_cost(after_a_weekend(), {"aws": BY_SECOND}, "USD") == Money(Decimal("3.6") * 65, "USD")
    found = charges(life("a", Decimal("3.6"), HOUR), 65 * HOUR)
    assert accrued_cost(found, {"aws": replace(BY_SECOND, ends=True)}, "USD") == Money(Decimal("3.6") * 65, "USD")


@pytest.mark.parametrize("holds", [True, False])
def test_whether_machines_end_by_themselves_is_what_their_provider_promises(holds: bool) -> None:
    provider = SimpleNamespace(billed=True, billing=BY_SECOND, safeguards=(Safeguard("death", holds, ""),))
    assert terms_of({"aws": provider}) == {"aws": replace(BY_SECOND, ends=holds)}


def test_one_that_outlives_its_time_goes_on_costing() -> None:
    found = charges(life("a", Decimal("3.6"), 100.0), 7200.0)
    assert committed_cost(found, {"aws": BY_SECOND}, "USD") == Money(Decimal("7.2"), "USD")


def test_a_lost_answer_counts_and_a_refusal_does_not() -> None:
    lost = [row("a", LeaseEvent.INTENT, 0.0, Decimal(1), HOUR), row("a", LeaseEvent.INDETERMINATE, 1.0)]
    refused = [row("b", LeaseEvent.INTENT, 0.0, Decimal(1), HOUR), row("b", LeaseEvent.REFUSED, 1.0)]
    assert committed_cost(charges(lost, 5.0), {"aws": BY_SECOND}, "USD") == Money(Decimal(1), "USD")
    assert committed_cost(charges(refused, 5.0), {"aws": BY_SECOND}, "USD") == Money(Decimal(0), "USD")


def test_firewalls_cost_nothing() -> None:
    rows = [row("a.firewall", LeaseEvent.INTENT, 0.0, kind=FIREWALL)]
    assert charges(rows, 5.0) == ()


def test_a_second_machine_of_a_lease_costs_as_the_first_one_since_it_was_asked_for() -> None:
    stray = row("stray-i-2", LeaseEvent.DELETE_ASKED, 500.0, attempt=0, token="token-a")
    found = charges([*life("a", Decimal("3.6"), HOUR, until=100.0), stray], 600.0)
    assert accrued_cost(found, {"aws": BY_SECOND}, "USD") == Money(Decimal("0.7"), "USD")


def test_what_is_not_billed_has_no_spend_and_says_so() -> None:
    spend = Guard(Money(Decimal(1), "USD"), {}, lambda number: life("a", Decimal(1), HOUR)[number:], Moment()).spend()
    assert (spend.accrued, spend.committed, spend.level, spend.note) == (
        None,
        None,
        "ok",
        "nothing here is billed",
    )


@given(st.lists(st.tuples(PRICES, TIMES, st.booleans()), max_size=6), PRICES, TIMES, BILLINGS, st.floats(0, 1e6))
def test_more_machines_never_commit_less(
    some: list[tuple[Decimal, float, bool]], price: Decimal, ttl_s: float, billing: Billing, now: float
) -> None:
    rows = [r for n, (p, t, over) in enumerate(some) for r in life(f"s{n}", p, t, until=t / 2 if over else None)]
    before = committed_cost(charges(rows, now), {"aws": billing}, "USD")
    after = committed_cost(charges([*rows, *life("new", price, ttl_s)], now), {"aws": billing}, "USD")
    accrued = accrued_cost(charges(rows, now), {"aws": billing}, "USD")
    assert before is not None
    assert after is not None
    assert accrued is not None
    assert accrued <= before <= after


@given(TIMES, BILLINGS)
def test_rounding_is_up_and_by_less_than_a_step(used_s: float, billing: Billing) -> None:
    paid_s = billing.paid_s(used_s)
    assert paid_s >= max(used_s, billing.minimum_s)
    assert paid_s - max(used_s, billing.minimum_s) < billing.step_s * (1 + 1e-9) + 1e-6


@given(
    st.lists(st.tuples(PRICES, TIMES), max_size=5), PRICES, TIMES, st.floats(0, 1), BILLINGS,
    st.decimals(Decimal("0.01"), Decimal(5000), places=2), st.integers(1, 4),
)  # fmt: skip
def test_p12_what_is_allowed_never_commits_more_than_the_budget(
    some: list[tuple[Decimal, float]], price: Decimal, ttl_s: float, share: float, billing: Billing, budget: Decimal,
    machines: int,
) -> None:  # fmt: skip
    rows = [r for n, (p, t) in enumerate(some) for r in life(f"s{n}", p, t)]
    moment = Moment()
    moment.wall = 10.0
    guard = guard_of(str(budget), rows, billing, moment)
    slots = tuple(f"new-{n}" for n in range(machines))
    before = committed_cost(charges(rows, 10.0), {"aws": billing}, "USD")
    assert before is not None
    try:
        allowed_s = guard.allow(ask_for(price, ttl_s, shortest_s=share * ttl_s, slots=slots))
    except BudgetSpent:
        least = price * machines * Decimal(billing.paid_s(max(share * ttl_s, 1.0))) / 3600  # no less than a second
        assert before.amount + least > budget - Decimal("0.00001") * machines * price - 1
        return
    assert share * ttl_s <= allowed_s <= ttl_s
    grown = [*rows, *(r for slot in slots for r in life(slot, price, allowed_s, at=10.0))]
    after = committed_cost(charges(grown, 10.0), {"aws": billing}, "USD")
    assert after is not None
    assert after.amount <= budget
    # It was not shortened without need: one step more does not fit.
    longer = [*rows, *(r for slot in slots for r in life(slot, price, allowed_s + 2 * billing.step_s + 2, at=10.0))]
    beyond = committed_cost(charges(longer, 10.0), {"aws": billing}, "USD")
    assert beyond is not None
    assert allowed_s == ttl_s or beyond.amount > budget


def test_a_life_is_shortened_to_what_fits_and_refused_when_that_is_too_short() -> None:
    assert guard_of("1", []).allow(ask_for(ttl_s=HOUR)) == HOUR
    assert guard_of("0.5", []).allow(ask_for(ttl_s=HOUR)) == 1800.0
    assert guard_of("1.5", [], BY_HOUR).allow(ask_for(ttl_s=3 * HOUR)) == HOUR
    with pytest.raises(BudgetSpent) as refusal:
        guard_of("0.5", life("b", Decimal("0.2"), HOUR, at=Moment().now())).allow(
            ask_for(ttl_s=HOUR, shortest_s=1800.0)
        )
    assert str(refusal.value) == (
        "aws/eu/small: the budget is 0.5 USD, 0.2 USD are committed, this would add 0.5 USD; "
        "raise the budget, or measure less"
    )


def test_launches_side_by_side_do_not_share_the_same_money() -> None:
    rows: list[LeaseRow] = []
    guard = guard_of("1.5", rows)
    assert guard.allow(ask_for(slots=("a",))) == HOUR
    assert guard.allow(ask_for(slots=("b",))) == 1800.0
    with pytest.raises(BudgetSpent):
        guard.allow(ask_for(slots=("c",)))
    rows += life("a", Decimal(1), HOUR, at=Moment().now())  # its intent counts in place of what was held for it
    with pytest.raises(BudgetSpent):
        guard.allow(ask_for(slots=("c",)))
    guard.withdraw(("b",))
    assert guard.allow(ask_for(slots=("c",))) == 1800.0


def test_a_wall_clock_that_is_set_back_makes_nothing_cheaper() -> None:
    moment = Moment()
    rows = life("a", Decimal("3.6"), 100.0, at=moment.now())
    guard = guard_of("100", rows, moment=moment)
    guard.spend()
    moment.go(7200.0)
    moment.wall -= 86400.0
    accrued = guard.spend().accrued
    assert accrued is not None
    assert accrued.amount >= Decimal("7.2")


@pytest.mark.parametrize(("age_s", "level"), [(79, "ok"), (80, "warn"), (95, "drain"), (100, "teardown")])
def test_levels(age_s: float, level: str) -> None:
    moment = Moment()
    guard = guard_of("100", life("a", Decimal(3600), 100.0, at=moment.now()), Billing(1, 1), moment)
    moment.go(age_s)
    assert guard.spend().level == level


def test_more_committed_than_was_allowed_ends_the_study() -> None:
    moment = Moment()
    spend = guard_of("1", life("a", Decimal(1), 2 * HOUR, at=moment.now()), moment=moment).spend()
    assert (spend.committed, spend.level) == (Money(Decimal(2), "USD"), "teardown")


@pytest.mark.parametrize(
    ("limits", "rows", "what"),
    [
        ({"at_once": 2}, life("b", Decimal("0.01"), HOUR) + life("c", Decimal("0.01"), HOUR), "at once"),
    ],
)
def test_caps_on_machines(limits: dict[str, int], rows: list[LeaseRow], what: str) -> None:
    with pytest.raises(BudgetSpent, match=what):
        guard_of("1000", rows, **limits).allow(ask_for())
    with pytest.raises(BudgetSpent, match=what):  # also where nothing is billed
        guard_of("1000", rows, **limits).allow(ask_for(provider="local", price=None))
    assert guard_of("1000", rows[:-1][:0], **limits).allow(ask_for()) == HOUR


def test_the_bytes_of_a_study_are_shared_out_among_the_trials_that_run() -> None:
    guard = guard_of(None, [], traffic_bytes=100)
    assert guard.reserve_traffic("a", 60) == 60
    assert guard.reserve_traffic("b", 60) is None  # until the first has told what it sent
    assert guard.reserve_traffic("c", 40) == 40
    guard.settle_traffic(60, 10)
    assert guard.reserve_traffic("b", 60) is None
    guard.settle_traffic(40, 40)
    assert guard.traffic_bytes == 50
    assert guard.reserve_traffic("b", 60) == 50  # nobody else is there to wait for
    guard.settle_traffic(50, 50)
    with pytest.raises(BudgetSpent, match="the cap on traffic is 100 bytes, 100 are counted"):
        guard.reserve_traffic("b", 1)
    assert guard_of(None, []).reserve_traffic("a", 60) == 60


@given(st.lists(st.tuples(st.integers(1, 80), st.floats(0, 1), st.booleans()), max_size=30))
def test_p15_trials_side_by_side_never_send_more_than_the_cap(asks: list[tuple[int, float, bool]]) -> None:
    guard, held, sent = guard_of(None, [], traffic_bytes=100), [], 0
    for most, share, ends in asks:
        if ends and held:
            one = held.pop()
            sent += int(one * share)
            guard.settle_traffic(one, int(one * share))
        try:
            allowed = guard.reserve_traffic("a", most)
        except BudgetSpent:
            assert sent == 100
            continue
        held += [allowed] if allowed else []
        assert sent + sum(held) <= 100
        assert allowed is not None or held


def test_a_billed_machine_without_a_budget_is_refused() -> None:
    with pytest.raises(Refused, match="the study has no budget"):
        guard_of(None, []).allow(ask_for())
    assert guard_of(None, []).allow(ask_for(provider="local", price=None, currency=None)) == HOUR


def test_after_a_machine_without_a_price_nothing_more_is_created() -> None:
    guard = guard_of("10", [row("b", LeaseEvent.INTENT, 0.0)])
    assert guard.spend().level == "teardown"
    with pytest.raises(Refused, match="has no known price"):
        guard.allow(ask_for())


# P13: prices that say nothing.

VALUES = [None, *map(Decimal, ("0", "-0.1", "0.000", "NaN", "Infinity", "-Infinity", "-1000"))]
OTHERS = ("EUR", "GBP", "usd", "", "BTC")
STALE = [timedelta(days=FRESH_DAYS + 1), timedelta(days=400), timedelta(days=-2), timedelta(days=-300)]


def candidate_at(price: Price | None, volume: Volume | None = None) -> Candidate:
    return Candidate(0, "one", Offering("aws", "eu-west-1", "m5.large", price=price), "aws", volume=volume)


def good(amount: str = "0.1", **more: object) -> Price:
    return replace(Price(Decimal(amount), "USD", "list", TODAY), **more)


def poisoned() -> list[tuple[str, Candidate, tuple[Offering, ...]]]:
    """Sixty price lists, none of which says what a machine costs."""
    bad = [None if one is None else good(amount_per_hour=one) for one in VALUES]
    bad += [good(currency=one) for one in OTHERS] + [good(as_of=TODAY - one) for one in STALE]
    bad += [good(amount_per_hour=one, as_of=None) for one in VALUES if one is not None]
    bad += [good(currency=one, as_of=None) for one in OTHERS]
    lists: list[tuple[str, Candidate, tuple[Offering, ...]]] = [(f"{one}", candidate_at(one), ()) for one in bad]
    lists += [(f"volume {one}", candidate_at(good(), Volume("gp3", price=one)), ()) for one in bad]
    twice = ("0.1", "0.10001"), ("0.1", "0.2", "0.3")
    for amounts in twice:
        sold = tuple(Offering("aws", "eu-west-1", "m5.large", price=good(one)) for one in amounts)
        lists.append((f"twice {amounts}", candidate_at(good()), sold))
    return lists


def test_p13_a_price_that_says_nothing_is_refused_with_sku_region_and_reason() -> None:
    lists = poisoned()
    assert len(lists) == 60
    for told, candidate, listed in lists:
        with pytest.raises(Refused) as refusal:
            price_to_create(candidate, "USD", TODAY, listed)
        line = str(refusal.value)
        assert line.startswith("aws/eu-west-1/m5.large"), told
        assert line.count("\n") == 0
        assert any(word in line for word in ("price is", "price of", "prices")), line


def test_a_good_price_is_that_of_the_machine_with_its_volume() -> None:
    volume = Volume("gp3", price=good("0.02"))
    assert price_to_create(candidate_at(good(), volume), "USD", TODAY).per_hour == Decimal("0.12")
    assert price_to_create(candidate_at(good(as_of=None)), "USD", TODAY).per_hour == Decimal("0.1")
    elsewhere = Offering("aws", "us-east-1", "m5.large", price=good("7"))
    same = Offering("aws", "eu-west-1", "m5.large", price=good())
    assert price_to_create(candidate_at(good()), "USD", TODAY, (elsewhere, same, same)).per_hour == Decimal("0.1")


@pytest.mark.parametrize("price", [None, *[one for one in VALUES if one is not None]])
def test_p13_the_guard_refuses_them_too(price: Decimal | None) -> None:
    with pytest.raises(Refused, match="aws/eu/small"):
        guard_of("10", []).allow(ask_for(price))


def test_p13_another_currency_is_refused() -> None:
    with pytest.raises(Refused, match="its price is in EUR, the budget in USD"):
        guard_of("10", []).allow(ask_for(currency="EUR"))
