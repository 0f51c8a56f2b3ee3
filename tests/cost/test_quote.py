"""A quote's lines, what an account's terms make of them, and what has no price."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from tests.plan.clouds import planned

from cloudcmp.app.plan import billing_of
from cloudcmp.cost import describe_terms
from cloudcmp.cost.parts import with_extra_prices
from cloudcmp.cost.quote import Market, with_quote
from cloudcmp.model.bill import NO_RATE, Rate, Use
from cloudcmp.model.offering import Billing, Price, Volume
from cloudcmp.model.plan import hourly_cost, unit_cost
from cloudcmp.model.price import Item, PriceRow, Unit
from cloudcmp.provider.registry import names

ONE = "[{provider: aws, region: eu, offering: large, count: 2, volume: {type: fast, size: 100 GiB}}]"
WORK = "[{probe: fma}, {probe: tcp, params: {path: region}}]"


def listed(use: Use) -> Rate:
    """Ten cents for a GiB and month, one for a GB to another zone; nothing else."""
    if use.item is Item.VOLUME:
        return Rate((PriceRow("aws", "eu", Item.VOLUME, use.name, Decimal("0.1"), "USD", Unit.GIB_MONTH),), source="a")
    if use.item is Item.EGRESS:
        return Rate((PriceRow("aws", "eu", Item.EGRESS, "egress", Decimal("0.01"), "USD", Unit.GB),), source="a")
    return NO_RATE


def test_the_lines_come_to_the_expected_cost() -> None:
    quote = planned(ONE, WORK, rate_of=listed).quote
    assert quote.expected_cost is not None
    assert [one.item.partition(",")[0] for one in quote.lines] == [
        "instance large",
        "volume fast",
        "egress to region",
    ]
    total = sum(one.amount.amount for one in quote.lines if one.amount)
    assert abs(total - quote.expected_cost.amount) < Decimal("0.000001")
    assert not any("no cost counts" in note for note in quote.notes)
    bare = planned(ONE, WORK).quote
    assert [one.item.partition(",")[0] for one in bare.lines] == ["instance large"]
    assert "no cost counts the price of a volume: fast 100 GiB" in bare.notes
    assert "aws: no cost counts traffic over path region" in bare.notes


def test_terms_stand_beside_the_list_price() -> None:
    half = planned(ONE, WORK, "terms: {discounts: [{share: 50 %}]}", rate_of=listed)
    plain = planned(ONE, WORK, rate_of=listed)
    assert half.quote.expected_cost == plain.quote.expected_cost
    assert half.quote.worst_cost == plain.quote.worst_cost  # which takes nothing off
    assert half.quote.with_terms is not None
    assert plain.quote.expected_cost is not None
    assert abs(2 * half.quote.with_terms.amount - plain.quote.expected_cost.amount) < Decimal("0.00001")
    assert describe_terms(half).startswith("with your terms: ")
    assert describe_terms(plain) == ""


def test_an_account_in_another_currency_gets_no_quote_and_is_told_why() -> None:
    plan = planned(ONE, WORK, "terms: {currency: EUR}", rate_of=listed)
    assert plan.quote.worst_cost is None
    assert any(
        note.startswith("no cost is quoted: instance large, aws/eu: its price is in USD") for note in plan.quote.notes
    )
    credit = planned(ONE, WORK, "terms: {credits: [{money: 5 EUR}]}", rate_of=listed)
    assert credit.quote.expected_cost is not None
    assert describe_terms(credit) == "with your terms: unknown (it is in EUR, the bill in USD)"


def test_a_credit_that_ends_before_the_study_pays_nothing() -> None:
    day = datetime.fromtimestamp(planned(ONE, WORK).start_at, UTC).date()
    plain = planned(ONE, WORK, rate_of=listed).quote
    for until, pays in ((day - timedelta(days=1), False), (day + timedelta(days=300), True)):
        plan = planned(ONE, WORK, f"terms: {{credits: [{{money: 500 USD, until: {until}}}]}}", rate_of=listed)
        assert plan.quote.with_terms is not None
        assert plan.quote.expected_cost == plain.expected_cost
        assert plan.quote.with_terms.amount == (0 if pays else plain.expected_cost and plain.expected_cost.amount)
        told = f"a credit of 500.00 USD pays nothing: it ends on {until}"
        assert (told in plan.quote.notes) is not pays


def test_candidates_that_run_at_once_share_a_commitment() -> None:
    one = "{provider: aws, region: eu, offering: large, price: 0.2 USD/h, volume: {type: %s, size: 1 GiB}}"
    two = f"[{one % 'a'}, {one % 'b'}]"
    terms = "terms: {commitments: [{provider: aws, offering: large, term: 1 year, hourly: 0.05 USD/h, count: %d}]}"
    quotes = [planned(two, "[{probe: fma}]", terms % count, rate_of=listed).quote for count in (1, 2, 9)]
    taken = [[line.amount.amount for line in quote.own if line.amount] for quote in quotes]
    assert [len(some) for some in taken] == [1, 2, 2]
    assert len({amount for some in taken for amount in some}) == 1


def test_a_commitment_is_of_one_tenancy() -> None:
    asked = "tenancy: dedicated"
    one = f"[{{provider: aws, region: eu, offering: large, price: 0.4 USD/h, {asked}}}]"
    terms = "terms: {commitments: [{provider: aws, offering: large, term: 1 year, hourly: 0.05 USD/h%s}]}"
    other = planned(one, "[{probe: fma}]", terms % "", rate_of=listed).quote
    assert other.own == ()
    assert other.with_terms == other.expected_cost
    same = planned(one, "[{probe: fma}]", terms % f", {asked}", rate_of=listed).quote
    assert len(same.own) == 1
    assert same.with_terms is not None
    assert other.expected_cost is not None
    assert same.with_terms.amount < other.expected_cost.amount


def test_each_of_several_commitments_covers_its_own_machines() -> None:
    one = "{provider: aws, offering: large, term: 1 year, hourly: %s USD/h, count: %d}"
    terms = f"terms: {{commitments: [{one % ('0.05', 1)}, {one % ('0.04', 2)}]}}"
    four = "[{provider: aws, region: eu, offering: large, price: 0.2 USD/h, count: 4}]"
    quote = planned(four, "[{probe: fma}]", terms, rate_of=listed).quote
    assert quote.expected_cost is not None
    assert quote.with_terms is not None
    share = (Decimal("0.05") + 2 * Decimal("0.04") + Decimal("0.2")) / (4 * Decimal("0.2"))
    assert abs(quote.with_terms.amount - quote.expected_cost.amount * share) < Decimal("0.00001")


def test_support_is_in_the_worst_case_and_in_what_the_guard_holds() -> None:
    from cloudcmp.execute.spending import extra_costs_of

    terms = "terms: {support: [{provider: aws, minimum: 29 USD, spend: 5000 USD, shares: [{share: 10 %}]}]}"
    plan, plain = planned(ONE, WORK, terms, rate_of=listed), planned(ONE, WORK, rate_of=listed)
    assert plan.quote.worst_cost is not None
    assert plain.quote.worst_cost is not None
    assert abs(plan.quote.worst_cost.amount / plain.quote.worst_cost.amount - Decimal("1.1")) < Decimal("0.0001")
    assert extra_costs_of(plan).on_top(Decimal(100)) == 10
    first, second, other = (extra_costs_of(plan).of_slot(slot) for slot in ("launch-0", "launch-0.2", "none"))
    assert first.fixed > second.fixed == other.fixed == 0  # what a launch sends is its first machine's
    assert first.timed == second.timed


@pytest.mark.parametrize("item", [Item.IO, Item.IOPS])
@pytest.mark.parametrize("doubted", [False, True])
def test_a_disk_that_is_billed_by_more_than_its_size_has_no_price_by_its_size(item: Item, doubted: bool) -> None:
    more = PriceRow("aws", "eu", item, "fast", Decimal("0.06"), "USD", Unit.MILLION)

    def both(use: Use) -> Rate:
        if use.item is item:
            return Rate(why="its price is zero") if doubted else Rate((more,), source="a")
        return listed(use)

    disk = Volume("fast", 100 * 2**30)
    plan = planned(ONE, WORK, rate_of=listed)
    bare = replace(plan.candidates[0], volume=disk)
    assert unit_cost(with_extra_prices(bare, Billing(), listed)) != unit_cost(bare)
    assert with_extra_prices(bare, Billing(), both).volume == disk
    assert "no cost counts the price of a volume: fast 100 GiB" in planned(ONE, WORK, rate_of=both).quote.notes
    under = Billing(root=disk)  # nor has the disk that is counted under the system
    diskless = replace(bare, volume=None)
    assert with_extra_prices(diskless, under, listed).beside is not None
    assert with_extra_prices(diskless, under, both).beside is None


def test_what_comes_after_some_free_operations_leaves_the_size_its_price() -> None:
    later = PriceRow("aws", "eu", Item.IOPS, "fast", Decimal("0.06"), "USD", Unit.IOPS_MONTH, tier_from=Decimal(3000))
    rate_of = lambda use: Rate((later,), source="a") if use.item is Item.IOPS else listed(use)  # noqa: E731
    assert planned(ONE, WORK, rate_of=rate_of).candidates == planned(ONE, WORK, rate_of=listed).candidates


def test_currencies_are_never_added() -> None:
    plan = planned(ONE, WORK, rate_of=listed)
    euros = replace(plan.candidates[0], volume=Volume("fast", 2**30, price=Price(Decimal("0.05"), "EUR", "study file")))
    assert unit_cost(euros) is None
    assert hourly_cost(euros) is None
    found = with_quote(replace(plan, candidates=(euros,)), Market(rate_of=listed)).quote
    assert (found.expected_cost, found.worst_cost) == (None, None)
    assert any("volume fast" in note and "EUR" in note for note in found.notes)


def test_what_comes_with_a_machine_is_as_old_as_its_oldest_part() -> None:
    old, new = date(2024, 2, 1), date(2026, 11, 20)
    billing = Billing(beside=Price(Decimal("0.005"), "USD", "an address", old, how="bundled"), root=Volume("x", 2**33))
    plan = planned("[{provider: aws, region: eu, offering: large}]")
    dated = lambda use: replace(listed(use), dated=new)  # noqa: E731
    beside = with_extra_prices(plan.candidates[0], billing, dated).beside
    assert beside is not None
    assert (beside.as_of, beside.how) == (old, "bundled")


@pytest.mark.parametrize(("capped", "said"), [
    (True, "counted at the most that a spot machine may cost, where less may be billed: aws/eu/large spot"),
    (False, "the worst case is no bound for aws/eu/large spot: its price moves, and no maximum is known to hold"),
])  # fmt: skip
def test_a_quote_says_whether_it_bounds_a_spot_price_that_moves(capped: bool, said: str) -> None:
    spot, on_demand = (
        f"[{{provider: aws, region: eu, offering: large, price: 0.1 USD/h{more}}}]" for more in (", market: spot", "")
    )
    market = lambda _: Billing(spot_capped=capped)  # noqa: E731
    assert said in planned(spot, WORK, billing_of=market).quote.notes
    assert not any(
        "spot machine" in note or "no bound" in note for note in planned(on_demand, WORK, billing_of=market).quote.notes
    )


def test_a_spot_price_is_bound_where_a_driver_tells_its_maximum() -> None:
    """`tests/provider` sees that the drivers of aws and azure tell it; what another cloud makes of it nobody knows."""
    capped = {name for name in names() if billing_of(name).spot_capped}
    assert capped == {"aws", "azure"}
