"""What a launch on Compute Engine stands on: its rules, all of them or none."""

import asyncio
from dataclasses import replace

import pytest
from tests.emulated.gce import Faults
from tests.emulated.gce_requests import provider, request
from tests.emulated.gce_told import body_of

from cloudcmp.errors import IncompleteListing, ProviderFault, QuotaReached, Refused, Throttled
from cloudcmp.model.lease import FIREWALL


def test_the_rules_let_in_the_controller_and_the_launchs_machines_and_nobody_else(gce_cloud):
    group = asyncio.run(provider().create(request(FIREWALL, options={"allow": "192.0.2.7/32"})))
    rules = sorted(gce_cloud.state.firewalls.values(), key=lambda rule: rule["priority"])
    door, inside = sorted((rule for rule in rules if "allowed" in rule), key=lambda rule: "sourceTags" in rule)
    (nobody,) = (rule for rule in rules if "denied" in rule)
    assert door["name"] == group
    assert (door["sourceRanges"], door["allowed"]) == (["192.0.2.7/32"], [{"IPProtocol": "tcp", "ports": ["22"]}])
    assert (inside["sourceTags"], inside["allowed"]) == ([group], [{"IPProtocol": "all"}])
    assert (nobody["sourceRanges"], nobody["denied"]) == (["0.0.0.0/0"], [{"IPProtocol": "all"}])
    assert door["priority"] == inside["priority"] < nobody["priority"] < 65534
    assert all(rule["targetTags"] == [group] and rule["direction"] == "INGRESS" for rule in rules)
    first = body_of(gce_cloud.calls("firewalls.insert")[0])
    assert "denied" in first, "nobody is let in from the first moment on"


@pytest.mark.parametrize("which", [1, 2, 3])
def test_rules_of_which_one_fails_are_deleted_again(gce_cloud, which):
    gce_cloud.inject("firewalls.insert", "error:forbidden", first=which)
    with pytest.raises(Refused, match="forbidden"):
        asyncio.run(provider().create(request(FIREWALL)))
    assert gce_cloud.alive() == []


def test_rules_that_go_slowly_are_waited_for_so_that_what_kept_one_from_being_made_is_told(gce_cloud):
    gce_cloud.faults = Faults(end_s=0.4)
    gce_cloud.inject("firewalls.insert", "error:quotaExceeded", first=3)
    with pytest.raises(QuotaReached):
        asyncio.run(provider().create(request(FIREWALL)))
    assert gce_cloud.alive() == []


@pytest.mark.parametrize("which", [1, 2, 3])
def test_rules_that_were_deleted_again_are_made_anew_when_the_same_request_is_repeated(gce_cloud, which):
    """A request id that was used is answered by the operation of a rule that is not there any more."""
    gce_cloud.inject("firewalls.insert", "error:rateLimitExceeded", first=which)
    driver = provider()
    with pytest.raises(Throttled):
        asyncio.run(driver.create(request(FIREWALL)))
    assert gce_cloud.alive() == []
    group = asyncio.run(driver.create(request(FIREWALL)))
    assert sorted(gce_cloud.state.firewalls) == sorted((group, f"{group}-inside", f"{group}-nobody"))


@pytest.mark.parametrize("what", ["lost", "reset", "5xx", "truncated", "part", "empty"])
@pytest.mark.parametrize("which", [1, 2, 3])
def test_p02_rules_whose_answer_is_lost_are_found_again(gce_cloud, what, which):
    gce_cloud.inject("firewalls.insert", what, first=which)
    driver = provider()
    group = asyncio.run(driver.create(request(FIREWALL)))
    assert len(gce_cloud.state.firewalls) == 3
    found = asyncio.run(driver.find("study-a"))
    assert [(one.kind, one.cloud_id, one.name) for one in found] == [(FIREWALL, group, group)]


@pytest.mark.parametrize("which", [1, 2, 3])
def test_rules_whose_answer_is_lost_and_that_are_not_found_are_no_fault_of_a_candidate(gce_cloud, which):
    gce_cloud.inject("firewalls.insert", "drop", first=which)
    with pytest.raises(IncompleteListing, match="looks for it"):
        asyncio.run(provider().create(request(FIREWALL)))
    assert gce_cloud.alive() == []


def test_rules_that_cannot_be_deleted_again_are_no_refusal(gce_cloud):
    gce_cloud.inject("firewalls.insert", "error:forbidden", first=2)
    gce_cloud.inject("firewalls.delete", "error:forbidden", times=100)
    with pytest.raises(ProviderFault, match="still be there") as caught:
        asyncio.run(provider().create(request(FIREWALL)))
    assert type(caught.value) is ProviderFault
    assert len(gce_cloud.alive()) == 1


def test_the_same_firewall_is_made_once_and_anothers_name_is_not_taken_for_ours(gce_cloud):
    driver = provider()
    first, again = (asyncio.run(driver.create(request(FIREWALL))) for _ in range(2))
    assert first == again
    gce_cloud.faults = Faults(request_ids="ignored")
    assert asyncio.run(driver.create(request(FIREWALL))) == first
    assert len(gce_cloud.state.firewalls) == 3
    with pytest.raises(Refused, match="alreadyExists"):
        asyncio.run(driver.create(replace(request(FIREWALL, "other"), name=first)))
    assert len(gce_cloud.state.firewalls) == 3
