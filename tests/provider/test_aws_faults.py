"""What errors mean, without any cloud: codes, lost answers, hostile texts; and a way there that is missing."""

import asyncio
import socket
import threading
import time

import pytest
from botocore import exceptions as sdk
from hypothesis import given
from hypothesis import strategies as st
from tests.emulated.ec2_requests import instance, provider, request

from cloudcmp.errors import (
    BadCredentials,
    CloudcmpError,
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
from cloudcmp.provider.aws import Ec2Provider
from cloudcmp.provider.aws.catalog import category_of
from cloudcmp.provider.aws.faults import cloud_error, fault_of
from cloudcmp.provider.aws.preflight import _quota_class
from cloudcmp.provider.aws.sdk import Sdk


def client_error(code, text="said", status=400):
    answer = {"Error": {"Code": code, "Message": text}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return sdk.ClientError(answer, "RunInstances")


@pytest.mark.parametrize(
    ("code", "status", "making", "looking"),
    [
        ("InsufficientInstanceCapacity", 500, NoCapacity, NoCapacity),
        ("InsufficientHostCapacity", 400, NoCapacity, NoCapacity),
        ("InsufficientVolumeCapacity", 400, NoCapacity, NoCapacity),
        ("InsufficientAddressCapacity", 400, NoCapacity, NoCapacity),
        ("UnfulfillableCapacity", 503, NoCapacity, NoCapacity),
        ("VcpuLimitExceeded", 400, QuotaReached, QuotaReached),
        ("InstanceLimitExceeded", 400, QuotaReached, QuotaReached),
        ("SecurityGroupLimitExceeded", 400, QuotaReached, QuotaReached),
        ("RequestLimitExceeded", 503, Throttled, Throttled),
        ("Throttling", 400, Throttled, Throttled),
        ("AuthFailure", 401, BadCredentials, BadCredentials),
        ("InvalidClientTokenId", 403, BadCredentials, BadCredentials),
        ("ExpiredToken", 403, BadCredentials, BadCredentials),
        ("UnauthorizedOperation", 403, NotAllowed, NotAllowed),
        ("InvalidParameterValue", 400, Refused, Refused),
        ("IdempotentInstanceTerminated", 400, Refused, Refused),
        ("OptInRequired", 401, Refused, Refused),
        ("InternalError", 500, LostAnswer, IncompleteListing),
        ("ServiceUnavailable", 503, LostAnswer, IncompleteListing),
        ("SomethingNew", 502, LostAnswer, IncompleteListing),
        ("IdempotentParameterMismatch", 400, LostAnswer, LostAnswer),
        ("InvalidPaginationToken", 400, IncompleteListing, IncompleteListing),
    ],
)
def test_codes_are_told_apart(code, status, making, looking):
    for changes, kind in ((True, making), (False, looking)):
        fault = fault_of(client_error(code, status=status), "aws/us-east-1", changes=changes)
        assert type(fault) is kind
        assert code in str(fault)
        assert fault.faults[0].next


def test_an_image_that_is_not_ours_is_no_matter_of_credentials():
    fault = fault_of(client_error("AuthFailure", "Not authorized for images: [ami-1]"), "aws", changes=True)
    assert type(fault) is Refused


@pytest.mark.parametrize(
    ("error", "making", "looking"),
    [
        (sdk.ReadTimeoutError(endpoint_url="http://x"), LostAnswer, IncompleteListing),
        (sdk.ConnectionClosedError(endpoint_url="http://x"), LostAnswer, IncompleteListing),
        (sdk.ResponseStreamingError(error="x"), LostAnswer, IncompleteListing),
        (sdk.HTTPClientError(error="x"), LostAnswer, IncompleteListing),
        (OSError("reset"), LostAnswer, IncompleteListing),
        (sdk.EndpointConnectionError(endpoint_url="http://x"), Unreached, Unreached),
        (sdk.ConnectTimeoutError(endpoint_url="http://x"), Unreached, Unreached),
        (sdk.NoCredentialsError(), NoCredentials, NoCredentials),
        (sdk.PartialCredentialsError(provider="env", cred_var="x"), BadCredentials, BadCredentials),
        (sdk.UnauthorizedSSOTokenError(), BadCredentials, BadCredentials),
        (sdk.ProfileNotFound(profile="x"), BadCredentials, BadCredentials),
        (sdk.ParamValidationError(report="x"), Refused, Refused),
    ],
)
def test_no_answer_is_lost_only_where_the_request_may_have_arrived(error, making, looking):
    assert type(fault_of(error, "aws", changes=True)) is making
    assert type(fault_of(error, "aws", changes=False)) is looking


@given(st.text(), st.text(), st.integers(100, 599), st.booleans())
def test_whatever_a_provider_says_is_one_plain_line(code, text, status, changes):
    fault = fault_of(client_error(code, text, status), "aws", changes=changes)
    assert isinstance(fault, CloudcmpError)
    line = str(fault)
    assert line.isprintable()
    assert len(line) < 700


@given(st.text())
def test_the_blob_behind_a_denial_is_not_shown(text):
    error = client_error("UnauthorizedOperation", f"Denied. Encoded authorization failure message: {text}", 403)
    assert cloud_error(error).line == "UnauthorizedOperation: Denied."


def test_categories_by_family_letters():
    kinds = {"m7i.large": "general", "c7g.xlarge": "compute", "x2idn.32xlarge": "memory", "u-6tb1.metal": "memory"}
    kinds |= {
        "im4gn.large": "storage",
        "inf2.xlarge": "accelerated",
        "t4g.nano": "burstable",
        "hpc7a.96xlarge": "compute",
    }
    assert {name: category_of(name) for name in kinds} == kinds
    assert category_of("8bit.large") is None
    assert category_of("qq9.large") is None


def test_quota_classes():
    kinds = {
        "m5.large": "standard",
        "t3.micro": "standard",
        "im4gn.large": "standard",
        "x1.16xlarge": "x",
        "p5.48xlarge": "p",
    }
    kinds |= {
        "inf2.xlarge": "inf",
        "dl1.24xlarge": "dl",
        "vt1.3xlarge": "vt",
        "trn1.2xlarge": "trn",
        "p5.48xlarge": "p",
    }
    assert {name: _quota_class(name) for name in kinds} == kinds


def test_p24_no_call_outlives_its_deadline():
    """A server that takes connections and never answers; the long version is in tests/promises.py."""
    assert late(20) == []


def test_p24_neither_does_a_list_that_nobody_awaits_with_all_its_repetitions(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as hole:
        nowhere(monkeypatch, hole.getsockname()[1])
        driver = Ec2Provider(sdk=Sdk("aws", attempts=3, deadline_s=1.5))
        began = time.monotonic()
        with pytest.raises(IncompleteListing, match="no complete answer within"):
            driver.offerings("us-east-1")
        assert time.monotonic() - began < 4.0


def nowhere(patch, port):
    """Let this process's environment name a place where no cloud is, and keys that nobody looks at."""
    patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "x" * 20)


def late(n):
    """Calls to a black hole, half of them creating; returns those that ended too late or as something else."""
    wrong = []
    with socket.create_server(("127.0.0.1", 0), backlog=512) as hole, pytest.MonkeyPatch.context() as patch:
        nowhere(patch, hole.getsockname()[1])
        driver = provider(deadline_s=1.0)

        async def one(number):
            began, kind = time.monotonic(), LostAnswer if number % 2 else IncompleteListing
            asked = {"MinCount": 1, "MaxCount": 1, "ImageId": "ami-1"}
            making = number % 2 == 1
            call = driver._sdk.change("us-east-1", "run_instances", **asked) if making else driver.look(instance("i-1"))
            try:
                await call
            except CloudcmpError as fault:
                if type(fault) is kind and time.monotonic() - began < 6.0:
                    return
            wrong.append(number)

        async def all_of_them():
            await asyncio.gather(*(one(number) for number in range(n)))

        asyncio.run(all_of_them())
    return wrong


def test_a_connection_that_is_refused_made_nothing(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    nowhere(monkeypatch, port)
    with pytest.raises(Unreached, match="cannot be reached"):
        asyncio.run(provider()._sdk.change("us-east-1", "run_instances", MinCount=1, MaxCount=1, ImageId="ami-1"))

    assert threading.active_count() < 50


def test_user_data_that_is_too_long_is_refused_before_any_call():
    from cloudcmp.model.remote import Access, KeyPair
    from cloudcmp.provider.aws.images import Image
    from cloudcmp.provider.aws.launch import run_params

    image = Image("ami-1", "debian", "x86_64", "/dev/xvda", False)
    long = request(access=Access(KeyPair("a", "b"), "c", "#" * 16385))
    with pytest.raises(Refused, match="16384"):
        run_params(long, image, compatible=False)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("aws_secret_access_key = SECRET\n", 1, "MissingSectionHeaderError"),
        ("[default]\nregion = x\nSECRET\n", 3, "ParsingError"),
        ("[default]\na = 1\na = SECRET\n", 3, "DuplicateOptionError"),
    ],
)
def test_a_broken_file_of_credentials_is_told_as_that(text, line, why, tmp_path, monkeypatch):
    (tmp_path / "credentials").write_text(text)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(BadCredentials) as caught:
        asyncio.run(Ec2Provider("aws").account())
    told = str(caught.value)
    assert f"{tmp_path}/credentials, line {line} cannot be read as AWS settings ({why})" in told
    assert "SECRET" not in told.replace("AWS_SHARED", "")
    assert "network" not in told
