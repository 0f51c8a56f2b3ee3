"""The place of a launch's machines beyond the first, as a study names it."""

from decimal import Decimal

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.model.price import Item, Unit, UnitPrice
from cloudcmp.model.study import CandidateSpec, FarSpec
from cloudcmp.study import read_text

STUDY = """\
schema: 1
question: How far is the next zone?
candidates:
  - {provider: aws, region: us-east-1, offering: m7i.large, price: 0.1 USD/h, %s}
probes: [{probe: rtt, params: {path: zones}}]
budget: 1 USD
"""


def read(options: str) -> CandidateSpec:
    return read_text(STUDY % options, "study.yaml", providers={"aws"}, billed={"aws"}).candidates[0]


def test_the_second_zone_stands_beside_the_first() -> None:
    one = read("zone: us-east-1a, far: {zone: us-east-1b}")
    assert (one.far, dict(one.options)) == (FarSpec(zone="us-east-1b"), {"zone": "us-east-1a"})
    assert read("zone: 1, far: {zone: 2}").far == FarSpec(zone="2")
    assert read("zone: us-east-1a").far is None


def test_a_second_region_has_prices_of_its_own() -> None:
    far = read("far: {region: us-west-2, zone: us-west-2b, price: 0.2 USD/h, traffic: 0.02 USD/GB}").far
    assert far is not None
    assert (far.region, far.zone) == ("us-west-2", "us-west-2b")
    assert far.price is not None
    assert (far.price.amount_per_hour, far.price.currency) == (Decimal("0.2"), "USD")
    assert far.traffic == UnitPrice(Item.EGRESS, Decimal("0.02"), "USD", Unit.GB, "study file")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("far: {zone: b}", "study.yaml:4:79: far: {zone: ...} is a second zone, and the first is not named; write "),
        ("zone: a, far: {zone: a}", "study.yaml:4:100: zone and far are both 'a'; name another zone of the region"),
        ("zone: 1, far: {zone: '1'}", "zone and far are both '1'; name another zone of the region"),
        ("zone: a, far: b", "far must hold key: value; write far: {zone: us-east-1b}"),
        ("zone: a, far: {}", "far names no place; write far: {zone: ...} or far: {region: ...}"),
        ("far: {region: us-east-1}", "region and far are both 'us-east-1'; name another region, or far: {zone: ...}"),
        ("zone: a, far: {zone: b, traffic: 0.02 USD/GB}", "far: traffic is that of another region, and far names a "),
        ("far: {region: us-west-2, traffic: 0.02 USD/h}", "'0.02 USD/h' is no price of traffic; write e.g. traffic: "),
        ("far: {region: us-west-2, traffic: 0 USD/GB}", "'0 USD/GB' is no price of traffic; write e.g. traffic: 0.02"),
        ("far: {region: us-west-2, price: 0.1 EUR/h}", "far price: EUR, but others are in USD; write all prices and t"),
    ],
)  # fmt: skip
def test_a_second_zone_that_says_nothing_is_refused_in_one_line(options: str, fault: str) -> None:
    with pytest.raises(UserMistake) as caught:
        read(options)
    (line,) = str(caught.value).split("\n")
    assert fault in line
