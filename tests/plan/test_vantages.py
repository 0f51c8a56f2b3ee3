"""Vantage points in plans: their machines, what is planted for them, and what keeps them from measuring."""

import pytest
from tests.plan.clouds import MONDAY, host_of, offerings_of

from cloudcmp import plan
from cloudcmp import study as studies
from cloudcmp.catalog.places import distance_km, place_of
from cloudcmp.catalog.tables.wan import rounds
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import CastMember, Machine, Role, Service, ServiceKind, Vantage
from cloudcmp.model.plan import Plan
from cloudcmp.plan import check_runnable, served_to

URL = "{provider: aws, region: eu-north-1, service: http, endpoint: 'http://example.org'}"
FAR = "{provider: aws, region: us-east-1, service: http, endpoint: 'https://example.org'}"
KNOWN = ("local", "netns", "simulated", "ssh")


def planned(candidates: str, wan: str, probes: str = "", on: str | None = None) -> Plan:
    text = f"schema: 1\nquestion: x\ncandidates: [{candidates}]\nwan: {wan}\n{probes}launches: 2\nbudget: 9 USD\n"
    read = studies.read_text(text, "far.yaml", providers=(*KNOWN, "aws", "qemu"), billed=("aws",))
    return plan.make(read, offerings_of=offerings_of, host_of=host_of, on=on, start_at=MONDAY)


def truths(made: Plan, index: int = 0) -> dict[str, float]:
    truth = made.candidates[index].truth
    assert truth is not None
    return {cell: one.mean for cell, one in truth.cells}


def test_an_endpoint_is_seen_from_each_vantage_point_by_a_machine_of_its_own() -> None:
    made = planned(URL, "{vantages: [here, {name: second, provider: local}], sizes: [1]}")
    assert [(one.point.name, one.machine.runner) for one in made.vantages if one.machine] == [
        ("here", "local"),
        ("second", "local"),
    ]
    assert {trial.cast for trial in made.trials} == {
        (
            CastMember(Role.VANTAGE, Vantage(name)),
            CastMember(Role.ENDPOINT, Service(ServiceKind.HTTP, "aws", "eu-north-1", "http://example.org")),
        )
        for name in ("here", "second")
    }
    assert made.candidates[0].id == "aws/eu-north-1/http example.org"
    check_runnable(made, KNOWN)


def test_a_machine_serves_the_pages_of_a_trial_itself() -> None:
    made = planned("{provider: local, offering: 1cpu}", "{vantages: [here], sizes: [1]}")
    assert made.trials[0].cast[1] == CastMember(Role.ENDPOINT, Machine(1))
    check_runnable(made, KNOWN)


def test_what_this_machine_serves_in_place_of_others_is_told() -> None:
    note = "pages are served by this machine: they say nothing of how far the candidates are"
    rented = "{provider: aws, region: us-east-1, offering: c7.large, price: 0.1 USD/h}"
    assert note in planned(rented, "{vantages: [north], sizes: [1]}", on="local").quote.notes
    assert note not in planned(rented, "{vantages: [north], sizes: [1]}", on="simulated").quote.notes


RENTED = "{provider: aws, region: us-east-1, offering: c7.large, price: 0.1 USD/h%s}"


@pytest.mark.parametrize(
    ("candidate", "wan", "probes", "says"),
    [
        (URL, "{vantages: [here], sizes: [1]}", "probes: [{probe: page, params: {vantage: lab}}]\n",
         "vantage lab: the study has no machine there; name it under wan: vantages:"),
        ("{provider: qemu, region: local, offering: 1cpu-1gib}", "{vantages: [here]}", "",
         "no vantage point can reach a machine of qemu; write service: http and the URL"),
        (RENTED % "", "{vantages: [{name: inside, provider: netns}]}", "",
         "vantage inside: its public address is unknown, which the firewall of aws/us-east-1/c7.large would let in"),
        (RENTED % ", allow: 203.0.113.0/24", "{vantages: [here]}", "",
         "vantage here: its public address is unknown.*write address: 203.0.113.7"),
    ],
)  # fmt: skip
def test_what_cannot_be_seen_is_refused_in_one_line(candidate: str, wan: str, probes: str, says: str) -> None:
    with pytest.raises(UserMistake, match=says) as mistake:
        check_runnable(planned(candidate, wan, probes), (*KNOWN, "aws", "qemu"))
    assert all("\n" not in fault.line() for fault in mistake.value.faults)


@pytest.mark.parametrize(
    ("allow", "vantage"),
    [
        ("", "here"),
        (", allow: 203.0.113.7/32", "here"),
        (", allow: 203.0.113.0/24", "{name: here, address: 203.0.113.7}"),
        ("", "{name: lab, provider: ssh, offering: host-1}"),
        ("", "{name: inside, provider: netns, address: '2001:db8::7'}"),
    ],
)
def test_a_rented_machine_is_an_endpoint_of_vantage_points_with_an_address(allow: str, vantage: str) -> None:
    made = planned(RENTED % allow, f"{{vantages: [{vantage}], sizes: [1, 100 KiB], pages: 5}}")
    check_runnable(made, (*KNOWN, "aws"))
    ((endpoint, names),) = served_to(made)
    assert (endpoint.id, names) == ("aws/us-east-1/c7.large", (made.vantages[0].point.name,))
    (note,) = [one for one in made.quote.notes if "its firewall lets in" in one]
    assert "at port 28080 and by ICMP, each by its one address; pages of 1.02 MB a launch leave the cloud" in note


def test_planted_round_trips_follow_the_distance_and_pages_their_phases() -> None:
    wan = "{vantages: [{name: north, at: [59.3, 18.1]}, {name: nowhere}], sizes: [1, 2 MiB]}"
    made = planned(f"{URL}, {FAR}", wan, on="simulated")
    near, far = truths(made), truths(made, 1)
    place = place_of("aws", "us-east-1")
    assert place is not None
    light_s = 2 * distance_km((59.3, 18.1), place.at) / 204_190
    rtt = "wan_rtt_s percentile=50;vantage=north"
    assert light_s < far[rtt] < 2.5 * light_s
    assert near[rtt] < 0.01 < far[rtt]
    for size, trips in ((1, 2), (2097152, 1 + rounds(2097152))):
        page = far[f"wan_page_s percentile=50;size_bytes={size};vantage=north"]
        handshake = far["wan_tls_s percentile=50;vantage=north"]
        assert page - handshake == pytest.approx(trips * far[rtt] + 0.01, rel=1e-3)
    assert rounds(14_480) == 1
    assert rounds(14_481) == 2


def test_a_planted_time_is_the_studys_own() -> None:
    own = "{provider: simulated, region: nimbus, offering: small, truth: {cells: {wan_rtt_s vantage=north: 50 ms}}}"
    found = truths(planned(own, "{vantages: [{name: north, at: [0, 0]}], sizes: [1]}", on="simulated"))
    assert found["wan_rtt_s percentile=50;vantage=north"] == 0.05
