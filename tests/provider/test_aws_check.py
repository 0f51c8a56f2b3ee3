"""The preflight of EC2 against the emulated one: found before anything is made, and nothing is made."""

import asyncio
from dataclasses import replace

import pytest
from tests.emulated.ec2 import EUCALYPTUS, Faults, ec2
from tests.emulated.ec2_requests import candidate, provider
from tests.emulated.pointed import pointed

from cloudcmp.errors import UserMistake

_MAKES = ("RunInstances", "CreateSecurityGroup", "CreatePlacementGroup")


def checked(cloud, *candidates, name="aws"):
    """The findings by what they are about; nothing was made for them."""
    findings = asyncio.run(provider(name).check(candidates or (candidate(),)))
    assert cloud.alive() == []
    assert all(call.outcome != "200" for action in _MAKES for call in cloud.calls(action))
    return {one.what: one for one in findings}


def test_all_is_well(cloud):
    found = checked(cloud, candidate("m5.large", account=cloud.account.id))
    assert {what: one.ok for what, one in found.items()} == dict.fromkeys(
        ("credentials", "account", "clock", "image", "rights", "quota"), True
    )
    assert cloud.url in found["credentials"].text
    assert found["quota"].text == "us-east-1: standard on-demand vCPUs: 2 needed, 0 running, 1000 allowed"


def test_the_account_is_pinned(cloud):
    assert checked(cloud)["account"].ok is None
    assert cloud.account.id in checked(cloud)["account"].text
    other = checked(cloud, candidate(account="123456789012"))["account"]
    assert (other.ok, "123456789012" in other.text) == (False, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "SignatureDoesNotMatch: the secret is wrong"),
        ({"AWS_ACCESS_KEY_ID": "AKIAUNKNOWN000000000"}, "InvalidClientTokenId: there is no such access key"),
        ({"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, "there are no credentials"),
        ({"AWS_SECRET_ACCESS_KEY": None}, "the credentials cannot be had (PartialCredentialsError)"),
        ({"AWS_PROFILE": "nobody"}, "the credentials cannot be had (ProfileNotFound)"),
    ],
)
def test_credentials_that_do_not_hold_are_told_apart(cloud, monkeypatch, change, said):
    for name, value in change.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    found = checked(cloud)
    assert list(found) == ["credentials"]
    assert found["credentials"].ok is False
    assert said in found["credentials"].text
    assert found["credentials"].next


def test_expired_credentials(cloud):
    cloud.inject("GetCallerIdentity", "error:ExpiredToken")
    found = checked(cloud)
    assert found["credentials"].text == "ExpiredToken: the credentials have expired"
    assert "sso login" in found["credentials"].next


@pytest.mark.parametrize("denied", ["TerminateInstances", "DeleteSecurityGroup", "RunInstances", "CreateSecurityGroup"])
def test_p10_a_right_that_is_missing_is_found_before_spending(cloud, denied):
    cloud.faults = Faults(denied=frozenset({denied}))
    rights = checked(cloud)["rights"]
    assert rights.ok is False
    assert f"ec2:{denied}" in rights.text
    assert "policy" in rights.next


def test_a_quota_too_small_is_found_and_one_that_is_not_told_is_said(cloud):
    cloud.faults = Faults(quota_vcpus=5)
    two = (candidate("m5.large"), replace(candidate("c5.large"), index=1, count=2))
    assert checked(cloud, *two)["quota"].ok is False
    assert "6 needed" in checked(cloud, *two)["quota"].text
    cloud.faults = Faults(denied=frozenset({"GetServiceQuota"}))
    assert checked(cloud)["quota"].ok is None


def test_a_clock_that_is_wrong(cloud):
    for skew, ok in ((30.0, True), (-30.0, True), (120.0, False), (-120.0, False)):
        cloud.faults = Faults(skew_s=skew)
        clock = checked(cloud)["clock"]
        assert clock.ok is ok
        assert ("behind" if skew > 0 else "ahead") in clock.text


def test_names_that_are_unknown(cloud):
    found = checked(cloud, candidate(region="us-esat-1"))
    assert found["capability"].ok is False
    assert "us-esat-1" in found["capability"].text
    assert found["capability"].next == "did you mean us-east-1?"
    found = checked(cloud, candidate("t3.mirco"))
    assert (found["image"].ok, found["image"].next) == (False, "did you mean t3.micro?")
    found = checked(cloud, candidate(image="debain-13"))
    assert (found["image"].ok, found["image"].next) == (False, "did you mean debian-13?")


def test_without_candidates_the_rest_is_looked_at(cloud):
    found = {one.what: one.ok for one in asyncio.run(provider().check(()))}
    assert found == {"credentials": True, "account": None, "clock": True, "rights": True}


def test_an_older_cloud_tells_less():
    with pointed(ec2(EUCALYPTUS)) as one:
        found = checked(one, name="ec2")
        assert (found["credentials"].ok, found["account"].ok, found["quota"].ok) == (True, None, None)
        assert found["rights"].ok is None
        assert "no dry run" in found["rights"].text
        assert found["capability"].ok is None
        one.faults = replace(EUCALYPTUS, token_filter=True)
        assert checked(one, name="ec2")["capability"].ok is True


def test_an_endpoint_must_be_named_for_another_cloud(monkeypatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_EC2"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserMistake, match="AWS_ENDPOINT_URL_EC2"):
        asyncio.run(provider("ec2").check(()))
