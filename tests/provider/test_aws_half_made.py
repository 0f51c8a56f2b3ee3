"""What EC2 made before something else failed: it is ended, or it stays in the ledger, and is never forgotten."""

import asyncio
from dataclasses import replace

import pytest
from tests.emulated.ec2 import EUCALYPTUS, IMAGES, Faults, ec2
from tests.emulated.ec2_requests import REGION, STUDY, instance, launched, provider, request
from tests.emulated.faults import Fault
from tests.emulated.pointed import pointed

from cloudcmp.errors import LostAnswer, NoCapacity, ProviderFault, Refused, Throttled
from cloudcmp.model.lease import FIREWALL, INSTANCE
from cloudcmp.model.offering import Volume

FINAL = (NoCapacity, Refused, Throttled)
"""What says that surely nothing was made: the ledger forgets the lease."""


def ours(cloud):
    """Whatever exists beside what an account is born with."""
    return {(one.kind, one.id) for one in cloud.alive()}


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "RequestLimitExceeded", "DependencyViolation"])
def test_p1_a_group_that_can_be_neither_opened_nor_deleted_is_not_called_refused(code):
    at = (
        Fault("AuthorizeSecurityGroupIngress", "error:UnauthorizedOperation", times=99),
        Fault("DeleteSecurityGroup", f"error:{code}", times=99),
    )
    with pointed(ec2(Faults(at=at))) as cloud:
        driver = provider()
        before = ours(cloud)
        with pytest.raises(ProviderFault) as told:
            asyncio.run(driver.create(request(FIREWALL)))
        left = ours(cloud) - before
        assert left
        assert not isinstance(told.value, FINAL), f"{type(told.value).__name__}, and {left} is there"
        assert "UnauthorizedOperation" in str(told.value)


def test_p1_a_group_that_cannot_be_tagged_is_deleted_again():
    at = (Fault("CreateTags", "error:UnauthorizedOperation", times=99),)
    with pointed(ec2(Faults(tags="refused", at=at))) as cloud:
        driver = provider("ec2")
        before = ours(cloud)
        with pytest.raises(ProviderFault):
            asyncio.run(driver.create(request(FIREWALL)))
        assert ours(cloud) == before


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "UnauthorizedOperation", "InternalError"])
def test_p1_a_machine_that_can_be_neither_tagged_nor_ended_stays_in_the_ledger(code):
    at = (
        Fault("CreateTags", "error:InternalError", first=2, times=99),  # the firewall's own tags hold
        Fault("TerminateInstances", f"error:{code}", times=99),
    )
    with pointed(ec2(Faults(tags="refused", token_filter=False, tokens="ignored", at=at))) as cloud:
        driver = provider("ec2")
        group = asyncio.run(driver.create(request(FIREWALL, "token-f")))
        before = ours(cloud)
        try:
            made = {("instance", asyncio.run(driver.create(request(options={"firewall": group}))))}
        except FINAL as fault:
            raise AssertionError(f"the ledger forgets {ours(cloud) - before}: {fault}") from fault
        assert {one for one in ours(cloud) - before if one[0] == "instance"} == made


def test_p2_a_machine_without_a_name_in_the_answer_is_looked_for():
    with pointed(ec2(Faults(at=(Fault("RunInstances", "empty"),)))) as cloud:
        driver = provider()
        group = asyncio.run(driver.create(request(FIREWALL, "token-f")))
        with pytest.raises(LostAnswer):
            asyncio.run(driver.create(request(options={"firewall": group})))
        (found,) = [one for one in asyncio.run(driver.find(STUDY, "token-1", region=REGION)) if one.kind == INSTANCE]
        assert ("instance", found.cloud_id) in ours(cloud)


@pytest.mark.parametrize("volume", [None, Volume("gp3", 2**30), Volume("gp3", 9 * 2**30, root=True)])
def test_p01_disks_that_an_image_brings_end_with_their_machine(volume):
    with pointed(ec2()) as cloud:
        driver = provider()
        image = replace(IMAGES[1], name="mine", owner=cloud.account.id, disks=("/dev/sdg", "/dev/sdh"))
        cloud.account.add(REGION, image)
        options = {"image": image.id(REGION)}
        _, id = asyncio.run(launched(driver, options=options, volume=volume))
        assert {"/dev/sdg", "/dev/sdh"} < set(cloud.account.ec2(REGION).get_instance(id).block_device_mapping)
        asyncio.run(driver.destroy(instance(id)))
        assert [kind for kind, _ in ours(cloud)] == ["firewall"]


UNTAGGED = Fault("CreateTags", "error:InternalError", first=2, times=99)  # the firewall's own tags hold


@pytest.mark.parametrize("unseen", [3, 99], ids=["a-moment", "long"])
def test_p01_a_new_machine_that_cannot_be_tagged_and_is_not_seen_yet_is_not_called_gone(unseen):
    missing = Fault("TerminateInstances", "error:InvalidInstanceID.NotFound", times=unseen)
    with pointed(ec2(replace(EUCALYPTUS, at=(UNTAGGED, missing), terminate_s=1e9))) as cloud:
        driver = provider("ec2")
        group = asyncio.run(driver.create(request(FIREWALL, "token-f")))
        id = asyncio.run(driver.create(request(options={"firewall": group})))
        assert (INSTANCE, id) in ours(cloud)
        assert (cloud.state.lives.state(id) == "shutting-down") is (unseen == 3)
        sight = asyncio.run(driver.look(instance(id)))
        assert (sight.state, "could not be tagged" in sight.why) == ("gone", True)  # nobody uses it
        assert asyncio.run(driver.gone(instance(id))) is None  # and nobody forgets it


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "ExpiredToken", "RequestLimitExceeded"])
@pytest.mark.parametrize("stays", [False, True], ids=["deleted", "stays"])
def test_p01_a_group_that_another_cloud_cannot_be_probed_on_is_deleted_or_stays_in_the_ledger(monkeypatch, code, stays):
    with pointed(ec2(EUCALYPTUS)) as cloud:
        driver = provider("ec2")
        cloud.inject("DescribeSecurityGroups", f"error:{code}")
        if stays:
            cloud.inject("DeleteSecurityGroup", "error:InvalidGroup.NotFound", times=99)
        with pytest.raises(ProviderFault, match=code) as told:
            asyncio.run(driver.create(request(FIREWALL)))
        assert bool(ours(cloud)) is stays
        assert isinstance(told.value, FINAL) is not stays
