"""Amazon's command, at a simulated service that checks signatures: what it measures, and what it refuses.

Each call is a process that computes for half a second, so there are few.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.agent.made_data_sets import NAME, client, create_aws_data_sets, simulated_aws
from tests.client.trials import decoded, keys, line_of, ran_of, run, target, trial_of
from tests.emulated.simulated_storage import SimulatedStorage
from tests.servers.clients import aws
from tests.servers.fetch import TOOLS, Absent, programs_of
from tests.servers.serving import serving
from tests.slices import long

from cloudcmp.agent import JobTarget
from cloudcmp.client import content
from cloudcmp.client.aws import item_of
from cloudcmp.client.aws_cli import S3, DynamoDb, Sqs, _settings
from cloudcmp.client.command import CommandFailed
from cloudcmp.client.failures import Failure, Kind, WrongBody
from cloudcmp.client.job import Place
from cloudcmp.client.operation import Done, Operation, perform
from cloudcmp.provider.local.cloud import LocalInstance
from cloudcmp.provider.simulated.storage import Distribution, Key, OperationTruth, Share, StorageTruth

QUEUE = f"000000000000/{NAME}"
KEYS = keys(Key().access_key, Key().secret_key)
VERSION = f"aws-cli {TOOLS['awscli']}, Python 3."


@pytest.fixture(scope="module")
def program() -> str:
    """The folder of the command; tests without it are skipped with the reason."""
    try:
        return str(programs_of("awscli"))
    except Absent as absent:
        pytest.skip(str(absent))


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedStorage]:
    """A service with an empty bucket, table and queue."""
    with simulated_aws() as found:
        yield found


@pytest.fixture
def storage(simulated: SimulatedStorage, program: str, monkeypatch: pytest.MonkeyPatch) -> SimulatedStorage:
    """The service without faults, and the command in the search path."""
    monkeypatch.setenv("PATH", f"{program}{os.pathsep}{os.environ['PATH']}")
    plant(simulated)
    return simulated


def plant(storage: SimulatedStorage, **operations: OperationTruth) -> None:
    """Has operations behave as told, and counts anew."""
    storage.plant(StorageTruth(operations=operations))
    storage.reset()


def place_of(storage: SimulatedStorage, protocol: str, data_set: str = NAME) -> JobTarget:
    return target(storage.endpoint, protocol, data_set)


def place(storage: SimulatedStorage, protocol: str, data_set: str = NAME) -> Place:
    return Place(protocol, storage.endpoint, data_set, "us-east-1", "path", KEYS, 10.0)


@pytest.fixture
def hostile(storage: SimulatedStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of a user that would send requests elsewhere, or not at all, and boto3's clients from before."""
    clients = {name: client(storage, name) for name in ("s3", "dynamodb", "sqs")}
    (tmp_path / ".aws/cli").mkdir(parents=True)
    for name in ("config", "credentials"):
        (tmp_path / ".aws" / name).write_text("[default]\nregion = nowhere\nendpoint_url = http://127.0.0.1:9\n[broken")
    (tmp_path / ".aws/cli/alias").write_text("[toplevel]\ns3api = !false\ndynamodb = !false\nsqs = !false\n")
    for name, value in {
        "HOME": str(tmp_path), "AWS_PROFILE": "of-the-user", "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_MAX_ATTEMPTS": "7", "HTTP_PROXY": "http://127.0.0.1:9", "AWS_DEFAULT_OUTPUT": "table",
        "AWS_ACCESS_KEY_ID": "of-the-user",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return clients


def counted(storage: SimulatedStorage) -> dict[str, int]:
    """The requests of each operation."""
    found = storage.counted()["operations"]
    return {name: one["requests"] for name, one in found.items() if one["requests"]}


def test_rows_that_the_command_writes_are_read_by_boto3(storage: SimulatedStorage, hostile: dict[str, Any]) -> None:
    rows, some = DynamoDb(place(storage, "dynamodb")), [content.row("kept", index) for index in range(20)]
    assert rows.write(some[:12]) == 0
    rows.put(some[12])
    found = hostile["dynamodb"].get_item(TableName=NAME, Key={"k": {"S": some[12].k}})
    assert found["Item"] == item_of(some[12])
    assert rows.get(some[3], strong=True) == some[3]
    assert rows.get(some[19], strong=False) is None
    assert sorted(rows.query(some[11], strong=False), key=lambda row: row.k) == some[10:13]
    assert counted(storage) == {"table_load": 1, "table_put": 1, "table_get": 3, "table_query": 1}


def test_blobs_and_messages_that_the_command_writes_are_read_by_boto3(
    storage: SimulatedStorage, hostile: dict[str, Any]
) -> None:
    blobs, messages, url = S3(place(storage, "s3")), Sqs(place(storage, "sqs", QUEUE)), f"{storage.endpoint}/{QUEUE}"
    body, text = os.urandom(3000) + b"\n\0", content.message(50, 7)
    blobs.upload("u/one", body)
    assert hostile["s3"].get_object(Bucket=NAME, Key="u/one")["Body"].read() == body
    assert blobs.download("u/one") == body
    assert blobs.names("u/") == ["u/one"]
    messages.send(text)
    found = messages.receive()
    assert found is not None
    hostile["sqs"].delete_message(QueueUrl=url, ReceiptHandle=found[1])
    assert found[0] == text
    assert messages.receive() is None
    assert counted(storage) == {
        "blob_put": 1, "blob_get": 2, "blob_list": 1, "queue_send": 1, "queue_receive": 2, "queue_delete": 1,
    }  # fmt: skip


def test_a_trial_counts_each_process_and_throttles_exactly(storage: SimulatedStorage) -> None:
    one = {"size_bytes": "100", "objects": "4", "concurrency": "2", "duration_s": "0.05"}
    plant(storage, blob_get=OperationTruth(Distribution(0.002), throttled=Share(every=2)))
    ran = run(place_of(storage, "s3"), KEYS, "blob", client="cli", deadline_s=60.0, **one)
    assert ran.outcome == "ok", ran
    notes = ran.notes
    assert notes["client_version"].startswith(VERSION)
    # A process takes longer than the trial, so that each lane starts one; none is started for a connection.
    assert (storage.of("blob_get")["requests"], notes["operations"], notes["throttled"]) == (2, 2, 1)
    assert [notes[kind.value] for kind in Kind if kind is not Kind.THROTTLED] == [0] * 5
    assert (notes["limiter"], ran.values["blob_throttled_ratio"]) == ("service throttle", [0.5])
    assert notes["client_cpu_ratio"] > 0.05, "that of the processes"
    assert 0.1 < ran.percentile_s("blob_first_byte_s", 50) < ran.percentile_s("blob_latency_s", 50)


def test_a_missing_bucket_ends_a_trial_in_one_line(storage: SimulatedStorage) -> None:
    ran = run(place_of(storage, "s3", "not-there"), KEYS, "blob", client="cli", op="upload", deadline_s=60.0)
    assert ran.outcome == "failed"
    assert "NoSuchBucket" in ran.error
    assert "\n" not in ran.error
    assert ran.notes["client_errors"] == ran.notes["operations"] == 1
    assert ran.notes["limiter"] == ("client-bound" if ran.notes["client_cpu_ratio"] > 0.5 else "unknown")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [("failed", "server_errors", "InternalError"), ("short_body", "wrong_bodies", "a body of"),
     ("key", "client_errors", "SignatureDoesNotMatch"), ("silent", "timeouts", "no answer in time")],
)  # fmt: skip
def test_a_failure_is_one_request_of_one_kind(storage: SimulatedStorage, fault: str, kind: str, words: str) -> None:
    own = place(storage, "s3")
    client(storage, "s3").put_object(Bucket=NAME, Key="k", Body=b"body" * 99)
    if fault == "key":
        own = replace(own, credential=keys(Key().access_key, "another-secret"))
        plant(storage)
    elif fault == "silent":
        own = replace(own, silence_s=1.0)
        plant(storage, blob_get=OperationTruth(Distribution(2.5)))
    else:
        plant(storage, blob_get=OperationTruth(**{fault: Share(every=1)}))
    blobs = S3(own)

    def judge(body: bytes) -> Done:
        if body != b"body" * 99:
            raise WrongBody(f"a body of {len(body)} bytes")
        return Done(len(body))

    performed = perform(Operation(partial(blobs.download, "k"), judge, 99), blobs.answers, blobs.failure_of)
    assert isinstance(performed.result, Failure)
    assert (performed.result.kind.value, words in performed.result.what) == (kind, True), performed.result
    assert storage.of("blob_get")["requests"] == 1
    assert Key().secret_key not in performed.result.what


def test_no_secret_is_seen_from_outside_and_no_process_outlives_the_trial(
    storage: SimulatedStorage, tmp_path: Path
) -> None:
    plant(storage, blob_put=OperationTruth(Distribution(30.0)))
    trial = trial_of("blob", 4.0, {"client": "cli", "op": "upload", "duration_s": "1"})
    line = line_of(place_of(storage, "s3"), KEYS, trial)
    instance = LocalInstance((0,), str(tmp_path), "token-of-a-lease", Path("/no/agent"))

    async def started() -> tuple[bytes, dict[str, bytes]]:
        stream, seen = bytearray(), dict[str, bytes]()

        async def look() -> None:
            while True:
                seen.update(_processes(tmp_path))
                await asyncio.sleep(0.05)

        async with instance.start_other_client(line) as channel:
            looking = asyncio.create_task(look())
            async for piece in channel.stdout():
                stream.extend(piece)
            looking.cancel()
        return bytes(stream), seen

    stream, seen = asyncio.run(started())
    plant(storage)
    result = decoded(trial, stream)
    assert result.outcome.value in {"timeout", "failed"}, result
    commands = [text for text in seen.values() if b"s3api" in text]
    assert commands
    assert all(b"token-of-a-lease" in text and b"AWS_CONFIG_FILE=/proc/self/fd/" in text for text in commands)
    for text in (*seen.values(), stream):
        assert Key().secret_key.encode() not in text
    assert ran_of(stream, result).notes["client_version"].startswith(VERSION)
    assert _processes(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def _processes(folder: Path) -> dict[str, bytes]:
    """The command line and environment of each process in a folder, by its id."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder:
                text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
                found[f"{process.name} {text[:99]!r}"] = text
    return found


@pytest.mark.parametrize(
    ("code", "text", "kind", "what"),
    [
        (254, "An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 0): Slow: down",
         Kind.THROTTLED, "SlowDown: Slow: down"),
        (255, "\naws: [ERROR]: An error occurred (ResourceNotFoundException) when calling the PutItem operation: none",
         Kind.CLIENT_ERROR, "ResourceNotFoundException: none"),
        (254, "An error occurred (503) when calling the HeadObject operation: Service Unavailable",
         Kind.SERVER_ERROR, "503 Service Unavailable"),
        (254, "An error occurred (AWS.SimpleQueueService.NonExistentQueue) when calling the SendMessage operation: x",
         Kind.CLIENT_ERROR, "AWS.SimpleQueueService.NonExistentQueue: x"),
        (255, 'Connect timeout on endpoint URL: "http://x/"', Kind.TIMEOUT, "no answer in time"),
        (255, 'Could not connect to the endpoint URL: "http://x/"', Kind.BROKEN,
         'aws exited with 255: Could not connect to the endpoint URL: "http://x/"'),
        (255, "Unable to parse response (syntax error), invalid XML received", Kind.WRONG_BODY,
         "aws exited with 255: Unable to parse response (syntax error), invalid XML received"),
        (252, "usage: aws [options]\nUnknown options: --new", Kind.CLIENT_ERROR,
         "aws exited with 252: usage: aws [options] Unknown options: --new"),
        (-9, "", Kind.CLIENT_ERROR, "aws ended by signal 9"),
    ],
)  # fmt: skip
def test_errors_are_judged_by_the_services_code(
    storage: SimulatedStorage, code: int, text: str, kind: Kind, what: str
) -> None:
    failure = S3(place(storage, "s3")).failure_of(CommandFailed(code, text))
    assert (failure.kind, failure.what) == (kind, what)


def test_settings_turn_retries_off_and_hold_a_session_token() -> None:
    token = {**KEYS, "session_token": "tok"}
    own = Place("s3", "https://s3.eu-west-1.amazonaws.com", "b", "eu-west-1", "host", token)
    text = "".join(_settings(own))
    for line in ("region = eu-west-1", "max_attempts = 1", "aws_session_token = tok", "addressing_style = virtual"):
        assert line in text
    assert "when_required" not in text
    assert "when_required" in "".join(_settings(replace(own, endpoint="http://amazonaws.com.example.org")))


@pytest.fixture(scope="module")
def moto() -> Iterator[dict[str, Any]]:
    """A bucket, a table and a queue of a moto server, by protocol, and its keys."""
    with serving("moto") as one:
        queue = create_aws_data_sets(partial(aws, one))
        sets = {"s3": NAME, "dynamodb": NAME, "sqs": queue}
        places = {name: target(one.endpoints[name], name, data_set) for name, data_set in sets.items()}
        yield {**places, "keys": keys(one.access, one.secret)}


@long
@pytest.mark.parametrize(
    ("protocol", "probe", "params"),
    [
        ("s3", "blob", {"op": "download", "size_bytes": str(10 * 2**20), "objects": "2"}),
        ("s3", "blob", {"op": "upload", "size_bytes": str(10 * 2**20), "objects": "2"}),
        ("s3", "blob", {"op": "list"}),
        ("s3", "blob", {"op": "download", "concurrency": "max", "duration_s": "2"}),
        ("s3", "blob", {"op": "download", "rate_per_s": "2", "concurrency": "4", "duration_s": "2"}),
        ("dynamodb", "table", {"op": "get", "entries": "20", "read": "strong"}),
        ("dynamodb", "table", {"op": "put", "entries": "20"}),
        ("dynamodb", "table", {"op": "query", "entries": "20"}),
        ("dynamodb", "load", {"entries": "60", "concurrency": "2"}),
        ("sqs", "queue", {"op": "send"}),
        ("sqs", "queue", {"op": "receive", "size_bytes": "200000"}),
    ],
)
@pytest.mark.parametrize("name", ["simulated", "moto"])
def test_every_operation_runs_and_is_counted(
    storage: SimulatedStorage, moto: dict[str, JobTarget], name: str, protocol: str, probe: str, params: dict[str, str]
) -> None:
    data_set = QUEUE if protocol == "sqs" else NAME
    where, own = (
        (place_of(storage, protocol, data_set), KEYS) if name == "simulated" else (moto[protocol], moto["keys"])
    )
    ran = run(where, own, probe, client="cli", deadline_s=60.0, **params)
    assert ran.outcome == "ok", ran
    assert ran.notes["operations"] > 0
    assert [ran.notes[kind.value] for kind in Kind] == [0] * 6, ran
