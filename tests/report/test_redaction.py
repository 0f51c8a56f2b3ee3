"""Addresses and ids: replaced wherever a study is shown, the same everywhere in it, and nothing else touched."""

import ipaddress
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.report.html import render
from cloudcmp.report.redaction import Pseudonyms, hidden, known_ids

KEY = bytes(range(32))
BY = Pseudonyms(KEY, {"guest-7f3a9b21c4": "instance", "123123123123": "account"})

IDS = (
    "52.94.236.248", "2600:1f18:22ba:8c00:1234::1", "::ffff:52.94.236.248", "i-0abc1234def567890", "i-1a2b3c4d",
    "vol-0abc1234def567890", "sg-0123456789abcdef0", "eni-0123456789abcdef0", "sir-1a2b3c4d", "AKIAIOSFODNN7EXAMPLE",
    "123456789012", "guest-7f3a9b21c4", "ec2-52-94-236-248.compute-1.amazonaws.com",
)  # fmt: skip
PLACES = (
    "{}", "at {}.", "({})", "'{}'", "[{}]", "cloudcmp@{}", "{}: connection refused", "x={}, y", "{}/32", "it is {}; so",
)  # fmt: skip


# Twelve digits behind = are a parameter of a cell, such as a size in bytes.
CASES = [(id, place) for id in IDS for place in PLACES if not (id.isdigit() and "={}" in place)]


@pytest.mark.parametrize(("id", "place"), CASES)
def test_an_id_is_replaced_wherever_it_stands(id, place):
    said = BY.text(place.format(id))
    core = id.removesuffix(".compute-1.amazonaws.com")
    assert core not in said
    assert said == BY.text(place.format(id))
    before, after = place.split("{}")
    assert said.startswith(before)
    assert said.endswith(after)


def test_an_arn_keeps_all_but_its_account():
    said = BY.text("arn:aws:iam::123456789012:user/me is not allowed")
    assert said == f"arn:aws:iam::{BY.name('account', '123456789012')}:user/me is not allowed"


def test_the_address_in_a_name_is_the_address():
    assert BY.text("ec2-52-94-236-248.compute-1") == f"{BY.text('52.94.236.248')}.compute-1"


UNTOUCHED = (
    "127.0.0.1:22", "10.0.0.7", "192.168.1.10", "172.31.4.5", "fe80::1", "::1", "fd00::12", "Linux 6.12.30-amd64",
    "6.1.0.13-1", "disk_op_per_s size_bytes=134217728000;depth=1", "134217728000 bytes", "134217728000 B of memory",
    "at 12:34:56 UTC", "std::vector", "aa:bb:cc:dd:ee:ff", "m7i.large", "ami-0abc1234def567890", "i-ran-out", "2 of 6",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "2026-01-05T00:00:00Z", "52.94.236", "a.b.c.d",
    "999.94.236.248", "0.1.0", "r-value", "h-index", "launch-3.2", "cloudcmp-demo-launch-3-1",
)  # fmt: skip


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_is_no_id_stays(text):
    assert BY.text(text) == text


def test_equal_ids_have_equal_names_in_a_study_and_others_in_another():
    other = Pseudonyms(bytes(32))
    assert BY.text("52.94.236.248 and 52.94.236.248").split(" and ")[0] == BY.text("52.94.236.248")
    assert BY.text("52.94.236.248") != other.text("52.94.236.248")
    assert BY.text("52.94.236.248") != BY.text("52.94.236.249")
    names = {BY.text(str(ipaddress.ip_address(0x08080000 + n))) for n in range(2000)}
    assert len(names) == 2000


@given(st.text(max_size=300))
def test_any_text_is_taken_and_taken_once(text):
    once = BY.text(text)
    assert BY.text(once) == once


@given(st.ip_addresses(v=4).filter(lambda one: one.is_global) | st.ip_addresses(v=6).filter(lambda one: one.is_global))
def test_every_public_address_is_replaced(address):
    assert str(address) not in BY.text(f"no answer from {address} (SSH connect)")


def test_p39_a_view_is_shown_without_ids_and_its_numbers_stay(view):
    facts = {"host": {"name": "ec2-52-94-236-248", "memory_bytes": 134217728000, "ips": ["52.94.236.248"]}, "notes": {}}
    why = "i-0abc1234def567890: no answer from 52.94.236.248"
    bad = Attempt(0, 9, Outcome.FAILED, 1.0, 2.0, why=why, facts=json.dumps(facts))
    first = view.plan.candidates[0]
    pinned = replace(first, options=(("account", "123456789012"),))
    plan = replace(view.plan, candidates=(pinned, *view.plan.candidates[1:]))
    full = replace(
        view, plan=plan, attempts=(*view.attempts, bad), warnings=(f"left: {why}",),
        hosts=((0, (("name", "52.94.236.248"), ("bytes", "134217728000"))),), interruptions=(f"1: {why}",),
        provenance=(("account", "123456789012"), ("seed", "123456789013")),
        analysis=replace(view.analysis, answer=(why,)),
    )  # fmt: skip
    by = Pseudonyms(KEY, known_ids(plan, {}))
    shown = hidden(full, by)
    for text in (render(shown), repr(shown)):
        for id in ("52.94.236.248", "52-94-236-248", "i-0abc1234def567890", "123456789012"):
            assert id not in text
    assert by.text("i-0abc1234def567890") in render(shown)
    assert json.loads(shown.attempts[-1].facts)["host"]["memory_bytes"] == 134217728000
    assert dict(shown.hosts[0][1])["bytes"] == "134217728000"
    assert [one.values for one in shown.analysis.estimates] == [one.values for one in view.analysis.estimates]
    assert "52.94.236.248" in render(full)
