"""Lists of the emulated EC2: complete or an error, and nothing of anybody else's."""

import asyncio
import time
from dataclasses import replace

import pytest
from tests.emulated.decoys import DECOYS, EXPIRED
from tests.emulated.ec2 import EUCALYPTUS, REGIONS, Faults, ec2
from tests.emulated.ec2_requests import REGION, firewall, instance, provider, request, tags
from tests.emulated.pointed import pointed

from cloudcmp.app.sweep import sweep
from cloudcmp.errors import IncompleteListing, NoCredentials, Refused, Throttled
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME
from cloudcmp.model.leftover import Fate
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Patience
from cloudcmp.provision.pace import Pace, Tempo

ELSEWHERE = REGIONS[1]


def found(driver, *args, **more):
    return {(item.kind, item.cloud_id) for item in asyncio.run(driver.find(*args, **more))}


async def launched(driver, study="study-a", token="token-1", region=REGION, **more):
    group = await driver.create(request(FIREWALL, f"{token}-f", study, region=region, **more))
    options = {"firewall": group}
    return group, await driver.create(request(INSTANCE, token, study, region=region, options=options, **more))


def test_a_study_finds_its_own_by_tag_in_one_region_or_all(cloud):
    driver = provider()
    here = asyncio.run(launched(driver))
    there = asyncio.run(launched(driver, token="token-2", region=ELSEWHERE))
    asyncio.run(launched(driver, "study-b", "token-3"))
    cloud.plant("instance", REGION, "cloudcmp-study-a-launch-0-1", {"Name": "cloudcmp-study-a-launch-0-1"})
    assert found(driver, "study-a", region=REGION) == {(FIREWALL, here[0]), (INSTANCE, here[1])}
    both = found(driver, "study-a")
    assert both == {(FIREWALL, here[0]), (INSTANCE, here[1]), (FIREWALL, there[0]), (INSTANCE, there[1])}
    assert found(driver, "study-a", "token-1", region=REGION) == {(FIREWALL, here[0]), (INSTANCE, here[1])}
    assert found(driver, "study-x", region=REGION) == set()
    item = next(one for one in asyncio.run(driver.find("study-a", region=ELSEWHERE)) if one.kind == INSTANCE)
    assert (item.token, item.state, item.region, item.offering) == ("token-2", "running", ELSEWHERE, "t3.micro")
    assert set(tags()) <= set(item.tags)


def test_p02_a_machine_without_tags_is_found_by_its_token_and_a_group_by_its_description(cloud):
    cloud.faults = Faults(tags="stripped")
    driver = provider()
    group, id = asyncio.run(launched(driver))
    assert found(driver, "study-a", region=REGION) == set()
    assert found(driver, "study-a", "token-1", region=REGION) == {(INSTANCE, id)}
    assert found(driver, "study-a", "token-1-f", region=REGION) == {(FIREWALL, group)}


def test_what_has_terminated_is_not_found_and_what_is_stopped_or_ending_is(cloud):
    cloud.faults = Faults(terminate_s=1e9)
    driver = provider()
    _, ending = asyncio.run(launched(driver))
    asyncio.run(driver.destroy(instance(ending)))
    _, stopped = asyncio.run(launched(driver, token="token-2"))
    cloud.account.ec2(REGION).stop_instances([stopped])
    cloud.faults = Faults()
    _, ended = asyncio.run(launched(driver, token="token-3"))
    asyncio.run(driver.destroy(instance(ended)))
    listed = {item.cloud_id: item.state for item in asyncio.run(driver.find("study-a", region=REGION))}
    assert listed.pop(ending) == "shutting-down"
    assert listed.pop(stopped) == "stopped"
    assert ended not in listed


def test_p03_all_pages_are_read_and_a_list_cut_short_is_an_error(cloud):
    driver = provider()
    for number in range(5):
        asyncio.run(driver.create(request(token=f"token-{number}")))
    cloud.faults = Faults(page=2)
    assert len(found(driver, "study-a", region=REGION)) == 5
    assert len(cloud.calls("DescribeInstances")) == 3
    for what in ("cut", "truncated", "part", "lost", "reset", "5xx", "drop", "empty", "error:InternalError"):
        for first in (1, 2):
            cloud.inject("DescribeInstances", what, first)
            with pytest.raises(IncompleteListing):
                asyncio.run(driver.find("study-a", region=REGION))
            cloud.faults = Faults(page=2)


@pytest.mark.parametrize("action", ["DescribeVolumes", "DescribeSecurityGroups", "DescribePlacementGroups"])
@pytest.mark.parametrize("what", ["truncated", "lost", "empty"])
def test_p07_every_kind_must_be_listed(cloud, action, what):
    cloud.inject(action, what)
    with pytest.raises(IncompleteListing):
        asyncio.run(provider().find("study-a", region=REGION))


@pytest.mark.parametrize(
    ("code", "kind"),
    [("RequestLimitExceeded", Throttled), ("ExpiredToken", NoCredentials), ("UnauthorizedOperation", Refused)],
)
def test_why_a_list_did_not_come_is_told_apart(cloud, code, kind):
    cloud.inject("DescribeInstances", f"error:{code}")
    with pytest.raises(kind, match=code):
        asyncio.run(provider().find("study-a", region=REGION))


def test_p11_credentials_that_were_renewed_are_used_in_the_same_process(cloud, monkeypatch):
    driver = provider()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "expired")
    with pytest.raises(NoCredentials):
        asyncio.run(driver.find("study-a", region=REGION))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", cloud.account.secret)
    assert found(driver, "study-a", region=REGION) == set()


def test_p03_stale_lists_hide_only_for_a_while(cloud):
    cloud.faults = Faults(read_lag_s=1e9)
    driver = provider()
    id = asyncio.run(driver.create(request()))
    assert found(driver, "study-a", "token-1", region=REGION) == set()
    cloud.faults = Faults()
    assert found(driver, "study-a", "token-1", region=REGION) == {(INSTANCE, id)}


def swept(driver):
    """A sweep of one cloud that destroys, and waits hardly at all."""
    wall = WallTime()
    pace = Pace(wall, lambda: 0.0, Tempo(interval_s=0.001))
    patience = Patience(poll_s=0.01, give_up_s=20.0)
    return asyncio.run(sweep({driver.name: driver}, wall, delete=True, pace=pace, patience=patience))


def leftovers_amid(cloud, decoys):
    """Plants so many look-alikes, launches one machine that has expired, sweeps; returns what is wrong."""
    planted = set()
    for number in range(decoys):
        kind = ("instance", "firewall", "volume")[number % 3]
        region = REGIONS[number % len(REGIONS)]
        decoy = DECOYS[number // 3 % len(DECOYS)]
        planted.add(cloud.plant(kind, region, f"cloudcmp-study-a-launch-{number}-1", decoy))
    driver = provider()
    own = asyncio.run(launched(driver, tags=tuple(sorted({**dict(tags()), **EXPIRED}.items()))))
    found = swept(driver)
    wrong = [f"unlisted: {line}" for line in (*found.unlisted, *found.faults)]
    due = [one for one in found.leftovers if one.fate is not Fate.KEPT]
    wrong += [f"due: {one.found.cloud_id}" for one in due if one.found.cloud_id not in own]
    left = {thing.id for thing in cloud.alive()}
    wrong += [f"lost: {id}" for id in planted - left] + [f"left: {id}" for id in set(own) & left]
    for call in cloud.journal:
        touched = set(call.params.values()) & planted
        wrong += [f"{call.name} touched {id}" for id in touched]
    return wrong


def test_p06_leftovers_are_ours_only_in_all_regions(cloud):
    assert leftovers_amid(cloud, 60) == []


@pytest.mark.parametrize("skew_s", [86_400.0, -86_400.0])
def test_p07_where_the_clouds_clock_is_another_nothing_is_destroyed(cloud, skew_s):
    cloud.faults = Faults(skew_s=skew_s)
    driver = provider()
    assert abs(asyncio.run(driver.date()) - time.time() - skew_s) < 30.0
    own = asyncio.run(launched(driver, tags=tuple(sorted({**dict(tags()), **EXPIRED}.items()))))
    found = swept(driver)
    assert not found.complete
    assert [one.fate for one in found.leftovers] == [Fate.KEPT] * 2
    assert set(own) <= {thing.id for thing in cloud.alive()}


def test_leftovers_name_what_could_not_be_listed(cloud):
    asyncio.run(launched(provider()))
    cloud.inject("DescribeVolumes", "error:UnauthorizedOperation")
    cloud.inject("DescribeInstances", "truncated", first=2)
    listing = asyncio.run(provider().leftovers())
    # Which region's call came first is chance; which kinds were not listed is not.
    assert sorted(line.split(": ")[1] for line in listing.unlisted) == ["instances", "volumes"]
    assert all(line.split(": ")[0] in REGIONS for line in listing.unlisted)
    assert any("UnauthorizedOperation" in line for line in listing.unlisted)
    assert {item.kind for item in listing.found} >= {FIREWALL}
    cloud.inject("DescribeRegions", "5xx")
    listing = asyncio.run(provider().leftovers())
    assert listing.unlisted[0].startswith("regions:")
    assert {item.kind for item in listing.found} == {INSTANCE, FIREWALL}


def test_leftovers_of_unknown_schema_are_listed_with_it_and_not_judged_here(cloud):
    id = cloud.plant("instance", REGION, "later", {"cloudcmp:schema": "2", "cloudcmp:study": "s"})
    listing = asyncio.run(provider().leftovers())
    assert [(item.cloud_id, dict(item.tags)["cloudcmp:schema"]) for item in listing.found] == [(id, "2")]


def test_an_older_cloud_tells_the_token_where_it_cannot_filter_by_it():
    with pointed(ec2(replace(EUCALYPTUS, tags="ignored"))):
        driver = provider("ec2")
        options = {"accept_untracked": "yes"}
        group = asyncio.run(driver.create(request(FIREWALL, "token-1-f", options=options)))
        id = asyncio.run(driver.create(request(options={"firewall": group})))
        assert found(driver, "study-a", "token-1", region=REGION) == {(INSTANCE, id)}
        assert found(driver, "study-a", region=REGION) == set()


def test_p01_a_study_ends_by_what_find_names(cloud):
    """What `cleanup` does when the ledger knows nothing: 0 left, 0 foreign touched."""
    foreign = {cloud.plant(kind, REGION, "theirs", {"cloudcmp:study": "study-b"}) for kind in ("instance", "volume")}
    driver = provider()
    asyncio.run(launched(driver))

    async def end():
        for item in sorted(await driver.find("study-a", region=REGION), key=lambda one: one.kind != INSTANCE):
            await driver.destroy(item.handle())
            assert await driver.gone(item.handle())

    asyncio.run(end())
    theirs = {thing.id for thing in cloud.alive() if thing.kind in {"instance", VOLUME, FIREWALL}}
    assert foreign <= theirs
    assert all(("cloudcmp:study", "study-a") not in thing.tags for thing in cloud.alive())
    cloud.inject("TerminateInstances", "error:RequestLimitExceeded")
    with pytest.raises(Throttled):
        asyncio.run(driver.destroy(instance("i-0123456789abcdef0")))
    asyncio.run(driver.destroy(firewall("sg-0123456789abcdef0")))


@pytest.mark.parametrize("how", ["empty", "none"])
def test_p07_no_regions_is_no_list(cloud, how):
    """Whoever answers is in one: what names none must not count as having looked everywhere."""
    if how == "none":
        cloud.state.regions = ()
    else:
        cloud.inject("DescribeRegions", how, times=99)
    driver = provider()
    with pytest.raises(IncompleteListing, match="without regions"):
        asyncio.run(driver.find("study-a"))
    with pytest.raises(IncompleteListing, match="without regions"):
        driver.offerings(REGION)
    assert "regions: they cannot be listed" in asyncio.run(driver.leftovers()).unlisted[0]
