"""The agent's S3 beside AWS's own client, on a server that checks every signature."""

import hashlib
import hmac
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.emulated.arm_tls import authority
from tests.emulated.ec2_moto import Account

from cloudcmp.agent import JobTarget, encode_job
from cloudcmp.model.plan import PlannedTrial

REGION = "us-east-1"
BUCKET = "cloudcmp-test"


@pytest.fixture(scope="module")
def account() -> Account:
    """An account of the moto server with one user."""
    return Account()


@pytest.fixture(scope="module")
def s3(account: Account) -> Iterator[Any]:
    """AWS's own client, and an empty bucket."""
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "s3", region_name=REGION, endpoint_url=f"http://127.0.0.1:{account.port}", aws_access_key_id=account.key_id,
        aws_secret_access_key=account.secret, config=Config(s3={"addressing_style": "path"}),
    )  # fmt: skip
    client.create_bucket(Bucket=BUCKET)
    yield client
    client.close()


def signing_key(secret: str, date: str) -> str:
    """The key that a controller derives for one day, one region and one service (Signature Version 4)."""
    key = f"AWS4{secret}".encode()
    for part in (date, REGION, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), hashlib.sha256)
    return key.hex()


@pytest.fixture(scope="module")
def tls_port(account: Account) -> Iterator[int]:
    """The port where the server is reached by TLS, with a certificate of an authority that no system knows."""
    context, _ = authority()

    def copy(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def join(client: socket.socket) -> None:
        address = ("127.0.0.1", account.port)
        with (
            client,
            suppress(OSError),
            context.wrap_socket(client, server_side=True) as inside,
            socket.create_connection(address) as server,
        ):
            back = threading.Thread(target=copy, args=(server, inside))
            back.start()
            copy(inside, server)
            back.join()

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=join, args=(listener.accept()[0],)).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def measure(
    agent: Path, account: Account, *, key_id: str = "", secret: str = "", bucket: str = BUCKET, url: str = "",
    ca: str | None = None, **params: str,
) -> tuple[str, dict[str, Any], str]:  # fmt: skip
    """Runs a trial; gives its outcome, its notes and its error."""
    host = "127.0.0.1"
    target = JobTarget(
        "service", endpoint=url or f"http://{host}:{account.port}", credential_ref="mine", protocol="s3",
        data_set=bucket, region=REGION, addresses=(host,), ca=ca,
    )  # fmt: skip
    date = datetime.now(UTC).strftime("%Y%m%d")
    keys = {date: signing_key(secret or account.secret, date)}
    credential = {"kind": "sigv4", "access_key": key_id or account.key_id, "keys": keys}
    trial = PlannedTrial(0, 0, "blob", tuple(sorted({"duration_s": "0.3", **params}.items())), (), 0, 0.0, 1.0, 15.0, 7)
    line = encode_job(trial, cpus=[0], folder=None, role="client", targets=[target], credentials={"mine": credential})
    with subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        frames = [json.loads(text) for text in process.stdout.read().splitlines()]
    notes = {frame["key"]: frame["value"] for frame in frames if frame["type"] == "note"}
    errors = [frame["what"] for frame in frames if frame["type"] == "error"]
    assert not any(secret in json.dumps(frames) for secret in (account.secret, *keys.values()))
    return frames[-1]["outcome"], notes, " ".join(errors)


def test_what_the_agent_writes_the_sdk_reads_and_the_reverse(agent: Path, account: Account, s3: Any) -> None:
    outcome, notes, error = measure(agent, account, objects="5", size_bytes="3000")
    assert (outcome, error) == ("ok", "")
    assert notes["objects_written"] == 5
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix="b/3000/")["Contents"]
    assert [(one["Key"], one["Size"]) for one in listed] == [(f"b/3000/{index:06d}", 3000) for index in range(5)]
    contents = {one["Key"]: s3.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read() for one in listed}
    assert len(set(contents.values())) == 5
    for key, content in contents.items():
        s3.delete_object(Bucket=BUCKET, Key=key)
        s3.put_object(Bucket=BUCKET, Key=key, Body=content)
    outcome, notes, error = measure(agent, account, objects="5", size_bytes="3000")
    assert (outcome, notes["objects_written"], notes["wrong_bodies"], error) == ("ok", 0, 0, "")
    s3.put_object(Bucket=BUCKET, Key="b/3000/000002", Body=contents["b/3000/000003"])
    outcome, notes, _ = measure(agent, account, objects="5", size_bytes="3000")
    assert outcome == "ok"
    assert 0 < notes["wrong_bodies"] < notes["operations"]


def test_uploads_and_lists_are_signed_as_the_server_wants(agent: Path, account: Account, s3: Any) -> None:
    outcome, notes, error = measure(agent, account, op="upload", objects="3", size_bytes="100000")
    assert (outcome, error) == ("ok", "")
    assert notes["operations"] >= 3
    found = s3.list_objects_v2(Bucket=BUCKET, Prefix="u/100000/")["Contents"]
    assert {one["Size"] for one in found} == {100_000}
    outcome, notes, error = measure(agent, account, op="list", objects="3")
    assert (outcome, notes["wrong_bodies"], error) == ("ok", 0, "")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"secret": "wrong"}, "403 SignatureDoesNotMatch"),
        ({"key_id": "AKIAWRONG"}, "403 InvalidAccessKeyId"),
        ({"bucket": "nobodys"}, "404 NoSuchBucket"),
    ],
)
def test_a_mistake_is_one_line_with_the_services_own_code(
    change: dict[str, str], code: str, agent: Path, account: Account, s3: Any
) -> None:
    outcome, _, error = measure(agent, account, **change)
    assert outcome == "failed"
    assert error.startswith(f"the service could not be prepared: {code}: ")
    assert "\n" not in error


def test_tls_needs_an_authority_that_is_known(agent: Path, account: Account, s3: Any, tls_port: int) -> None:
    url, roots = f"https://127.0.0.1:{tls_port}", authority()[1].read_text()
    outcome, _, error = measure(agent, account, url=url)
    assert outcome == "failed"
    assert "cannot connect with TLS: invalid peer certificate: UnknownIssuer" in error
    outcome, notes, error = measure(agent, account, url=url, ca=roots, op="upload", objects="2", reuse="no")
    assert (outcome, error) == ("ok", "")
    assert notes["connections"] == notes["operations"]
    assert s3.head_object(Bucket=BUCKET, Key="u/1024/000001")["ContentLength"] == 1024
