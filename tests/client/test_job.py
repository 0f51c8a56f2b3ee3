"""A job is read strictly, refused in one line, and its credential is never repeated."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.client.trials import keys, line_of, target, trial_of

from cloudcmp.client.failures import Ended
from cloudcmp.client.job import parse

SECRET = "5ec3e7-of-the-tests"
GOOD: dict[str, Any] = json.loads(
    line_of(target("http://127.0.0.1:9", "s3", "b"), keys("AK", SECRET), trial_of("blob", 9.0, {}))
)
SERVICE = GOOD["targets"][0]


def test_a_good_job_is_read_with_its_caps() -> None:
    job = parse(json.dumps({**GOOD, "caps": {"operations": 5, "bytes": 10}, "lease_s": 60}).encode())
    assert (job.probe, job.operations, job.payload, job.deadline_s, job.lease_s) == ("blob", 5, 10, 9.0, 60.0)
    assert (job.place.protocol, job.place.credential) == ("s3", keys("AK", SECRET))
    assert SECRET not in repr(job), "a traceback would show it"
    assert parse(json.dumps(GOOD).encode()).operations is None
    assert (job.client, parse(json.dumps({**GOOD, "params": {"client": "cli"}}).encode()).client) == (
        "sdk-python",
        "cli",
    )
    far = {**GOOD, "targets": [{**SERVICE, "endpoint": "https://s3.example.org"}]}
    assert parse(json.dumps(far).encode()).operations == 1_000_000, "what the agent holds by default"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"v": 1}, "no job of this version"),
        ({"probe": "propagation"}, "clients other than the agent have no probe propagation"),
        ({"params": {"client": "native"}}, "client is not sdk-python or cli"),
        ({"params": {"client": "sdk-python", "reuse": "no"}}, "reuse is not yes"),
        ({"params": {"client": "sdk-python", "expect_continue": "yes"}}, "expect_continue is not no"),
        ({"params": {"client": "sdk-python", "colour": "red"}}, "params that the probe does not have"),
        ({"caps": {"bytes_per_s": 5.0}}, "caps that the client does not hold"),
        ({"caps": {"operations": 0}}, "caps that the client does not hold"),
        ({"targets": []}, "no target, or several"),
        ({"targets": [{**SERVICE, "endpoint": "ftp://x"}]}, "a service without endpoint"),
        ({"targets": [{**SERVICE, "ca": "PEM"}]}, "take no roots of their own"),
        ({"credentials": {}}, "no credential of the name"),
        ({"cpus": []}, "no cpus"),
        ({"deadline_s": 0}, "a time that is no number of seconds"),
    ],
)
def test_a_bad_job_is_refused_in_one_line(change: dict[str, Any], what: str) -> None:
    with pytest.raises(Ended) as caught:
        parse(json.dumps({**GOOD, **change}).encode())
    assert caught.value.what.startswith("bad job: ")
    assert what in caught.value.what
    assert SECRET not in caught.value.what + caught.value.advice


@given(field=some.sampled_from(sorted(GOOD)), value=some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(max_size=9),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=9), inner, max_size=3),
))  # fmt: skip
def test_a_changed_job_is_read_or_refused(field: str, value: object) -> None:
    with suppress(Ended):
        parse(json.dumps({**GOOD, field: value}).encode())


@given(some.binary(max_size=200))
def test_bytes_of_any_kind_are_refused(line: bytes) -> None:
    with pytest.raises(Ended):
        parse(line)
