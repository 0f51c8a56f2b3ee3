"""The Azure driver's calls against the emulated Resource Manager, through Azure's own clients."""

import asyncio
import json
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.emulated.arm import Faults, arm
from tests.emulated.arm_requests import (
    REGION,
    SIZE,
    firewall,
    instance,
    launched,
    provider,
    request,
)
from tests.emulated.arm_told import bodies, body_of
from tests.emulated.pointed import pointed

from cloudcmp.errors import LostAnswer, NoCapacity, ProviderFault, QuotaReached, Refused, Throttled
from cloudcmp.model.lease import FIREWALL
from cloudcmp.model.offering import Price, Volume
from cloudcmp.provider.azure.launch import throwaway_key

GIB = 2**30


@pytest.fixture
def cloud(monkeypatch):
    with pointed(arm(), monkeypatch) as one:
        yield one


def kinds(cloud):
    return sorted(thing.kind for thing in cloud.alive())


def made(cloud):
    return body_of(cloud.calls("virtualMachines/write")[-1])


def test_one_call_makes_the_machine_with_all_that_ends_with_it(cloud):
    group, machine = asyncio.run(launched(provider(), volume=Volume("Premium_LRS", 32 * GIB)))
    assert len(cloud.calls("virtualMachines/write")) == 1
    assert bodies(cloud) == []
    assert kinds(cloud) == [
        "address", "firewall", "instance", "interface", "networkSecurityGroups", "virtualNetworks", "volume", "volume",
    ]  # fmt: skip
    driver = provider()

    async def end():
        await driver.destroy(instance(machine))
        assert await driver.gone(instance(machine))
        assert kinds(cloud) == ["firewall", "networkSecurityGroups", "virtualNetworks"]
        await driver.destroy(firewall(group))
        assert await driver.gone(firewall(group))

    asyncio.run(end())
    assert cloud.alive() == []


def test_the_body_is_one_that_azures_own_model_knows_field_by_field(cloud):
    from azure.mgmt.compute.models import VirtualMachine

    price = Price(Decimal("0.01"), "USD", "test")
    options = {"market": "spot", "placement": "cluster"}
    asyncio.run(launched(provider(), volume=Volume("UltraSSD_LRS", 8 * GIB, 2000), options=options, price=price))
    body = made(cloud)
    read = VirtualMachine(body)
    assert read.storage_profile.os_disk.delete_option == "Delete"
    assert read.storage_profile.data_disks[0].disk_iops_read_write == 2000
    assert (read.priority, read.eviction_policy, read.billing_profile.max_price) == ("Spot", "Delete", 0.01)
    assert read.additional_capabilities.ultra_ssd_enabled is True
    assert read.proximity_placement_group.id.endswith("/cloudcmp-placement")
    card = read.network_profile.network_interface_configurations[0]
    assert card.ip_configurations[0].public_ip_address_configuration.sku.name == "Standard"
    assert read.os_profile.linux_configuration.disable_password_authentication is True
    assert read.as_dict() == json.loads(json.dumps(body))


def test_a_key_that_nobody_has_is_another_each_time():
    first, second = throwaway_key(), throwaway_key()
    assert first != second
    assert first.startswith("ssh-ed25519 AAAA")


def test_p01_the_same_request_never_makes_two_nor_changes_the_first(cloud):
    driver = provider()
    group, machine = asyncio.run(launched(driver))
    again = request(options={"firewall": group}, offering="Standard_B2s")
    assert asyncio.run(driver.create(again)) == machine
    assert asyncio.run(driver.create(request(FIREWALL, "token-1-f"))) == group
    assert kinds(cloud).count("instance") == 1
    (listed,) = [one for one in asyncio.run(driver.find("study-a")) if one.kind == "instance"]
    assert listed.offering == SIZE


def test_a_machine_of_that_name_that_bears_another_token_is_not_taken_for_ours(cloud):
    driver = provider()
    group, machine = asyncio.run(launched(driver))
    other = replace(request(options={"firewall": group}), token="token-2")
    with pytest.raises(LostAnswer, match="PreconditionFailed"):
        asyncio.run(driver.create(other))
    assert [one.id for one in cloud.alive() if one.kind == "instance"] == [machine]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AllocationFailed", NoCapacity),
        ("ZonalAllocationFailed", NoCapacity),
        ("OverconstrainedAllocationRequest", NoCapacity),
        ("SkuNotAvailable", NoCapacity),
        ("QuotaExceeded", QuotaReached),
        ("VMExtensionProvisioningError", Refused),
    ],
)
@pytest.mark.parametrize("when", ["at once", "later"])
def test_p01_what_has_no_room_is_told_so_whenever_azure_decides_it_and_nothing_half_made_stays(cloud, code, kind, when):
    cloud.faults = Faults(refused=((SIZE, code),)) if when == "at once" else Faults(fails=((SIZE, code),), fails_s=0.1)
    with pytest.raises(kind, match=code):
        asyncio.run(launched(provider()))
    assert kinds(cloud) == ["firewall", "networkSecurityGroups", "virtualNetworks"]
    assert len(cloud.calls("virtualMachines/write")) == 1


def test_p01_one_that_failed_and_cannot_be_ended_is_told_by_its_id_and_by_its_looks(cloud, monkeypatch):
    monkeypatch.setattr("cloudcmp.provider.azure.machines._ATTEMPTS", 3)
    cloud.faults = Faults(fails=((SIZE, "AllocationFailed"),), terminate="nothing")
    driver = provider()
    _, machine = asyncio.run(launched(driver))
    with pytest.raises(NoCapacity, match="AllocationFailed"):
        asyncio.run(driver.look(instance(machine)))
    assert asyncio.run(driver.gone(instance(machine))) is None


def test_p01_what_stands_there_when_room_is_refused_at_once_is_ended(cloud):
    driver = provider()
    group, machine = asyncio.run(launched(driver))
    cloud.inject("virtualMachines/write", "error:AllocationFailed")
    with pytest.raises(NoCapacity):
        asyncio.run(provider().create(request(options={"firewall": group})))
    assert machine not in {one.id for one in cloud.alive()}


def test_a_failure_after_we_stopped_waiting_is_told_by_a_look(cloud):
    cloud.faults = Faults(fails=((SIZE, "ZonalAllocationFailed"),), fails_s=0.4)
    driver = provider(decide_s=0.1)
    _, machine = asyncio.run(launched(driver))
    assert asyncio.run(driver.look(instance(machine))).state == "pending"

    async def until():
        while True:
            await driver.look(instance(machine))
            await asyncio.sleep(0.05)

    with pytest.raises(NoCapacity, match="ZonalAllocationFailed"):
        asyncio.run(until())


def test_p01_a_lost_answer_is_no_second_machine(cloud):
    cloud.inject("virtualMachines/write", "lost")
    driver = provider(attempts=3)
    with pytest.raises(LostAnswer):
        asyncio.run(launched(driver))
    assert len(cloud.calls("virtualMachines/write")) == 1
    found = asyncio.run(driver.find("no-study", "token-1"))
    assert [(one.kind, one.token) for one in found] == [("instance", "token-1")]


def test_polls_that_fail_say_nothing_of_the_machine(cloud):
    cloud.faults = Faults(pending_s=0.2)
    cloud.inject("locations/operations/read", "5xx", times=3)
    cloud.inject("virtualMachines/read", "drop", times=2)
    _, machine = asyncio.run(launched(provider()))
    assert [one.id for one in cloud.alive() if one.kind == "instance"] == [machine]
    assert len(cloud.calls("virtualMachines/write")) == 1


# -- groups


def test_p11_a_resource_group_of_the_same_name_that_is_not_ours_is_never_touched(cloud):
    asked = request(FIREWALL, "f")
    theirs = cloud.plant("firewall", REGION, f"{asked.name}-f", {"owner": "somebody"})
    driver = provider()
    with pytest.raises(Refused, match="without our tags"):
        asyncio.run(driver.create(asked))
    with pytest.raises(Refused, match="has none of our tags"):
        asyncio.run(driver.destroy(firewall(theirs)))
    assert [one.id for one in cloud.alive()] == [theirs]
    assert [call.name for call in cloud.journal if cloud.changed_by(call) or cloud.made_by(call)] == []


def test_p11_a_group_that_holds_what_we_did_not_make_is_left_alone(cloud):
    driver = provider()
    group, _ = asyncio.run(launched(driver))
    name = group.rpartition("/")[2]
    cloud.state.make("Microsoft.Compute/disks", name, "their-data", REGION, {"location": REGION}, 0.0)
    with pytest.raises(Refused, match="their-data"):
        asyncio.run(driver.destroy(firewall(group)))
    assert cloud.calls("subscriptions/resourceGroups/delete") == []


def test_p01_ending_one_launch_ends_nothing_of_another(cloud):
    driver = provider()

    async def walk():
        first, _ = await launched(driver, "one")
        _, kept = await launched(driver, "two")
        await driver.destroy(firewall(first))
        assert await driver.gone(firewall(first))
        return kept

    kept = asyncio.run(walk())
    assert [one.id for one in cloud.alive() if one.kind == "instance"] == [kept]
    assert "gone" not in asyncio.run(driver.look(instance(kept))).state


def test_p01_what_a_machine_leaves_behind_goes_with_its_group(cloud):
    cloud.faults = Faults(leaves=frozenset({"disks", "publicIPAddresses"}))
    driver = provider()

    async def walk():
        group, machine = await launched(driver)
        await driver.destroy(instance(machine))
        assert await driver.gone(instance(machine))
        assert {"volume", "address"} <= {one.kind for one in cloud.alive()}
        await driver.destroy(firewall(group))
        assert await driver.gone(firewall(group))

    asyncio.run(walk())
    assert cloud.alive() == []


@pytest.mark.parametrize("lag_s", [0.0, 0.3])
def test_p01_a_group_whose_inside_cannot_be_made_goes_again(cloud, lag_s):
    cloud.faults = Faults(read_lag_s=lag_s)
    cloud.inject("virtualNetworks/write", "error:AuthorizationFailed")
    with pytest.raises(ProviderFault, match="AuthorizationFailed"):
        asyncio.run(provider(pause_s=0.1).create(request(FIREWALL)))
    assert cloud.alive() == []


def test_a_group_that_goes_slowly_is_waited_for_so_that_what_kept_it_from_being_made_is_told(cloud):
    cloud.faults = Faults(terminate_s=1.0)
    cloud.inject("virtualNetworks/write", "error:TooManyRequests")
    with pytest.raises(Throttled):
        asyncio.run(provider(pause_s=0.05).create(request(FIREWALL)))
    assert cloud.alive() == []
    assert len(cloud.calls("subscriptions/resourceGroups/delete")) == 1


def test_p01_a_group_that_cannot_be_ended_either_is_no_refusal(cloud):
    cloud.inject("virtualNetworks/write", "error:AuthorizationFailed")
    cloud.faults = Faults(denied=frozenset({"resourceGroups/delete", "virtualNetworks/write"}))
    with pytest.raises(ProviderFault, match="may still be there") as raised:
        asyncio.run(provider().create(request(FIREWALL)))
    assert type(raised.value) is ProviderFault, "the lease must stay open"


def test_the_firewall_lets_in_who_is_named_and_nobody_else(cloud):
    asyncio.run(provider().create(request(FIREWALL, options={"allow": "192.0.2.7/32, 198.51.100.0/24"})))
    (rule,) = body_of(cloud.calls("networkSecurityGroups/write")[0])["properties"]["securityRules"]
    assert rule["properties"]["sourceAddressPrefixes"] == ["192.0.2.7/32", "198.51.100.0/24"]
    assert rule["properties"]["destinationPortRanges"] == ["22"]
    assert rule["properties"]["direction"] == "Inbound"


# -- what is asked for


@pytest.mark.parametrize(
    ("options", "more", "what"),
    [
        ({"tenancy": "dedicated"}, {}, "dedicated host"),
        ({"credits": "unlimited"}, {}, "credits"),
        ({"placement": "partition"}, {}, "partition"),
        ({"placement": "spread", "market": "spot"}, {}, "availability set"),
        ({"zone": "9"}, {}, "there are 1, 2, 3"),
        ({"market": "spot"}, {"price": Price(Decimal(1), "EUR", "test")}, "must be in USD"),
        ({}, {"volume": Volume("PremiumV2_LRS", GIB, 4000)}, "cannot be set in its machine"),
        ({}, {"volume": Volume("UltraSSD_LRS", GIB, root=True)}, "the system disk"),
        ({}, {"volume": Volume("Premium_LRS")}, "needs a size"),
        ({"image": "ubuntu-24.4"}, {}, "did you mean ubuntu-24.04"),
        ({"image": "paid:appliance:by-the-hour"}, {}, "publisher's own terms"),
        ({"image": "Canonical:ubuntu-24_04-lts:server-arm64"}, {}, "for Arm64"),
        ({"image": "nobody:nothing:none"}, {}, "in this region"),
        ({"os": "windows", "image": "ubuntu-24.04"}, {}, "write os: linux"),
        ({}, {"offering": "Standard_B1x"}, "did you mean Standard_B1s"),
        ({}, {"offering": "Standard_M8ms"}, "may not have it here"),
        ({}, {"region": "eastuss"}, "did you mean eastus"),
    ],
)
def test_what_azure_has_not_is_refused_in_one_line_and_never_asked_for(cloud, options, more, what):
    driver = provider()
    group = asyncio.run(driver.create(request(FIREWALL, "f")))
    with pytest.raises(Refused, match=what):
        asyncio.run(driver.create(request(options={"firewall": group, **options}, **more)))
    assert cloud.calls("virtualMachines/write") == []


def test_an_image_is_the_newest_for_the_sizes_processor_and_generation(cloud):
    driver = provider()
    wanted = {SIZE: "server", "Standard_D2ps_v5": "server-arm64", "Standard_A1_v2": "server-gen1"}
    for number, (size, sku) in enumerate(wanted.items()):
        asyncio.run(launched(driver, f"t{number}", offering=size))
        reference = made(cloud)["properties"]["storageProfile"]["imageReference"]
        assert (reference["sku"], reference["version"]) == (sku, "24.04.202611010")


def test_windows_gets_a_password_that_nobody_keeps_and_no_user_data(cloud):
    driver = provider()
    _, machine = asyncio.run(launched(driver, options={"os": "windows"}))
    system = made(cloud)["properties"]["osProfile"]
    assert "customData" not in system
    assert len(system["adminPassword"]) > 30
    assert len(system["computerName"]) <= 15
    rule = body_of(cloud.calls("networkSecurityGroups/write")[0])["properties"]["securityRules"][0]
    assert rule["properties"]["destinationPortRanges"] == ["3389", "5985"]
    assert asyncio.run(driver.look(instance(machine))).port == 3389


def test_a_machine_stands_in_a_zone_in_which_its_size_is_sold_and_tells_it(cloud):
    driver = provider()
    zones = set()
    for number in range(6):
        _, machine = asyncio.run(launched(driver, f"t{number}", offering="Standard_F2s_v2"))
        zones.add(asyncio.run(driver.zone(instance(machine))))
    assert zones == {"1", "2"}, "the third is restricted"
    _, machine = asyncio.run(launched(driver, "named", options={"zone": "2"}))
    assert asyncio.run(driver.zone(instance(machine))) == "2"
    _, machine = asyncio.run(launched(driver, "none", region="northcentralus"))
    assert asyncio.run(driver.zone(instance(machine))) is None


def test_spread_machines_are_in_an_availability_set_and_in_no_zone(cloud):
    asyncio.run(launched(provider(), options={"placement": "spread"}))
    body = made(cloud)
    assert body["properties"]["availabilitySet"]["id"].endswith("/availabilitySets/cloudcmp-placement")
    assert "zones" not in body
