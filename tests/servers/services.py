"""Storage services at the servers: how a study names each, and what it holds as its provider's own client sees it."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cloudcmp.provider.simulated.storage import Key, StorageTruth
from tests.emulated.simulated_storage import simulated_storage
from tests.servers.clients import REGION, aws, azure, azure_connection, swift
from tests.servers.fetch import Absent
from tests.servers.google_services import BigTables, Collections, GoogleBuckets, Topics
from tests.servers.held import NAMES, RETRIES, HeldService
from tests.servers.serving import Served, serving


class _Aws(HeldService):
    protocol: str

    def __init__(self, served: Served, store: str) -> None:
        super().__init__(served, store)
        self.client: Any = aws(served, self.protocol, retries=RETRIES)

    @property
    def candidate(self) -> str:
        return f"provider: aws, region: {REGION}, service: {self.kind}"

    @property
    def environ(self) -> Mapping[str, str]:
        return _key_of(self.served) | {"AWS_ENDPOINT_URL": self.served.endpoints[self.protocol], "AWS_REGION": REGION}


def _key_of(served: Served) -> dict[str, str]:
    own = {"AWS_ACCESS_KEY_ID": served.access, "AWS_SECRET_ACCESS_KEY": served.secret}
    nobodys = {"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
    return own | nobodys | {"AWS_EC2_METADATA_DISABLED": "true"}


class Buckets(_Aws):
    """Buckets of S3."""

    kind, protocol = "blob", "s3"

    def names(self) -> set[str]:
        return {one["Name"] for one in self.client.list_buckets()["Buckets"]}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        self.client.create_bucket(Bucket=name)
        self.client.put_object(Bucket=name, Key="precious", Body=b"x")
        if tags:
            pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
            self.client.put_bucket_tagging(Bucket=name, Tagging={"TagSet": pairs})

    def holds(self, name: str) -> bool:
        listed = self.client.list_objects_v2(Bucket=name).get("Contents") or ()
        return [one["Key"] for one in listed] == ["precious"]


class EndpointBuckets(Buckets):
    """Buckets of a service that a study names by its endpoint."""

    @property
    def candidate(self) -> str:
        return f"provider: s3, service: blob, endpoint: '{self.served.endpoints['s3']}'"

    @property
    def environ(self) -> Mapping[str, str]:
        return _key_of(self.served)

    @property
    def sweep_environ(self) -> Mapping[str, str]:  # type: ignore[override]
        return {"AWS_ENDPOINT_URL_S3": self.served.endpoints["s3"]}


class DynamoTables(_Aws):
    """Tables of DynamoDB."""

    kind, protocol = "table", "dynamodb"

    def names(self) -> set[str]:
        return set(self.client.list_tables()["TableNames"])

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        self.client.create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
        )  # fmt: skip
        self.client.put_item(TableName=name, Item={"k": {"S": "precious"}})

    def holds(self, name: str) -> bool:
        return bool(self.client.scan(TableName=name)["Count"] == 1)


class SqsQueues(_Aws):
    """Queues of SQS."""

    kind, protocol = "queue", "sqs"

    def names(self) -> set[str]:
        return {url.rpartition("/")[2] for url in self.client.list_queues().get("QueueUrls") or ()}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        url = self.client.create_queue(QueueName=name, tags=dict(tags))["QueueUrl"]
        self.client.send_message(QueueUrl=url, MessageBody="precious")

    def holds(self, name: str) -> bool:
        url = self.client.get_queue_url(QueueName=name)["QueueUrl"]
        counted = "ApproximateNumberOfMessages"
        found = self.client.get_queue_attributes(QueueUrl=url, AttributeNames=[counted])
        return bool(found["Attributes"][counted] == "1")


class _Azure(HeldService):
    def __init__(self, served: Served, store: str) -> None:
        super().__init__(served, store)
        self.client: Any = azure(served, self.kind, retries=RETRIES)

    @property
    def candidate(self) -> str:
        return f"provider: azure, region: westeurope, service: {self.kind}"

    @property
    def environ(self) -> Mapping[str, str]:
        return {"AZURE_STORAGE_CONNECTION_STRING": azure_connection(self.served)}


def _metadata(tags: Mapping[str, str]) -> dict[str, str]:
    return {key.replace(":", "_"): value for key, value in tags.items()}


class AzureContainers(_Azure):
    """Containers of Azure's blob storage."""

    kind = "blob"

    def names(self) -> set[str]:
        return {one.name for one in self.client.list_containers()}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        self.client.create_container(name, metadata=_metadata(tags)).upload_blob("precious", b"x")

    def holds(self, name: str) -> bool:
        return [one.name for one in self.client.get_container_client(name).list_blobs()] == ["precious"]


class AzureTables(_Azure):
    """Tables of Azure's table storage, which have no tags and whose names have no hyphens."""

    kind = "table"
    look_alikes = tuple(name.replace("-", "") for name in NAMES)

    def names(self) -> set[str]:
        return {one.name for one in self.client.list_tables()}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        self.client.create_table(name).upsert_entity({"PartitionKey": "p", "RowKey": "precious"})

    def holds(self, name: str) -> bool:
        return [one["RowKey"] for one in self.client.get_table_client(name).list_entities()] == ["precious"]


class AzureQueues(_Azure):
    """Queues of Azure's queue storage."""

    kind = "queue"

    def names(self) -> set[str]:
        return {one.name for one in self.client.list_queues()}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        self.client.create_queue(name, metadata=_metadata(tags)).send_message("precious")

    def holds(self, name: str) -> bool:
        return [one.content for one in self.client.get_queue_client(name).peek_messages()] == ["precious"]


class Containers(HeldService):
    """Containers of Swift."""

    kind, candidate = "blob", "provider: openstack, region: lon, service: blob"

    def __init__(self, served: Served, store: str) -> None:
        super().__init__(served, store)
        self.client: Any = swift(served, retries=RETRIES)

    @property
    def environ(self) -> Mapping[str, str]:
        own = {"OS_USERNAME": self.served.access, "OS_PASSWORD": self.served.secret}
        return own | {"OS_AUTH_URL": self.served.endpoints["swift"]}

    def names(self) -> set[str]:
        return {str(one["name"]) for one in self.client.get_account()[1]}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        headers = {f"X-Container-Meta-{key.replace(':', '-')}": value for key, value in tags.items()}
        self.client.put_container(name, headers=headers)
        self.client.put_object(name, "precious", b"x")

    def holds(self, name: str) -> bool:
        return [one["name"] for one in self.client.get_container(name)[1]] == ["precious"]


_SERVICES: Mapping[str, tuple[Callable[[Served, str], HeldService], str]] = {
    "s3": (EndpointBuckets, "simulated"),
    "aws-s3": (Buckets, "ec2"),
    "aws-dynamodb": (DynamoTables, "ec2"),
    "aws-sqs": (SqsQueues, "ec2"),
    "azure-blob": (AzureContainers, "azurite"),
    "azure-table": (AzureTables, "azurite"),
    "azure-queue": (AzureQueues, "azurite"),
    "gcp-storage": (GoogleBuckets, "fake-gcs"),
    "gcp-pubsub": (Topics, "pubsub"),
    "gcp-firestore": (Collections, "firestore"),
    "gcp-bigtable": (BigTables, "bigtable"),
    "openstack-swift": (Containers, "swift"),
}
STORES = tuple(_SERVICES)
"""The providers of data sets whose services have a server."""
SERVERS = tuple(dict.fromkeys(server for _, server in _SERVICES.values()))
"""The servers of these; `ec2` and `simulated` are emulations of the tests' own."""


@dataclass
class Standing:
    """Services that answer, the environment in which a command finds them all, and why others could not be had."""

    services: list[HeldService] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)


@contextlib.contextmanager
def standing(stores: Collection[str] = STORES, *, limit_s: float = 3600.0) -> Iterator[Standing]:
    """The services of these providers, with look-alikes in them."""
    found, servers = Standing(), dict.fromkeys(_SERVICES[store][1] for store in stores)
    with contextlib.ExitStack() as stack:
        key = Key()
        running: dict[str, Served] = {}
        for name in sorted(servers, key=lambda name: name != "ec2"):  # whose key is its own, and the others take it
            try:
                if name == "ec2":
                    one, more = stack.enter_context(_moto())
                    key = Key(one.access, one.secret)
                    found.environ |= more
                elif name == "simulated":
                    storage = stack.enter_context(simulated_storage(StorageTruth(keys=(key,))))
                    one = Served(name, {"s3": storage.endpoint}, key.access_key, key.secret_key, 0)
                else:
                    one = stack.enter_context(serving(name, limit_s))
                running[name] = one
            except Absent as absent:
                found.absent.append(f"{name} is left out: {absent}")
        for store in stores:
            make, server = _SERVICES[store]
            if server in running:
                found.services.append(make(running[server], store))
        for service in found.services:
            service.plant()
            found.environ |= service.environ
        yield found


@contextlib.contextmanager
def _moto() -> Iterator[tuple[Served, dict[str, str]]]:
    """moto with one account, and the variable by which its regions are asked: the emulated EC2 has but two of them."""
    from tests.emulated.ec2 import ec2

    with ec2() as cloud:
        url = f"http://127.0.0.1:{cloud.account.port}"
        ends = dict.fromkeys(("s3", "dynamodb", "sqs"), url)
        yield Served("ec2", ends, cloud.account.key_id, cloud.account.secret, 0), {"AWS_ENDPOINT_URL_EC2": cloud.url}
