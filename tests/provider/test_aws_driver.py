"""The driver of EC2 against the emulated one: what is in each call, and what becomes of machines."""

import asyncio
import logging
from dataclasses import replace

import pytest
from tests.emulated.ec2 import EUCALYPTUS, IMAGES, Faults, ec2
from tests.emulated.ec2_query import tags_of
from tests.emulated.ec2_requests import (
    ALLOW,
    REGION,
    firewall,
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
    ProviderFault,
    QuotaReached,
    Refused,
    Throttled,
)
from cloudcmp.model.lease import FIREWALL, VOLUME
from cloudcmp.model.offering import Volume
from cloudcmp.model.protocol import Remote
from cloudcmp.model.remote import Access, KeyPair
from cloudcmp.provider.aws.shelf import Shelf

GIB = 2**30


def test_it_is_a_provider_whose_machines_are_reached_by_ssh():
    driver = provider()
    assert isinstance(driver, Remote)
    assert [barrier.name for barrier in driver.barriers] == ["teardown", "cleanup", "death", "sweep"]
    assert not provider("ec2").barriers[2].holds
    assert (driver.billing.minimum_s, provider("ec2").billing.minimum_s) == (60.0, 3600.0)


def test_the_region_at_hand_is_the_environments_or_the_profiles(tmp_path, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    settings = tmp_path / "config"
    settings.write_text("[profile mine]\nregion = eu-west-3\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(settings))
    assert provider()._sdk.home() == "us-east-1"
    monkeypatch.setenv("AWS_PROFILE", "mine")
    assert provider()._sdk.home() == "eu-west-3"
    monkeypatch.setenv("AWS_REGION", "sa-east-1")
    assert provider()._sdk.home() == "sa-east-1"


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
        assert made["BlockDeviceMapping.1.DeviceName"] == "/dev/xvda"
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
        (Volume("gp3", 20 * GIB, root=True), "/dev/xvda"),
    ):
        id = asyncio.run(walk(volume))
        disks = cloud.account.ec2(REGION).get_instance(id).block_device_mapping
        assert set(disks) == {"/dev/xvda", device}
        assert all(disk.delete_on_termination for disk in disks.values())
        made = cloud.account.ec2(REGION).volumes[disks[device].volume_id]
        assert (made.volume_type, int(made.size)) == (volume.type, volume.size_bytes // GIB)
    assert cloud.calls("RunInstances")[0].params["BlockDeviceMapping.2.Ebs.Iops"] == "4000"
    with pytest.raises(Refused, match="needs a size"):
        asyncio.run(walk(Volume("gp3")))


def test_images_by_line_by_id_by_name_and_unknown(cloud):
    async def made(token, offering="t3.micro", **options):
        _, id = await launched(provider(), token, offering=offering, options=options)
        backend = cloud.account.ec2(REGION)
        return backend.amis[backend.get_instance(id).image_id].name

    assert asyncio.run(made("a")) == "debian-13-amd64-20261020-2643"
    assert asyncio.run(made("b", "t4g.micro")) == "debian-13-arm64-20261020-2643"
    assert "noble" in asyncio.run(made("c", image="ubuntu-24.04"))
    assert asyncio.run(made("d", image="al2023")).startswith("al2023")
    old = IMAGES[0]
    assert asyncio.run(made("e", image=old.id(REGION))) == old.name
    with pytest.raises(Refused, match="another publisher's by its id"):
        asyncio.run(made("h", image=old.name))
    mine = replace(IMAGES[0], name="of-my-own", owner=cloud.account.id, created="2026-01-01T00:00:00.000Z")
    cloud.account.add(REGION, mine)
    cloud.account.add(
        REGION, replace(mine, owner="999999999999", created="2026-11-01T00:00:00.000Z"), "ami-" + "9" * 17
    )
    assert asyncio.run(made("i", image="of-my-own")) == "of-my-own"
    assert cloud.calls("RunInstances")[-1].params["ImageId"] == mine.id(REGION)
    with pytest.raises(Refused, match=r"did you mean ubuntu-24\.04"):
        asyncio.run(made("f", image="ubuntu-24.4"))
    with pytest.raises(Refused, match="InvalidAMIID"):
        asyncio.run(made("g", image="ami-00000000000000000"))


def test_an_image_is_of_the_system_that_is_asked_for(cloud):
    windows, linux = IMAGES[-1].id(REGION), IMAGES[0].id(REGION)
    for asked, system, theirs in ((windows, "linux", "windows"), (linux, "windows", "linux")):
        with pytest.raises(Refused, match=f"is {theirs}; write os: {theirs}"):
            asyncio.run(launched(provider(), "a", options={"image": asked, "os": system}))
    assert cloud.calls("RunInstances") == []


@pytest.mark.parametrize(
    ("said", "billed"),
    [
        ({"UsageOperation": "RunInstances", "PlatformDetails": "Linux/UNIX"}, ""),
        ({"Platform": "windows", "UsageOperation": "RunInstances:0002", "PlatformDetails": "Windows"}, ""),
        ({}, ""),
        ({"UsageOperation": "RunInstances:0010", "PlatformDetails": "Red Hat Enterprise Linux"},
         "Red Hat Enterprise Linux (RunInstances:0010)"),
        ({"PlatformDetails": "SUSE Linux"}, "SUSE Linux"),
        ({"Platform": "windows", "UsageOperation": "RunInstances:0006", "PlatformDetails": "Windows with SQL Server"},
         "Windows with SQL Server (RunInstances:0006)"),
        ({"UsageOperation": "RunInstances", "PlatformDetails": "Linux/UNIX",
          "ProductCodes": [{"ProductCodeId": "x", "ProductCodeType": "marketplace"}]},
         "its publisher's product, at a price of its own"),
    ],
)  # fmt: skip
def test_an_image_that_is_billed_otherwise_is_refused(said, billed):
    class Answers:
        name = "aws"

        async def pages(self, region, kind, key, **asked):
            if kind == "describe_images":
                return [{"ImageId": "ami-1", "Name": "x", "Architecture": "x86_64"} | said]
            return [{"InstanceType": "t3.micro", "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]}}]

    shelf = Shelf("aws", Answers(), compatible=False)
    options = {"image": "ami-1", "os": "windows" if said.get("Platform") else "linux"}
    if not billed:
        assert asyncio.run(shelf.image_for(REGION, "t3.micro", options)).billed == ""
        return
    with pytest.raises(Refused) as fault:
        asyncio.run(shelf.image_for(REGION, "t3.micro", options))
    assert fault.value.faults[0].what == f"the image ami-1 is billed as {billed}, which no price here counts"


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
        ({"kind": VOLUME}, "not made alone"),
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


@pytest.mark.parametrize("what", ["lost", "reset", "5xx", "truncated", "part"])
def test_p02_a_lost_answer_is_never_a_second_machine(cloud, what):
    async def walk():
        driver = provider()
        cloud.inject("RunInstances", what)
        with pytest.raises(LostAnswer):
            await driver.create(request())
        found = await driver.find("study-a", "token-1", region=REGION)
        assert [item.token for item in found] == ["token-1"]
        again = await driver.create(request())
        assert [item.cloud_id for item in found] == [again]

    asyncio.run(walk())
    assert [thing.kind for thing in cloud.alive()].count("instance") == 1


def test_p02_an_answer_later_than_the_deadline_is_lost(cloud):
    async def walk():
        driver = provider()
        await driver.create(request(token="warm"))
        driver._sdk.deadline_s = 0.7
        cloud.inject("RunInstances", "late", seconds=3)
        began = asyncio.get_running_loop().time()
        with pytest.raises(LostAnswer):
            await driver.create(request())
        assert asyncio.get_running_loop().time() - began < 2.5

    asyncio.run(walk())
    assert [thing.kind for thing in cloud.alive()].count("instance") == 2


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


@pytest.fixture
def compatible(monkeypatch):
    """A cloud with its features switched off, and the driver for such clouds."""
    with ec2(EUCALYPTUS) as one:
        for name, value in one.environ.items():
            monkeypatch.setenv(name, value)
        yield one


def test_an_older_cloud_is_used_with_tags_after_the_call(compatible):
    async def walk():
        driver = provider("ec2")
        assert driver.offerings(REGION) == ()
        group, id = await launched(driver)
        assert all(set(tags()) <= set(thing.tags) for thing in compatible.alive() if thing.id in {group, id})
        assert "SecurityGroupId.1" in compatible.calls("RunInstances")[-1].params
        found = await driver.find("study-a", "token-1", region=REGION)
        assert {item.cloud_id for item in found} == {group, id}
        await driver.destroy(instance(id))
        await driver.destroy(firewall(group))
        assert await driver.gone(firewall(group))

    asyncio.run(walk())
    assert compatible.alive() == []
    assert [call.outcome for call in compatible.calls("RunInstances")] == ["200"]


def test_a_cloud_with_neither_tags_nor_tokens_is_refused_unless_the_user_takes_the_risk(compatible):
    compatible.faults = replace(EUCALYPTUS, tags="ignored")
    with pytest.raises(Refused, match="never found again"):
        asyncio.run(provider("ec2").create(request(FIREWALL)))
    assert compatible.alive() == []
    assert compatible.calls("RunInstances") == []
    asyncio.run(launched(provider("ec2"), options={"accept_untracked": "yes", ALLOW[0]: ALLOW[1]}))
    assert [thing.kind for thing in compatible.alive()].count("instance") == 1


def test_a_machine_that_can_be_neither_tagged_nor_found_is_ended(compatible):
    async def walk():
        driver = provider("ec2")
        group = await driver.create(request(FIREWALL))
        compatible.inject("CreateTags", "error:InternalError")
        with pytest.raises(ProviderFault, match="could not be tagged"):
            await driver.create(request(options={"firewall": group}))

    asyncio.run(walk())
    assert [thing.kind for thing in compatible.alive()] == ["firewall"]


@pytest.mark.parametrize("name", ["aws", "ec2"])
def test_nothing_is_looked_up_between_a_machines_request_and_its_call(cloud, name):
    async def walk():
        driver = provider(name)
        group = await driver.create(request(FIREWALL, options={"image": "ubuntu-24.04"}))
        before = len(cloud.journal)
        await driver.create(request(options={"image": "ubuntu-24.04", "firewall": group}))
        return [call.action for call in cloud.journal[before:]]

    assert asyncio.run(walk()) == ["RunInstances"]


@pytest.mark.parametrize("action", ["DescribeImages", "DescribeInstanceTypes"])
def test_what_can_not_be_looked_up_is_told_by_the_machines_own_request(cloud, action):
    cloud.inject(action, "error:UnauthorizedOperation", times=99)
    driver = provider()
    group = asyncio.run(driver.create(request(FIREWALL)))
    with pytest.raises(NotAllowed, match="UnauthorizedOperation"):
        asyncio.run(driver.create(request(options={"firewall": group})))
