"""The least-privilege policy: enough for everything that the driver does, and for nothing else."""

import asyncio

import pytest
from tests.emulated.ec2 import ec2
from tests.emulated.ec2_requests import REGION, candidate, firewall, instance, provider, request, tags
from tests.emulated.pointed import pointed

from cloudcmp.errors import ProviderFault, Refused
from cloudcmp.model.lease import FIREWALL, VOLUME, Handle
from cloudcmp.provider.aws import policy
from cloudcmp.provider.aws.policy import actions, data_actions

OPEN = "ec2:AuthorizeSecurityGroupIngress"


@pytest.fixture
def cloud(monkeypatch):
    """A cloud whose user may do what the policy says, conditions included, and no more."""
    with pointed(ec2(policy=policy()), monkeypatch) as one:
        yield one


async def everything(cloud):
    """All that the driver can do, once."""
    driver = provider()
    driver.offerings(REGION)
    findings = await driver.check([candidate("m5.large", account=cloud.account.id)])
    assert all(one.ok for one in findings), findings
    options = {"placement": "spread"}
    group = await driver.create(request(FIREWALL, "f", options=options))
    machine = await driver.create(request(options={"firewall": group, "market": "spot", **options}))
    await driver.look(instance(machine))
    await driver.resize(instance(machine), "t3.small")
    await driver.find("study-a", "token-1")
    await driver.leftovers()
    volume = Handle(VOLUME, REGION, cloud.plant("volume", REGION, "left", dict(tags())))
    for handle in (instance(machine), firewall(group), volume):
        await driver.destroy(handle)
        assert await driver.gone(handle)


def test_the_policy_is_enough_and_nothing_in_it_is_idle(cloud):
    asyncio.run(everything(cloud))
    called = {call.name for call in cloud.journal}
    assert called - actions() == set()
    # Tags are given in the creating calls: the right is needed, the call is not made.
    assert actions() - called == {"ec2:CreateTags"}
    assert cloud.alive() == []


def test_p01_a_firewall_beside_which_no_placement_group_was_made_is_ended_under_the_policy(cloud):
    async def walk():
        driver = provider()
        group = await driver.create(request(FIREWALL, "f"))
        machine = await driver.create(request(options={"firewall": group}))
        for handle in (instance(machine), firewall(group)):
            await driver.destroy(handle)
            assert await driver.gone(handle)

    asyncio.run(walk())
    assert cloud.alive() == []
    assert cloud.calls("DeletePlacementGroup") == []


def test_the_policy_names_what_it_allows():
    allowed = set()
    for statement in policy()["Statement"]:
        named = statement["Action"]
        allowed |= {named} if isinstance(named, str) else set(named)
    assert allowed == actions() | data_actions()
    assert not any("*" in action for action in allowed)


@pytest.mark.parametrize("theirs", [{}, {"cloudcmp:schema": "2"}, {"cloudcmp:study": "study-a"}])
def test_p01_the_policy_itself_keeps_us_from_what_is_not_ours(cloud, theirs):
    planted = {kind: cloud.plant(kind, REGION, f"theirs-{kind}", theirs) for kind in ("instance", "firewall", "volume")}
    driver = provider()

    async def end(kind):
        await driver.destroy(Handle(kind, REGION, planted[kind]))

    for kind in planted:
        with pytest.raises(Refused, match="UnauthorizedOperation"):
            asyncio.run(end(kind))
    assert {thing.id for thing in cloud.alive()} >= set(planted.values())


def test_p10_that_what_bears_our_tag_may_not_be_deleted_is_found_out_before_a_machine_is_made():
    """A policy that lets nobody's ids be tried, and forgets what is ours: no look before a study can tell."""
    less = policy()
    less["Statement"] = [one for one in less["Statement"] if one["Sid"] != "ChangeSecurityGroup"]
    less["Statement"].append({"Sid": "Open", "Effect": "Allow", "Action": OPEN, "Resource": "*"})
    with pointed(ec2(policy=less)) as cloud:
        driver = provider()
        (rights,) = [one for one in asyncio.run(driver.check([candidate()])) if one.what == "rights"]
        assert (rights.ok, "first firewall group" in rights.text) == (True, True)
        with pytest.raises(ProviderFault, match=r"ec2:DeleteSecurityGroup.*still there"):
            asyncio.run(driver.create(request(FIREWALL, "f")))
        with pytest.raises(Refused, match="may not be deleted"):
            asyncio.run(driver.create(request(FIREWALL, "g")))
        made = [call for call in cloud.calls("CreateSecurityGroup") if call.outcome == "200"]
        assert (len(made), [thing.kind for thing in cloud.alive()]) == (1, ["firewall"])


def test_the_right_to_delete_is_tried_once_a_study(cloud):
    async def walk():
        driver = provider()
        for token in ("a", "b"):
            await driver.create(request(FIREWALL, token))

    asyncio.run(walk())
    assert [call.outcome for call in cloud.calls("DeleteSecurityGroup")] == ["DryRunOperation"]


@pytest.mark.parametrize("denials", [1, 2, 3])
def test_a_right_that_is_seen_late_is_no_lack_of_it(cloud, denials):
    """The tag that a right rests on may not be seen for a moment; what can be deleted after all may be deleted."""
    cloud.inject("DeleteSecurityGroup", "error:UnauthorizedOperation", times=denials)
    driver = provider()
    made = [asyncio.run(driver.create(request(FIREWALL, token))) for token in "ab"]
    assert sorted(thing.id for thing in cloud.alive()) == sorted(made)
    denied = [call.outcome for call in cloud.calls("DeleteSecurityGroup")].count("UnauthorizedOperation")
    assert denied == denials


@pytest.mark.parametrize("what", ["error:ExpiredToken", "error:RequestLimitExceeded", "5xx", "drop"])
def test_a_trial_of_the_right_that_tells_nothing_keeps_the_group_and_is_repeated(cloud, what):
    driver = provider()
    cloud.inject("DeleteSecurityGroup", what)
    first = asyncio.run(driver.create(request(FIREWALL, "a")))
    second = asyncio.run(driver.create(request(FIREWALL, "b")))
    assert {thing.id for thing in cloud.alive()} == {first, second}
    assert [call.outcome for call in cloud.calls("DeleteSecurityGroup")][1:] == ["DryRunOperation"]


def test_nothing_can_be_made_without_our_tags(cloud):
    bare = request(tags=(("other", "1"),))
    for kind in (FIREWALL, "instance"):
        with pytest.raises(Refused, match="UnauthorizedOperation"):
            asyncio.run(provider().create(request(kind, tags=bare.tags)))
    assert cloud.alive() == []
