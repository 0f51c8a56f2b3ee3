"""Zones of Compute Engine: one after another where there is no room, and never two machines."""

import asyncio
import itertools
import time
from dataclasses import replace

import pytest
from tests.emulated.gce import Faults
from tests.emulated.gce_requests import REGION, ZONE, instance, provider, request

from cloudcmp.errors import LostAnswer, NoCapacity, ProviderFault, QuotaReached, Refused

A, B, C = (f"us-central1-{letter}" for letter in "abc")


def zones_asked(cloud):
    """The zones that were asked for a machine, in order."""
    return [call.params["zone"] for call in cloud.calls("instances.insert")]


@pytest.mark.parametrize("full_s", [0.0, 0.2])
def test_a_zone_without_room_is_left_for_the_next(gce_cloud, full_s):
    gce_cloud.faults = Faults(full=frozenset({A, B}), full_s=full_s)
    driver = provider()
    id = asyncio.run(driver.create(request()))
    assert zones_asked(gce_cloud) == [A, B, C]
    assert id.startswith(f"{C}/")
    assert len({call.params["requestId"] for call in gce_cloud.calls("instances.insert")}) == 3
    assert [thing.id for thing in gce_cloud.alive() if thing.kind == "instance"] == [id]


def test_where_no_zone_has_room_it_is_told_and_nothing_is_left(gce_cloud):
    gce_cloud.faults = Faults(full=frozenset({A, B, C}))
    with pytest.raises(NoCapacity, match="ZONE_RESOURCE_POOL_EXHAUSTED") as caught:
        asyncio.run(provider().create(request()))
    assert all(zone in str(caught.value) for zone in (A, B, C))
    assert gce_cloud.alive() == []


def test_a_zone_that_had_no_room_is_asked_anew_and_not_told_its_old_operation(gce_cloud):
    gce_cloud.faults = Faults(full=frozenset({B}))
    driver = provider()
    with pytest.raises(NoCapacity):
        asyncio.run(driver.create(request(options={"zone": B})))
    gce_cloud.faults = Faults()
    assert asyncio.run(driver.create(request(options={"zone": B}))).startswith(f"{B}/")
    assert len({call.params["requestId"] for call in gce_cloud.calls("instances.insert")}) == 2


def test_a_zone_that_is_named_is_the_only_one(gce_cloud):
    gce_cloud.faults = Faults(full=frozenset({B}))
    with pytest.raises(NoCapacity):
        asyncio.run(provider().create(request(options={"zone": B})))
    assert zones_asked(gce_cloud) == [B]
    id = asyncio.run(provider().create(request(token="t", options={"zone": C})))
    assert id.startswith(f"{C}/")


def test_launches_spread_over_the_zones_by_the_plans_seed(gce_cloud):
    ids = [asyncio.run(provider().create(request(token=f"t{seed}", seed=seed))) for seed in range(3)]
    assert [id.partition("/")[0] for id in ids] == [A, B, C]


def test_only_zones_that_have_the_type_are_asked(gce_cloud):
    asyncio.run(provider().create(request(offering="c2-standard-4")))
    assert zones_asked(gce_cloud) == [B]
    with pytest.raises(Refused, match="no machine type 'c2-standard-4' in us-central1-a"):
        asyncio.run(provider().create(request(token="x", offering="c2-standard-4", options={"zone": A})))


@pytest.mark.parametrize("what", ["lost", "reset", "5xx", "truncated", "part", "empty"])
def test_p02_after_a_lost_answer_no_other_zone_is_asked(gce_cloud, what):
    gce_cloud.inject("instances.insert", what)
    with pytest.raises(LostAnswer):
        asyncio.run(provider().create(request()))
    assert zones_asked(gce_cloud) == [A]


def test_p02_a_quota_is_no_reason_to_ask_another_zone(gce_cloud):
    gce_cloud.faults = Faults(quota_cpus=1)
    with pytest.raises(QuotaReached):
        asyncio.run(provider().create(request()))
    assert zones_asked(gce_cloud) == [A]


@pytest.mark.parametrize("what", ["5xx", "drop", "lost"])
def test_p02_looks_that_fail_while_it_is_made_ask_no_other_zone(gce_cloud, what):
    gce_cloud.faults = Faults(pending_s=0.3)
    driver = provider()
    asyncio.run(driver.create(request(token="warm")))
    gce_cloud.inject("zoneOperations.get", what, times=5)
    gce_cloud.inject("instances.get", what, times=5)
    id = asyncio.run(driver.create(request()))
    assert id.startswith(f"{ZONE}/")
    assert zones_asked(gce_cloud) == [A, A]


def test_what_is_not_told_in_time_is_taken_for_made(gce_cloud):
    gce_cloud.faults = Faults(pending_s=5.0)
    driver = provider(wait_s=0.1)
    id = asyncio.run(driver.create(request()))
    assert zones_asked(gce_cloud) == [A]
    assert asyncio.run(driver.look(instance(id))).state == "pending"


def test_a_zone_that_says_no_and_shows_a_machine_is_no_reason_to_ask_another(gce_cloud, monkeypatch):
    """The operation failed for want of room, yet there is something of that name: nobody asks elsewhere."""
    gce_cloud.faults = Faults(full=frozenset({A}))
    driver = provider()
    whole = driver._machines._get

    async def seen(asked, zone):
        return object() if gce_cloud.calls("instances.insert") else await whole(asked, zone)

    monkeypatch.setattr(type(driver._machines), "_get", lambda _, asked, zone: seen(asked, zone))
    with pytest.raises(ProviderFault, match="yet the machine is listed") as caught:
        asyncio.run(driver.create(request()))
    assert type(caught.value) is ProviderFault
    assert zones_asked(gce_cloud) == [A]


@pytest.mark.parametrize("request_ids", ["honoured", "ignored"])
def test_p02_the_same_request_never_makes_two_whatever_zones_have_room_by_then(gce_cloud, request_ids):
    """A machine that was made in the second zone is found there, also when the first one has room again."""
    asked = request()
    gce_cloud.faults = Faults(full=frozenset({A}), request_ids=request_ids)
    driver = provider()
    first = asyncio.run(driver.create(asked))
    gce_cloud.faults = Faults(request_ids=request_ids)
    assert asyncio.run(driver.create(asked)) == first
    old = replace(asked, at=time.time() - 3600.0, ttl_s=7200.0)
    assert asyncio.run(provider().create(old)) == first
    assert len(gce_cloud.state.lives) == 1


def test_p02_a_name_that_is_taken_by_the_same_request_is_that_machine_and_by_another_is_refused(gce_cloud):
    gce_cloud.faults = Faults(request_ids="ignored")
    first = asyncio.run(provider().create(request()))
    assert asyncio.run(provider().create(request())) == first
    other = replace(request(token="other"), name=request().name)
    with pytest.raises(Refused, match="alreadyExists"):
        asyncio.run(provider().create(other))
    assert len(gce_cloud.state.lives) == 1


def test_an_intent_is_findable_in_whichever_zone_it_was_made(gce_cloud):
    for number, full in enumerate(itertools.chain([()], itertools.combinations((A, B, C), 1))):
        gce_cloud.faults = Faults(full=frozenset(full))
        token = f"token-{number}"
        id = asyncio.run(provider().create(request(token=token)))
        found = asyncio.run(provider().find("no-study-of-ours", token, region=REGION))
        assert [one.cloud_id for one in found] == [id]
        assert asyncio.run(provider().find("no-study-of-ours", token, region="europe-west4")) == ()
