"""The place of a launch's machines beyond the first, as a study names it."""

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.model.study import CandidateSpec
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
    assert (one.far_zone, dict(one.options)) == ("us-east-1b", {"zone": "us-east-1a"})
    assert read("zone: 1, far: {zone: 2}").far_zone == "2"
    assert read("zone: us-east-1a").far_zone == ""


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("far: {zone: b}", "study.yaml:4:79: far: {zone: ...} is a second zone, and the first is not named; write "),
        ("zone: a, far: {zone: a}", "study.yaml:4:100: zone and far are both 'a'; name another zone of the region"),
        ("zone: 1, far: {zone: '1'}", "zone and far are both '1'; name another zone of the region"),
        ("zone: a, far: b", "far must hold key: value; write far: {zone: us-east-1b}"),
        ("zone: a, far: {}", "zone is missing; write zone: us-east-1b"),
        ("zone: a, far: {region: us-west-2, zone: b}", "unknown key 'region'; known here: zone"),
    ],
)  # fmt: skip
def test_a_second_zone_that_says_nothing_is_refused_in_one_line(options: str, fault: str) -> None:
    with pytest.raises(UserMistake) as caught:
        read(options)
    (line,) = str(caught.value).split("\n")
    assert fault in line
