"""Errors of the long tail told apart, and answers that are lost on the way."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulated.longtail import Faults
from tests.emulated.longtail_requests import firewall, instance, launched, provider, request
from tests.emulated.tail import emulated

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
from cloudcmp.model.lease import FIREWALL, INSTANCE
from cloudcmp.provider.longtail import CLOUDS
from cloudcmp.provider.longtail.faults import words_of

DONE = ("lost", "reset", "5xx", "truncated", "part", "empty")

run = asyncio.run


@pytest.fixture
def cloud(tail):
    """Each emulated cloud in turn."""
    return tail


@pytest.mark.parametrize("what", [*DONE, "drop"])
def test_p02_a_lost_answer_is_told_as_lost_and_its_machine_is_found_by_token(cloud, what):
    driver = provider(cloud.name, attempts=3)
    cloud.inject("machines.create", what)
    with pytest.raises(LostAnswer):
        run(driver.create(request(cloud.name)))
    found = run(driver.find("no-study", "token-1"))
    assert len(found) == len(cloud.lives.there()) == (0 if what == "drop" else 1)
    assert len(cloud.calls("machines.create")) == 1, "a create is sent once"


def test_p02_the_same_token_makes_no_second_machine_after_a_lost_answer(cloud):
    driver = provider(cloud.name)
    cloud.inject("machines.create", "lost")
    cloud.faults = Faults(read_lag_s=0.3, at=tuple(cloud._chooser._at))
    with pytest.raises(LostAnswer):
        run(driver.create(request(cloud.name)))
    with pytest.raises(LostAnswer, match="its resource is not found"):
        run(driver.create(request(cloud.name)))
    time.sleep(0.35)
    again = run(driver.create(request(cloud.name)))
    assert [one.id for one in cloud.lives.there()] == [again]
    assert len(cloud.calls("machines.create")) == 1


def test_p02_the_users_own_switch_for_retries_sends_no_create_twice(cloud, monkeypatch):
    monkeypatch.setenv("LIBCLOUD_RETRY_FAILED_HTTP_REQUESTS", "true")
    cloud.inject("machines.create", "lost")
    with pytest.raises(LostAnswer):
        run(provider(cloud.name).create(request(cloud.name)))
    assert len(cloud.calls("machines.create")) == len(cloud.lives.there()) == 1


@pytest.mark.parametrize("what", [*DONE, "drop"])
def test_a_firewall_whose_answer_is_lost_is_found_or_left_out_whole(cloud, what):
    driver = provider(cloud.name)
    cloud.inject("firewalls.create", what)
    try:
        wall = run(driver.create(request(cloud.name, FIREWALL)))
    except LostAnswer:
        found = [one for one in run(driver.find("study-a", "token-1")) if one.kind == FIREWALL]
        assert len(found) == len(cloud.walls) == (0 if what == "drop" else 1)
    except IncompleteListing:
        assert emulated(cloud.name).rules_apart
        assert (what, cloud.walls) == ("drop", {})
    else:
        assert emulated(cloud.name).rules_apart, "its rules are made after it, so it is found again at once"
        assert len(cloud.walls[wall].rules) == 1


@pytest.mark.parametrize("what", ["lost", "5xx", "drop"])
def test_a_rule_whose_answer_is_lost_is_made_once_or_its_group_is_deleted(cloud, what):
    if not emulated(cloud.name).rules_apart:
        return
    cloud.inject("firewalls.rule", what)
    with pytest.raises(IncompleteListing, match="its group was deleted again"):
        run(provider(cloud.name).create(request(cloud.name, FIREWALL)))
    assert cloud.alive() == []
    cloud.inject("firewalls.rule", what)
    wall = run(provider(cloud.name, attempts=2).create(request(cloud.name, FIREWALL)))
    assert len(cloud.walls[wall].rules) == 1


def test_a_group_that_cannot_be_deleted_again_is_no_refusal(cloud):
    if not emulated(cloud.name).rules_apart:
        return
    cloud.inject("firewalls.rule", "error:400 Invalid subnet.")
    cloud.inject("firewalls.delete", "error:500")
    with pytest.raises(ProviderFault, match="is still there") as fault:
        run(provider(cloud.name).create(request(cloud.name, FIREWALL)))
    assert type(fault.value) is ProviderFault
    assert [thing.kind for thing in cloud.alive()] == ["firewall"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("401", BadCredentials),
        ("401 Your OAuth token is not authorized to use this endpoint.", NotAllowed),
        ("403 You are not authorized to perform this operation.", NotAllowed),
        ("404 gone", Refused),
        ("422 creating this/these droplet(s) will exceed your droplet limit", QuotaReached),
        ("400 Account Limit reached. Please open a support ticket.", QuotaReached),
        ("400 You have reached the maximum number of active virtual machines for this account", QuotaReached),
        ("403 resource_limit_exceeded", QuotaReached),
        ("409 the name is already used", LostAnswer),
        ("422 Size is not available in this region", NoCapacity),
        ("400 The region is at capacity", NoCapacity),
        ("400 Label must be unique among your services", LostAnswer),
        ("422 something else", Refused),
        ("429 Too many requests", Throttled),
        ("408", LostAnswer),
        ("500", LostAnswer),
        ("503 Service Unavailable", LostAnswer),
    ],
)
def test_each_error_of_a_create_is_told_apart(cloud, status, kind):
    cloud.inject("machines.create", f"error:{status}")
    with pytest.raises(kind) as fault:
        run(provider(cloud.name).create(request(cloud.name)))
    assert type(fault.value) is kind
    assert "\n" not in str(fault.value)
    assert status.partition(" ")[0] in str(fault.value)


@pytest.mark.parametrize("what", ["drop", "reset", "lost", "5xx", "truncated", "part", "empty", "error:500"])
def test_p07_a_list_whose_answer_is_lost_is_unlisted(cloud, what):
    driver = provider(cloud.name)
    run(launched(cloud.name, driver))
    cloud.inject("machines.list", what)
    with pytest.raises(IncompleteListing):
        run(driver.find("study-a"))
    cloud.inject("machines.list", what)
    told = run(driver.leftovers())
    assert [one.kind for one in told.found] == [FIREWALL]
    assert len(told.unlisted) == 1
    assert "machines" in told.unlisted[0]


def test_a_read_is_tried_again(cloud):
    driver = provider(cloud.name, attempts=3)
    run(driver.create(request(cloud.name)))
    for what in ("drop", "error:429"):
        cloud.inject("machines.list", what)
    assert len(run(driver.find("study-a"))) == 1


@pytest.mark.parametrize("what", ["lost", "drop", "5xx"])
def test_an_end_is_asked_for_again(cloud, what):
    driver = provider(cloud.name, attempts=3)
    wall, machine = run(launched(cloud.name, driver))
    for action, handle in (("machines", instance(cloud.name, machine)), ("firewalls", firewall(cloud.name, wall))):
        cloud.inject(f"{action}.delete", what)
        run(driver.destroy(handle))
        evidence = run(driver.gone(handle))
        assert evidence is None or handle.cloud_id in evidence
    assert cloud.lives.there() == []
    assert cloud.walls == {}


def test_p02_a_cloud_that_is_not_there_is_unreached_and_nothing_was_sent(cloud):
    driver = provider(cloud.name)
    run(driver.find("study-a"))
    cloud.leave()
    try:
        for work in (driver.create(request(cloud.name)), driver.find("study-a"), driver.date()):
            with pytest.raises(Unreached):
                run(work)
    finally:
        cloud.come_back()
    assert run(driver.find("study-a")) == ()


def test_p24_no_call_lasts_longer_than_its_deadline(cloud):
    driver = provider(cloud.name, deadline_s=0.5)
    run(driver._catalog.check_offering(*[getattr(request(cloud.name), key) for key in ("region", "offering")]))
    cloud.inject("machines.create", "late", seconds=3.0)
    cloud.inject("machines.list", "late", seconds=3.0)
    began = time.monotonic()
    with pytest.raises(LostAnswer):
        run(driver.create(request(cloud.name)))
    with pytest.raises(IncompleteListing):
        run(driver.find("study-a"))
    assert time.monotonic() - began < 3.0


def test_p24_a_deadline_bounds_all_attempts_of_a_call(cloud):
    driver = provider(cloud.name, attempts=5)
    run(driver.find("study-a"))
    driver._sdk.deadline_s = 1.0
    cloud.inject("machines.list", "late", times=9, seconds=1.5)
    began = time.monotonic()
    with pytest.raises(IncompleteListing):
        run(driver.find("study-a"))
    assert time.monotonic() - began < 4.0


def test_credentials_that_were_renewed_are_used(cloud, monkeypatch):
    driver = provider(cloud.name)
    monkeypatch.setenv(cloud.token_variable, "old")
    with pytest.raises(BadCredentials):
        run(driver.find("study-a"))
    monkeypatch.setenv(cloud.token_variable, cloud.token)
    assert run(driver.find("study-a")) == ()


def test_p10_the_account_is_that_of_the_token_that_is_used_now(cloud, monkeypatch):
    driver = provider(cloud.name)
    assert run(driver.account()) == run(driver.account())
    monkeypatch.setenv(cloud.token_variable, "of another account")
    with pytest.raises(BadCredentials):
        run(driver.account())
    for name in CLOUDS[cloud.name].tokens:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NoCredentials):
        run(driver.account())


def test_many_calls_at_once_get_their_own_answers(cloud):
    driver = provider(cloud.name)

    async def walk():
        made = await asyncio.gather(*(driver.create(request(cloud.name, token=f"t-{n}")) for n in range(8)))
        sights = await asyncio.gather(*(driver.look(instance(cloud.name, id)) for id in made))
        return made, sights

    made, sights = run(walk())
    assert len(set(made)) == 8
    assert [one.address for one in sights] == [cloud.lives.all[id].address for id in made]


KEYS = st.sampled_from(["errors", "reason", "field", "id", "message", "error"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner),
    max_leaves=12,
)


@given(JSON)
def test_p28_whatever_an_error_holds_it_is_one_line_that_can_be_shown(body):
    said = words_of(body)
    assert len(said) <= 200
    assert said.isprintable()


def test_the_words_of_an_error_are_found_where_it_is_an_object_of_its_own():
    body = {"error": {"code": "uniqueness_error", "message": "name is already used", "details": {"fields": []}}}
    assert words_of(body) == "uniqueness_error name is already used"
    body = {"error": {"error_code": "LIMIT", "error_message": "no more servers"}}
    assert words_of(body) == "LIMIT no more servers"


def test_every_cloud_says_what_to_do_about_rights():
    assert all(f"docs/reference/{name}-policy.json" in one.rights for name, one in CLOUDS.items())


def test_a_machine_that_is_seen_by_its_name_only_has_no_tags(cloud):
    cloud.plant(INSTANCE, request(cloud.name).region, "cloudcmp-study-a-token-1", {})
    assert run(provider(cloud.name).find("study-a", "token-1")) == ()
    assert run(provider(cloud.name).leftovers()).found == ()
