"""What answers of the emulated OpenStack are told as, and lists that do not come whole."""

import asyncio
import sys

import pytest
from tests.emulated.nova import Faults
from tests.emulated.nova_requests import (
    REGION,
    STUDY,
    launched,
    provider,
    request,
    tags,
)
from tests.provider.openstacks import pointed

from cloudcmp.errors import (
    BadCredentials,
    IncompleteListing,
    LostAnswer,
    NoCapacity,
    NoCredentials,
    NotAllowed,
    QuotaReached,
    Refused,
    Throttled,
    Unreached,
)
from cloudcmp.model.lease import ADDRESS, FIREWALL
from cloudcmp.model.remote import Access, KeyPair


@pytest.fixture
def cloud(monkeypatch):
    with pointed(patch=monkeypatch) as one:
        yield one


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        (Faults(servers=0), QuotaReached),
        (Faults(cores=0), QuotaReached),
        (Faults(denied=frozenset({"CreateServer"})), NotAllowed),
        (Faults(at=()), Refused),
    ],
)
def test_what_nova_refuses_is_told_apart(faults, kind):
    with pointed(faults) as cloud:
        wanted = request(options={"zone": "nowhere"} if kind is Refused else {})
        with pytest.raises(kind) as told:
            asyncio.run(provider().create(wanted))
        assert type(told.value) is kind
        assert cloud.alive() == []


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("error:429 Too many", Throttled),
        ("error:413 OverLimit Retry...", Throttled),
        ("error:403 Quota exceeded for cores: Requested 1", QuotaReached),
        ("error:409 No more IP addresses available on network", NoCapacity),
        ("error:500", LostAnswer),
        ("error:503", LostAnswer),
        ("drop", LostAnswer),
        ("lost", LostAnswer),
        ("reset", LostAnswer),
        ("truncated", LostAnswer),
        ("part", LostAnswer),
        ("empty", LostAnswer),
    ],
)
def test_answers_to_a_create_are_told_apart_and_it_is_sent_once(cloud, what, kind):
    cloud.inject("CreateServer", what)
    with pytest.raises(kind) as told:
        asyncio.run(provider(attempts=3).create(request()))
    assert type(told.value) is kind
    assert len(cloud.calls("CreateServer")) == 1


def test_what_was_sent_is_looked_for_and_never_sent_again(cloud):
    async def walk():
        driver = provider()
        for what, token in (("lost", "a"), ("drop", "b")):
            cloud.inject("CreateServer", what)
            with pytest.raises(LostAnswer):
                await driver.create(request(token=token))
        made = await driver.create(request(token="a"))
        with pytest.raises(LostAnswer, match="sent before"):
            await driver.create(request(token="b"))
        return made

    made = asyncio.run(walk())
    assert [one.id for one in cloud.alive()] == [made]
    assert len(cloud.calls("CreateServer")) == 2


@pytest.mark.parametrize("what", ["error:429", "error:403 Quota exceeded for instances"])
def test_what_surely_made_nothing_may_be_asked_again(cloud, what):
    async def walk():
        driver = provider()
        cloud.inject("CreateServer", what)
        with pytest.raises((Throttled, QuotaReached)):
            await driver.create(request())
        return await driver.create(request())

    made = asyncio.run(walk())
    assert [one.id for one in cloud.alive()] == [made]


@pytest.mark.parametrize("what", ["lost", "5xx", "truncated", "empty", "reset"])
def test_a_group_whose_answer_is_lost_is_found_again(cloud, what):
    cloud.inject("CreateSecurityGroup", what)
    group = asyncio.run(provider().create(request(FIREWALL, "f")))
    assert [one.id for one in cloud.alive()] == [group]


def test_a_group_whose_answer_is_lost_and_that_is_not_found_is_no_fault_of_a_candidate(cloud):
    cloud.inject("CreateSecurityGroup", "drop")
    with pytest.raises(IncompleteListing, match="looks for it"):
        asyncio.run(provider().create(request(FIREWALL, "f")))
    assert cloud.alive() == []


@pytest.mark.parametrize("what", ["drop", "5xx", "truncated", "empty", "error:429"])
@pytest.mark.parametrize("action", ["ListServers", "ListVolumes", "ListFloatingIps", "ListSecurityGroups"])
def test_a_list_that_does_not_come_whole_tells_nothing(cloud, action, what):
    cloud.inject(action, what)
    with pytest.raises((IncompleteListing, Throttled)):
        asyncio.run(provider().find(STUDY, region=REGION))


def test_lists_come_in_pages_and_a_marker_that_is_cut_short_is_no_end():
    with pointed(Faults(page=1)) as cloud:

        async def walk():
            driver = provider()
            for token in "abc":
                await driver.create(request(token=token))
            assert len(await driver.find(STUDY)) == 3
            cloud.inject("ListServers", "cut", first=2)
            with pytest.raises(IncompleteListing):
                await driver.find(STUDY)

        asyncio.run(walk())


@pytest.mark.parametrize("newest", ["2.96", "2.69"])
def test_servers_of_a_cell_that_is_down_make_a_list_incomplete(newest):
    with pointed(Faults(newest=newest)) as cloud:

        async def walk():
            driver = provider()
            await driver.create(request())
            cloud.faults = Faults(newest=newest, down_cell=True)
            with pytest.raises(IncompleteListing, match="does not answer"):
                await driver.find(STUDY)
            return await driver.leftovers()

        listing = asyncio.run(walk())
        assert listing.found == ()
        assert "servers" in listing.unlisted[0]


def test_wrong_and_missing_credentials_are_told_apart(cloud, monkeypatch):
    monkeypatch.setenv("OS_PASSWORD", "wrong")
    with pytest.raises(BadCredentials, match="does not accept"):
        asyncio.run(provider().find(STUDY))
    for name in cloud.environ:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", "/dev/null")
    with pytest.raises(NoCredentials, match="OS_CLOUD") as told:
        asyncio.run(provider().find(STUDY))
    assert type(told.value) is NoCredentials
    assert cloud.calls("ListServers") == []


def test_a_cloud_that_is_not_there_is_not_reached_and_nothing_was_sent(cloud):
    driver = provider()
    asyncio.run(driver.find(STUDY))
    cloud.leave()
    for call in (driver.find(STUDY), driver.create(request()), provider().find(STUDY), provider().account()):
        with pytest.raises(Unreached):
            asyncio.run(asyncio.wait_for(call, 20))
    cloud.come_back()
    asyncio.run(driver.create(request()))
    assert len(cloud.alive()) == 1


def test_tokens_that_expire_are_renewed_and_no_create_is_lost_by_it(cloud):
    async def walk():
        driver = provider()
        await driver.create(request(token="a"))
        cloud.keystone.expire()
        await driver.create(request(token="b"))
        cloud.keystone.expire()
        return await driver.find(STUDY)

    assert len(asyncio.run(walk())) == 2
    assert len(cloud.calls("CreateServer")) == 3  # one was refused for its token, and sent again with another


def test_calls_side_by_side_are_all_renewed_when_their_token_expires(cloud):
    # The library drops the token of all threads in one while another is about to read it. These change often here.
    usual = sys.getswitchinterval()

    async def walk():
        driver = provider()
        await driver.create(request(token="a"))
        for _ in range(6):
            cloud.keystone.expire()
            found = await asyncio.gather(*(driver.find(STUDY) for _ in range(6)))
            assert [len(one) for one in found] == [1] * 6

    sys.setswitchinterval(1e-6)
    try:
        asyncio.run(walk())
    finally:
        sys.setswitchinterval(usual)


def test_the_secrets_of_a_request_are_not_logged(cloud, caplog):
    caplog.set_level("DEBUG")
    access = Access(KeyPair("private", "public"), "client", "#cloud-config\nSECRET-IN-USER-DATA\n")
    asyncio.run(launched(provider(), access=access))
    assert cloud.keystone.password not in caplog.text
    assert "SECRET-IN-USER-DATA" not in caplog.text
    assert "user_data" not in caplog.text


def test_a_study_is_looked_for_in_all_regions_of_the_catalogue(cloud):
    planted = {cloud.plant("instance", region, f"x-{region}", dict(tags())) for region in cloud.regions}
    assert len(planted) > 1
    assert {one.cloud_id for one in asyncio.run(provider().find(STUDY))} == planted


def test_only_what_is_nobodys_or_anothers_is_left_alone(cloud):
    theirs = {kind: cloud.plant(kind, REGION, f"their-{kind}", {}) for kind in ("instance", "firewall", "volume")}
    other = dict(tags("study-b"))
    planted = [cloud.plant(kind, REGION, f"b-{kind}", other) for kind in ("instance", "firewall", "volume", ADDRESS)]

    async def walk():
        return await provider().find(STUDY), await provider().leftovers()

    mine, listing = asyncio.run(walk())
    assert mine == ()
    assert {one.cloud_id for one in listing.found} == set(planted)
    assert not {one.cloud_id for one in listing.found} & set(theirs.values())
