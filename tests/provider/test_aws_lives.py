"""How machines of an emulated EC2 live and end: looked at, gone, left over, resized, taken back."""

import asyncio

import pytest
from tests.emulated.ec2 import Faults
from tests.emulated.ec2_requests import REGION, Clock, firewall, instance, launched, provider, request, tags

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.model.lease import FIREWALL, VOLUME, Handle

GIB = 2**30


def test_look_tells_the_states_apart(cloud):
    async def walk():
        driver = provider()
        _, id = await launched(driver)
        sights = [await driver.look(instance(id))]
        cloud.faults = Faults(pending_s=1e9)
        sights.append(await driver.look(instance(id)))
        cloud.faults = Faults()
        cloud.account.ec2(REGION).stop_instances([id])
        sights.append(await driver.look(instance(id)))
        sights.append(await driver.look(instance("i-0123456789abcdef0")))
        await driver.destroy(instance(id))
        sights.append(await driver.look(instance(id)))
        return sights

    running, pending, stopped, unseen, ended = asyncio.run(walk())
    assert (running.state, pending.state, stopped.state, unseen.state, ended.state) == (
        "running", "pending", "stopped", "pending", "gone",
    )  # fmt: skip
    assert running.address.startswith("127.91.")
    assert running.peer_address == running.address
    assert "shutdown" in ended.why


def test_p04_gone_is_only_what_was_seen_gone(cloud):
    clock = Clock()

    async def walk():
        driver = provider(clock=clock)
        group, id = await launched(driver)
        assert await driver.gone(instance(id)) is None
        for how in ("nothing", "stopped"):
            cloud.faults = Faults(terminate=how)
            await driver.destroy(instance(id))
            clock.now += 10_000
            assert await driver.gone(instance(id)) is None
            with pytest.raises(ProviderFault, match="DependencyViolation"):
                await driver.destroy(firewall(group))
            assert await driver.gone(firewall(group)) is None
        cloud.faults = Faults()
        await driver.destroy(instance(id))
        assert "terminated" in await driver.gone(instance(id))
        await driver.destroy(firewall(group))
        assert "accepted" in await driver.gone(firewall(group))
        await driver.destroy(firewall(group))
        await driver.destroy(instance(id))

    asyncio.run(walk())
    assert cloud.alive() == []


def test_p03_a_machine_that_no_list_shows_yet_is_not_gone(cloud):
    clock = Clock()

    async def walk():
        driver = provider(clock=clock)
        _, id = await launched(driver)
        cloud.faults = Faults(read_lag_s=1e9)
        await driver.destroy(instance(id))
        for _ in range(3):
            assert await driver.gone(instance(id)) is None
            clock.now += 90
        cloud.faults = Faults()
        assert await driver.gone(instance(id)) is None
        cloud.faults = Faults(read_lag_s=1e9)
        assert await driver.gone(instance(id)) is None
        clock.now += 250
        cloud.inject("DescribeInstances", "error:InternalError")
        with pytest.raises(ProviderFault):
            await driver.gone(instance(id))
        cloud.inject("DescribeInstances", "empty")
        with pytest.raises(ProviderFault):
            await driver.gone(instance(id))
        clock.now += 51
        assert "not in any complete list" in await driver.gone(instance(id))

    asyncio.run(walk())


def test_a_volume_that_stayed_is_found_and_ended(cloud):
    async def walk():
        driver = provider()
        id = cloud.plant("volume", REGION, "left", dict(tags()))
        found = await driver.find("study-a", region=REGION)
        assert [(item.kind, item.cloud_id) for item in found] == [(VOLUME, id)]
        handle = Handle(VOLUME, REGION, id)
        assert await driver.gone(handle) is None
        await driver.destroy(handle)
        assert "accepted" in await driver.gone(handle)

    asyncio.run(walk())
    assert cloud.alive() == []


def test_a_placement_group_goes_with_its_firewall_and_alone(cloud):
    async def walk():
        driver = provider()
        kept = [await driver.create(request(FIREWALL, name, options={"placement": "spread"})) for name in "ab"]
        await driver.destroy(firewall(kept[0]))
        assert len(cloud.state.placements) == 1
        cloud.account.ec2(REGION).delete_security_group(group_id=kept[1])
        found = await driver.find("study-a", region=REGION)
        assert [(item.kind, item.name) for item in found] == [(FIREWALL, f"cloudcmp-{kept[1]}")]
        assert await driver.gone(found[0].handle()) is None
        await driver.destroy(found[0].handle())
        assert await driver.gone(found[0].handle())
        await driver.destroy(found[0].handle())

    asyncio.run(walk())
    assert cloud.state.placements == {}


def test_resize_stops_changes_and_starts(cloud):
    async def walk():
        driver = provider()
        _, id = await launched(driver)
        await driver.resize(instance(id), "t3.small")
        assert (await driver.look(instance(id))).state == "running"
        assert (await driver.find("study-a", region=REGION))[0].offering == "t3.small"
        cloud.inject("StopInstances", "error:UnsupportedOperation")
        with pytest.raises(Refused, match="UnsupportedOperation"):
            await driver.resize(instance(id), "t3.micro")

    asyncio.run(walk())


def test_a_list_that_still_says_stopped_after_the_start_fails_no_resize(cloud):
    async def walk():
        driver = provider()
        _, id = await launched(driver)
        cloud.faults = Faults(read_lag_s=0.4)
        await asyncio.sleep(0.4)
        await driver.resize(instance(id), "t3.small")
        return await driver.look(instance(id))

    assert asyncio.run(walk()).state in {"pending", "running"}


def test_a_machine_that_never_starts_again_is_told(cloud):
    clock = Clock()

    async def walk():
        driver = provider(clock=clock)
        _, id = await launched(driver)
        cloud.state.lives.all[id].began -= 2e9  # made long ago: lists show it
        cloud.faults = Faults(read_lag_s=1e9)
        moments = []

        def stopped():
            moments.append(cloud.state.lives.state(id))

        waiting = asyncio.create_task(driver.resize(instance(id), "t3.small", stopped))
        while not cloud.calls("StartInstances"):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        clock.now += 61
        with pytest.raises(ProviderFault, match="not started after 60 s"):
            await asyncio.wait_for(waiting, 10)
        assert moments == ["stopped"]

    asyncio.run(walk())


def test_a_spot_machine_taken_back_is_gone_with_its_reason(cloud):
    async def walk():
        driver = provider()
        _, id = await launched(driver, options={"market": "spot"})
        cloud.reclaim(id)
        sight = await driver.look(instance(id))
        assert (sight.state, "SpotInstanceTermination" in sight.why) == ("gone", True)
        assert await driver.gone(instance(id))

    asyncio.run(walk())
