"""The emulated clouds themselves, row by row (tests/emulated/longtail_contract.md), without the driver."""

import http.client
import json
import os
import signal
import subprocess
import sys
import uuid

import pytest
from tests.emulated import longtail_told
from tests.emulated.cloud import Call
from tests.emulated.longtail import Faults
from tests.emulated.tail import NAMES, emulated

from cloudcmp.provider.longtail import CLOUDS, labels

MACHINES = {name: cloud.dialect.machines[0] for name, cloud in CLOUDS.items()}
WALLS = {name: cloud.dialect.firewalls[0] for name, cloud in CLOUDS.items()}


@pytest.fixture
def cloud(tail):
    """Each emulated cloud in turn."""
    return tail


def ask(cloud, method, path, body=None, token=None):
    """One request with no client in between; its status and JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", int(cloud.url.rpartition(":")[2]), timeout=10)
    head = {"Authorization": f"Bearer {cloud.token if token is None else token}"}
    connection.request(method, path, None if body is None else json.dumps(body), head)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text else {}


def made(cloud, **more):
    """The status of a creating call, and the id of what came of it."""
    status, said = ask(cloud, "POST", MACHINES[cloud.name], {**emulated(cloud.name).body, **more})
    for key in cloud.row.dialect.machine_key:
        said = said.get(key, {})
    return status, str(said.get("id", ""))


def named(cloud, name):
    """The part of a creating call's body that names the machine."""
    return {"name" if "name" in emulated(cloud.name).body else "label": name}


def test_rows_1_and_2_a_token_and_its_scopes(cloud):
    assert ask(cloud, "GET", MACHINES[cloud.name], token="another")[0] == 401
    cloud.faults = Faults(scopes=frozenset())
    assert ask(cloud, "GET", MACHINES[cloud.name])[0] == emulated(cloud.name).out_of_scope


def test_row_3_the_same_request_twice_makes_two_where_no_label_is_taken(cloud):
    assert made(cloud)[0] < 300
    unique = emulated(cloud.name).unique_labels
    assert (made(cloud)[0] < 300) is not unique
    assert len(cloud.lives.there()) == (1 if unique else 2)


@pytest.mark.parametrize("word", ["", "with space", "x" * 256])
def test_rows_4_and_5_a_tag_that_cannot_be_had_lets_nothing_be_made(cloud, word):
    if word not in emulated(cloud.name).refused_tags:
        return
    assert made(cloud, tags=[word])[0] in {400, 422}
    assert cloud.alive() == []


def test_rows_6_and_7_tags_stay_and_firewalls_need_them(cloud):
    if CLOUDS[cloud.name].dialect.tags is None:
        return
    wall = {"name": "wall", "tags": ["one"], "inbound_rules": [], "outbound_rules": [{"protocol": "icmp"}]}
    assert ask(cloud, "POST", "/v2/firewalls", wall)[0] == 422
    _, id = made(cloud, tags=["one"])
    assert ask(cloud, "POST", "/v2/firewalls", wall)[0] == 202
    assert ask(cloud, "GET", "/v2/tags")[1]["tags"][0]["resources"]["count"] == 1
    ask(cloud, "DELETE", f"/v2/droplets/{id}")
    assert ask(cloud, "GET", "/v2/tags")[1]["tags"][0]["resources"]["count"] == 0
    assert ask(cloud, "DELETE", "/v2/tags/one")[0] == 204
    assert ask(cloud, "GET", "/v2/firewalls")[1]["firewalls"][0]["tags"] == []


def test_rows_8_and_10_user_data_and_password(cloud):
    for wrong in emulated(cloud.name).wrong:
        assert made(cloud, **wrong)[0] in {400, 422}
    assert cloud.alive() == []


def test_row_11_pages_hold_all_and_tell_how_many(cloud):
    cloud.faults = Faults(page=2)
    for number in range(3):
        made(cloud, **named(cloud, f"abc-{number}"))
    first = ask(cloud, "GET", MACHINES[cloud.name])[1]
    key = CLOUDS[cloud.name].dialect.machines[1]
    assert len(first[key]) == 2
    assert cloud.row.paging.total(first) == 3


def test_rows_12_to_15_a_machine_that_is_new_off_or_deleted(cloud):
    cloud.faults = Faults(read_lag_s=1e9)
    _, id = made(cloud)
    path = f"{MACHINES[cloud.name]}/{id}"
    assert ask(cloud, "GET", path)[0] == 404
    cloud.faults = Faults(terminate_s=1e9)
    cloud.lives.all[id].off = True
    shown = json.dumps(ask(cloud, "GET", path)[1])
    assert emulated(cloud.name).off in shown
    assert [thing.state for thing in cloud.alive()] == ["off"]
    assert ask(cloud, "DELETE", path)[0] in {200, 204}
    assert ask(cloud, "GET", path)[0] == 200
    assert ask(cloud, "DELETE", path)[0] == 404
    assert [thing.state for thing in cloud.alive()] == ["ending"]
    assert ask(cloud, "DELETE", f"{WALLS[cloud.name]}/0")[0] == 404


def test_row_16_an_account_that_is_full(cloud):
    cloud.faults = Faults(machines=1)
    assert made(cloud)[0] < 300
    status, _ = made(cloud, **(named(cloud, "other") if emulated(cloud.name).unique_labels else {}))
    assert status == emulated(cloud.name).full


def test_what_is_planted_is_there_and_is_told_by_its_tags(cloud):
    region = emulated(cloud.name).region
    tags = {"cloudcmp:schema": "1", "cloudcmp:study": "s"}
    ids = {cloud.plant(kind, region, f"planted-{kind}", tags) for kind in ("instance", "firewall")}
    there = [thing for thing in cloud.alive() if thing.kind != "tag"]
    assert {thing.id for thing in there} == ids
    assert all(dict(thing.tags) == tags for thing in there)
    with pytest.raises(ValueError, match="nothing here is a volume"):
        cloud.plant("volume", region, "v", {})


def test_calls_tell_what_they_make_and_change(cloud):
    _, id = made(cloud)
    ask(cloud, "DELETE", f"{MACHINES[cloud.name]}/{id}")
    ask(cloud, "GET", MACHINES[cloud.name])
    told = [(cloud.made_by(call), cloud.changed_by(call)) for call in cloud.journal]
    name = emulated(cloud.name).body.get("name") or emulated(cloud.name).body["label"]
    assert told == [(name, ()), (None, (id,)), (None, ())]


@pytest.mark.parametrize("name", NAMES)
def test_each_can_be_run_in_the_foreground(name):
    command = [sys.executable, "-m", f"tests.emulated.{name}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as one:
        lines = [one.stdout.readline() for _ in range(2)]
        asked = http.client.HTTPConnection("127.0.0.1", int(lines[1].rstrip().rpartition(":")[2]), timeout=10)
        asked.request("GET", "/v2/account")
        assert asked.getresponse().status == 401
        asked.close()
        assert one.stderr.readline().endswith(" 401\n")
        one.send_signal(signal.SIGINT)
        one.communicate(timeout=20)
    assert [line.startswith("export ") for line in lines] == [True, True]
    assert one.returncode == 0


@pytest.mark.parametrize("written", [dict, lambda pairs: [{"key": key, "value": one} for key, one in pairs.items()]])
def test_what_is_made_is_told_by_labels_too_where_tags_are_keys_with_values(written):
    token = str(uuid.UUID(int=7))
    words = labels.write(labels.Record((("cloudcmp:study", "a"),), token), 60, labels.MACHINE)
    body = json.dumps({"name": "abc", "labels": written(labels.to_pairs(words))})
    assert longtail_told.made_by(Call(0.0, "any", "", "machines.create", {"body": body})) == token
