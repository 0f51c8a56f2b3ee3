"""The preflight of Compute Engine against the emulated one: found before anything is made, and nothing is made."""

import asyncio
import json
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.emulated.gce import Faults, gce
from tests.emulated.gce_requests import candidate, provider
from tests.emulated.pointed import pointed
from tests.slices import long

from cloudcmp.errors import BadCredentials, NoCredentials, Unreached
from cloudcmp.model.safety import Finding


def checked(cloud, *candidates):
    """The findings by what they are about, the worst of each; nothing was made for them."""
    found = asyncio.run(provider().check(candidates or (candidate(),)))
    assert cloud.alive() == []
    assert not [call for call in cloud.journal if call.action.endswith((".insert", ".delete"))]
    worst: dict[str, Finding] = {}
    for one in sorted(found, key=lambda one: {True: 0, None: 1, False: 2}[one.ok]):
        worst[one.what] = one
    return worst


def test_all_is_well(gce_cloud):
    found = checked(gce_cloud, candidate("n2-standard-2", account=gce_cloud.state.project))
    wanted = ("account", "capability", "clock", "credentials", "image", "quota", "rights")
    assert {what: one.ok for what, one in found.items()} == dict.fromkeys(wanted, True)
    assert gce_cloud.url in found["credentials"].text
    assert gce_cloud.account.granted == 0 or gce_cloud.calls("token")


def test_the_project_is_pinned(gce_cloud):
    assert checked(gce_cloud)["account"].ok is None
    other = checked(gce_cloud, candidate(account="another-project"))["account"]
    assert (other.ok, "another-project" in other.text) == (False, True)


def test_the_account_tells_project_and_endpoint(gce_cloud):
    assert asyncio.run(provider().account()) == f"study-project at {gce_cloud.url}"


def test_without_credentials_that_is_told(gce_cloud, monkeypatch):
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    found = checked(gce_cloud)
    assert list(found) == ["credentials"]
    assert (found["credentials"].ok, found["credentials"].text) == (False, "there are no credentials")
    with pytest.raises(NoCredentials):
        provider().offerings()
    with pytest.raises(NoCredentials):
        asyncio.run(provider().find("study-a"))


@pytest.mark.parametrize("text", [None, "", "{}", '{"type": "service_account"}'])
def test_a_file_that_cannot_be_used_is_told(gce_cloud, monkeypatch, tmp_path, text):
    file = tmp_path / "key.json"
    if text is not None:
        file.write_text(text)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    found = checked(gce_cloud)
    assert list(found) == ["credentials"]
    assert found["credentials"].ok is False
    assert found["credentials"].next


@long
def test_another_key_is_refused_by_its_signature(gce_cloud, monkeypatch, tmp_path):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    file = tmp_path / "key.json"
    file.write_text(json.dumps(gce_cloud.account.file(f"{gce_cloud.url}/token", other)))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    found = checked(gce_cloud)
    assert list(found) == ["credentials"]
    assert "authError" in found["credentials"].text
    with pytest.raises(BadCredentials):
        asyncio.run(provider().find("study-a"))


def test_credentials_that_expire_and_are_renewed_are_read_anew(gce_cloud):
    async def walk():
        driver = provider()
        await driver.find("study-a")
        gce_cloud.account.expired = True
        with pytest.raises(BadCredentials):
            await driver.find("study-a")
        gce_cloud.account.expired = False
        await driver.find("study-a")

    asyncio.run(walk())


def test_another_project_is_told(gce_cloud, monkeypatch):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "no-such-project")
    with pytest.raises(Exception, match="no-such-project"):
        asyncio.run(provider().check(()))


def test_a_right_that_is_missing_is_found_before_spending(gce_cloud):
    gce_cloud.faults = Faults(denied=frozenset({"compute.instances.delete"}))
    rights = checked(gce_cloud)["rights"]
    assert (rights.ok, "compute.instances.delete" in rights.text) == (False, True)
    assert "gcp-policy.json" in rights.next


def test_rights_that_cannot_be_asked_are_said_so(gce_cloud):
    gce_cloud.faults = Faults(rights_told=False)
    rights = checked(gce_cloud)["rights"]
    assert (rights.ok, "accessNotConfigured" in rights.text) == (None, True)


def test_a_quota_too_small_is_found(gce_cloud):
    gce_cloud.faults = Faults(quota_cpus=3)
    two = (candidate(), replace(candidate("e2-standard-2"), index=1, count=1))
    quota = checked(gce_cloud, *two)["quota"]
    assert quota.ok is False
    assert "CPUS: 4 needed, 0 in use, 3 allowed" in quota.text
    assert checked(gce_cloud, candidate(market="spot"))["quota"].ok is None


@pytest.mark.parametrize(("skew_s", "ok"), [(30.0, True), (-30.0, True), (120.0, False), (-120.0, False)])
def test_a_clock_that_is_wrong(gce_cloud, skew_s, ok):
    gce_cloud.faults = Faults(skew_s=skew_s)
    clock = checked(gce_cloud)["clock"]
    assert clock.ok is ok
    assert ("behind" if skew_s > 0 else "ahead") in clock.text


@pytest.mark.parametrize(
    ("change", "what", "next"),
    [
        ({"region": "us-cental1"}, "capability", "did you mean us-central1?"),
        ({"offering": "e2-mirco"}, "capability", "did you mean e2-micro?"),
        ({"offering": "n2-custom-3-4096"}, "capability", "write e.g. n2-custom-4-8192"),
        ({"image": "ubuntu-24.4"}, "image", "did you mean ubuntu-24.04?"),
        ({"zone": "us-central1-q"}, "capability", "did you mean us-central1-"),
    ],
)
def test_names_that_are_unknown(gce_cloud, change, what, next):
    found = checked(gce_cloud, candidate(**change))[what]
    assert found.ok is False
    assert found.next.startswith(next)


def test_the_zone_of_the_machines_beyond_the_first_is_checked_as_well(gce_cloud):
    near = candidate(zone="us-central1-a")
    assert checked(gce_cloud, replace(near, far_zone="us-central1-b"))["capability"].ok
    asked = {call.params["zone"] for call in gce_cloud.calls("machineTypes.get")}
    assert asked == {"us-central1-a", "us-central1-b"}
    found = checked(gce_cloud, replace(near, far_zone="us-central1-q"))["capability"]
    assert (found.ok, "there is no zone 'us-central1-q'" in found.text) == (False, True)


def test_a_project_without_the_default_network_is_told(gce_cloud):
    gce_cloud.faults = Faults(network=False)
    network = checked(gce_cloud)["capability"]
    assert (network.ok, "'default'" in network.text) == (False, True)


def test_without_candidates_the_rest_is_looked_at(gce_cloud):
    found = {one.what: one.ok for one in asyncio.run(provider().check(()))}
    assert found == {"credentials": True, "account": None, "clock": True, "capability": True, "rights": True}


def test_where_nothing_listens_that_is_told():
    with pointed(gce()) as cloud:
        cloud.leave()
        with pytest.raises(Unreached, match="cannot be reached"):
            asyncio.run(provider().find("study-a"))
        cloud.come_back()
        assert asyncio.run(provider().find("study-a")) == ()
