"""The driver of EC2 against an older cloud that is compatible with it: no tags in its calls, and no tokens."""

import asyncio
from dataclasses import replace

import pytest
from tests.emulated.ec2 import EUCALYPTUS, ec2
from tests.emulated.ec2_requests import ALLOW, REGION, firewall, instance, launched, provider, request, tags
from tests.emulated.pointed import pointed

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.model.lease import FIREWALL


@pytest.fixture
def compatible(monkeypatch):
    """A cloud with its features switched off, and the driver for such clouds."""
    with pointed(ec2(EUCALYPTUS), monkeypatch) as one:
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
