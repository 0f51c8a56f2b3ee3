"""What EC2 made before something else failed: it is ended, or it stays in the ledger, and is never forgotten."""

import asyncio

import pytest
from tests.emulated.ec2 import Faults, ec2
from tests.emulated.ec2_faults import Fault
from tests.emulated.ec2_requests import REGION, STUDY, provider, request

from cloudcmp.errors import LostAnswer, NoCapacity, ProviderFault, Refused, Throttled
from cloudcmp.model.lease import FIREWALL, INSTANCE

FINAL = (NoCapacity, Refused, Throttled)
"""What says that surely nothing was made: the ledger forgets the lease."""


def pointed(monkeypatch, cloud, name="aws"):
    for key, value in cloud.environ.items():
        monkeypatch.setenv(key, value)
    return provider(name)


def ours(cloud):
    """Whatever exists beside what an account is born with."""
    return {(one.kind, one.id) for one in cloud.alive()}


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "RequestLimitExceeded", "DependencyViolation"])
def test_p1_a_group_that_can_be_neither_opened_nor_deleted_is_not_called_refused(monkeypatch, code):
    at = (
        Fault("AuthorizeSecurityGroupIngress", "error:UnauthorizedOperation", times=99),
        Fault("DeleteSecurityGroup", f"error:{code}", times=99),
    )
    with ec2(Faults(at=at)) as cloud:
        driver = pointed(monkeypatch, cloud)
        before = ours(cloud)
        with pytest.raises(ProviderFault) as told:
            asyncio.run(driver.create(request(FIREWALL)))
        left = ours(cloud) - before
        assert left
        assert not isinstance(told.value, FINAL), f"{type(told.value).__name__}, and {left} is there"
        assert "UnauthorizedOperation" in str(told.value)


def test_p1_a_group_that_can_not_be_tagged_is_deleted_again(monkeypatch):
    at = (Fault("CreateTags", "error:UnauthorizedOperation", times=99),)
    with ec2(Faults(tags="refused", at=at)) as cloud:
        driver = pointed(monkeypatch, cloud, "ec2")
        before = ours(cloud)
        with pytest.raises(ProviderFault):
            asyncio.run(driver.create(request(FIREWALL)))
        assert ours(cloud) == before


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "UnauthorizedOperation", "InternalError"])
def test_p1_a_machine_that_can_be_neither_tagged_nor_ended_stays_in_the_ledger(monkeypatch, code):
    at = (
        Fault("CreateTags", "error:InternalError", first=2, times=99),  # the firewall's own tags hold
        Fault("TerminateInstances", f"error:{code}", times=99),
    )
    with ec2(Faults(tags="refused", token_filter=False, tokens="ignored", at=at)) as cloud:
        driver = pointed(monkeypatch, cloud, "ec2")
        group = asyncio.run(driver.create(request(FIREWALL, "token-f")))
        before = ours(cloud)
        try:
            made = {("instance", asyncio.run(driver.create(request(options={"firewall": group}))))}
        except FINAL as fault:
            raise AssertionError(f"the ledger forgets {ours(cloud) - before}: {fault}") from fault
        assert {one for one in ours(cloud) - before if one[0] == "instance"} == made


def test_p2_a_machine_without_a_name_in_the_answer_is_looked_for(monkeypatch):
    with ec2(Faults(at=(Fault("RunInstances", "empty"),))) as cloud:
        driver = pointed(monkeypatch, cloud)
        group = asyncio.run(driver.create(request(FIREWALL, "token-f")))
        with pytest.raises(LostAnswer):
            asyncio.run(driver.create(request(options={"firewall": group})))
        (found,) = [one for one in asyncio.run(driver.find(STUDY, "token-1", region=REGION)) if one.kind == INSTANCE]
        assert ("instance", found.cloud_id) in ours(cloud)
