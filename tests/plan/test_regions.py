"""Two regions in one launch: what a plan makes of them, what it refuses, and what the quote counts."""

from decimal import Decimal

import pytest
from tests.plan.clouds import planned

from cloudcmp.errors import UserMistake
from cloudcmp.model.bill import NO_RATE, BillLine, Rate, Use
from cloudcmp.model.plan import Plan
from cloudcmp.model.price import Item, PriceRow, Unit
from cloudcmp.plan import check_runnable

FAR = "far: {region: us, price: 0.3 USD/h, traffic: 0.02 USD/GB}"
WORK = "[{probe: tcp, params: {path: %s}}]"


def plan_of(
    far: str = FAR, probes: str = WORK % "regions", more: str = "", provider: str = "aws", **how: object
) -> Plan:
    also = f", {more}" if more else ""
    also += f", {far}" if far else ""
    one = f"{{provider: {provider}, region: eu, offering: large, price: 0.1 USD/h{also}}}"
    return planned(f"[{one}]", probes, "budget: 900 USD\ncaps: {bytes: 10 GB, duty: 100 %}\nlaunches: 2", **how)


def amount_of(line: BillLine) -> float:
    assert line.amount
    return float(line.amount.amount)


def refused(plan: Plan) -> list[str]:
    with pytest.raises(UserMistake) as caught:
        check_runnable(plan, {"aws", "gcp", "azure"}, {"aws", "gcp", "azure"})
    return str(caught.value).split("\n")


def test_the_far_end_is_the_same_type_in_another_region() -> None:
    plan = plan_of(more="zone: eu-a")
    check_runnable(plan, {"aws"}, {"aws"})
    (one,) = plan.candidates
    near, far = one.ends
    assert near.id == "aws/eu/large eu-a to us"
    assert (far.offering.region, far.offering.name, far.offering.vcpus) == ("us", "large", 4)
    assert (dict(near.options), dict(far.options)) == ({"zone": "eu-a"}, {})
    assert plan.usage[0].machines == 2


def test_a_zone_of_the_other_region_can_be_named() -> None:
    (one,) = plan_of("far: {region: us, zone: us-b, price: 0.3 USD/h, traffic: 0.02 USD/GB}").candidates
    assert (one.id, one.far_zone, dict(one.ends[1].options)) == ("aws/eu/large to us us-b", "", {"zone": "us-b"})


def test_the_quote_counts_each_machine_at_its_own_regions_price_and_the_traffic_between_both() -> None:
    plan = plan_of()
    lines = {line.item: line for line in plan.quote.lines}
    assert sorted(lines) == ["egress to us, aws/eu", "instance large, aws/eu", "instance large, aws/us"]
    near, far = (amount_of(lines[f"instance large, aws/{region}"]) for region in ("eu", "us"))
    assert far == pytest.approx(3 * near)
    worst = plan.quote.worst_cost
    # Each of two launches may send as much as its caps allow, and each machine lives for its whole lease.
    (sent,), hours = plan.usage[0].traffic, -(-plan.usage[0].worst_s // 3600)
    assert worst
    assert sent.path == "regions"
    assert sent.most_bytes > 10**9
    assert float(worst.amount) == pytest.approx(2 * (sent.most_bytes / 1e9 * 0.02 + hours * (0.1 + 0.3)), abs=1e-6)


def test_traffic_in_a_price_list_counts_at_the_dearer_direction() -> None:
    def listed(use: Use) -> Rate:
        amount = {("eu", "us"): "0.02", ("us", "eu"): "0.09"}.get((use.region, use.to))
        if use.item is not Item.EGRESS or amount is None:
            return NO_RATE
        row = PriceRow("aws", use.region, Item.EGRESS, "egress", Decimal(amount), "USD", Unit.GB, to=use.to)
        return Rate((row,), source="a list")

    price = plan_of("far: {region: us, price: 0.3 USD/h}", rate_of=listed).candidates[0].traffic_price
    assert price
    assert (price.amount, price.source) == (Decimal("0.09"), "us to eu, a list")


def test_one_unknown_direction_leaves_the_price_of_traffic_unknown_and_nothing_is_rented() -> None:
    def listed(use: Use) -> Rate:
        if use.item is Item.EGRESS and use.region == "eu":
            return Rate((PriceRow("aws", "eu", Item.EGRESS, "egress", Decimal("0.02"), "USD", Unit.GB),), source="a")
        return NO_RATE

    plan = plan_of("far: {region: us, price: 0.3 USD/h}", rate_of=listed)
    (line,) = refused(plan)
    assert "no price is known for traffic between eu and us; cloudcmp fetch aws --region eu, the same for us; " in line
    assert any("no cost counts traffic over path regions" in note for note in plan.quote.notes)


def test_a_machine_without_a_price_in_the_other_region_is_not_rented() -> None:
    plan = planned(
        "[{provider: gcp, region: eu, offering: wide, price: 0.1 USD/h, far: {region: us, traffic: 0.02 USD/GB}}]",
        WORK % "regions", "budget: 900 USD\ncaps: {duty: 100 %}",
        offerings_of=lambda *_: (),
    )  # fmt: skip
    assert refused(plan) == [
        "price: no price is known for gcp/eu/wide to us in us; write far: {region: us, price: 0.10 USD/h}"
    ]


@pytest.mark.parametrize(
    ("far", "probes", "more", "why"),
    [
        ("", WORK % "regions", "", "path: regions needs a second region, and the candidate does not name it; write f"),
        (FAR, "[{probe: int}]", "", "far: {region: ...} is for path: regions, which no trial has; write path: regions"),
        (FAR, WORK % "[zone, regions]", "", "path: regions and path: zone in one launch, whose machines are in two re"),
        (FAR, "[{probe: exchange, params: {path: regions}}]", "", "exchange is of a group, whose machines are in one"),
        (FAR, WORK % "regions", "volume: {type: gp3, size: 8 GiB, price: 0.001 USD/h}", "volume is for machines in on"),
        (FAR, WORK % "regions", "placement: cluster", "path: regions, and placement is for machines in one region; le"),
        (FAR, WORK % "regions", "count: 2", "path: regions, and count is for machines in one region; leave count out"),
    ],
)  # fmt: skip
def test_what_two_regions_cannot_have_is_refused_in_one_line(far: str, probes: str, more: str, why: str) -> None:
    (line,) = refused(plan_of(far, probes, more))
    assert why in line


def test_a_provider_without_a_way_between_regions_says_so_in_one_line() -> None:
    plan = plan_of(provider="azure", offerings_of=lambda *_: ())
    (line,) = refused(plan)
    assert "path: regions, and it is measured on aws and gcp, not on azure; take another path, such as zones" in line


def test_a_simulated_candidate_has_no_far_end() -> None:
    plan = plan_of(on="simulated")
    assert plan.candidates[0].far is None
    check_runnable(plan, {"simulated"})
