"""Images of the emulated EC2's machines: which one a request's words mean, how it is billed, and when it is asked."""

import asyncio
from dataclasses import replace

import pytest
from tests.emulated.ec2 import IMAGES
from tests.emulated.ec2_requests import REGION, launched, provider, request

from cloudcmp.errors import NotAllowed, Refused
from cloudcmp.model.lease import FIREWALL
from cloudcmp.provider.aws.catalog import OfferingCatalog


def test_images_by_line_by_id_by_name_and_unknown(cloud):
    async def made(token, offering="t3.micro", **options):
        _, id = await launched(provider(), token, offering=offering, options=options)
        backend = cloud.account.ec2(REGION)
        return backend.amis[backend.get_instance(id).image_id].name

    ubuntu = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-{}-server-20261015"
    assert asyncio.run(made("a")) == ubuntu.format("amd64")
    assert asyncio.run(made("b", "t4g.micro")) == ubuntu.format("arm64")
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

    catalog = OfferingCatalog("aws", Answers(), compatible=False)
    options = {"image": "ami-1", "os": "windows" if said.get("Platform") else "linux"}
    if not billed:
        assert asyncio.run(catalog.image_for(REGION, "t3.micro", options)).billed == ""
        return
    with pytest.raises(Refused) as fault:
        asyncio.run(catalog.image_for(REGION, "t3.micro", options))
    assert fault.value.faults[0].what == f"the image ami-1 is billed as {billed}, which no price here counts"


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
def test_what_cannot_be_looked_up_is_told_by_the_machines_own_request(cloud, action):
    cloud.inject(action, "error:UnauthorizedOperation", times=99)
    driver = provider()
    group = asyncio.run(driver.create(request(FIREWALL)))
    with pytest.raises(NotAllowed, match="UnauthorizedOperation"):
        asyncio.run(driver.create(request(options={"firewall": group})))
