import json

import pytest

from cloudcmp.agent import JobTarget, encode_job
from cloudcmp.errors import UserMistake
from cloudcmp.model.plan import PlannedTrial


def trial(**params):
    return PlannedTrial(3, 0, "fma", tuple(sorted(params.items())), (), 0, 0.0, 1.0, 20.0, 7)


def test_the_job_is_one_line_with_all_that_the_agent_needs():
    line = encode_job(trial(threads="one", precision="f64"), cpus=[0, 1], folder="/x")
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "v": 2,
        "seq": 0,
        "type": "job",
        "probe": "fma",
        "params": {"threads": "one", "precision": "f64"},
        "role": "solo",
        "cpus": [0, 1],
        "dir": "/x",
        "listen": None,
        "targets": [],
        "secret": None,
        "deadline_s": 20.0,
        "seed": 7,
    }


def test_targets_say_only_what_they_have():
    targets = (
        JobTarget("server", "10.0.0.2:40123"),
        JobTarget("service", endpoint="https://blobs.example.org/data", credential_ref="reader"),
    )
    job = json.loads(encode_job(trial(), cpus=[0], folder=None, role="client", listen="10.0.0.3:0", targets=targets))
    assert (job["role"], job["listen"]) == ("client", "10.0.0.3:0")
    assert job["targets"] == [
        {"role": "server", "address": "10.0.0.2:40123"},
        {"role": "service", "endpoint": "https://blobs.example.org/data", "credential_ref": "reader"},
    ]


def test_a_service_says_where_it_is_and_what_it_speaks():
    roots = "-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----\n"
    target = JobTarget(
        "service", endpoint="https://s3.example.org", credential_ref="reader", protocol="s3", data_set="cloudcmp-x",
        region="us-east-1", style="host", addresses=("192.0.2.7", "2001:db8::7"), ca=roots,
    )  # fmt: skip
    line = encode_job(trial(), cpus=[0], folder=None, role="client", targets=[target])
    assert line.count(b"\n") == 1
    assert json.loads(line)["targets"] == [
        {
            "role": "service",
            "endpoint": "https://s3.example.org",
            "protocol": "s3",
            "data_set": "cloudcmp-x",
            "region": "us-east-1",
            "style": "host",
            "addresses": ["192.0.2.7", "2001:db8::7"],
            "ca": roots,
            "credential_ref": "reader",
        }
    ]


def test_credentials_are_there_only_where_they_are_given():
    bare = json.loads(encode_job(trial(), cpus=[0], folder=None))
    credentials = {"reader": {"kind": "sigv4", "access_key": "AKIA", "keys": {"20261126": "0f" * 32}}}
    full = json.loads(encode_job(trial(), cpus=[0], folder=None, credentials=credentials))
    assert "credentials" not in bare
    assert full == {**bare, "credentials": credentials}
    assert json.loads(encode_job(trial(), cpus=[0], folder=None, credentials={})) == bare


def test_caps_and_lease_are_there_only_where_they_are_given():
    bare = json.loads(encode_job(trial(), cpus=[0], folder=None))
    caps = {"bytes": 250_000_000, "burst_s": 1800.0, "operations": 20_000}
    full = json.loads(encode_job(trial(), cpus=[0], folder=None, caps=caps, lease_s=3600.0))
    assert "caps" not in bare
    assert "lease_s" not in bare
    assert full == {**bare, "caps": caps, "lease_s": 3600.0}
    assert json.loads(encode_job(trial(), cpus=[0], folder=None, caps={})) == {**bare, "caps": {}}


def test_a_cap_that_is_no_number_is_never_sent():
    with pytest.raises(ValueError, match="Out of range"):
        encode_job(trial(), cpus=[0], folder=None, lease_s=float("nan"))


def test_a_line_feed_in_a_parameter_stays_inside_the_line():
    assert encode_job(trial(path="a\nb"), cpus=[], folder=None).count(b"\n") == 1


def test_a_job_longer_than_a_line_is_refused():
    with pytest.raises(UserMistake, match=r"probe fma: its job takes 7.* bytes; at most 65536"):
        encode_job(trial(path="x" * 70_000), cpus=[0], folder=None)
