"""The driver of the long tail at each of its clouds: what is asked of them, and what comes of it."""

import asyncio
import base64
import json
import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from tests.emulated.digitalocean import CLOSED, digitalocean
from tests.emulated.linode import PLAIN, linode
from tests.emulated.longtail import Faults
from tests.emulated.longtail_requests import PLACES, firewall, instance, launched, provider, request, tags
from tests.emulated.pointed import point
from tests.emulated.tail import emulated

from cloudcmp.errors import BadCredentials, NoCredentials, Refused, UserMistake
from cloudcmp.model.lease import FIREWALL, INSTANCE, Handle
from cloudcmp.model.offering import Volume
from cloudcmp.provider.longtail import CLOUDS
from cloudcmp.provider.longtail.listing import TAG

run = asyncio.run


@pytest.fixture
def cloud(tail):
    """Each emulated cloud in turn."""
    return tail


def bodies(cloud, action="machines.create"):
    return [json.loads(call.params["body"]) for call in cloud.calls(action)]


def test_one_call_makes_a_machine_with_all_that_belongs_to_it(cloud):
    driver = provider(cloud.name)
    wall, machine = run(launched(cloud.name, driver))
    (body,) = bodies(cloud)
    text = body.get("metadata", body)["user_data"]
    told = base64.b64decode(text).decode() if emulated(cloud.name).base64 else text
    assert told == "#cloud-config\n{}\n"
    (found,) = [one for one in run(driver.find("study-a")) if one.kind == INSTANCE]
    assert (found.cloud_id, found.name, found.token) == (machine, "cloudcmp-study-a-token-1", "token-1")
    assert found.tags == tags()
    assert (found.region, found.offering) == PLACES[cloud.name]
    named = emulated(cloud.name).firewall_field
    by_id = re.search(rf"\b{wall}\b", json.dumps(body[named]))
    assert set(cloud.walls[wall].words) & set(body[named]) if named == "tags" else by_id
    assert len(cloud.calls("machines.create")) == 1
    backups = [value for key, value in body.items() if key.startswith("backups")]
    assert backups in ([], [False], ["disabled"]), "nothing that is billed beside"


def test_a_firewall_lets_in_the_named_addresses_only(cloud):
    driver = provider(cloud.name)
    allow = {"allow": "192.0.2.7/32, 2001:db8::/64"}
    wall = run(driver.create(request(cloud.name, FIREWALL, options=allow)))
    emulated(cloud.name).check_rules(cloud.walls[wall])


def test_what_was_made_is_ended_and_nothing_stays(cloud):
    driver = provider(cloud.name)
    wall, machine = run(launched(cloud.name, driver))
    for handle in (instance(cloud.name, machine), firewall(cloud.name, wall)):
        assert run(driver.gone(handle)) is None
        run(driver.destroy(handle))
        assert handle.cloud_id in run(driver.gone(handle))
        run(driver.destroy(handle))
        assert handle.cloud_id in run(driver.gone(handle))
    assert cloud.alive() == []


def test_p04_a_machine_that_is_off_or_still_ending_is_not_gone(monkeypatch, cloud):
    driver = provider(cloud.name, settle_s=0.0)
    machine = run(driver.create(request(cloud.name)))
    handle = instance(cloud.name, machine)
    assert run(driver.look(handle)).state == "running"
    cloud.lives.all[machine].off = True
    assert run(driver.look(handle)).state == "stopped"
    assert [run(driver.gone(handle)) for _ in range(3)] == [None] * 3
    cloud.faults = Faults(terminate_s=1e9)
    run(driver.destroy(handle))
    assert [run(driver.gone(handle)) for _ in range(3)] == [None] * 3


def test_p04_a_machine_that_a_list_still_shows_is_not_gone_whatever_its_id_says(cloud):
    driver = provider(cloud.name)
    handle = instance(cloud.name, run(driver.create(request(cloud.name))))
    cloud.faults = Faults(terminate_s=1e9)
    run(driver.destroy(handle))
    cloud.inject("machines.get", "error:404 Not found")
    assert run(driver.gone(handle)) is None


def test_what_is_not_seen_yet_is_pending_and_not_gone(cloud):
    now = [1000.0]
    driver = provider(cloud.name, settle_s=300.0, clock=lambda: now[0])
    cloud.faults = Faults(read_lag_s=1e9)
    handle = instance(cloud.name, run(driver.create(request(cloud.name))))
    assert run(driver.look(handle)).state == "pending"
    for now[0] in (1000.0, 1100.0, 1299.0):
        assert run(driver.gone(handle)) is None
    now[0] = 1300.0
    assert "not in any complete list" in run(driver.gone(handle))


def test_a_machine_that_never_ran_is_pending_where_it_is_off(cloud):
    driver = provider(cloud.name)
    machine = run(driver.create(request(cloud.name)))
    cloud.lives.all[machine].off = True
    assert run(driver.look(instance(cloud.name, machine))).state == "pending"
    assert run(provider(cloud.name).look(instance(cloud.name, machine))).state == "stopped"


def test_offerings_have_the_price_that_the_cloud_tells_today_and_zero_is_unknown(cloud):
    region, named = PLACES[cloud.name]
    sold = provider(cloud.name).offerings(region)
    one = next(one for one in sold if one.name == named)
    assert (one.vcpus, one.memory_gib, one.category) == emulated(cloud.name).holds
    assert one.price is not None
    assert (one.price.currency, one.price.as_of) == (emulated(cloud.name).currency, datetime.now(UTC).date())
    assert "https://" in one.price.source
    assert one.price.amount_per_hour == Decimal(emulated(cloud.name).price)
    unknown = emulated(cloud.name).unpriced
    assert unknown is None or next(one for one in sold if one.name == unknown).price is None
    assert provider(cloud.name).offerings("no-such-region") == ()
    assert {one.region for one in provider(cloud.name).offerings()} >= {region}


def test_a_region_with_prices_of_its_own_has_those(monkeypatch):
    with linode() as cloud:
        point(cloud, monkeypatch)
        sold = {one.name: one.price.amount_per_hour for one in provider("linode").offerings("us-east")}
        assert sold["g6-nanode-1"] == Decimal("0.009")


@pytest.mark.parametrize(("make", "region"), [(digitalocean, CLOSED), (linode, PLAIN)])
def test_a_region_where_machines_cannot_be_made_as_they_must_be_is_refused(monkeypatch, make, region):
    with make() as cloud:
        point(cloud, monkeypatch)
        driver = provider(cloud.name)
        assert driver.offerings(region) == ()
        with pytest.raises(Refused, match="offers no machines with the required features"):
            run(driver.create(request(cloud.name, region=region)))
        assert cloud.calls("machines.create") == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"region": "nowhere"}, "is not there"),
        ({"offering": "no-such-type"}, "there is no type"),
        ({"options": {"image": "no-such-image"}}, "there is no (image|system)"),
        ({"options": {"market": "spot"}}, "spot machines"),
        ({"options": {"os": "windows"}}, "only Linux"),
        ({"options": {"tenancy": "dedicated"}}, "dedicated hosts"),
        ({"options": {"placement": "cluster"}}, "no placement groups"),
        ({"options": {"credits": "standard"}}, "CPU credits"),
        ({"options": {"zone": "a"}}, "no zones"),
        ({"volume": Volume("ssd", 2**30)}, "a volume cannot be created"),
        ({"kind": "volume"}, "cannot be created alone"),
    ],
)
def test_what_is_not_sold_is_refused_with_a_line_and_nothing_is_made(cloud, changes, why):
    kind = changes.get("kind", INSTANCE)
    with pytest.raises(Refused, match=why) as refused:
        run(provider(cloud.name).create(request(cloud.name, **{**changes, "kind": kind})))
    assert "\n" not in str(refused.value)
    assert cloud.alive() == []


def test_an_image_that_reads_no_user_data_is_refused(monkeypatch):
    with linode() as cloud:
        point(cloud, monkeypatch)
        with pytest.raises(Refused, match="does not read user data"):
            run(provider("linode").create(request("linode", options={"image": "linode/slackware15.0"})))
        assert cloud.alive() == []


def test_a_machine_is_made_another_type_or_that_is_refused(cloud):
    driver = provider(cloud.name)
    machine = run(driver.create(request(cloud.name)))
    handle, moments = instance(cloud.name, machine), []
    larger = emulated(cloud.name).larger
    if larger is None:
        with pytest.raises(Refused, match="not resized by this driver"):
            run(driver.resize(handle, "other"))
        return
    cloud.faults = Faults(pending_s=0.1)
    run(driver.resize(handle, larger, lambda: moments.append(cloud.lives.all[machine].off)))
    assert moments == [True]
    (step,) = [one for one in bodies(cloud, "machines.act") if one["type"] == "resize"]
    assert step["disk"] is False, "a disk that has grown never shrinks again"
    assert cloud.lives.all[machine].type == larger
    assert run(driver.look(handle)).state == "running"
    with pytest.raises(Refused, match="size"):
        run(driver.resize(handle, "no-such-size"))
    assert run(driver.look(handle)).state == "running", "it is started again"


def test_the_account_and_the_time_are_told(cloud):
    driver = provider(cloud.name)
    account = run(driver.account())
    own = emulated(cloud.name).account(cloud)
    assert account.endswith(f" at {cloud.url}")
    assert own is None or account.startswith(own)
    assert "somebody@example.org" not in account
    assert abs(run(driver.date()) - datetime.now(UTC).timestamp()) < 5


def test_death_is_told_truthfully(cloud):
    (death,) = [one for one in provider(cloud.name).safeguards if one.name == "death"]
    assert (death.holds, "billed as if it ran" in death.how, "https://" in death.how) == (False, True, True)


def test_no_token_and_a_wrong_one_are_told_apart(cloud, monkeypatch):
    monkeypatch.setenv(cloud.token_variable, "another")
    with pytest.raises(BadCredentials, match="the token is not accepted"):
        run(provider(cloud.name).find("study-a"))
    for name in CLOUDS[cloud.name].tokens:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NoCredentials, match=f"set {cloud.token_variable}"):
        provider(cloud.name).offerings()


def test_a_token_is_never_sent_in_the_clear(cloud, monkeypatch):
    for url in ("http://api.example.org", "ftp://api.example.org", "https://", "https://api.example.org/v2"):
        monkeypatch.setenv(cloud.url_variable, url)
        with pytest.raises(UserMistake, match=cloud.url_variable):
            run(provider(cloud.name).find("study-a"))


def test_the_token_is_in_no_line_that_is_told(cloud, monkeypatch):
    monkeypatch.setenv(cloud.token_variable, f"{cloud.token}\n")
    with pytest.raises(Refused) as refused:
        run(provider(cloud.name).find("study-a"))
    assert cloud.token not in str(refused.value)


def test_tags_that_nothing_bears_any_more_are_found_and_deleted(monkeypatch):
    with digitalocean() as cloud:
        point(cloud, monkeypatch)
        wall, machine = run(launched("digitalocean", provider("digitalocean")))
        cloud.end(machine)
        del cloud.walls[wall]
        driver = provider("digitalocean")
        left = run(driver.leftovers())
        assert {one.kind for one in left.found} == {TAG}
        assert {dict(one.tags)["cloudcmp:study"] for one in left.found} == {"study-a"}
        for one in left.found:
            run(driver.destroy(one.handle()))
            assert run(driver.gone(one.handle()))
        assert cloud.alive() == []


def test_one_of_two_machines_goes_and_the_firewall_stays_on_the_other(monkeypatch):
    with digitalocean() as cloud:
        point(cloud, monkeypatch)
        driver = provider("digitalocean")
        wall, first = run(launched("digitalocean", driver))
        second = run(driver.create(request("digitalocean", token="token-2", options={"firewall": wall})))
        before = cloud.lives.all[second].words
        run(driver.destroy(instance("digitalocean", first)))
        assert run(driver.gone(instance("digitalocean", first)))
        assert cloud.lives.all[second].words == before
        assert set(cloud.walls[wall].words) & set(before)
        assert len(cloud.words) == 2, "the first one's own word went with it"


def test_a_tag_that_cannot_be_deleted_keeps_nobody_from_seeing_its_machine_gone(monkeypatch):
    with digitalocean() as cloud:
        point(cloud, monkeypatch)
        driver = provider("digitalocean")
        handle = instance("digitalocean", run(driver.create(request("digitalocean"))))
        run(driver.destroy(handle))
        cloud.inject("tags.delete", "error:500")
        assert "accepted" in run(driver.gone(handle))
        (left,) = run(driver.find("study-a"))
        assert left.kind == TAG
        run(driver.destroy(left.handle()))
        assert cloud.alive() == []


def test_the_tags_of_a_firewall_that_was_refused_are_deleted_again(monkeypatch):
    with digitalocean() as cloud:
        point(cloud, monkeypatch)
        cloud.inject("firewalls.create", "error:422 something else")
        with pytest.raises(Refused):
            run(provider("digitalocean").create(request("digitalocean", FIREWALL)))
        assert cloud.alive() == []


def test_a_tag_that_something_bears_is_not_deleted(monkeypatch):
    with digitalocean() as cloud:
        point(cloud, monkeypatch)
        run(launched("digitalocean", provider("digitalocean")))
        (word, *_) = cloud.words
        machine = next(one for one in cloud.lives.there())
        with pytest.raises(Refused, match="a resource has this tag"):
            run(provider("digitalocean").destroy(Handle(TAG, "", machine.words[0])))
        assert word in cloud.words
