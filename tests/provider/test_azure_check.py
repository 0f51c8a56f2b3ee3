"""What is looked at before a study on Azure; nothing is ever made by it."""

import asyncio

import pytest
from tests.emulated.arm import Faults, arm
from tests.emulated.arm_requests import candidate, launched, provider
from tests.emulated.pointed import pointed

from cloudcmp.errors import ProviderFault


@pytest.fixture
def cloud(monkeypatch):
    with pointed(arm(), monkeypatch) as one:
        yield one


def found(*candidates):
    return {one.what: one for one in asyncio.run(provider().check(candidates))}


def test_a_check_makes_and_changes_nothing(cloud):
    findings = found(candidate(account=cloud.subscription))
    assert {one.ok for one in findings.values()} == {True}
    assert cloud.alive() == []
    assert all(call.action.endswith("/read") for call in cloud.journal)


def test_another_subscription_than_the_studys_is_found_out(cloud):
    account = found(candidate(account="22222222-2222-2222-2222-222222222222"))["account"]
    assert account.ok is False
    assert found(candidate())["account"].ok is None
    assert asyncio.run(provider().account()) == f"{cloud.subscription} at {cloud.url}"


@pytest.mark.parametrize(("skew_s", "ok"), [(0.0, True), (3600.0, False), (-3600.0, False)])
def test_a_clock_that_is_off_is_found_out(cloud, skew_s, ok):
    cloud.faults = Faults(skew_s=skew_s)
    assert found()["clock"].ok is ok


@pytest.mark.parametrize(
    ("wanted", "what", "text"),
    [
        (candidate(region="eastuss"), "capability", "no region 'eastuss'"),
        (candidate("Standard_B1x"), "image", "no size 'Standard_B1x'"),
        (candidate("Standard_M8ms"), "image", "may not have it here"),
        (candidate(image="debian-31"), "image", "no image 'debian-31'"),
        (candidate(market="spot"), "image", "not sold on the spot market"),
    ],
)
def test_names_that_are_not_sold_are_found_out(cloud, wanted, what, text):
    finding = found(wanted)[what]
    assert finding.ok is False
    assert text in finding.text
    assert finding.next


def test_a_quota_that_is_too_small_is_found_out_with_what_runs_already(cloud):
    cloud.faults = Faults(quota_vcpus=3)
    asyncio.run(launched(provider(), offering="Standard_D2s_v5"))
    quotas = [
        one for one in asyncio.run(provider().check([candidate("Standard_D2s_v5", vcpus=2.0)])) if one.ok is False
    ]
    assert [one.text for one in quotas] == [
        "eastus: cores vCPUs: 2 needed, 2 in use, 3 allowed",
        "eastus: standardDSv5Family vCPUs: 2 needed, 2 in use, 3 allowed",
    ]
    spot = found(candidate("Standard_D2s_v5", vcpus=2.0, market="spot"))["quota"]
    assert (spot.ok, "lowPriorityCores" in spot.text) == (True, True)


def test_a_quota_that_cannot_be_read_is_not_told(cloud):
    cloud.inject("locations/usages/read", "5xx")
    assert found(candidate())["quota"].ok is None


def test_regions_that_cannot_be_had_are_no_faults_of_the_study(cloud):
    cloud.inject("subscriptions/locations/read", "empty")
    with pytest.raises(ProviderFault, match="without regions"):
        asyncio.run(provider().check([candidate()]))


def test_the_time_there_is_told(cloud):
    cloud.faults = Faults(skew_s=7200.0)
    told = asyncio.run(provider().date())
    import time

    assert told is not None
    assert 7190 < told - time.time() < 7210
