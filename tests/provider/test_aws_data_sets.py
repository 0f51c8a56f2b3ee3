"""Tables of DynamoDB, buckets of S3 and queues of SQS as data sets: made, found, told from look-alikes, and removed."""

import asyncio
import time
import uuid
from collections.abc import Iterator

import pytest
from tests.emulated.ec2_moto import Account
from tests.emulated.simulated_storage import simulated_storage

from cloudcmp.errors import ProviderFault
from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, CreateRequest, Handle
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.provider.aws.data_sets import AwsDataSets
from cloudcmp.provider.aws.dynamodb import DynamoDbDataSets
from cloudcmp.provider.aws.policy import policy
from cloudcmp.provider.aws.s3 import S3DataSets
from cloudcmp.provider.aws.sqs import SqsDataSets
from cloudcmp.provider.simulated.storage import Key

REGION = "us-east-1"
STUDY = "5b0c8c52-6f0e-4c40-9d6c-2a4b8f7f0a11"
CLASSES = {"dynamodb": DynamoDbDataSets, "s3": S3DataSets, "sqs": SqsDataSets}
KINDS = {"dynamodb": ServiceKind.TABLE, "s3": ServiceKind.BLOB, "sqs": ServiceKind.QUEUE}


@pytest.fixture(params=["simulated", "moto"])
def keys(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """A server in the environment, and the key to it."""

    def name(url: str, access_key: str, secret: str) -> tuple[str, str]:
        for variable, text in {
            "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": access_key, "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true",
        }.items():  # fmt: skip
            monkeypatch.setenv(variable, text)
        return access_key, secret

    if request.param == "moto":
        account = Account(policy())  # the rights of the documented policy, and no others
        yield name(f"http://127.0.0.1:{account.port}", account.key_id, account.secret)
        return
    with simulated_storage() as storage:
        yield name(storage.endpoint, Key().access_key, Key().secret_key)


def service(protocol: str) -> Service:
    return Service(KINDS[protocol], "aws", REGION)


def store(protocol: str) -> AwsDataSets:
    return CLASSES[protocol](f"aws-{protocol}", [service(protocol)])


def wanted(token: str, at: float = 1_800_000_000.0) -> CreateRequest:
    tags = (("cloudcmp:expires", "2027-01-15T08:00:00Z"), ("cloudcmp:lease", token), ("cloudcmp:study", STUDY))
    return CreateRequest("s", 0, DATA_SET, "of a launch", token, REGION, "", 3600.0, tags, 0, 0, 1, at)


def plant(found: AwsDataSets, name: str, tags: dict[str, str]) -> str:
    """A data set of somebody else."""
    return asyncio.run(found.make(REGION, name, tags))


@pytest.mark.parametrize("protocol", CLASSES)
def test_one_is_made_found_and_removed_and_look_alikes_survive(protocol: str, keys: tuple[str, str]) -> None:
    found, token = store(protocol), str(uuid.uuid4())
    others = ["cloudcmp-prod", "mycloudcmp-" + "0" * 32 + "-6b49d200", "cloudcmp-" + "0" * 31 + "-6b49d200"]
    for name in others:
        plant(found, name, {"cloudcmp:study": STUDY})
    another = plant(found, f"cloudcmp-{uuid.uuid4().hex}-6b49d200", {"cloudcmp:study": "another"})

    cloud_id = asyncio.run(found.create(wanted(token)))
    assert asyncio.run(found.create(wanted(token))) == cloud_id, "the same call again makes no second one"
    handle = Handle(DATA_SET, REGION, cloud_id)
    mine = asyncio.run(found.find(STUDY))
    assert [(one.cloud_id, one.token, one.region) for one in mine] == [(cloud_id, token, REGION)]
    assert dict(mine[0].tags)["cloudcmp:study"] == STUDY
    assert asyncio.run(found.find("no study", token)) == mine, "by its name alone"
    swept = asyncio.run(found.leftovers())
    assert {one.cloud_id for one in swept.found} == {cloud_id, another}
    assert swept.unlisted == ()
    assert asyncio.run(found.gone(handle)) is None

    asyncio.run(found.destroy(handle))
    assert cloud_id.rpartition("/")[2] in str(asyncio.run(found.gone(handle)))
    asyncio.run(found.destroy(handle))  # one that is gone is no error
    assert asyncio.run(found.find(STUDY)) == ()
    for name in (*others, another.rpartition("/")[2]):
        path = f"{cloud_id.rpartition('/')[0]}/{name}" if protocol == "sqs" else name
        assert asyncio.run(found.gone(Handle(DATA_SET, REGION, path))) is None, name


@pytest.mark.parametrize("protocol", CLASSES)
def test_a_trial_gets_keys_of_the_day_and_no_secret(protocol: str, keys: tuple[str, str]) -> None:
    found = store(protocol)
    cloud_id = asyncio.run(found.create(wanted(str(uuid.uuid4()))))
    handle = Handle(DATA_SET, REGION, cloud_id)
    given = asyncio.run(found.data_set(service(protocol), handle, time.time() + 100.0))
    assert (given.protocol, given.name, given.region) == (protocol, cloud_id, REGION)
    assert given.addresses == (), "its host is an address"
    assert given.credential is not None
    assert given.credential["access_key"] == keys[0]
    assert keys[1] not in str(given.credential)


@pytest.mark.parametrize("protocol", CLASSES)
def test_a_wrong_key_is_told_before_anything_is_made(
    protocol: str, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate = Candidate(0, "x", Offering("local", "local", "2cpu"), "local", service=service(protocol))
    (finding,) = asyncio.run(store(protocol).check([candidate]))
    assert (finding.ok, finding.text) == (True, "its data sets can be listed")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    (finding,) = asyncio.run(store(protocol).check([candidate]))
    assert finding.ok is False
    assert finding.next
    with pytest.raises(ProviderFault) as fault:
        asyncio.run(store(protocol).create(wanted(str(uuid.uuid4()))))
    assert "\n" not in str(fault.value)
    assert "wrong" not in str(fault.value).split()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys[1])
    assert asyncio.run(store(protocol).leftovers()).found == ()


@pytest.mark.parametrize(
    ("environ", "billed"),
    [
        ({}, True),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, False),
        ({"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}, False),
        ({"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:9"}, True),
        ({"AWS_ENDPOINT_URL": "https://objects.example.org"}, True),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ENDPOINT_URL_S3": "https://objects.example.org"}, True),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, True),
    ],
)
def test_what_stays_on_this_machine_costs_nothing(
    environ: dict[str, str], billed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SQS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert S3DataSets("aws-s3", [Service(ServiceKind.BLOB, "aws", "us-east-1")]).billed is billed
