"""The `wan` of a study file: vantage points and the pages from each, and what is wrong with others."""

import pytest
from tests.study.corpus import PROVIDERS

from cloudcmp.catalog.tables.wan import SIZES
from cloudcmp.errors import UserMistake
from cloudcmp.model.study import Study
from cloudcmp.model.wide_area import VantagePoint
from cloudcmp.study import read_text

ENDPOINT = "{provider: aws, region: eu-north-1, service: http, endpoint: 'https://example.org'}"


def study(wan: str, candidates: str = ENDPOINT, rest: str = "") -> Study:
    text = f"schema: 1\nquestion: x\ncandidates: [{candidates}]\nwan: {wan}\n{rest}"
    return read_text(text, "far.yaml", providers=PROVIDERS, billed={"aws"})


def test_every_vantage_point_fetches_every_size() -> None:
    found = study("{vantages: [here, {name: lab, provider: ssh, offering: host-1}], pages: 7}")
    assert [one.probe for one in found.probes] == ["page"] * 10
    params = [dict(one.params) for one in found.probes]
    assert [(one["vantage"], one["size_bytes"]) for one in params] == [
        (name, size) for name in ("here", "lab") for size in SIZES
    ]
    assert {one["count"] for one in params} == {"7"}
    assert [(one.provider, one.offering) for one in found.vantages] == [("local", None), ("ssh", "host-1")]
    assert found.budget is None, "an endpoint costs its owner, and the study nothing"


def test_a_vantage_point_has_a_place_a_country_and_a_weight() -> None:
    (found,) = study("{vantages: [{name: a, at: [59.3, 18.1], country: se, weight: 2.5}]}").vantages
    assert found.point == VantagePoint("a", (59.3, 18.1), "SE", weight=2.5)
    (named,) = study("{vantages: [{name: a, at: Stockholm}]}").vantages
    assert named.point.at == pytest.approx((59.3, 18.1), abs=0.1)


@pytest.mark.parametrize(
    ("written", "address"),
    [("203.0.113.7", "203.0.113.7"), ("'2001:DB8:0::7'", "2001:db8::7"), ("10.0.0.4", "10.0.0.4")],
)
def test_a_vantage_point_may_state_its_address(written: str, address: str) -> None:
    (found,) = study(f"{{vantages: [{{name: a, address: {written}}}]}}").vantages
    assert found.address == address


@pytest.mark.parametrize(
    "written",
    ["203.0.113.0/24", "203.0.113.7/32", "example.org", "'203.0.113.7:80'", "127.0.0.1", "0.0.0.0", "224.0.0.1",
     "'fe80::1%eth0'", "'::ffff:203.0.113.7'", "7"],
)  # fmt: skip
def test_what_is_no_single_address_is_one_line(written: str) -> None:
    with pytest.raises(UserMistake) as mistake:
        study(f"{{vantages: [{{name: a, address: {written}}}]}}")
    (fault,) = mistake.value.faults
    assert "address" in fault.line()
    assert "\n" not in fault.line()


def test_other_probes_may_be_measured_too() -> None:
    rest = "probes: [{probe: page, params: {vantage: here, resource: pixel}}]"
    found = study("{vantages: [here], sizes: [2 MiB]}", rest=rest)
    assert [dict(one.params).get("resource") for one in found.probes] == ["pixel", None]


@pytest.mark.parametrize(
    ("wan", "says"),
    [
        ("{vantages: []}", "far.yaml:4:17: vantages: the list is empty; write one, or leave wan out"),
        ("{vantages: [here], sizes: []}", "sizes: the list is empty"),
        ("{vantages: [here], sizes: [-1]}", "size_bytes: '-1' needs a unit of size"),
        ("{vantages: [here, here]}", "'here' was named before; name it once"),
        ("{vantages: [{name: a, provider: ssh}]}", "a host with SSH has a name; write offering:"),
        ("{vantages: [{name: a, provider: aws}]}", "a vantage point of 'aws' would be rented, which no study does"),
        ("{vantages: [{name: a, provider: shh}]}", "unknown provider 'shh'; nearest: ssh"),
        ("{vantages: [{name: a b}]}", "name: 'a b' is no plain word"),
        ("{vantages: [{name: a, at: Atlantis}]}", "'Atlantis' is no known place; write at: [59.3, 18.1]"),
        ("{vantages: [{name: a, at: [91, 0]}]}", "'91,0' is no known place"),
        ("{vantages: [{name: a, weight: 0}]}", "0 is not a number above 0"),
        ("{vantages: [here], size: [1]}", "unknown key 'size'; nearest: sizes"),
        ("[here]", "must hold key: value"),
    ],
)
def test_a_fault_is_one_line_with_its_place(wan: str, says: str) -> None:
    with pytest.raises(UserMistake) as caught:
        study(wan)
    assert says in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("from: local", "from is not an endpoint's: it is seen from the vantage points of wan:"),
        ("count: 2", "count is not an endpoint's"),
        ("endpoint: ftp://example.org", "is no address of a service"),
    ],
)
def test_an_endpoint_is_a_url_and_nothing_else(more: str, says: str) -> None:
    candidate = f"{{provider: aws, service: http, endpoint: 'https://example.org', {more}}}"
    with pytest.raises(UserMistake, match=says):
        study("{vantages: [here]}", candidate.replace("endpoint: 'https://example.org', end", "end"))
    with pytest.raises(UserMistake, match="service: http is an endpoint at a URL"):
        study("{vantages: [here]}", "{provider: aws, service: http}")
