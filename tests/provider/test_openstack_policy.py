"""The access rules of an application credential: enough for a study, and no more than the driver calls."""

import asyncio

import pytest
from tests.emulated.nova import Faults
from tests.emulated.nova_keystone import SERVICES, _named
from tests.emulated.nova_requests import ALLOW, STUDY, candidate, firewall, instance, launched, provider
from tests.emulated.nova_wire import ROUTES, asked
from tests.emulated.wire import Request
from tests.provider.openstacks import pointed
from tests.slices import spread

from cloudcmp.errors import NotAllowed
from cloudcmp.model.offering import Volume
from cloudcmp.provider.openstack import policy
from cloudcmp.provider.openstack.policy import CHANGE_CALLS, READ_CALLS

VOLUME = Volume("ssd", 2**30)


async def everything(driver, cloud):
    """Whatever a study may come to, with each thing that it may have to end."""
    driver.offerings()
    await driver.check([candidate(image="debian-13")])
    await driver.check([candidate(image=cloud.regions["RegionOne"].id_of("no image"))])
    group, machine = await launched(driver, volume=VOLUME, options={"placement": "spread", ALLOW[0]: ALLOW[1]})
    await driver.look(instance(machine))
    await driver.resize(instance(machine), "m1.medium")
    await driver.find(STUDY)
    await driver.leftovers()
    cloud.faults = Faults(volumes="stays")
    for handle in (instance(machine), instance(machine), firewall(group)):
        await driver.destroy(handle)
        await driver.gone(handle)
    kept = {one.kind: one for one in await driver.find(STUDY)}
    assert kept == {}
    for kind in ("volume", "address"):
        id = cloud.plant(kind, "RegionOne", kind, {"cloudcmp:schema": "1", "cloudcmp:study": STUDY})
        (found,) = await driver.find(STUDY)
        assert found.cloud_id == id
        await driver.gone(found.handle())
        await driver.destroy(found.handle())


def test_everything_that_is_called_is_in_the_policy_and_nothing_in_it_is_never_called():
    with pointed() as cloud:
        asyncio.run(everything(provider(), cloud))
        called = {
            (SERVICES[call.service], call.params["method"], called_as(call))
            for call in cloud.journal
            if call.service != "identity"
        }
    allowed = {(service, "GET", path) for service, path in READ_CALLS} | set(CHANGE_CALLS)
    assert called == allowed


def called_as(call):
    """The path of a call below its version, with `{id}` in the place of ids."""
    path = "/" + call.params["path"].strip("/").partition("/")[2]
    return path.replace(call.params["id"], "{id}") if "id" in call.params else path


def test_a_credential_that_opens_just_that_does_all_of_it():
    with pointed(policy=policy()) as cloud:
        asyncio.run(everything(provider(), cloud))
        assert {call.outcome for call in cloud.journal} <= {"200", "201", "202", "204", "404"}
        assert cloud.alive() == []


MARKING = ("block-storage", "POST", "/volumes/{id}/metadata")


@pytest.mark.parametrize("rule", spread([rule for rule in CHANGE_CALLS if rule != MARKING], 4))
def test_what_a_credential_does_not_open_is_told_as_not_allowed(rule):
    less = [one for one in policy() if not (one["method"] == rule[1] and one["path"].endswith(rule[2]))]
    with pointed(policy=less) as cloud, pytest.raises(NotAllowed):
        asyncio.run(everything(provider(), cloud))


def test_a_credential_that_cannot_mark_volumes_still_ends_machines():
    less = [one for one in policy() if not one["path"].endswith(MARKING[2])]
    with pointed(policy=less) as cloud:

        async def walk():
            driver = provider()
            _, machine = await launched(driver, volume=VOLUME)
            await driver.destroy(instance(machine))
            assert await driver.gone(instance(machine))

        asyncio.run(walk())
        assert [one.kind for one in cloud.alive()] == ["firewall"]


def test_a_rule_names_whole_paths():
    rules = [{"service": "compute", "method": "GET", "path": "/v2.1/servers/{id}"}]
    for path, fits in (("servers/x", True), ("servers/x/y", False), ("servers", False), ("serversx/y", False)):
        this = asked(Request("GET", f"/R/compute/v2.1/{path}", {}, b""))
        assert _named(rules, this) is fits
    assert not _named(rules, asked(Request("DELETE", "/R/compute/v2.1/servers/x", {}, b"")))
    assert not _named(rules, asked(Request("GET", "/R/network/v2.1/servers/x", {}, b"")))


def test_the_rules_are_of_calls_that_the_emulation_knows():
    known = {(service, method, path.partition("/")[2].partition("/")[2]) for service, method, path, _ in ROUTES}
    services = {theirs: ours for ours, theirs in SERVICES.items()}
    rules = {(service, "GET", path) for service, path in READ_CALLS} | set(CHANGE_CALLS)
    wanted = {(services[service], method, path.lstrip("/").replace("{id}", "ID")) for service, method, path in rules}
    assert wanted <= known
