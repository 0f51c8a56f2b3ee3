"""What becomes of machines at the emulated OpenStack, of their addresses and of their volumes."""

import asyncio

import pytest
from tests.emulated.nova import Faults
from tests.emulated.nova_requests import (
    ALLOW,
    REGION,
    STUDY,
    firewall,
    instance,
    launched,
    provider,
    tags,
)
from tests.provider.openstacks import pointed

from cloudcmp.errors import (
    NoCapacity,
    ProviderFault,
    Refused,
    Throttled,
)
from cloudcmp.model.lease import ADDRESS, VOLUME, Handle
from cloudcmp.model.offering import Volume

GIB = 2**30


@pytest.fixture
def cloud(monkeypatch):
    with pointed(patch=monkeypatch) as one:
        yield one


def test_a_machine_behind_a_router_is_given_one_floating_address_which_goes_with_it(cloud):
    async def walk():
        driver = provider()
        group, machine = await launched(driver)
        sights = [await driver.look(instance(machine)) for _ in range(3)]
        (floating,) = cloud.regions[REGION].floatings.values()
        assert {one.address for one in sights} == {floating.address}
        assert sights[0].peer_address == cloud.regions[REGION].servers[machine].address != floating.address
        found = {one.cloud_id: one for one in await driver.find(STUDY)}
        assert (found[floating.id].kind, found[floating.id].tags) == (ADDRESS, tags())
        await driver.destroy(instance(machine))
        evidence = [await driver.gone(instance(machine)) for _ in range(2)]
        assert all(evidence)
        assert machine in evidence[0]
        await driver.destroy(firewall(group))
        assert await driver.gone(firewall(group))

    asyncio.run(walk())
    assert cloud.alive() == []
    assert len(cloud.calls("CreateFloatingIp")) == 1


def test_a_machine_on_an_external_network_needs_no_floating_address():
    with pointed(Faults(network="provider")) as cloud:

        async def walk():
            driver = provider()
            _, machine = await launched(driver)
            return machine, await driver.look(instance(machine))

        machine, sight = asyncio.run(walk())
        assert sight.address == sight.peer_address == cloud.regions[REGION].servers[machine].address
        assert cloud.calls("CreateFloatingIp") == []


def test_a_machine_that_was_asked_to_end_is_given_no_address_any_more():
    with pointed(Faults(deletes="nothing")) as cloud:

        async def walk():
            driver = provider()
            _, machine = await launched(driver)
            await driver.destroy(instance(machine))
            return await driver.look(instance(machine))

        assert asyncio.run(walk()).address is None
        assert cloud.regions[REGION].floatings == {}


def test_only_the_process_that_asked_for_a_machine_gives_it_an_address(cloud):
    async def walk():
        _, machine = await launched(provider())
        await provider().look(instance(machine))
        cloud.inject("CreateFloatingIp", "lost")
        return machine

    asyncio.run(walk())
    assert cloud.regions[REGION].floatings == {}


@pytest.mark.parametrize("what", ["lost", "reset", "5xx", "truncated", "drop", "error:503", "error:429"])
def test_a_floating_address_whose_answer_is_lost_is_found_and_never_made_twice(cloud, what):
    async def walk():
        driver = provider()
        _, machine = await launched(driver)
        cloud.inject("CreateFloatingIp", what)
        for _ in range(3):
            try:
                sight = await driver.look(instance(machine))
            except Throttled:
                continue
        return sight

    sight = asyncio.run(walk())
    (floating,) = cloud.regions[REGION].floatings.values()
    assert sight.address == floating.address


def test_a_floating_address_that_stays_keeps_its_machine_from_being_told_gone(cloud):
    async def walk():
        driver = provider(settle_s=0.0)
        _, machine = await launched(driver)
        await driver.look(instance(machine))
        cloud.inject("DeleteFloatingIp", "error:500", times=2)
        for _ in range(2):
            with pytest.raises(ProviderFault):
                await driver.destroy(instance(machine))
            assert await driver.gone(instance(machine)) is None
        await driver.destroy(instance(machine))
        assert await driver.gone(instance(machine))

    asyncio.run(walk())
    assert cloud.regions[REGION].floatings == {}


def test_a_stopped_machine_is_neither_running_nor_gone(cloud):
    async def walk():
        driver = provider(settle_s=0.0)
        _, machine = await launched(driver)
        cloud.lives.power_off(cloud.regions[REGION].servers[machine])
        return await driver.look(instance(machine)), await driver.gone(instance(machine))

    sight, evidence = asyncio.run(walk())
    assert (sight.state, sight.taken, evidence) == ("stopped", False, None)


def test_a_machine_that_no_host_has_room_for_is_no_capacity_and_is_ended_all_the_same():
    with pointed(Faults(no_host=True)) as cloud:

        async def walk():
            driver = provider()
            group, machine = await launched(driver)
            with pytest.raises(NoCapacity, match="No valid host"):
                await driver.look(instance(machine))
            assert await driver.gone(instance(machine)) is None
            for handle in (instance(machine), firewall(group)):
                await driver.destroy(handle)
                assert await driver.gone(handle)

        asyncio.run(walk())
        assert cloud.alive() == []


def test_a_machine_that_fails_otherwise_tells_why(cloud):
    async def walk():
        driver = provider()
        _, machine = await launched(driver)
        cloud.regions[REGION].servers[machine].error = "The disk caught fire."
        return await driver.look(instance(machine))

    sight = asyncio.run(walk())
    assert (sight.state, sight.why) == ("stopped", "The disk caught fire.")


def test_a_machine_that_is_only_put_aside_is_ended_by_force():
    with pointed(Faults(deletes="soft")) as cloud:

        async def walk():
            driver = provider(settle_s=0.0)
            _, machine = await launched(driver)
            await driver.destroy(instance(machine))
            assert await driver.gone(instance(machine)) is None
            await driver.destroy(instance(machine))
            assert await driver.gone(instance(machine))

        asyncio.run(walk())
        assert [one.kind for one in cloud.alive()] == ["firewall"]


def test_a_delete_that_does_nothing_is_not_believed():
    with pointed(Faults(deletes="nothing")):

        async def walk():
            driver = provider(settle_s=0.0)
            _, machine = await launched(driver)
            await driver.destroy(instance(machine))
            return [await driver.gone(instance(machine)) for _ in range(3)]

        assert asyncio.run(walk()) == [None, None, None]


def test_a_volume_that_outlives_its_machine_is_found_and_deleted():
    with pointed(Faults(volumes="stays")) as cloud:

        async def walk():
            driver = provider(settle_s=0.0)
            _, machine = await launched(driver, volume=Volume("ssd", GIB))
            await driver.destroy(instance(machine))
            fresh = provider(settle_s=0.0)
            assert [await fresh.gone(instance(machine)) for _ in range(3)] == [None] * 3
            (left,) = [one for one in await provider().find(STUDY) if one.kind == VOLUME]
            assert left.tags == tags()
            await provider().destroy(instance(machine))
            assert await driver.gone(instance(machine))

        asyncio.run(walk())
        assert [one.kind for one in cloud.alive()] == ["firewall"]


def test_a_resize_is_confirmed_and_tells_the_moment_in_which_the_machine_stands_still(cloud):
    async def walk():
        driver, moments = provider(), []
        _, machine = await launched(driver)
        await driver.resize(instance(machine), "m1.medium", lambda: moments.append("stopped"))
        sold = {one.cloud_id: one.offering for one in await driver.find(STUDY)}
        return moments, sold[machine], (await driver.look(instance(machine))).state

    assert asyncio.run(walk()) == (["stopped"], "m1.medium", "running")
    assert [len(cloud.calls(name)) for name in ("ResizeServer", "ConfirmResize")] == [1, 1]


@pytest.mark.parametrize(
    ("to", "kind", "why"),
    [("m1.tiny", Refused, "disk down"), ("m9", Refused, "no flavor"), ("c1.large", NoCapacity, "host")],
)
def test_a_resize_that_cannot_be_had_leaves_the_machine_as_it_is(cloud, to, kind, why):
    async def walk():
        driver = provider()
        _, machine = await launched(driver)
        cloud.faults = Faults(no_host=True)
        with pytest.raises(kind, match=why):
            await driver.resize(instance(machine), to)
        return (await driver.look(instance(machine))).state

    assert asyncio.run(walk()) == "running"


def test_zones_are_asked_for_and_told(cloud):
    async def walk():
        driver = provider()
        _, machine = await launched(driver, options={"zone": "az2", ALLOW[0]: ALLOW[1]})
        return await driver.zone(instance(machine)), await driver.zone(instance("0" * 36))

    assert asyncio.run(walk()) == ("az2", None)


def test_each_kind_is_ended_by_its_own_call_and_seen_gone(cloud):
    async def walk():
        driver = provider(settle_s=0.0)
        for kind in ("instance", "firewall", "volume", ADDRESS):
            handle = Handle(kind, REGION, cloud.plant(kind, REGION, kind, dict(tags())))
            assert await driver.gone(handle) is None
            await driver.destroy(handle)
            assert handle.cloud_id in (await driver.gone(handle) or "")
            await driver.destroy(handle)

    asyncio.run(walk())
    assert cloud.alive() == []


def test_absence_is_believed_only_after_it_settled():
    from tests.emulated.nova_requests import Clock

    clock = Clock()
    with pointed():

        async def walk():
            driver = provider(settle_s=300.0, clock=clock)
            told = []
            for seconds in (0.0, 100.0, 250.0):
                clock.now += seconds
                told.append(await driver.gone(instance("0" * 36)))
            return told

        first, second, third = asyncio.run(walk())
        assert (first, second) == (None, None)
        assert "350 s" in third


class Guest:
    """A machine behind a server, until it switches itself off."""

    address = "127.121.250.1"
    on = True

    def alive(self):
        return self.on

    def kill(self):
        self.on = False


def test_a_guest_that_switches_itself_off_is_kept_with_all_that_it_has():
    """What the barrier says of a machine's own end, as Nova documents it."""
    guests = []

    def boot(user_data, id):
        guests.append(Guest())
        return guests[-1]

    with pointed(boot=boot) as cloud:

        async def walk():
            driver = provider(settle_s=0.0)
            _, machine = await launched(driver, volume=Volume("ssd", GIB))
            while (await driver.look(instance(machine))).address is None:
                await asyncio.sleep(0.01)
            guests[0].on = False
            sight = await driver.look(instance(machine))
            return sight.state, [await driver.gone(instance(machine)) for _ in range(2)]

        assert asyncio.run(walk()) == ("stopped", [None, None])
        assert sorted(one.kind for one in cloud.alive()) == ["address", "firewall", "instance", "volume"]
        (death,) = [one for one in provider().safeguards if one.name == "death"]
        assert not death.holds
        assert "SHUTOFF" in death.how
