"""What errors of an OpenStack, and of the way there, are told as; and what their texts may hold."""

import asyncio
import http.client
import json
import time
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulated.nova import Faults
from tests.emulated.nova_requests import ALLOW, REGION, STUDY, instance, launched, provider, request, tags
from tests.emulated.wire import Answer, Server
from tests.provider.openstacks import pointed

from cloudcmp.errors import (
    BadCredentials,
    IncompleteListing,
    LostAnswer,
    NoCapacity,
    NotAllowed,
    ProviderFault,
    QuotaReached,
    Refused,
    Throttled,
)
from cloudcmp.model.lease import FIREWALL
from cloudcmp.provider.openstack.faults import fault_of, refusal, text_of
from cloudcmp.provider.openstack.policy import policy
from cloudcmp.provider.openstack.tags import MOST, Mark, parse_mark


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (400, "No valid host was found. There are not enough hosts available.", NoCapacity),
        (409, "IpAddressGenerationFailure: No more IP addresses available on network", NoCapacity),
        (403, "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances", QuotaReached),
        (409, "OverQuota: Quota exceeded for resources: ['floatingip'].", QuotaReached),
        (413, "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded", QuotaReached),
        (413, "This request was rate-limited.", Throttled),
        (429, "", Throttled),
        (403, "Policy doesn't allow os_compute_api:servers:create to be performed.", NotAllowed),
        (401, "The request you have made requires authentication.", NotAllowed),
        (400, "Flavor's disk is too small for requested image.", Refused),
        (404, "Instance could not be found.", Refused),
        (409, "SecurityGroupInUse: in use.", Refused),
        (400, "marker [x] not found", IncompleteListing),
        (500, "Unexpected API Error.", LostAnswer),
        (503, "No valid host was found.", LostAnswer),
        (300, "", LostAnswer),
        (404, "", LostAnswer),
    ],
)
def test_a_refusal_is_told_by_its_status_and_its_words(status, said, kind):
    fault = refusal(status, said, "openstack/RegionOne", changes=True)
    assert type(fault) is kind
    assert f"HTTP {status}" in fault.faults[0].what
    assert fault.faults[0].next
    if kind is LostAnswer:
        assert type(refusal(status, said, "", changes=False)) is IncompleteListing


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"badRequest": {"code": 400, "message": "a"}}, "a"),
        ({"NeutronError": {"type": "OverQuota", "message": "b", "detail": ""}}, "OverQuota: b"),
        ({"error": {"code": 401, "title": "Unauthorized", "message": "c"}}, "Unauthorized: c"),
        ({"message": "d"}, "d"),
        ({"message": "e", "code": "400 Bad Request", "title": "Bad Request"}, "Bad Request: e"),
        ([], ""),
        ({"x": {"y": {"z": "\x1b[31mred"}}}, ""),
        ({"x": {"message": "\x1b[31m red\n" + "y" * 900}}, "red " + "y" * 295 + "…"),
    ],
)
def test_the_words_of_each_service_are_found_and_made_plain(body, said):
    assert text_of(json.dumps(body).encode()) == said


@given(st.binary(max_size=200), st.integers(300, 599), st.booleans())
def test_whatever_an_error_holds_it_is_one_line_of_ours(body, status, changes):
    fault = refusal(status, text_of(body), "openstack", changes=changes)
    assert isinstance(fault, ProviderFault)
    line = fault.faults[0].line()
    assert line.isprintable()
    assert len(line) < 600


_WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


@given(_WORDS.filter(bool), st.dictionaries(_WORDS, _WORDS, max_size=6), _WORDS)
def test_a_mark_comes_back_exactly_as_it_was_or_is_refused(token, said, on):
    mark = Mark(token, tuple(sorted(said.items())), on)
    try:
        text = mark.text("here")
    except Refused:
        return
    assert len(text) <= MOST
    assert text.isascii()
    assert parse_mark(text) == mark


@given(st.text(max_size=300))
def test_any_other_text_is_no_mark_of_ours(text):
    found = parse_mark(text)
    assert found is None or text.startswith("cloudcmp ")


def test_the_mark_of_a_usual_study_fits_with_a_name_of_eighty_letters():
    text = Mark("0" * 36, tags("s" * 80, slot="launch-10000.firewall"), "0" * 36).text("here")
    assert len(text) <= MOST


def test_an_errors_kind_is_told_where_nothing_came_back():
    class SSLFailure(Exception):
        """As the library names it."""

    class Unauthorized(Exception):
        """As the library names it."""

        http_status = 401

    untrusted = SSLFailure("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate")
    assert "--ca FILE" in str(fault_of(untrusted, "here", changes=True))
    assert "no TLS connection" in str(fault_of(SSLFailure("EOF occurred"), "here", changes=True))
    assert type(fault_of(Unauthorized("x"), "here", changes=True)) is BadCredentials
    assert type(fault_of(ValueError("x"), "here", changes=True)) is LostAnswer
    assert type(fault_of(ValueError("x"), "here", changes=False)) is IncompleteListing


@pytest.mark.parametrize(("action", "kind"), [("CreateServer", LostAnswer), ("ShowServer", IncompleteListing)])
def test_an_answer_that_the_library_gives_up_waiting_for_is_no_sign_that_nothing_was_sent(action, kind):
    """It raises what it calls a timeout of the connection, whether or not there was one."""
    with pointed() as cloud:
        driver = provider(deadline_s=0.3)
        asyncio.run(provider().find(STUDY, region=REGION))
        asyncio.run(driver._catalog.prefetch(REGION, "m1.small", {}))
        cloud.inject(action, "late", seconds=1.0)
        sdk = driver._sdk
        body = {"server": {"name": "x"}} if action == "CreateServer" else None
        method, path = ("POST", "/servers") if body else ("GET", f"/servers/{'0' * 36}")
        with pytest.raises(kind) as told:
            sdk._call(REGION, "compute", method, path, body, {}, 1, changes=body is not None)
        assert type(told.value) is kind


def test_answers_that_come_too_late_are_lost_or_not_listed():
    with pointed() as cloud:
        driver = provider(deadline_s=0.5)
        asyncio.run(provider().find(STUDY, region=REGION))
        asyncio.run(driver._catalog.prefetch(REGION, "m1.small", {}))
        cloud.inject("CreateServer", "late", seconds=1.5)
        began = time.monotonic()
        with pytest.raises(LostAnswer):
            asyncio.run(driver.create(request()))
        cloud.inject("ListServers", "late", seconds=1.5)
        with pytest.raises(IncompleteListing):
            asyncio.run(driver.find(STUDY, region=REGION))
        assert time.monotonic() - began < 10.0
        assert len(cloud.alive()) == 1


def test_a_deadline_bounds_all_attempts_of_a_call():
    with pointed() as cloud:
        driver = provider(attempts=5, deadline_s=20.0)
        asyncio.run(driver.find(STUDY, region=REGION))
        driver._sdk.deadline_s = 1.0
        cloud.inject("ListServers", "late", times=9, seconds=1.5)
        began = time.monotonic()
        with pytest.raises(IncompleteListing):
            asyncio.run(driver.find(STUDY, region=REGION))
        assert time.monotonic() - began < 4.0


def test_a_credential_whose_secret_is_wrong_is_not_taken(monkeypatch):
    with pointed(policy=policy(), patch=monkeypatch):
        monkeypatch.setenv("OS_APPLICATION_CREDENTIAL_SECRET", "wrong")
        with pytest.raises(BadCredentials):
            asyncio.run(provider().find(STUDY))


def test_tokens_that_live_shortly_are_renewed_before_they_end():
    with pointed(Faults(token_s=20.0)) as cloud:

        async def walk():
            driver = provider()
            for token in "ab":
                await driver.create(request(token=token))
            return await driver.find(STUDY)

        assert len(asyncio.run(walk())) == 2
        assert len(cloud.calls("CreateServer")) == 2  # never with a token that had ended
        assert len(cloud.calls("Authenticate")) > 2


def test_a_floating_address_beyond_the_quota_is_told_and_the_machine_is_ended():
    with pointed(Faults(floating=0)) as cloud:

        async def walk():
            driver = provider()
            _, machine = await launched(driver)
            with pytest.raises(QuotaReached, match="floatingip"):
                await driver.look(instance(machine))
            await driver.destroy(instance(machine))
            assert await driver.gone(instance(machine))

        asyncio.run(walk())
        assert [one.kind for one in cloud.alive()] == ["firewall"]


def test_a_region_that_does_not_answer_is_named_and_the_others_are_swept():
    with pointed() as cloud:
        for region in cloud.regions:
            cloud.plant("firewall", region, "f", dict(tags()))

        async def walk():
            driver = provider()
            await driver.leftovers()
            cloud.inject("ListServers", "5xx")
            return await driver.leftovers()

        listing = asyncio.run(walk())
        assert len(listing.found) == 2
        (line,) = listing.unlisted
        assert "servers" in line
        assert line.startswith("Region")


def _v2(asked):
    """A Keystone of before version 3: it knows everybody."""
    links = [{"rel": "self", "href": f"http://{asked.header('Host')}/v2.0/"}]
    version = {"id": "v2.0", "status": "stable", "links": links, "media-types": []}
    if asked.method == "GET":
        return Answer(300, json.dumps({"versions": {"values": [version]}}).encode())
    token = {"id": "t", "expires": "2099-01-01T00:00:00Z", "tenant": {"id": "p", "name": "p"}}
    return Answer(200, json.dumps({"access": {"token": token, "serviceCatalog": [], "user": {"id": "u"}}}).encode())


def test_a_keystone_of_before_version_3_is_refused_by_name(monkeypatch):
    with pointed(patch=monkeypatch), Server(_v2) as old:
        monkeypatch.setenv("OS_AUTH_URL", f"http://127.0.0.1:{old.port}/")
        for name in ("OS_USER_DOMAIN_NAME", "OS_PROJECT_DOMAIN_NAME", "OS_IDENTITY_API_VERSION"):
            monkeypatch.delenv(name)
        with pytest.raises(Refused, match=r"Keystone.*v3"):
            asyncio.run(provider("rackspace").find(STUDY))
        (found,) = asyncio.run(provider("rackspace").check([]))
        assert (found.what, found.ok) == ("capability", False)


def _proxy(lost):
    """A forwarding proxy that hands on every whole request, and closes instead of answering those to one path."""

    def forward(asked):
        to = urlsplit(asked.path)
        link = http.client.HTTPConnection(to.hostname, to.port, timeout=30)
        path = to.path + (f"?{to.query}" if to.query else "")
        try:
            link.request(asked.method, path, asked.body, dict(asked.headers))
        except ConnectionRefusedError:  # a call that an earlier test gave up goes on until its thread has ended
            return Answer(502)
        said = link.getresponse()
        kept = {name: value for name, value in said.getheaders() if name.lower() != "content-length"}
        answer = Answer(said.status, said.read(), kept)
        link.close()
        return Answer(how="close") if (asked.method, to.path.rpartition("/")[2]) == ("POST", lost) else answer

    return Server(forward)


def test_an_answer_that_a_proxy_loses_is_lost_and_what_was_made_is_found(monkeypatch):
    with pointed(patch=monkeypatch) as cloud, _proxy("servers") as between:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "")
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{between.port}")
        with pytest.raises(LostAnswer):
            asyncio.run(launched(provider()))
        (made,) = [thing.id for thing in cloud.alive() if thing.kind == "instance"]
        found = asyncio.run(provider().find(STUDY, "token-1", region=REGION))
        assert made in {one.cloud_id for one in found}


def test_a_cloud_of_the_providers_own_name_is_taken_before_the_environments(tmp_path, monkeypatch):
    with pointed(Faults(network="provider"), patch=monkeypatch) as other, pointed(patch=monkeypatch) as cloud:
        settings = {**other.keystone.environ(), "region_name": REGION}
        auth = {key.removeprefix("OS_").lower(): value for key, value in settings.items() if key.startswith("OS_")}
        auth.pop("identity_api_version")
        auth.pop("auth_type")
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
        (tmp_path / "clouds.yaml").write_text(
            json.dumps({"clouds": {"rackspace": {"auth": auth, "region_name": REGION}}})
        )
        asyncio.run(provider("rackspace").create(request(FIREWALL, "f", options=dict([ALLOW]))))
        asyncio.run(provider().create(request(FIREWALL, "g", options=dict([ALLOW]))))
        assert [len(one.alive()) for one in (other, cloud)] == [1, 1]
