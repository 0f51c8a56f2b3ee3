"""What an OpenStack is asked before anything is created, and that nothing is."""

import asyncio
from dataclasses import replace

import pytest
from tests.emulated.nova import Faults
from tests.emulated.nova_keystone import Keystone
from tests.emulated.nova_requests import REGION, candidate, provider
from tests.emulated.nova_state import PROJECT
from tests.provider.openstacks import pointed

from cloudcmp.errors import IncompleteListing
from cloudcmp.model.offering import Volume
from cloudcmp.provider.openstack import policy

GIB = 2**30


def findings(*candidates, faults=None, name="openstack", **more):
    """What is told, by what it is about; nothing may have been made."""
    with pointed(faults, **more) as cloud:
        found = asyncio.run(provider(name).check(candidates))
        assert cloud.alive() == []
        assert [call for call in cloud.journal if cloud.made_by(call) is not None] == []
        told = {}
        for one in found:
            told.setdefault(one.what, []).append(one)
        return told


def worst(told, what):
    """The finding about something that speaks most against a study."""
    return min(told[what], key=lambda one: {False: 0, None: 1, True: 2}[one.ok])


def test_all_that_can_be_told_is():
    told = findings(candidate(account=PROJECT))
    assert set(told) == {"credentials", "account", "clock", "capability", "image", "rights", "quota"}
    assert {one.ok for some in told.values() for one in some} == {True}
    assert "as pinned" in told["account"][0].text
    assert "floating address" in " ".join(one.text for one in told["capability"])


@pytest.mark.parametrize(
    ("wanted", "faults", "what", "says"),
    [
        (candidate(account="another"), None, "account", "the study is for another"),
        (candidate(region="RegionTow"), None, "capability", "no region"),
        (candidate("m1.smal"), None, "capability", "no flavor"),
        (candidate(image="debian-31"), None, "image", "no image"),
        (candidate(network="nowhere"), None, "capability", "no network"),
        (candidate(market="spot"), None, "capability", "no spot market"),
        (candidate("gp.0.1.2"), None, "capability", "without a disk"),
        (candidate(), Faults(skew_s=-300.0), "clock", "ahead of the provider's"),
        (candidate(), Faults(skew_s=300.0), "clock", "behind the provider's"),
        (candidate(), Faults(servers=0), "quota", "1 servers needed, 0 in use, 0 allowed"),
        (candidate(), Faults(cores=0), "quota", "vCPUs"),
        (candidate(), Faults(floating=0), "quota", "floating addresses"),
        (candidate(), Faults(groups=1), "quota", "security groups"),
        (replace(candidate(), volume=Volume("ssd", 50 * GIB)), Faults(gigabytes=49), "quota", "GiB of volumes"),
        (replace(candidate(), volume=Volume("ssd", GIB)), Faults(volumes="none"), "capability", "no Cinder"),
    ],
)  # fmt: skip
def test_what_stands_against_a_study_is_told(wanted, faults, what, says):
    found = worst(findings(wanted, faults=faults), what)
    assert found.ok is False
    assert says in found.text
    assert found.next


def test_an_account_that_no_study_pins_is_told_and_is_no_fault():
    assert findings()["account"][0].ok is None


def test_a_reader_may_not_make_anything(monkeypatch):
    monkeypatch.setattr(Keystone, "_told", _as_reader(Keystone._told))
    assert worst(findings(candidate()), "rights").ok is False


def _as_reader(told):
    def only(self, token):
        return {**told(self, token), "roles": [{"id": "r", "name": "reader"}]}

    return only


def test_a_credential_that_does_not_open_what_ends_things_is_found_out():
    less = [one for one in policy() if one["method"] != "DELETE"]
    found = worst(findings(candidate(), policy=less), "rights")
    assert found.ok is False
    for path in ("/servers/", "/security-groups/", "/floatingips/", "/volumes/"):
        assert f"DELETE {path}" in found.text


def test_what_is_named_rackspace_and_is_not_is_told():
    told = findings(candidate(), name="rackspace")
    assert "no host of Rackspace's" in worst(told, "capability").text
    assert worst(told, "capability").ok is None


def test_a_nova_whose_versions_are_not_told_is_not_used_with_others_than_it_has():
    with pointed() as cloud:
        cloud.inject("Versions", "error:503")
        with pytest.raises(IncompleteListing):  # not even Keystone's
            asyncio.run(provider().account())
        driver = provider()
        assert asyncio.run(driver._sdk.has(REGION, "image"))
        cloud.inject("Versions", "error:503", times=20)
        with pytest.raises(IncompleteListing, match="versions"):
            asyncio.run(driver._lists.servers(REGION))
        cloud.faults = Faults()
        assert asyncio.run(driver.find("study-a", region=REGION)) == ()


def test_an_administrator_is_shown_what_is_of_others_and_touches_none_of_it():
    with pointed(Faults(admin=True)) as cloud:
        ours = {"cloudcmp:schema": "1", "cloudcmp:study": "study-a"}
        for kind in ("firewall", "address"):
            id = cloud.plant(kind, REGION, kind, ours)
            region = cloud.regions[REGION]
            (region.groups if kind == "firewall" else region.floatings)[id].project = "another"
        assert asyncio.run(provider().find("study-a")) == ()
        assert asyncio.run(provider().leftovers()).found == ()


def test_the_clouds_date_and_account_are_told():
    with pointed(Faults(skew_s=3600.0)) as cloud:
        driver = provider()
        assert asyncio.run(driver.account()) == f"{PROJECT} at {cloud.url}/identity/v3"
        import time

        assert asyncio.run(driver.date()) == pytest.approx(time.time() + 3600.0, abs=5)
