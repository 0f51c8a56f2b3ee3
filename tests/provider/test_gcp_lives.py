"""What becomes of machines of Compute Engine: up, stopped, taken, ended by the cloud, and seen gone."""

import asyncio
import time

import pytest
from tests.emulated.asks import Clock
from tests.emulated.gce import Faults, Gce
from tests.emulated.gce_requests import REGION, ZONE, firewall, instance, launched, provider, request
from tests.emulated.gce_told import body_of
from tests.emulated.pointed import pointed

from cloudcmp.errors import IncompleteListing, ProviderFault, Refused
from cloudcmp.model.lease import FIREWALL, VOLUME, Handle
from cloudcmp.provider.gcp.cloud import SAFEGUARDS


class Guest:
    """What stands behind a machine: it powers itself off when told to."""

    address = "127.93.0.1"

    def __init__(self) -> None:
        self.on = True

    def alive(self) -> bool:
        """False once it has ended by itself."""
        return self.on

    def kill(self) -> None:
        """End it."""
        self.on = False


@pytest.fixture
def guests(monkeypatch):
    """A cloud with a clock of its own, whose machines are guests: the cloud, its clock, its guests."""
    clock, made = Clock(time.time()), []

    def boot(_user_data, _id):
        made.append(Guest())
        return made[-1]

    with pointed(Gce(boot=boot, clock=clock), monkeypatch) as cloud:
        yield cloud, clock, made


def test_a_machine_is_pending_then_runs_at_its_addresses(gce_cloud):
    gce_cloud.faults = Faults(pending_s=0.4, read_lag_s=0.1)

    async def walk():
        driver = provider()
        id = await driver.create(request())
        seen = []
        while not seen or seen[-1].state != "running":
            seen.append(await driver.look(instance(id)))
            await asyncio.sleep(0.02)
        assert {one.state for one in seen} == {"pending", "running"}
        assert (seen[-1].port, seen[-1].address, seen[-1].peer_address) == (22, "127.91.0.2", "127.91.0.2")
        assert await driver.zone(instance(id)) == ZONE

    asyncio.run(walk())


def test_what_is_not_shown_yet_is_pending_and_not_gone(gce_cloud):
    gce_cloud.faults = Faults(read_lag_s=30.0)

    async def walk():
        driver = provider(settle_s=60.0)
        id = await driver.create(request())
        assert (await driver.look(instance(id))).state == "pending"
        assert await driver.gone(instance(id)) is None
        await driver.destroy(instance(id))  # not found either, which says nothing
        assert await driver.gone(instance(id)) is None

    asyncio.run(walk())
    assert len(gce_cloud.state.lives) == 1


def test_a_guests_own_power_off_leaves_it_stopped_with_its_disks_and_nothing_ends_it(guests):
    cloud, clock, made = guests

    async def walk():
        driver = provider(settle_s=0.0)
        id = await driver.create(request())
        made[0].on = False
        sight = await driver.look(instance(id))
        assert (sight.state, sight.taken) == ("stopped", None)
        assert "powered itself off" in sight.why
        clock.now += 3000.0
        assert [await driver.gone(instance(id)) for _ in range(3)] == [None] * 3
        assert sorted(thing.kind for thing in cloud.alive()) == ["instance", "volume"]
        await driver.destroy(instance(id))
        assert await driver.gone(instance(id))

    asyncio.run(walk())
    assert cloud.alive() == []
    death = next(one for one in SAFEGUARDS if one.name == "death")
    assert "powered itself off" in death.how


def test_p04_the_cloud_itself_ends_a_machine_at_its_time_to_live(guests):
    cloud, clock, made = guests

    async def walk():
        driver = provider(settle_s=0.0)
        id = await driver.create(request(ttl_s=600.0))
        clock.now += 590.0
        assert (await driver.look(instance(id))).state == "running"
        clock.now += 20.0
        sight = await driver.look(instance(id))
        assert (sight.state, sight.taken) == ("gone", False)
        assert "terminate" in sight.why
        assert not made[0].alive()
        assert [await driver.gone(instance(id)) is not None for _ in range(2)] == [False, True]

    asyncio.run(walk())
    assert cloud.alive() == []


def test_the_end_stays_where_it_is_when_a_machine_is_resized(guests):
    cloud, clock, _ = guests

    async def walk():
        driver, stopped = provider(), []
        id = await driver.create(request(ttl_s=600.0))
        clock.now += 500.0
        await driver.resize(instance(id), "e2-standard-2", lambda: stopped.append(cloud.alive()[0].state))
        assert stopped == ["TERMINATED"]
        assert (await driver.look(instance(id))).state == "running"
        (found,) = await driver.find("study-a")
        assert found.offering == "e2-standard-2"
        clock.now += 110.0
        assert (await driver.look(instance(id))).state == "gone"

    asyncio.run(walk())


def test_a_resize_to_what_is_not_there_is_refused_and_leaves_it_stopped(gce_cloud):
    async def walk():
        driver = provider()
        id = await driver.create(request())
        with pytest.raises(Refused, match="machineType"):
            await driver.resize(instance(id), "e2-nothing")
        assert (await driver.look(instance(id))).state == "stopped"

    asyncio.run(walk())


def test_a_resize_of_which_the_cloud_does_nothing_ends(gce_cloud, monkeypatch):
    monkeypatch.setattr("cloudcmp.provider.gcp.lifecycle._STOP_S", 0.05)
    gce_cloud.faults = Faults(end_s=60.0)
    id = asyncio.run(provider().create(request()))
    with pytest.raises(ProviderFault, match="not TERMINATED after"):
        asyncio.run(provider().resize(instance(id), "e2-standard-2"))


@pytest.mark.parametrize("ends", [True, False])
def test_a_spot_machine_that_is_taken_back_is_told_so(gce_cloud, ends):
    async def walk():
        driver = provider(settle_s=0.0)
        _, id = await launched(driver, options={"market": "spot"})
        if not ends:
            gce_cloud.state.lives[id].body["scheduling"]["instanceTerminationAction"] = "STOP"
        gce_cloud.reclaim(id)
        sight = await driver.look(instance(id))
        assert (sight.state, sight.taken) == ("gone" if ends else "stopped", True)
        assert "preempted" in sight.why

    asyncio.run(walk())


def test_a_machine_that_somebody_else_ended_or_stopped_was_not_taken(gce_cloud):
    async def walk():
        driver = provider()
        first = await driver.create(request(options={"market": "spot"}))
        second = await driver.create(request(token="token-2"))
        for id, action in ((first, "delete_unary"), (second, "stop_unary")):
            zone, name = id.split("/")
            await driver._sdk.change("instances", action, zone=zone, instance=name)
        sights = [await driver.look(instance(id)) for id in (first, second)]
        assert [(one.state, one.taken) for one in sights] == [("gone", False), ("stopped", False)]

    asyncio.run(walk())


def test_absence_is_believed_only_after_it_has_lasted(gce_cloud):
    moment = Clock(time.time())

    async def walk():
        driver = provider(settle_s=300.0, clock=moment)
        gone = instance(f"{ZONE}/cloudcmp-nothing")
        assert await driver.gone(gone) is None
        moment.now += 299.0
        assert await driver.gone(gone) is None
        moment.now += 2.0
        assert "not found for 301 s" in (await driver.gone(gone) or "")

    asyncio.run(walk())


@pytest.mark.parametrize("id", ["us-central1-z/cloudcmp-x", "nonsense"])
def test_a_zone_that_is_not_found_says_nothing_of_a_machine(gce_cloud, id):
    driver = provider(settle_s=0.0)
    with pytest.raises(IncompleteListing if "/" in id else Refused):
        asyncio.run(driver.gone(instance(id)))


def test_ended_slowly_is_not_gone_until_it_is(gce_cloud):
    gce_cloud.faults = Faults(end_s=0.4)

    async def walk():
        driver = provider()
        id = await driver.create(request())
        await driver.destroy(instance(id))
        assert await driver.gone(instance(id)) is None
        assert (await driver.look(instance(id))).state == "stopped"
        await asyncio.sleep(0.5)
        assert await driver.gone(instance(id))

    asyncio.run(walk())


def test_rules_are_gone_when_all_are(gce_cloud):
    async def walk():
        driver = provider()
        group, id = await launched(driver)
        gce_cloud.inject("firewalls.delete", "error:forbidden", first=2)
        with pytest.raises(Refused):
            await driver.destroy(firewall(group))
        assert await driver.gone(firewall(group)) is None
        assert [one.cloud_id for one in await driver.find("study-a") if one.kind == "firewall"] == [group]
        await driver.destroy(firewall(group))
        assert await driver.gone(firewall(group))
        assert (await driver.look(instance(id))).state == "running"

    asyncio.run(walk())


@pytest.mark.parametrize("left", ["", "-inside", "-nobody"])
def test_one_rule_that_stays_keeps_a_launchs_rules_from_being_told_gone(gce_cloud, left):
    driver = provider(settle_s=0.0)
    group = asyncio.run(driver.create(request(FIREWALL)))
    rules = gce_cloud.state.firewalls
    for name in set(rules) - {f"{group}{left}"}:
        rules.pop(name)
    assert [asyncio.run(driver.gone(firewall(group))) for _ in range(3)] == [None] * 3


def test_a_disk_that_stayed_is_listed_and_ended(gce_cloud):
    async def walk():
        driver = provider()
        id = gce_cloud.plant("volume", REGION, "left", {"cloudcmp:schema": "1", "cloudcmp:study": "study-a"})
        (found,) = await driver.find("study-a")
        assert (found.kind, found.cloud_id, found.region) == (VOLUME, id, REGION)
        await driver.destroy(Handle(VOLUME, REGION, id))
        assert await driver.gone(found.handle())

    asyncio.run(walk())
    assert gce_cloud.alive() == []


def test_nothing_is_made_that_no_guest_knows_the_end_of(guests):
    cloud, _, _ = guests
    asyncio.run(provider().create(request(options={"image": "ubuntu-22.04"})))
    scheduling = body_of(cloud.calls("instances.insert")[0])["scheduling"]
    assert {"terminationTime", "instanceTerminationAction"} <= set(scheduling)
