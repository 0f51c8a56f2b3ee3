"""The driver of EC2 against the emulated one: what is in each call, and what becomes of machines."""

import asyncio
import logging

import pytest
from tests.emulated.ec2 import Faults
from tests.emulated.ec2_query import tags_of
from tests.emulated.ec2_requests import (
    REGION,
    groups_of,
    instance,
    launched,
    provider,
    request,
    tags,
)

from cloudcmp.errors import (
    BadCredentials,
    LostAnswer,
    NoCapacity,
    NotAllowed,
    QuotaReached,
    Refused,
    Throttled,
)
from cloudcmp.model.lease import FIREWALL, VOLUME
from cloudcmp.model.offering import Volume
from cloudcmp.model.promise import Promised
from cloudcmp.model.protocol import Remote
from cloudcmp.model.remote import Access, KeyPair

GIB = 2**30


def test_it_is_a_provider_whose_machines_are_reached_by_ssh():
    driver = provider()
    assert isinstance(driver, Remote)
    assert [barrier.name for barrier in driver.safeguards] == ["teardown", "cleanup", "death", "sweep"]
    assert not provider("ec2").safeguards[2].holds
    assert (driver.billing.minimum_s, provider("ec2").billing.minimum_s) == (60.0, 3600.0)


def test_the_region_at_hand_is_the_environments_or_the_profiles(tmp_path, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    settings = tmp_path / "config"
    settings.write_text("[profile mine]\nregion = eu-west-3\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(settings))
    assert provider()._sdk.default_region() == "us-east-1"
    monkeypatch.setenv("AWS_PROFILE", "mine")
    assert provider()._sdk.default_region() == "eu-west-3"
    monkeypatch.setenv("AWS_REGION", "sa-east-1")
    assert provider()._sdk.default_region() == "sa-east-1"


def test_offerings_are_what_the_region_sells(cloud):
    driver = provider()
    sold = {one.name: one for one in driver.offerings(REGION)}
    assert driver.offerings() == driver.offerings(REGION)
    assert driver.offerings("no-such-region") == ()
    m5d = sold["m5d.large"]
    assert (m5d.vcpus, m5d.memory_gib, m5d.category, m5d.price) == (2.0, 8.0, "general", None)
    facts = dict(m5d.attributes)
    assert (facts["architecture"], facts["disks"]) == ("x86_64", "1 x 75 GB")
    assert facts["network_class"] == "Up to 10 Gigabit"
    promised = {one.of: one for one in m5d.promises}
    assert set(promised) == {Promised.NETWORK, Promised.VOLUME_THROUGHPUT, Promised.VOLUME_IOPS}
    assert promised[Promised.NETWORK].up_to == 1.25e9
    assert all(one.as_of is not None and one.source == "DescribeInstanceTypes" for one in m5d.promises)
    assert dict(sold["m7g.large"].attributes)["architecture"] == "aarch64"
    kinds = {"c5.large": "compute", "r5.large": "memory", "t3.micro": "burstable", "i3.large": "storage"}
    assert {name: sold[name].category for name in kinds} == kinds
    cloud.faults = Faults(page=7)
    assert provider().offerings(REGION) == driver.offerings(REGION)


def test_a_shared_host_is_asked_for_by_no_word(cloud):
    asyncio.run(launched(provider(), options={"tenancy": "shared"}))
    assert not [key for key in cloud.calls("RunInstances")[0].params if key.startswith("Placement")]


def test_p05_everything_is_in_the_creating_call(cloud):
    async def walk():
        driver = provider()
        group, id = await launched(driver, options={"market": "spot", "tenancy": "dedicated", "placement": "cluster"})
        made = cloud.calls("RunInstances")[0].params
        wanted = dict(tags())
        given = tags_of(made)
        assert set(given) == {"instance", "volume", "network-interface", "spot-instances-request"}
        assert all(wanted.items() <= each.items() for each in given.values())
        assert made["ClientToken"] == "token-1"
        assert made["InstanceInitiatedShutdownBehavior"] == "terminate"
        assert (made["MetadataOptions.HttpTokens"], made["MetadataOptions.HttpPutResponseHopLimit"]) == (
            "required",
            "1",
        )
        assert made["BlockDeviceMapping.1.DeviceName"] == "/dev/sda1"
        assert made["BlockDeviceMapping.1.Ebs.DeleteOnTermination"] == "true"
        assert made["NetworkInterface.1.DeleteOnTermination"] == "true"
        assert made["NetworkInterface.1.SecurityGroupId.1"] == group
        assert made["InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior"] == "terminate"
        assert made["InstanceMarketOptions.SpotOptions.SpotInstanceType"] == "one-time"
        assert (made["Placement.Tenancy"], made["Placement.GroupName"]) == ("dedicated", f"cloudcmp-{group}")
        assert (made["MinCount"], made["MaxCount"]) == ("1", "1")
        assert not {"KeyName", "AllocationId"} & set(made)
        assert set(wanted.items()) <= set(
            tags_of(cloud.calls("CreateSecurityGroup")[0].params)["security-group"].items()
        )
        return driver, group, id

    asyncio.run(walk())


def test_the_firewall_lets_in_the_controller_and_its_own_machines_only(cloud):
    async def rules(token, **options):
        driver = provider()
        id = await driver.create(request(FIREWALL, token, options=options))
        listed = await driver._sdk.pages(REGION, "describe_security_groups", "SecurityGroups", GroupIds=[id])
        return id, listed[0]["IpPermissions"]

    group, found = asyncio.run(rules("l", allow="192.0.2.7/32,2001:db8::7/128"))
    outside = [rule for rule in found if rule["IpRanges"] or rule["Ipv6Ranges"]]
    assert [(rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) for rule in outside] == [("tcp", 22, 22)] * len(
        outside
    )
    assert [net["CidrIp"] for rule in outside for net in rule["IpRanges"]] == ["192.0.2.7/32"]
    assert [net["CidrIpv6"] for rule in outside for net in rule["Ipv6Ranges"]] == ["2001:db8::7/128"]
    assert [pair["GroupId"] for rule in found for pair in rule["UserIdGroupPairs"]] == [group]
    assert not any(rule["UserIdGroupPairs"] for rule in outside)
    _, found = asyncio.run(rules("w", allow="192.0.2.7/32", os="windows"))
    assert {rule["FromPort"] for rule in found if rule["IpRanges"]} == {3389, 5985}


def test_a_firewall_whose_rules_fail_is_deleted_again(cloud):
    cloud.inject("AuthorizeSecurityGroupIngress", "error:UnauthorizedOperation")
    with pytest.raises(Refused, match="UnauthorizedOperation"):
        asyncio.run(provider().create(request(FIREWALL)))
    assert cloud.alive() == []


@pytest.mark.parametrize("what", ["lost", "reset", "5xx", "truncated", "part"])
def test_p02_a_firewall_whose_answer_is_lost_is_found_again_with_its_rules(cloud, what):
    cloud.inject("CreateSecurityGroup", what)
    group = asyncio.run(provider().create(request(FIREWALL)))
    assert [thing.id for thing in cloud.alive()] == [group]
    assert len(groups_of(cloud)[group].ingress_rules) == 2


def test_a_volume_is_a_disk_of_its_own_or_the_root(cloud):
    async def walk(volume):
        _, id = await launched(provider(), f"t-{volume.type}-{volume.root}", volume=volume)
        return id

    for volume, device in (
        (Volume("io1", 100 * GIB, 4000), "/dev/sdf"),
        (Volume("gp3", 20 * GIB, root=True), "/dev/sda1"),
    ):
        id = asyncio.run(walk(volume))
        disks = cloud.account.ec2(REGION).get_instance(id).block_device_mapping
        assert set(disks) == {"/dev/sda1", device}
        assert all(disk.delete_on_termination for disk in disks.values())
        made = cloud.account.ec2(REGION).volumes[disks[device].volume_id]
        assert (made.volume_type, int(made.size)) == (volume.type, volume.size_bytes // GIB)
    assert cloud.calls("RunInstances")[0].params["BlockDeviceMapping.2.Ebs.Iops"] == "4000"
    with pytest.raises(Refused, match="needs a size"):
        asyncio.run(walk(Volume("gp3")))


def test_windows_has_its_own_door(cloud):
    async def walk():
        driver = provider()
        _, id = await launched(driver, options={"os": "windows"})
        return await driver.look(instance(id))

    sight = asyncio.run(walk())
    assert (sight.state, sight.port) == ("running", 3389)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"region": "us-esat-1"}, "did you mean us-east-1"),
        ({"offering": "t3.mirco"}, "did you mean t3.micro"),
        ({"kind": VOLUME}, "cannot be created alone"),
    ],
)
def test_unknown_names_are_answered_by_the_nearest(cloud, change, match):
    kind = change.pop("kind", "instance")
    with pytest.raises(Refused, match=match):
        asyncio.run(provider().create(request(kind, **change)))
    assert cloud.alive() == []


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InsufficientInstanceCapacity", NoCapacity),
        ("SpotMaxPriceTooLow", NoCapacity),
        ("VcpuLimitExceeded", QuotaReached),
        ("MaxSpotInstanceCountExceeded", QuotaReached),
        ("VolumeLimitExceeded", QuotaReached),
        ("RequestLimitExceeded", Throttled),
        ("UnauthorizedOperation", NotAllowed),
        ("RequestExpired", BadCredentials),
        ("ExpiredToken", BadCredentials),
        ("AuthFailure", BadCredentials),
        ("InvalidParameterValue", Refused),
        ("IdempotentParameterMismatch", LostAnswer),
        ("InternalError", LostAnswer),
        ("Unavailable", LostAnswer),
    ],
)
def test_errors_of_a_create_are_told_apart_by_the_providers_code(cloud, code, kind):
    driver = provider()
    cloud.inject("RunInstances", f"error:{code}")
    with pytest.raises(kind, match=code) as caught:
        asyncio.run(driver.create(request()))
    assert type(caught.value) is kind
    assert len(str(caught.value).splitlines()) == 1
    assert len(cloud.calls("RunInstances")) == 1


@pytest.mark.parametrize("code", ["InvalidGroup.NotFound", "InvalidPlacementGroup.Unknown"])
def test_a_group_that_is_not_seen_at_once_is_waited_for(cloud, code):
    async def walk():
        driver = provider()
        cloud.inject("AuthorizeSecurityGroupIngress", "error:InvalidGroup.NotFound", times=2)
        cloud.inject("RunInstances", f"error:{code}", times=2)
        await launched(driver, options={"placement": "cluster"})

    asyncio.run(walk())
    assert [call.outcome for call in cloud.calls("RunInstances")] == [code] * 2 + ["200"]
    assert len({call.params["ClientToken"] for call in cloud.calls("RunInstances")}) == 1


def test_p38_no_log_holds_user_data_or_keys(cloud, caplog):
    secret = "canary-in-the-user-data"
    access = Access(KeyPair(secret, "public"), "client", f"#cloud-config\n{secret}\n")
    with caplog.at_level(logging.DEBUG):
        asyncio.run(provider().create(request(access=access)))
        cloud.inject("RunInstances", "truncated")
        with pytest.raises(LostAnswer) as caught:
            asyncio.run(provider().create(request(token="two", access=access)))
    for text in (caplog.text, str(caught.value), repr(request(access=access))):
        assert secret not in text
        assert cloud.account.secret not in text
