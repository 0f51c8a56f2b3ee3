"""The look before a study, and what a token must be allowed: enough for all that the driver does, and no more."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.emulated.longtail import Faults
from tests.emulated.longtail_requests import candidate, firewall, instance, launched, provider
from tests.emulated.tail import NAMES, emulated

from cloudcmp.errors import NotAllowed
from cloudcmp.provider.longtail import CLOUDS, policy
from cloudcmp.provider.longtail.dialect import no_limit

run = asyncio.run
ROOT = Path(__file__).parents[2]


@pytest.fixture
def cloud(tail):
    """Each emulated cloud in turn."""
    return tail


def found(cloud, *candidates):
    """The findings by what they are about."""
    asked = candidates or (candidate(cloud.name),)
    return {one.what: one for one in run(provider(cloud.name).check(asked))}


def test_a_study_that_can_be_run_is_told_so_and_nothing_is_made(cloud):
    account = run(provider(cloud.name).account()).partition(" at ")[0]
    told = found(cloud, candidate(cloud.name, account=account))
    assert {what: one.ok for what, one in told.items() if what != "quota"} == dict.fromkeys(
        ("credentials", "account", "clock", "image", "rights"), True
    )
    assert told["quota"].ok is (None if CLOUDS[cloud.name].machine_limit is no_limit else True)
    assert cloud.alive() == []


def test_a_wrong_token_is_all_that_is_told(cloud, monkeypatch):
    monkeypatch.setenv(cloud.token_variable, "another")
    (told,) = found(cloud).values()
    assert (told.what, told.ok) == ("credentials", False)


def test_another_account_a_wrong_clock_and_unknown_names_are_told(cloud):
    cloud.faults = Faults(skew_s=-300.0)
    wrong = (candidate(cloud.name, account="another"), candidate(cloud.name, offering="no-such"))
    told = found(cloud, *wrong)
    assert [told[what].ok for what in ("account", "clock", "capability")] == [False, False, False]
    assert "s ahead of the provider's" in told["clock"].text
    assert not found(cloud, candidate(cloud.name, region="nowhere"))["capability"].ok
    assert not found(cloud, candidate(cloud.name, image="no-such"))["image"].ok


def test_an_account_that_no_study_pins_is_told_for_pinning(cloud):
    told = found(cloud)["account"]
    assert told.ok is None
    assert told.next.startswith("write account: '")


def test_p10_a_token_that_may_not_delete_is_found_out_before_anything_is_made(cloud):
    if not CLOUDS[cloud.name].scopes:
        return
    one = emulated(cloud.name)
    cloud.faults = Faults(scopes=frozenset({*CLOUDS[cloud.name].scopes, *one.read_scopes} - one.delete_scopes))
    told = found(cloud)["rights"]
    assert told.ok is False
    assert "may not delete a machine" in told.text
    assert f"{cloud.name}-policy.json" in told.next
    assert cloud.alive() == []


def test_rights_that_could_not_be_tried_are_not_said_to_be_there(cloud):
    cloud.inject("firewalls.delete", "error:500")
    told = found(cloud)["rights"]
    assert (told.ok, "delete a firewall" in told.text) == (None, True)


def test_a_limit_that_leaves_no_room_is_told(cloud):
    cloud.faults = Faults(machines=0)
    assert found(cloud)["quota"].ok is (None if CLOUDS[cloud.name].machine_limit is no_limit else False)


# -- what a token must be allowed


def everything(cloud):
    """All that the driver can do, once."""

    async def walk():
        driver = provider(cloud.name)
        await asyncio.to_thread(driver.offerings)
        await driver.check([candidate(cloud.name)])
        wall, machine = await launched(cloud.name, driver)
        if CLOUDS[cloud.name].resize:
            await driver.resize(instance(cloud.name, machine), emulated(cloud.name).larger)
        for handle in (instance(cloud.name, machine), firewall(cloud.name, wall)):
            await driver.look(handle) if handle.kind == "instance" else None
            await driver.find("study-a", "token-1")
            await driver.leftovers()
            await driver.destroy(handle)
            assert await driver.gone(handle)
        await driver.account()
        await driver.date()

    run(walk())


def test_the_scopes_are_enough_and_none_is_idle(cloud):
    cloud.faults = Faults(scopes=frozenset(CLOUDS[cloud.name].scopes))
    everything(cloud)
    assert cloud.alive() == []
    assert not [call for call in cloud.journal if call.outcome in {"401", "403"}]
    needed = {scope for call in cloud.journal if (scope := cloud.scope(call.action))}
    needed -= {f"{one.removesuffix('write')}only" for one in needed if one.endswith("read_write")}
    assert set(CLOUDS[cloud.name].scopes) == needed


@pytest.mark.parametrize(
    ("name", "method", "path", "scope"),
    [(name, *call) for name in NAMES for call in emulated(name).scopes],
)
def test_each_call_is_known_by_its_scope(name, method, path, scope):
    assert CLOUDS[name].scope_of(method, path) == scope


@pytest.mark.parametrize("name", sorted(CLOUDS))
def test_the_file_holds_the_scopes_or_says_that_there_are_none(name):
    said = json.loads((ROOT / "docs" / "reference" / f"{name}-policy.json").read_text(encoding="utf-8"))
    assert said == policy(CLOUDS[name])
    assert bool(said["scopes"]) == ("no scopes" not in said["note"])


def test_without_a_scope_the_call_is_not_allowed_and_the_file_is_named(cloud):
    for lacking in CLOUDS[cloud.name].scopes:
        if not lacking.endswith((":create", ":read_write")) or lacking.startswith("tag"):
            continue
        cloud.faults = Faults(scopes=frozenset({*CLOUDS[cloud.name].scopes} - {lacking}))
        with pytest.raises(NotAllowed, match=f"it needs {lacking}: .*{cloud.name}-policy.json"):
            run(launched(cloud.name, provider(cloud.name)))
        assert [thing for thing in cloud.alive() if thing.kind == "instance"] == []
