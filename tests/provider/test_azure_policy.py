"""The least role: enough for everything that the driver does, and for nothing else."""

import asyncio

import pytest
from tests.emulated.arm import Faults, arm
from tests.emulated.arm_requests import REGION, candidate, firewall, instance, provider, request, tags
from tests.emulated.pointed import pointed

from cloudcmp.errors import NotAllowed
from cloudcmp.model.lease import FIREWALL, VOLUME, Handle
from cloudcmp.provider.azure import policy
from cloudcmp.provider.azure.policy import IMPLICIT_ACTIONS, STORAGE_ACTIONS, STORAGE_DATA_ACTIONS, actions, allows


@pytest.fixture
def cloud(monkeypatch):
    """A cloud whose user may do what the role says, and no more."""
    with pointed(arm(policy=policy()), monkeypatch) as one:
        yield one


async def everything(cloud):
    """All that the driver can do, once."""
    driver = provider()
    driver.offerings(REGION)
    findings = await driver.check([candidate("Standard_D2s_v5", vcpus=2.0, account=cloud.subscription)])
    assert all(one.ok for one in findings), findings
    for number, placement in enumerate(("cluster", "spread")):
        options = {"placement": placement}
        group = await driver.create(request(FIREWALL, f"f{number}", options=options))
        machine = await driver.create(request(token=f"t{number}", options={"firewall": group, **options}))
        await driver.look(instance(machine))
        await driver.resize(instance(machine), "Standard_B2s")
        await driver.find("study-a", "token-1")
        await driver.leftovers()
        for handle in (instance(machine), firewall(group)):
            await driver.destroy(handle)
            assert await driver.gone(handle)
    volume = Handle(VOLUME, REGION, cloud.plant("volume", REGION, "left", dict(tags())))
    await driver.destroy(volume)
    assert await driver.gone(volume)


def test_the_role_is_enough_and_nothing_in_it_is_idle(cloud):
    asyncio.run(everything(cloud))
    called = {f"{call.service}/{call.action}" for call in cloud.journal}
    assert called - set(actions()) == set()
    # What goes on within the call of a machine or of a network: the rights are needed, the calls are not made.
    assert set(actions()) - called == set(IMPLICIT_ACTIONS)
    assert cloud.alive() == []


def test_the_role_names_what_it_allows_and_where():
    role = policy()
    assert set(role["Actions"]) == {*actions(), *STORAGE_ACTIONS}
    assert role["DataActions"] == sorted(STORAGE_DATA_ACTIONS)
    assert not any("*" in action for action in role["Actions"] + role["DataActions"])
    assert role["NotActions"] == role["NotDataActions"] == []
    assert all(scope.startswith("/subscriptions/") for scope in role["AssignableScopes"])


@pytest.mark.parametrize("lacking", [one for one in actions() if not one.endswith("permissions/read")])
def test_p10_a_right_that_is_missing_is_found_out_before_anything_is_made(lacking):
    less = {**policy(), "Actions": [one for one in policy()["Actions"] if one != lacking]}
    with pointed(arm(policy=less)):
        if lacking.endswith(("subscriptions/read", "locations/read")):  # without these nothing can be looked at
            with pytest.raises(NotAllowed, match=lacking):
                asyncio.run(provider().check([]))
            return
        findings = asyncio.run(provider().check([]))
        (rights,) = [one for one in findings if one.what == "rights"]
        assert (rights.ok, lacking in rights.text) == (False, True)


def test_a_role_that_tells_no_permissions_is_not_known_to_lack_any():
    with pointed(arm(Faults(denied=frozenset({"permissions/read"})))):
        (rights,) = [one for one in asyncio.run(provider().check([])) if one.what == "rights"]
        assert rights.ok is None


@pytest.mark.parametrize(
    ("permissions", "action", "allowed"),
    [
        ([{"actions": ["*"], "notActions": []}], "A/b/read", True),
        ([{"actions": ["A/*/read"], "notActions": []}], "a/b/READ", True),
        ([{"actions": ["*"], "notActions": ["A/b/*"]}], "A/b/read", False),
        ([{"actions": ["*"], "notActions": ["A/b/*"]}, {"actions": ["A/b/read"]}], "A/b/read", True),
        ([{"actions": []}], "A/b/read", False),
        ([], "A/b/read", False),
    ],
)
def test_what_permissions_allow(permissions, action, allowed):
    assert allows(permissions, action) is allowed
