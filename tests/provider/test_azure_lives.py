"""What becomes of machines on the emulated Azure: stopped, taken back, ended, resized, and what lists show of them."""

import asyncio

import pytest
from tests.emulated.arm import STANDING, Faults, arm
from tests.emulated.arm_requests import REGION, Clock, firewall, instance, launched, provider, tags
from tests.emulated.pointed import pointed

from cloudcmp.errors import LostAnswer, Refused
from cloudcmp.model.lease import FIREWALL, VOLUME, Handle
from cloudcmp.model.offering import Volume


@pytest.fixture
def cloud(monkeypatch):
    with pointed(arm(), monkeypatch) as one:
        yield one


def kinds(cloud):
    return sorted(thing.kind for thing in cloud.alive())


def test_stopped_is_not_gone_and_what_powers_itself_off_is_stopped_and_billed(cloud):
    driver = provider(settle_s=0.0)
    _, machine = asyncio.run(launched(driver))
    for power in ("stopped", "deallocated"):
        cloud.state.lives[machine].power = power
        assert asyncio.run(driver.look(instance(machine))).state == "stopped"
        assert [asyncio.run(driver.gone(instance(machine))) for _ in range(3)] == [None] * 3
    (death,) = [one for one in driver.safeguards if one.name == "death"]
    assert not death.holds
    assert "stopped is not deallocated" in death.how
    assert driver.billing.ends is False


def test_a_spot_machine_that_is_taken_back_is_gone_and_nobody_says_why(cloud):
    driver = provider()
    _, machine = asyncio.run(launched(driver, options={"market": "spot"}, offering="Standard_D2s_v5"))
    assert asyncio.run(driver.look(instance(machine))).state == "running"
    cloud.reclaim(machine)
    sight = asyncio.run(driver.look(instance(machine)))
    assert (sight.state, sight.taken) == ("gone", None)
    assert "volume" not in kinds(cloud)


def test_p04_absence_is_believed_only_after_a_deletion_was_accepted_or_long_enough(cloud):
    clock = Clock()
    driver = provider(settle_s=300.0, clock=clock)
    _, machine = asyncio.run(launched(driver))
    other = instance(f"{machine.rpartition('/')[0]}/cloudcmp-never-made")
    assert asyncio.run(driver.gone(other)) is None
    asyncio.run(driver.destroy(other))
    assert asyncio.run(driver.gone(other)) is None, "a deletion that found nothing is no evidence"
    clock.now += 301
    assert "is not found for 301 s" in asyncio.run(driver.gone(other))


@pytest.mark.parametrize(
    ("action", "kind"), [("virtualMachines/delete", "instance"), ("subscriptions/resourceGroups/delete", FIREWALL)]
)
def test_a_deletion_whose_answer_was_lost_is_believed_where_the_thing_was_seen(cloud, action, kind):
    driver = provider()
    group, machine = asyncio.run(launched(driver))
    handle = instance(machine) if kind == "instance" else firewall(group)
    cloud.inject(action, "lost")

    async def end():
        assert await driver.gone(handle) is None
        with pytest.raises(LostAnswer):
            await driver.destroy(handle)
        assert await driver.gone(handle) is None
        await driver.destroy(handle)
        assert handle.cloud_id in (await driver.gone(handle) or "")

    asyncio.run(end())


def test_what_went_with_its_group_may_be_ended_again(cloud):
    driver = provider()
    group, machine = asyncio.run(launched(driver))
    asyncio.run(driver.destroy(firewall(group)))
    for handle in (instance(machine), firewall(group)):
        asyncio.run(driver.destroy(handle))
    cloud.inject("virtualMachines/delete", "error:ResourceGroupNotFound")
    asyncio.run(driver.destroy(instance(machine)))
    assert cloud.alive() == []


def test_what_was_made_is_found_in_its_region_only(cloud):
    driver = provider()
    made = set(asyncio.run(launched(driver)))
    assert {one.cloud_id for one in asyncio.run(driver.find("study-a", region=REGION))} == made
    assert asyncio.run(driver.find("study-a", region="westeurope")) == ()


def test_what_is_being_deleted_is_there(cloud):
    cloud.faults = Faults(terminate_s=0.3)
    driver = provider()

    async def walk():
        group, machine = await launched(driver)
        await driver.destroy(instance(machine))
        assert await driver.gone(instance(machine)) is None
        assert (await driver.look(instance(machine))).state == "stopped"
        await driver.destroy(firewall(group))
        assert await driver.gone(firewall(group)) is None
        await asyncio.sleep(0.4)
        assert await driver.gone(instance(machine))
        assert await driver.gone(firewall(group))

    asyncio.run(walk())


def test_resize_deallocates_changes_and_starts(cloud):
    driver = provider()
    _, machine = asyncio.run(launched(driver))
    seen = []
    asyncio.run(driver.resize(instance(machine), "Standard_B2s", lambda: seen.append(cloud.alive()[-1])))
    assert len(seen) == 1
    actions = [call.action for call in cloud.journal if cloud.changed_by(call)]
    assert actions == [
        "virtualMachines/deallocate/action", "virtualMachines/write", "virtualMachines/start/action",
    ]  # fmt: skip
    assert asyncio.run(driver.look(instance(machine))).state == "running"
    (listed,) = [one for one in asyncio.run(driver.find("study-a")) if one.kind == "instance"]
    assert listed.offering == "Standard_B2s"
    with pytest.raises(Refused, match="InvalidParameter"):
        asyncio.run(driver.resize(instance(machine), "Standard_none"))


# -- lists


def test_leftovers_are_what_bears_our_schema_wherever_it_stands(cloud):
    cloud.faults = Faults(page=1)
    ours = dict(tags())
    cloud.plant("instance", REGION, "theirs", {"cloudcmp:study": "study-a"})
    planted = {kind: cloud.plant(kind, "westeurope", f"cloudcmp-{kind}", ours) for kind in ("instance", "volume")}
    planted[FIREWALL] = cloud.plant("firewall", "westeurope", "cloudcmp-firewall-group", ours)
    listing = asyncio.run(provider().leftovers())
    assert listing.unlisted == ()
    assert {one.kind: one.cloud_id for one in listing.found} == planted
    assert {one.region for one in listing.found} == {"westeurope"}
    assert all(dict(one.tags) == ours for one in listing.found)
    assert asyncio.run(provider().find("study-a", region=REGION))[0].name == "theirs"

    async def end():
        driver = provider()
        for one in (planted["instance"], planted["volume"], planted[FIREWALL]):
            kind = next(key for key, value in planted.items() if value == one)
            handle = Handle(VOLUME if kind == "volume" else kind, "westeurope", one)
            await driver.destroy(handle)
            assert await driver.gone(handle)

    asyncio.run(end())
    assert [one.id.rpartition("/")[2] for one in cloud.alive()] == ["theirs"]
    assert all(STANDING in one.id for one in cloud.alive())


def test_a_disk_that_a_machine_holds_is_no_leftover_whatever_it_bears(cloud):
    driver = provider()
    made = set(asyncio.run(launched(driver, volume=Volume("Premium_LRS", 32 * 2**30))))
    held = [one for one in cloud.state.all.values() if one.body.get("managedBy")]
    for one in held:
        one.body["tags"] = dict(tags())
    assert {one.cloud_id for one in asyncio.run(driver.find("study-a"))} == made
    assert {one.cloud_id for one in asyncio.run(driver.leftovers()).found} == made
    assert len([one for one in held if "disks" in one.kind]) == 2


def test_a_kind_that_cannot_be_listed_is_said_and_the_others_are_listed(cloud):
    asyncio.run(launched(provider()))
    cloud.inject("disks/read", "5xx")
    listing = asyncio.run(provider().leftovers())
    assert {one.kind for one in listing.found} == {"instance", "firewall"}
    assert [line.partition(":")[0] for line in listing.unlisted] == ["disks"]


def test_offerings_are_what_the_subscription_may_have_there(cloud):
    driver = provider()
    sold = {one.name: one for one in driver.offerings(REGION)}
    assert "Standard_M8ms" not in sold
    one = sold["Standard_D2s_v5"]
    assert (one.vcpus, one.memory_gib, one.category, one.price) == (2.0, 8.0, "general", None)
    assert dict(sold["Standard_D2ps_v5"].attributes)["architecture"] == "aarch64"
    assert dict(sold["Standard_B1s"].attributes)["spot"] == "no"
    assert driver.offerings("nowhere") == ()
