"""The machines of a launch that measure within one zone stand in one, and what does not is invalid."""

import asyncio
import json
from dataclasses import replace

import pytest
from tests.emulated.ec2 import Faults
from tests.emulated.ec2_requests import REGION, STUDY, candidate, launched, provider, request
from tests.provision.conftest import MemoryJournal

from cloudcmp.agent.host import new_key
from cloudcmp.errors import NoCapacity
from cloudcmp.execute.cast import refuse_place, with_zones
from cloudcmp.model.lease import FIREWALL, Handle, Lease, LeaseState
from cloudcmp.model.plan import Launch
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.plan import cast_of
from cloudcmp.provider.aws import Ec2Provider
from cloudcmp.provider.time import VirtualTime, WallTime
from cloudcmp.provision import Connector, Keys, Ledger, Placement, ProvisionContext, set_up, zones_of

OPTION = "Placement.AvailabilityZone"


ONE_ZONE = Placement(one_zone=True)


def launch(driver, placement, *, count=3, give_up_s=0.5):
    """Ask for the machines of a launch, Windows ones, which need no login; nothing answers at their doors."""
    ledger = Ledger(MemoryJournal(), STUDY, WallTime())
    connector = Connector(WallTime(), None, None, new_key(), poll_s=0.02, give_up_s=give_up_s)
    context = ProvisionContext(ledger, connector, Keys(new_key, lambda *_: ""))
    machines = set_up(
        context, driver, candidate(os="windows", allow="192.0.2.7/32"), Launch(0, 0, 0, None, 0.0, 1), 600.0, [], count,
        placement=placement,
    )  # fmt: skip
    return ledger, machines


def asked(cloud):
    return [call.params.get(OPTION) for call in cloud.calls("RunInstances")]


@pytest.mark.parametrize("lag_s", [0.0, 0.3])
def test_the_second_machine_is_asked_for_where_the_first_one_is(cloud, lag_s):
    cloud.faults = Faults(read_lag_s=lag_s)

    async def walk():
        # Long against the lag, for a busy machine: what is asked is where they stand, not how soon they are seen.
        ledger, machines = launch(provider(), ONE_ZONE, give_up_s=0.5 + 10 * lag_s)
        with pytest.raises(Exception, match="cannot be reached"):
            await machines
        connector = Connector(WallTime(), None, None, new_key(), poll_s=0.02)
        return await zones_of(
            connector, provider(), [one for one in ledger.leases() if one.kind == "instance"], needed=True
        )

    first, *others = asyncio.run(walk())
    assert others == [first, first]
    assert sorted(map(str, asked(cloud))) == sorted(["None", first, first])


def test_all_but_the_first_are_asked_for_in_the_far_zone_at_once(cloud):
    async def walk():
        with pytest.raises(Exception, match="cannot be reached"):
            await launch(provider(), Placement(far_zone="us-east-1b"))[1]

    asyncio.run(walk())
    assert sorted(map(str, asked(cloud))) == ["None", "us-east-1b", "us-east-1b"]


def test_machines_that_need_not_be_together_are_not_kept_together(cloud):
    async def walk():
        with pytest.raises(Exception, match="cannot be reached"):
            await launch(provider(), Placement())[1]

    asyncio.run(walk())
    assert asked(cloud) == [None, None, None]


def test_where_the_first_one_is_refused_no_other_is_asked_for(cloud):
    cloud.inject("RunInstances", "error:InsufficientInstanceCapacity", times=99)

    async def walk():
        with pytest.raises(NoCapacity):
            await asyncio.wait_for(launch(provider(), ONE_ZONE)[1], 60)

    asyncio.run(walk())
    assert len({call.params["ClientToken"] for call in cloud.calls("RunInstances")}) == 1


def test_what_has_no_zones_tells_none(plans):
    lease = Lease("launch-0", 1, LeaseState.LIVE, "simulated", "nimbus", "instance", "n", "t", "id", None)
    connector = Connector(WallTime(), None, None, new_key())
    assert asyncio.run(zones_of(connector, plans.simulated(plans.candidate()), [lease], needed=True)) == ()


def test_a_machine_tells_its_zone(cloud):
    async def walk():
        driver = provider()
        _, id = await launched(driver, options={"zone": "us-east-1b"})
        lease = Lease("launch-0", 1, LeaseState.LIVE, "aws", "us-east-1", "instance", "n", "t", id, None)
        return await zones_of(Connector(WallTime(), None, None, new_key()), driver, [lease], needed=False)

    assert asyncio.run(walk()) == ("us-east-1b",)


WITHIN = [
    ("zone", ("a", "b"), "path: zone, and its machines are in a and b"),
    ("zone", ("a", "unknown"), "path: zone, and its machines are in a and unknown"),
    ("zone", ("unknown", "unknown"), "path: zone, and its machines are in unknown and unknown"),
    ("zone", ("a", "a"), None),
    ("zone", (), None),
    ("zones", ("a", "a"), "path: zones, and both machines are in a"),
    ("zones", ("a", "unknown"), "path: zones, and its machines are in a and unknown"),
    ("zones", ("a", "b"), None),
    ("region", ("a", "b"), None),
    ("loopback", ("a",), None),
]
GROUPS = [
    ("zones", ("a", "b", "b"), None),
    ("zones", ("a", "a", "a"), "path: zones, and all machines are in a"),
    ("zones", ("a", "b", "a"), "path: zones, and its machines are in a and b and a"),
    ("zones", ("a", "b", "c"), "path: zones, and its machines are in a and b and c"),
    ("zone", ("a", "a", "b"), "path: zone, and its machines are in a and a and b"),
]


@pytest.mark.parametrize(("path", "zones", "why"), WITHIN)
def test_a_path_of_one_zone_between_two_is_invalid(plans, path, zones, why):
    found = refuse_place(plans.trial("rtt", path=path), zones)
    assert (found and (found.outcome, found.why)) == (why and (Outcome.INVALID, why))


def test_between_zones_of_a_provider_that_tells_none_is_invalid(plans):
    trial = plans.trial("rtt", path="zones")
    found = refuse_place(replace(trial, cast=cast_of("rtt", dict(trial.params), "x", "y")), ())
    assert found.why == "path: zones, and its machines are in unknown and unknown"


@pytest.mark.parametrize(("path", "zones", "why"), GROUPS)
def test_the_machines_of_a_group_are_where_the_path_says(plans, path, zones, why):
    found = refuse_place(plans.trial("barrier", path=path, peers="3"), zones)
    assert (found and (found.outcome, found.why)) == (why and (Outcome.INVALID, why))


def test_each_machines_zone_is_a_fact_of_the_trial():
    told = with_zones(TrialResult(Outcome.OK, (), "", '{"version":"1"}'), ("a", "b"))
    assert json.loads(told.facts) == {"version": "1", "zones": ["a", "b"]}
    assert with_zones(TrialResult(Outcome.OK, (), "", '{"b":1, "a":2}'), ()).facts == '{"b":1, "a":2}'


def test_a_trial_that_was_not_begun_for_its_zones_sent_nothing(plans):
    found = refuse_place(plans.trial("rtt", path="zone"), ("a", "b"))
    assert json.loads(found.facts)["notes"]["payload_bytes"] == 0


def test_where_a_zone_cannot_be_asked_for_nobody_waits_for_ever(cloud, monkeypatch):
    async def strange(self, handle):
        raise LookupError("a fault of its own")

    monkeypatch.setattr(Ec2Provider, "zone", strange)

    async def walk():
        with pytest.raises(Exception, match=r"a fault of its own|cannot be reached"):
            await asyncio.wait_for(launch(provider(), ONE_ZONE)[1], 30)

    asyncio.run(walk())
    assert len(asked(cloud)) <= 3


def test_a_zone_that_trials_do_not_need_is_asked_for_once(cloud):
    asks = []

    async def silent(self, handle):
        asks.append(handle)

    async def walk(needed):
        driver = provider()
        lease = Lease("launch-0", 1, LeaseState.LIVE, "aws", "us-east-1", "instance", "n", "t", "i-1", None)
        driver.zone = lambda handle: silent(driver, handle)
        time = VirtualTime(0.0)
        return await zones_of(Connector(time, None, None, new_key(), poll_s=1.0), driver, [lease, lease], needed=needed)

    assert asyncio.run(walk(False)) == ("unknown", "unknown")
    assert len(asks) == 2
    assert asyncio.run(walk(True)) == ("unknown", "unknown")
    assert len(asks) > 20


BETWEEN_REGIONS = [
    (("us-east-1a", "eu-west-1b"), ("us-east-1", "eu-west-1"), None),
    (("europe-west1-b", "europe-west12-a"), ("europe-west1", "europe-west12"), None),
    (
        ("europe-west12-b", "us-east1-b"),
        ("europe-west1", "us-east1"),
        "path: regions, and its machines are in europe-west12-b and us-east1-b",
    ),
    (
        ("us-east-1a", "us-east-1b"),
        ("us-east-1", "eu-west-1"),
        "path: regions, and its machines are in us-east-1a and us-east-1b",
    ),
    (
        ("us-east-1a", "us-east-1b"),
        ("us-east-1", "us-east-1"),
        "path: regions, and its machines are in us-east-1a and us-east-1b",
    ),
    (
        ("us-east-1a", "unknown"),
        ("us-east-1", "eu-west-1"),
        "path: regions, and its machines are in us-east-1a and unknown",
    ),
    ((), (), "path: regions, and its machines are in unknown and unknown"),
]


@pytest.mark.parametrize(("zones", "regions", "why"), BETWEEN_REGIONS)
def test_a_path_between_regions_needs_a_zone_of_each(plans, zones, regions, why):
    trial = plans.trial("rtt", path="regions")
    trial = replace(trial, cast=cast_of("rtt", dict(trial.params), "x", "y"))
    found = refuse_place(trial, zones, regions)
    assert (found and (found.outcome, found.why)) == (why and (Outcome.INVALID, why))


def test_a_firewall_admits_a_peer_in_another_region_and_nobody_else(cloud):
    async def walk():
        driver = provider()
        group = await driver.create(request(FIREWALL))
        handle = Handle(FIREWALL, REGION, group)
        before = await driver.admitted(handle)
        for _ in range(2):  # admitting somebody again is no error
            await driver.admit(handle, ["203.0.113.9", "2001:db8::9"])
        return before, await driver.admitted(handle)

    before, after = asyncio.run(walk())
    assert before.others == ()
    assert after.controllers == before.controllers == ("192.0.2.7/32",)
    assert set(after.others) == {"203.0.113.9/32 to any 0-65535", "2001:db8::9/128 to any 0-65535"}
