"""What goes wrong between the driver and Azure, told apart; the official clients read every one of these answers."""

import asyncio
import json
import logging
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulated.arm import Faults, arm
from tests.emulated.arm_answers import said
from tests.emulated.arm_login import Login
from tests.emulated.arm_requests import firewall, instance, launched, provider, request
from tests.emulated.pointed import pointed

from cloudcmp.errors import (
    BadCredentials,
    IncompleteListing,
    LostAnswer,
    NoCapacity,
    NoCredentials,
    NotAllowed,
    ProviderFault,
    QuotaReached,
    Refused,
    Throttled,
    Unreached,
)
from cloudcmp.model.lease import FIREWALL
from cloudcmp.provider.azure.faults import error_in, fault_of, is_missing, refusal
from cloudcmp.provider.azure.sdk import Sdk
from cloudcmp.provider.common.responses import CloudError


@pytest.fixture
def cloud(monkeypatch):
    with pointed(arm(), monkeypatch) as one:
        yield one


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AllocationFailed", NoCapacity),
        ("AuthorizationFailed", NotAllowed),
        ("ExpiredAuthenticationToken", BadCredentials),
        ("InvalidAuthenticationToken", BadCredentials),
        ("InvalidParameter", Refused),
        ("QuotaExceeded", QuotaReached),
        ("SkuNotAvailable", NoCapacity),
        ("SubscriptionNotFound", BadCredentials),
        ("SubscriptionRequestsThrottled", Throttled),
        ("TooManyRequests", Throttled),
        ("InternalServerError", LostAnswer),
        ("ServiceUnavailable", LostAnswer),
    ],
)
def test_each_code_is_told_with_the_providers_own_word(cloud, code, kind):
    driver = provider()
    group = asyncio.run(driver.create(request(FIREWALL, "f")))
    cloud.inject("virtualMachines/write", f"error:{code}")
    with pytest.raises(kind) as raised:
        asyncio.run(driver.create(request(options={"firewall": group})))
    assert type(raised.value) is kind
    assert code in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("what", ["drop", "lost", "reset", "5xx", "truncated", "part", "empty"])
def test_an_answer_that_is_lost_says_nothing_of_what_was_made(cloud, what):
    driver = provider(attempts=3)
    group = asyncio.run(driver.create(request(FIREWALL, "f")))
    cloud.inject("virtualMachines/write", what)
    with pytest.raises(LostAnswer):
        asyncio.run(driver.create(request(options={"firewall": group})))
    there = any(one.kind == "instance" for one in cloud.alive())
    assert there is (what != "drop")
    assert len(cloud.calls("virtualMachines/write")) == 1


@pytest.mark.parametrize("what", ["drop", "lost", "reset", "5xx", "truncated", "part", "empty"])
@pytest.mark.parametrize("action", ["virtualMachines/read", "disks/read", "subscriptions/resourceGroups/read"])
def test_a_list_that_does_not_come_whole_is_no_list(cloud, what, action):
    cloud.inject(action, what)
    with pytest.raises(IncompleteListing):
        asyncio.run(provider().find("study-a"))


def test_a_page_that_is_cut_off_is_no_end_of_the_list(cloud):
    driver = provider()
    asyncio.run(launched(driver, "one"))
    asyncio.run(launched(driver, "two"))
    cloud.faults = Faults(page=1)
    cloud.inject("virtualMachines/read", "cut")
    with pytest.raises(IncompleteListing):
        asyncio.run(driver.find("study-a"))
    assert len(asyncio.run(driver.find("study-a"))) == 4


@pytest.mark.parametrize("what", ["late", "lost"])
def test_a_deadline_is_kept_and_says_which_kind_of_call_it_was(cloud, what):
    driver = provider(deadline_s=1.5)
    group, machine = asyncio.run(launched(driver))
    cloud.inject("virtualMachines/delete", what, seconds=6.0)
    with pytest.raises(LostAnswer):
        asyncio.run(driver.destroy(instance(machine)))
    cloud.inject("subscriptions/resourceGroups/read", what, seconds=6.0)
    with pytest.raises(IncompleteListing):
        asyncio.run(driver.gone(firewall(group)))


@pytest.mark.parametrize(("changes", "kind"), [(True, LostAnswer), (False, IncompleteListing)])
def test_whatever_hangs_is_given_up_at_the_deadline(changes, kind):
    """Also what no time limit of the clients bounds, such as a login."""
    sdk, began = provider(deadline_s=0.2)._sdk, time.monotonic()
    with pytest.raises(kind):
        asyncio.run(sdk.run_in_thread(lambda: time.sleep(2.0), changes=changes))
    assert time.monotonic() - began < 1.9


def test_nothing_was_sent_where_nobody_listens(cloud):
    driver = provider()
    group = asyncio.run(driver.create(request(FIREWALL, "f")))
    cloud.leave()
    with pytest.raises(Unreached):
        asyncio.run(driver.create(request(options={"firewall": group})))
    with pytest.raises(Unreached):
        asyncio.run(driver.find("study-a"))
    cloud.come_back()
    assert asyncio.run(driver.find("study-a"))


def test_a_machine_whose_read_was_throttled_is_asked_for_again_by_whoever_looks(cloud):
    driver = provider()
    _, machine = asyncio.run(launched(driver))
    cloud.inject("virtualMachines/read", "error:SubscriptionRequestsThrottled")
    with pytest.raises(Throttled):
        asyncio.run(driver.look(instance(machine)))
    assert asyncio.run(driver.look(instance(machine))).state == "running"


def test_a_long_wait_that_azure_asks_for_is_told_and_not_slept_through(cloud):
    """What is sent again after its deadline makes or ends something that nobody waits for any more."""
    cloud.faults = Faults(wait_s=300)
    driver = provider(attempts=3)
    cloud.inject("subscriptions/resourceGroups/write", "error:TooManyRequests")
    with pytest.raises(Throttled):
        asyncio.run(driver.create(request(FIREWALL)))
    assert len(cloud.calls("subscriptions/resourceGroups/write")) == 1
    cloud.faults = Faults(wait_s=1)
    cloud.inject("subscriptions/resourceGroups/write", "error:TooManyRequests")
    assert asyncio.run(driver.create(request(FIREWALL)))
    assert len(cloud.calls("subscriptions/resourceGroups/write")) == 3


def test_nothing_is_sent_again_after_its_deadline(cloud):
    driver = provider(attempts=3)
    _, machine = asyncio.run(launched(driver))
    driver._sdk.deadline_s = 1.0
    cloud.inject("virtualMachines/delete", "late", seconds=2.0)
    with pytest.raises(LostAnswer):
        asyncio.run(driver.destroy(instance(machine)))
    time.sleep(2.0)
    assert len(cloud.calls("virtualMachines/delete")) == 1


@pytest.mark.parametrize("action", ["virtualMachines/read", "disks/read", "subscriptions/resourceGroups/read"])
def test_a_service_that_is_not_registered_is_told_and_never_registered_by_us(cloud, action):
    cloud.inject(action, "error:MissingSubscriptionRegistration")
    with pytest.raises(NotAllowed, match="az provider register"):
        asyncio.run(provider().find("study-a"))
    assert [call.action for call in cloud.journal if not call.action.endswith("read")] == []


# -- credentials


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AZURE_CLIENT_SECRET", "wrong"),
        ("AZURE_CLIENT_ID", "11111111-1111-1111-1111-111111111111"),
        ("AZURE_TENANT_ID", "11111111-1111-1111-1111-111111111111"),
        ("AZURE_SUBSCRIPTION_ID", "11111111-1111-1111-1111-111111111111"),
    ],
)
def test_wrong_credentials_are_refused_and_not_shown(cloud, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    for call in (provider().find("study-a"), provider().account(), provider().create(request(FIREWALL))):
        with pytest.raises(BadCredentials) as raised:
            asyncio.run(call)
        assert cloud.login.secret not in str(raised.value)
    (found,) = asyncio.run(provider().check([]))
    assert (found.what, found.ok) == ("credentials", False)
    assert cloud.alive() == []


@pytest.mark.parametrize("name", ["AZURE_CLIENT_SECRET", "AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID"])
def test_no_credentials_are_said_to_be_none(cloud, monkeypatch, name):
    monkeypatch.delenv(name)
    with pytest.raises(NoCredentials) as raised:
        asyncio.run(provider().leftovers())
    assert type(raised.value) is NoCredentials
    assert "az login" in str(raised.value)
    assert cloud.journal == []


def test_p12_a_login_that_cannot_be_reached_is_no_lack_of_credentials(cloud, monkeypatch):
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", "https://127.0.0.1:9")
    with pytest.raises(Unreached, match="login cannot be reached"):
        asyncio.run(provider().find("study-a"))
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", "http://127.0.0.1:9")
    with pytest.raises(BadCredentials):
        asyncio.run(provider().find("study-a"))


def test_a_login_that_fails_is_asked_as_often_as_all_else(cloud, monkeypatch):
    asked = []
    monkeypatch.setattr(Login, "answer", lambda _, request: asked.append(request.path) or said({}, 503))
    with pytest.raises(Unreached, match="login cannot be reached"):
        asyncio.run(provider().find("study-a"))
    assert len(asked) == Sdk().attempts


def test_credentials_that_expire_and_are_renewed_are_taken_again(cloud):
    driver = provider()
    asyncio.run(driver.find("study-a"))
    for token in cloud.login.tokens:
        cloud.login.tokens[token] = 0.0
    with pytest.raises(BadCredentials, match="ExpiredAuthenticationToken"):
        asyncio.run(driver.find("study-a"))
    assert asyncio.run(driver.find("study-a")) == ()


def test_an_endpoint_that_is_not_https_is_refused_before_a_token_is_sent(cloud, monkeypatch):
    monkeypatch.setenv("CLOUDCMP_AZURE_ENDPOINT", cloud.url.replace("https", "http"))
    with pytest.raises(Refused, match="not https"):
        asyncio.run(provider().find("study-a"))
    assert cloud.journal == []


def test_a_certificate_of_an_authority_that_is_not_trusted_is_not_talked_to(cloud, monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(ProviderFault, match="certificate is not trusted"):
        asyncio.run(provider().find("study-a"))
    assert cloud.journal == []


def test_no_secret_is_logged(cloud, caplog):
    caplog.set_level(logging.DEBUG)
    asyncio.run(launched(provider()))
    assert cloud.login.secret not in caplog.text
    assert not any(token in caplog.text for token in cloud.login.tokens)


# -- parts


@given(st.recursive(st.none() | st.text() | st.integers(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)))
def test_a_body_of_any_shape_tells_a_code_or_none(body):
    found = error_in(body)
    assert found is None or isinstance(refusal(found, "x"), ProviderFault | None)


def test_the_innermost_code_that_says_more_is_told():
    inner = {"code": "AllocationFailed", "message": "none left"}
    body = {"error": {"code": "DeploymentFailed", "message": "see below", "details": [{"code": "Other"}, inner]}}
    assert error_in(body) == CloudError("AllocationFailed", "none left")
    assert error_in({"error": {"code": "A", "message": "b", "details": [{"code": "C"}]}}) == CloudError("A", "b")


class _NotFound(Exception):
    """A 404 as azure-core raises it, with a body that may be anybody's."""

    status_code = 404

    def __init__(self, body):
        self.response = type("Response", (), {"json": lambda _: json.loads(body)})()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('{"error": {"code": "ResourceNotFound", "message": "x"}}', Refused),
        ('{"error": {"code": "ImageNotFound", "message": "x"}}', Refused),
        ("<html>404 page not found</html>", IncompleteListing),
        ("{}", IncompleteListing),
    ],
)
def test_p04_only_the_resource_manager_itself_can_say_that_something_is_not_there(body, kind):
    fault = fault_of(_NotFound(body), "azure", changes=False)
    assert type(fault) is kind
    assert is_missing(fault) is (kind is Refused)


@pytest.mark.parametrize(
    "code", ["PublicIPCountLimitReached", "StaticPublicIPCountLimitReached", "NetworkingQuotaExceeded", "QuotaExceeded"]
)
def test_a_limit_of_the_subscription_is_no_fault_of_the_size(code):
    assert isinstance(refusal(CloudError(code, "Cannot create more than 20", 400), "x"), QuotaReached)


def test_a_quota_is_told_from_another_operation_that_is_not_allowed():
    over = CloudError("OperationNotAllowed", "exceeding approved Total Regional Cores quota", 409)
    assert isinstance(refusal(over, "x"), QuotaReached)
    assert refusal(CloudError("OperationNotAllowed", "The machine is being deleted.", 409), "x") is None
