"""Where the machines of a launch are: what a plan refuses, what it says is not checked, and what it costs."""

from dataclasses import replace
from decimal import Decimal

import pytest
from tests.plan.clouds import planned

from cloudcmp.errors import UserMistake
from cloudcmp.model.bill import NO_RATE, Rate, Use
from cloudcmp.model.plan import Plan
from cloudcmp.model.price import Item, PriceRow, Unit
from cloudcmp.plan import check_runnable

NAMED = "zone: eu-a, far: {zone: eu-b}"
TWO_ZONES = "path: zones needs two zones, and the candidate does not name them; write zone: us-east-1a, far: "
WORK = "[{probe: rtt, params: {path: %s}}]"


def plan_of(probes: str, options: str = "", provider: str = "aws") -> Plan:
    more = f", {options}" if options else ""
    price = "" if provider == "simulated" else ", price: 0.1 USD/h"
    place = "nimbus" if provider == "simulated" else "eu"
    one = f"{{provider: {provider}, region: {place}, offering: small{price}{more}}}"
    return planned(f"[{one}]", probes, "budget: 900 USD")


def refused(plan: Plan) -> list[str]:
    with pytest.raises(UserMistake) as caught:
        check_runnable(plan, {"aws", "qemu"}, {"aws"})
    return str(caught.value).split("\n")


def test_two_named_zones_are_planned_and_named_by_the_candidate() -> None:
    plan = plan_of(WORK % "zones", NAMED)
    check_runnable(plan, {"aws"}, {"aws"})
    (one,) = plan.candidates
    assert (one.far_zone, dict(one.options)["zone"]) == ("eu-b", "eu-a")
    assert one.id == "aws/eu/small eu-a to eu-b"
    assert plan.usage[0].machines == 2
    assert not any("checks" in note for note in plan.quote.notes)


@pytest.mark.parametrize(
    ("probes", "options", "why"),
    [
        (WORK % "zones", "", TWO_ZONES),
        (WORK % "zones", "zone: eu-a", TWO_ZONES),
        (WORK % "zone", NAMED, "far: is for path: zones, which no trial has; leave far out"),
        (WORK % "[zone, zones]", NAMED, "paths zone and zones in one launch, whose machines are in one zone or in two"),
        (WORK % "zones", f"placement: cluster, {NAMED}", "placement: cluster is within one zone; leave placement out"),
    ],
)  # fmt: skip
def test_what_no_launch_can_have_is_refused_in_one_line(probes: str, options: str, why: str) -> None:
    plan = plan_of(probes, options)
    (line,) = refused(plan)
    assert why in line
    (note,) = (note for note in plan.quote.notes if "cannot be run" in note)
    assert note == line.replace(": ", " cannot be run: ", 1)


def test_a_neighbour_in_another_zone_is_refused() -> None:
    isolated = "budget: 900 USD\nisolation: {victims: [cpu], neighbours: [memory]}"
    one = f"[{{provider: aws, region: eu, offering: small, price: 0.1 USD/h, {NAMED}}}]"
    (line,) = refused(planned(one, WORK % "zones", isolated))
    assert "a neighbour in another zone is on no common host; write two studies" in line


def test_guests_of_this_host_have_no_zones() -> None:
    plan = plan_of(WORK % "zones", NAMED)
    (line,) = refused(replace(plan, candidates=(replace(plan.candidates[0], runner="qemu"),)))
    assert "path: zones, and qemu has no zones; take a provider that has them" in line


@pytest.mark.parametrize("path", ["zone", "zones", "region", "regions", "lan"])
def test_simulated_machines_may_be_anywhere(path: str) -> None:
    plan = plan_of(WORK % path, provider="simulated")
    check_runnable(plan, {"simulated"})
    assert not any(note.startswith("path") for note in plan.quote.notes)


def test_a_plan_says_which_paths_nothing_checks() -> None:
    notes = plan_of(WORK % "[zone, region, lan, loopback]").quote.notes
    assert [note for note in notes if note.startswith("path")] == [
        "path: region: the cloud chooses the zones of the machines, which may be one",
        "path: lan is this study's own word: nothing checks where the machines are",
    ]


def test_traffic_between_zones_has_the_price_of_traffic_to_another_zone() -> None:
    def listed(use: Use) -> Rate:
        if use.item is Item.EGRESS and use.to == "region":
            return Rate((PriceRow("aws", "eu", Item.EGRESS, "egress", Decimal("0.01"), "USD", Unit.GB),), source="a")
        return NO_RATE

    one = f"[{{provider: aws, region: eu, offering: small, price: 0.1 USD/h, {NAMED}}}]"
    quote = planned(one, "[{probe: tcp, params: {path: zones}}]", rate_of=listed).quote
    assert [line.item.partition(",")[0] for line in quote.lines] == ["instance small", "egress to region"]
    assert any(note.startswith("between machines (zones): ") for note in quote.notes)
