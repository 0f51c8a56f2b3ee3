"""What an hour of a machine on EC2 really costs: CPU time beyond the credits, and an address, are counted."""

import asyncio
import math
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.emulated.ec2 import EUCALYPTUS, ec2
from tests.emulated.ec2_requests import launched, provider
from tests.emulated.pointed import pointed
from tests.plan.clouds import planned

from cloudcmp.cost import Market, with_quote
from cloudcmp.errors import Refused, UserMistake
from cloudcmp.execute.spending import request_for, restarts_s
from cloudcmp.model.offering import Billing, Offering, Price
from cloudcmp.model.plan import unit_cost
from cloudcmp.plan import check_runnable

SOLD = (
    Offering("aws", "eu", "t2.small", 1, 2, "burstable", attributes=(("burstable", "yes"),)),
    Offering("aws", "eu", "t3.small", 2, 2, "burstable", attributes=(("burstable", "yes"),)),
    Offering("aws", "eu", "t4g.small", 2, 2, "burstable", attributes=(("burstable", "yes"),)),
    Offering("aws", "eu", "m5.large", 2, 8, "general", attributes=(("architecture", "x86_64"),)),
)
CREDITS = "CreditSpecification.CpuCredits"


def plan_of(candidate, **how):
    """The plan of one candidate of AWS, billed as the driver says."""

    def offerings_of(_, region):
        return SOLD

    def billing_of(name):
        return provider().billing if name == "aws" else Billing()

    return planned(f"[{candidate}]", offerings_of=offerings_of, billing_of=billing_of, **how)


def written(offering, more=""):
    return f"{{provider: aws, region: eu, offering: {offering}, price: 0.10 USD/h{more}}}"


@pytest.mark.parametrize(
    ("offering", "options", "sent"),
    [
        ("t3.micro", {}, "standard"),
        ("t4g.micro", {"credits": "unlimited"}, "unlimited"),
        ("m5.large", {}, None),
    ],
)
def test_p12_cpu_time_beyond_the_credits_is_billed_only_where_the_study_says_so(cloud, offering, options, sent):
    asyncio.run(launched(provider(), offering=offering, options=options))
    assert cloud.calls("RunInstances")[0].params.get(CREDITS) == sent


def test_credits_of_a_type_that_has_none_are_refused(cloud):
    with pytest.raises(Refused, match=r"m5\.large has no CPU credits"):
        asyncio.run(launched(provider(), offering="m5.large", options={"credits": "unlimited"}))
    assert cloud.calls("RunInstances") == []
    with pytest.raises(UserMistake, match="its type has no CPU credits"):
        check_runnable(plan_of(written("m5.large", ", credits: unlimited")), {"aws"})


@pytest.mark.parametrize(("options", "sent"), [({}, None), ({"credits": "standard"}, "standard")])
def test_another_cloud_is_sent_no_word_of_credits_unless_the_study_says_one(options, sent):
    with pointed(ec2(EUCALYPTUS)) as one:
        asyncio.run(launched(provider("ec2"), options=options))
        assert one.calls("RunInstances")[-1].params.get(CREDITS) == sent


def test_what_becomes_of_credits_is_kept_in_the_plan():
    for offering, more, kept, name in (
        ("t3.small", "", "unlimited", "aws/eu/t3.small"),
        ("t3.small", ", credits: standard", "standard", "aws/eu/t3.small standard"),
        ("t3.small", ", credits: unlimited", "unlimited", "aws/eu/t3.small unlimited"),
        ("t2.small", "", "standard", "aws/eu/t2.small"),
    ):
        (one,) = plan_of(written(offering, more)).candidates
        assert (dict(one.options)["credits"], one.id) == (kept, name)
    (steady,) = plan_of(written("m5.large")).candidates
    assert "credits" not in dict(steady.options)
    with pytest.raises(UserMistake, match="write credits: standard, which slows down"):
        plan_of(written("t3.small", ", credits: endless"))


@pytest.mark.parametrize(
    ("offering", "more", "surplus"),
    [
        ("t3.small", "", "0.10"),  # two vCPUs at 0.05 USD
        ("t3.small", ", credits: standard", None),
        ("t4g.small", "", "0.08"),
        ("t2.small", "", None),
        ("t2.small", ", credits: unlimited", "0.05"),
        ("m5.large", "", None),
    ],
)
def test_p12_full_speed_beyond_the_credits_is_in_every_price(offering, more, surplus):
    """In the hourly cost of a candidate, in the expected cost and in the bound; and the plan says so."""
    plan = plan_of(written(offering, more))
    (one,) = plan.candidates
    amount = Decimal(surplus or 0)
    assert (one.surplus.amount_per_hour if one.surplus else None) == (amount if surplus else None)
    assert unit_cost(one) == Decimal("0.105") + amount
    bare = replace(plan, candidates=(replace(one, surplus=None, options=()),), quote=replace(plan.quote, notes=()))
    bare = with_quote(bare, Market(lambda _: provider().billing))
    ratio = (Decimal("0.105") + amount) / Decimal("0.105")
    for cost in ("expected_cost", "worst_cost"):
        money, without = getattr(plan.quote, cost).amount, getattr(bare.quote, cost).amount
        assert money / without == pytest.approx(ratio, rel=Decimal("0.001"))
    noted = [note for note in plan.quote.notes if "CPU time beyond the credits" in note]
    assert len(noted) == (1 if surplus else 0)


def test_full_speed_of_unknown_price_is_named_as_uncounted():
    plan = plan_of(written("t3.small").replace("USD", "EUR"))
    (one,) = plan.candidates
    assert one.surplus is None
    left_out = next(note for note in plan.quote.notes if "no cost counts" in note)
    assert "CPU time of t3.small beyond the credits" in left_out


def test_p12_the_public_address_is_in_the_price_that_is_counted():
    plan = plan_of(written("m5.large", ", volume: {type: gp3, size: 8 GiB, price: 0.001 USD/h}"))
    (one,) = plan.candidates
    assert unit_cost(one) == Decimal("0.106")
    assert one.offering.price.amount_per_hour == Decimal("0.10")
    bare = planned(f"[{written('m5.large', ', volume: {type: gp3, size: 8 GiB, price: 0.001 USD/h}')}]",
                   offerings_of=lambda *_: SOLD, billing_of=lambda _: Billing(60.0, 1.0))  # fmt: skip
    assert plan.quote.worst_cost.amount / bare.quote.worst_cost.amount == pytest.approx(
        Decimal(106) / 101, rel=Decimal("0.0001")
    )
    assert any("counts 0.005 USD/h more (its public IPv4 address" in note for note in plan.quote.notes)
    left_out = next(note for note in plan.quote.notes if "no cost counts" in note)
    for word in ("disk under the system", "traffic"):
        assert word in left_out


def test_p12_a_region_with_dedicated_machines_costs_two_dollars_for_each_hour_of_the_clock():
    shared, own = plan_of(written("m5.large")), plan_of(written("m5.large", ", tenancy: dedicated"))
    rounds = own.rounds
    (stay,) = own.usage
    one_span_h = 1 + rounds * stay.expected_s / 3600  # whichever minute it begins at, in the mean
    assert own.quote.expected_cost.amount - shared.quote.expected_cost.amount == 2 * round(one_span_h)
    hours = math.ceil((stay.worst_s + 3600) / 3600)
    assert own.quote.worst_cost.amount - shared.quote.worst_cost.amount == pytest.approx(2 * rounds * hours)
    assert stay.extra.timed == ((Decimal(2), Billing()),)
    assert stay.extra.fixed == 2


MINE = "image: ami-0123456789abcdef0"


@pytest.mark.parametrize(
    ("more", "hourly"),
    [("", False), (", image: ubuntu-24.04", False), (f", {MINE}", True), (", image: my-own", True)],
)
def test_p12_whole_hours_are_counted_where_it_is_not_known_how_an_image_is_billed(more, hourly):
    plan, by_the_second = plan_of(written("m5.large", more)), plan_of(written("m5.large"))
    (one,) = plan.candidates
    hours = plan.quote.worst_cost.amount / Decimal("0.105")
    assert (hours % 1 < Decimal("0.0001")) is hourly
    assert (plan.quote.worst_cost.amount > by_the_second.quote.worst_cost.amount) is hourly
    assert (plan.quote.expected_cost.amount > by_the_second.quote.expected_cost.amount) is hourly
    assert any(f"by the hour begun, because the billing of its image is unknown: {one.id}" in note
               for note in plan.quote.notes) is hourly  # fmt: skip
    assert request_for(provider(), one, plan.trials, ("launch-0",)).hourly is hourly


@pytest.mark.parametrize(("more", "start_s"), [("", 60), (f", {MINE}", 3600)])
def test_p12_a_start_after_a_resize_is_counted_like_the_rest_of_its_machine(more, start_s):
    plan = plan_of(written("m5.large", more), probes="[{probe: resize, params: {to: m5.xlarge}}]")
    (one,) = plan.candidates
    first = [trial for trial in plan.trials if trial.launch == 0]
    starts = sum(trial.probe == "resize" for trial in first)
    assert restarts_s(provider(), one, first) == start_s * starts > 0


def test_windows_is_billed_by_the_second_as_far_as_the_image_is_amazons_own():
    billing = provider().billing
    assert not billing.hourly({"os": "windows"})
    assert not billing.hourly({"os": "windows", "image": "windows-2022"})
    assert billing.hourly({"os": "windows", "image": "ami-1"})
    assert not Billing().hourly({"image": "ami-1"})


def test_in_another_currency_the_address_is_not_counted_and_the_plan_says_so():
    plan = plan_of(written("m5.large").replace("USD", "EUR"))
    assert unit_cost(plan.candidates[0]) == Decimal("0.10")
    assert any("no cost counts" in note and "public IPv4 address" in note for note in plan.quote.notes)


def test_a_plan_without_prices_has_nothing_beside_them():
    plan = plan_of("{provider: aws, region: eu, offering: m5.large}")
    assert plan.candidates[0].beside is None
    assert not [note for note in plan.quote.notes if note.startswith("aws: ")]
    assert isinstance(provider().billing.beside, Price)
