"""The least-privilege role of Compute Engine: enough for everything that the driver does, and for nothing else."""

import asyncio
from dataclasses import replace

import pytest
from tests.emulated.gce import Faults, gce
from tests.emulated.gce_requests import REGION, candidate, firewall, instance, launched, provider, request, tags
from tests.emulated.gce_rights import TAKES, needed
from tests.emulated.pointed import pointed

from cloudcmp.errors import NotAllowed, Refused
from cloudcmp.model.lease import FIREWALL, VOLUME, Handle
from cloudcmp.provider.gcp import policy
from cloudcmp.provider.gcp.policy import (
    BIGTABLE_PERMISSIONS,
    FIRESTORE_PERMISSIONS,
    NEEDS,
    PUBSUB_PERMISSIONS,
    STORAGE_PERMISSIONS,
    permissions,
)


@pytest.fixture
def cloud(monkeypatch):
    """A cloud whose account may do what the role says, its condition included, and no more."""
    with pointed(gce(policy=policy()), monkeypatch) as one:
        yield one


async def everything(cloud):
    """All that the driver can do, once."""
    driver = provider()
    driver.offerings(REGION)
    findings = await driver.check([candidate("n2-standard-2", account=cloud.state.project)])
    assert all(one.ok for one in findings), findings
    group, machine = await launched(driver, options={"market": "spot"})
    await driver.look(instance(machine))
    await driver.resize(instance(machine), "e2-standard-2")
    await driver.find("study-a", "token-1")
    await driver.leftovers()
    await driver.look(instance("us-central1-a/cloudcmp-nothing"))
    await driver.gone(firewall("cloudcmp-nothing"))
    with pytest.raises(Refused, match="no image"):
        await driver.create(request(token="other", options={"image": "of-mine"}))
    volume = Handle(VOLUME, REGION, cloud.plant("volume", REGION, "cloudcmp-left", dict(tags())))
    for handle in (instance(machine), firewall(group), volume):
        await driver.destroy(handle)
        assert await driver.gone(handle)


def test_the_role_is_enough_and_nothing_in_it_is_idle(cloud):
    cloud.faults = Faults(pending_s=0.05)
    asyncio.run(everything(cloud))
    called = {call.action for call in cloud.journal if call.service == "compute"}
    bodies = [(call.action, call) for call in cloud.journal if call.service == "compute"]
    assert called - set(NEEDS) == set()
    assert set(NEEDS) - called <= {"globalOperations.get"}, "rules are done at once here"
    assert bodies
    assert cloud.alive() == []


def test_the_role_names_what_the_calls_take():
    taken = {f"compute.{one}" for some in TAKES.values() for one in some}
    body = {
        "labels": {"a": "b"}, "tags": {"items": ["x"]}, "networkInterfaces": [{"accessConfigs": [{}]}],
        "disks": [{"initializeParams": {"labels": {"a": "b"}}}],
    }  # fmt: skip
    assert set(permissions()) == taken | needed("instances.insert", body)
    assert not any("*" in one for one in permissions())
    included = policy()["role"]["includedPermissions"]
    services = {*BIGTABLE_PERMISSIONS, *FIRESTORE_PERMISSIONS, *PUBSUB_PERMISSIONS, *STORAGE_PERMISSIONS}
    assert included == sorted({*permissions(), *services})
    assert not any("*" in one for one in included)


@pytest.mark.parametrize("kind", ["instance", "firewall", "volume"])
def test_p01_the_condition_keeps_us_from_what_is_not_named_like_ours(cloud, kind):
    id = cloud.plant(kind, REGION, f"their-{kind}", dict(tags()))
    with pytest.raises(NotAllowed, match="forbidden"):
        asyncio.run(provider().destroy(Handle(kind, REGION, id)))
    assert id in {thing.id for thing in cloud.alive()}


@pytest.mark.parametrize("kind", [FIREWALL, "instance"])
def test_nothing_can_be_made_under_another_name(cloud, kind):
    with pytest.raises(NotAllowed):
        asyncio.run(provider().create(replace(request(kind), name="another-name")))
    assert cloud.alive() == []


@pytest.mark.parametrize(
    "lacking", ["instances.create", "disks.setLabels", "subnetworks.useExternalIp", "instances.setTags"]
)
def test_without_a_permission_no_machine_is_made_and_it_is_told_which(gce_cloud, lacking):
    gce_cloud.faults = Faults(denied=frozenset({f"compute.{lacking}"}))
    with pytest.raises(NotAllowed, match=lacking):
        asyncio.run(provider().create(request(options={"firewall": "cloudcmp-f"})))
    assert gce_cloud.alive() == []
