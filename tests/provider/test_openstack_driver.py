"""The driver of OpenStack against the emulated one: what is in each call."""

import asyncio
import json
from dataclasses import replace

import pytest
from tests.emulated.nova import IMAGES, Faults
from tests.emulated.nova_requests import (
    ALLOW,
    REGION,
    STUDY,
    firewall,
    instance,
    launched,
    provider,
    request,
    tags,
)
from tests.provider.openstacks import pointed

from cloudcmp.errors import (
    ProviderFault,
    Refused,
)
from cloudcmp.model.lease import FIREWALL
from cloudcmp.model.offering import Volume
from cloudcmp.model.protocol import Remote

GIB = 2**30


@pytest.fixture
def cloud(monkeypatch):
    with pointed(patch=monkeypatch) as one:
        yield one


def body(cloud, action="CreateServer", number=-1):
    """The body of a call."""
    return json.loads(cloud.calls(action)[number].params["body"])


def image(name, created=""):
    """The id of an image of the emulated Glance."""
    return next(one.id for one in IMAGES if one.name == name and one.created.startswith(created))


def test_it_is_a_provider_whose_machines_are_reached_by_ssh_and_do_not_end_by_themselves():
    driver = provider()
    assert isinstance(driver, Remote)
    assert [barrier.holds for barrier in driver.safeguards] == [True, True, False, True]
    assert (driver.billing.minimum_s, driver.billing.step_s, driver.billing.ends) == (3600.0, 3600.0, False)


def test_offerings_are_what_the_region_sells(cloud):
    driver = provider()
    sold = {one.name: one for one in driver.offerings(REGION)}
    assert driver.offerings() == driver.offerings(REGION)
    assert driver.offerings("no-such-region") == ()
    small = sold["m1.small"]
    assert (small.vcpus, small.memory_gib, small.category, small.price) == (1.0, 2.0, None, None)
    assert dict(small.attributes)["disks"] == "20 GB"
    assert "volume" in dict(sold["gp.0.1.2"].attributes)["disks"]
    cloud.faults = Faults(page=2)
    assert provider().offerings(REGION) == driver.offerings(REGION)


def test_one_call_makes_a_machine_with_its_metadata_network_and_user_data(cloud):
    group, machine = asyncio.run(launched(provider()))
    server = body(cloud)["server"]
    assert {**dict(tags()), "cloudcmp:token": "token-1"} == server["metadata"]
    assert server["networks"] == [{"uuid": cloud.regions[REGION].id_of("private")}]
    assert server["security_groups"] == [{"name": group}]
    assert (server["config_drive"], server["imageRef"]) == (True, image("img-4711"))
    assert "block_device_mapping_v2" not in server
    assert cloud.regions[REGION].servers[machine].user_data == "#cloud-config\n{}\n"


def test_a_firewall_lets_in_the_controller_and_its_own_machines_only(cloud):
    options = {"allow": "192.0.2.7/32, 2001:db8::7/128"}
    group = asyncio.run(provider().create(request(FIREWALL, "f", options=options)))
    made = [rule for rule in cloud.regions[REGION].groups[group].rules.values() if rule["direction"] == "ingress"]
    doors = {(rule["ethertype"], rule["remote_ip_prefix"]) for rule in made if "protocol" in rule}
    assert doors == {("IPv4", "192.0.2.7/32"), ("IPv6", "2001:db8::7/128")}
    assert {rule["port_range_min"] for rule in made if "protocol" in rule} == {22}
    assert [rule["remote_group_id"] for rule in made if "protocol" not in rule] == [group, group]
    assert len(cloud.calls("CreateSecurityGroupRules")) == 1


def test_the_local_end_of_the_way_to_keystone_is_let_in_where_the_study_names_nobody(cloud):
    wanted = request(FIREWALL, "f")
    group = asyncio.run(provider().create(replace(wanted, options=())))
    prefixes = {rule.get("remote_ip_prefix") for rule in cloud.regions[REGION].groups[group].rules.values()}
    assert "127.0.0.1/32" in prefixes


def test_networks_are_chosen_where_they_can_be_told_and_named_where_not(cloud):
    def run(**options):
        asyncio.run(launched(provider(), token=str(options), options={**options, ALLOW[0]: ALLOW[1]}))
        return body(cloud)["server"]["networks"][0]["uuid"]

    ids = cloud.regions[REGION]
    assert run() == run(network="private") == run(network=ids.id_of("private")) == ids.id_of("private")
    assert run(network="public") == ids.id_of("public")
    for wrong, hint in (("privat", "did you mean private"), ("bare", "no network 'bare' with a subnet")):
        with pytest.raises(Refused, match=hint):
            run(network=wrong)
    with pytest.raises(Refused, match="no router with a gateway"):
        run(network="public", address="floating")


def test_an_external_network_that_is_not_shared_is_taken_only_where_it_is_named(cloud, monkeypatch):
    from tests.emulated import nova_network

    def only(self, region):
        return [one for one in all_of(self, region) if one["name"] == "public"]

    all_of = nova_network.Network._networks
    monkeypatch.setattr(nova_network.Network, "_networks", only)
    with pytest.raises(Refused, match="or name public if machines may stand on it"):
        asyncio.run(provider().create(request()))
    asyncio.run(provider().create(request(options={"network": "public"})))
    assert len(cloud.alive()) == 1


def test_an_address_that_is_to_be_the_networks_own_is(cloud):
    async def walk():
        driver = provider()
        _, machine = await launched(driver, options={"address": "fixed", ALLOW[0]: ALLOW[1]})
        return machine, await driver.look(instance(machine))

    machine, sight = asyncio.run(walk())
    assert sight.address == cloud.regions[REGION].servers[machine].address
    assert cloud.calls("CreateFloatingIp") == []


def test_images_are_the_operators_own_or_the_projects(cloud):
    def run(asked):
        options = {"image": asked} if asked else {}
        asyncio.run(launched(provider(), token=asked or "none", options={**options, ALLOW[0]: ALLOW[1]}))
        return body(cloud)["server"]["imageRef"]

    newest = image("Debian 13 (Trixie)")
    assert run("debian-13") == newest
    assert run("debian-12") == image("Debian 12 bookworm")
    assert run("") == run("ubuntu-24.04") == image("img-4711")
    assert run("Debian 13") == image("Debian 13", "2026-08")  # not the newer one that somebody shared
    shared = image("Debian 13", "2026-11")
    assert run(shared) == shared
    for wrong, hint in (("debain-13", "did you mean debian-13"), ("0" * 8 + "-0000-4000-8000-" + "0" * 12, "no image")):
        with pytest.raises(Refused, match=hint):
            run(wrong)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"market": "spot"}, "no spot market"),
        ({"tenancy": "dedicated"}, "separate flavors"),
        ({"credits": "unlimited"}, "no CPU credits"),
        ({"os": "windows"}, "Windows"),
        ({"image": "Windows Server 2022"}, "Windows"),
        ({"placement": "partition"}, "no partitions"),
        ({"image": "mine"}, "needs 30 GiB"),
    ],
)
def test_what_this_cloud_has_not_is_refused_before_anything_is_sent(cloud, options, why):
    with pytest.raises(Refused, match=why):
        asyncio.run(provider().create(request(options=options)))
    assert cloud.calls("CreateServer") == []


@pytest.mark.parametrize(
    ("volume", "offering", "disks"),
    [
        (Volume("ssd", 30 * GIB, root=True), "gp.0.1.2", [(0, "volume", 30)]),
        (Volume("ssd", root=True), "m1.small", [(0, "volume", 20)]),
        (Volume("ssd", GIB, root=True), "m1.small", [(0, "volume", 2)]),
        (Volume("ssd", 3 * GIB // 2), "m1.small", [(0, "local", None), (-1, "volume", 2)]),
    ],
)
def test_disks_are_made_in_the_machines_call_and_end_with_it(cloud, volume, offering, disks):
    driver = provider()
    _, machine = asyncio.run(launched(driver, volume=volume, offering=offering))
    asked = body(cloud)["server"]["block_device_mapping_v2"]
    assert [(one["boot_index"], one["destination_type"], one.get("volume_size")) for one in asked] == disks
    assert all(one["delete_on_termination"] for one in asked)
    assert [one.kind for one in cloud.alive()].count("volume") == 1
    asyncio.run(driver.destroy(instance(machine)))
    assert [one.kind for one in cloud.alive()] == ["firewall"]


@pytest.mark.parametrize(
    ("volume", "offering", "why"),
    [
        (None, "gp.0.1.2", "comes without a disk"),
        (Volume("ssd"), "m1.small", "needs a size"),
        (Volume("ssd", GIB, iops=5), "m1.small", "speed of a volume"),
        (Volume("floppy", GIB), "m1.small", "floppy could not be found"),
    ],
)
def test_disks_that_cannot_be_had_are_refused(cloud, volume, offering, why):
    with pytest.raises(Refused, match=why):
        asyncio.run(provider().create(request(volume=volume, offering=offering)))
    assert cloud.alive() == []


def test_an_older_nova_takes_no_volume_type_and_tells_flavors_by_id():
    with pointed(Faults(newest="2.60")) as cloud:

        async def walk():
            driver = provider()
            with pytest.raises(Refused, match=r"2\.67 does"):
                await driver.create(request(token="v", volume=Volume("ssd", GIB)))
            _, machine = await launched(driver, options={"placement": "spread", ALLOW[0]: ALLOW[1]})
            return machine, await driver.find(STUDY)

        machine, found = asyncio.run(walk())
        assert machine in {one.cloud_id for one in found}
        assert body(cloud, "CreateServerGroup")["server_group"]["policies"] == ["anti-affinity"]


def test_a_server_group_stands_beside_the_firewall_and_goes_with_it(cloud):
    async def walk():
        driver = provider()
        group, machine = await launched(driver, options={"placement": "cluster", ALLOW[0]: ALLOW[1]})
        (place,) = cloud.regions[REGION].placements.values()
        assert (place.policy, cloud.regions[REGION].servers[machine].placement) == ("affinity", place.id)
        for handle in (instance(machine), firewall(group)):
            await driver.destroy(handle)
            assert await driver.gone(handle)

    asyncio.run(walk())
    assert cloud.alive() == []


def test_a_group_whose_rules_or_place_fail_is_deleted_again(cloud):
    for action in ("CreateSecurityGroupRules", "CreateServerGroup"):
        cloud.inject(action, "error:400 Bad request.")
        with pytest.raises(Refused):
            asyncio.run(provider().create(request(FIREWALL, action, options={"placement": "spread", **dict([ALLOW])})))
        assert cloud.alive() == []


def test_a_group_that_cannot_be_deleted_again_is_no_refusal(cloud):
    cloud.inject("CreateSecurityGroupRules", "error:400 Bad request.")
    cloud.inject("DeleteSecurityGroup", "error:500")
    with pytest.raises(ProviderFault, match="still there") as told:
        asyncio.run(provider().create(request(FIREWALL, "f")))
    assert not isinstance(told.value, Refused)
    assert len(cloud.alive()) == 1


def test_a_name_too_long_for_a_description_is_refused_before_anything_is_made(cloud):
    with pytest.raises(Refused, match="shorter name"):
        asyncio.run(provider().create(request(FIREWALL, "f", tags=tags("s" * 200))))
    assert cloud.alive() == []
