"""Data sets for the agent's trials: made by a service's driver at a server, or in a simulated service of AWS."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import time
from typing import Any
from uuid import uuid4

import pytest
from tests.agent.service_trials import REGION
from tests.emulated.simulated_storage import SimulatedStorage, simulated_storage
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving

from cloudcmp.model.cast import DataSet, Service
from cloudcmp.model.lease import DATA_SET, CreateRequest, Handle
from cloudcmp.provider.registry import make, store_of
from cloudcmp.provider.simulated.storage import Key

NAME = "cloudcmp-planted"


@contextmanager
def serving_or_skip(name: str) -> Iterator[Served]:
    """An empty server; a test of one that cannot be had is skipped with the reason."""
    try:
        with serving(name) as one:
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


@contextmanager
def made(service: Service) -> Iterator[DataSet]:
    """A data set with the access of a trial; its driver removes it, and sees it gone."""
    store: Any = make(store_of(service.provider, service.kind, service.api) or "")
    token = str(uuid4())
    asked = CreateRequest("slot", 0, DATA_SET, "name", token, service.region, "all", 3600.0, (), 0, 0, 0, time())
    handle = Handle(DATA_SET, service.region, asyncio.run(store.create(asked)))
    yield asyncio.run(store.data_set(service, handle, time() + 60.0))
    asyncio.run(store.destroy(handle))
    assert asyncio.run(store.gone(handle)) is not None


@contextmanager
def simulated_aws() -> Iterator[SimulatedStorage]:
    """A simulated service with an empty bucket, table and queue, each called `NAME`."""
    with simulated_storage() as found:
        create_aws_data_sets(partial(client, found))
        yield found


def client(storage: SimulatedStorage, service: str) -> Any:
    """boto3's client of a simulated service, with the key that it knows."""
    import boto3

    return boto3.client(
        service, region_name=REGION, endpoint_url=storage.endpoint, aws_access_key_id=Key().access_key,
        aws_secret_access_key=Key().secret_key,
    )  # fmt: skip


def create_aws_data_sets(client_of: Callable[[str], Any]) -> str:
    """Makes a bucket, a table and a queue, each called `NAME`; returns the path of the queue's URL."""
    client_of("s3").create_bucket(Bucket=NAME)
    client_of("dynamodb").create_table(
        TableName=NAME, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in "kg"],
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {"IndexName": "by_group", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
             "Projection": {"ProjectionType": "ALL"}},
        ],
    )  # fmt: skip
    url = str(client_of("sqs").create_queue(QueueName=NAME)["QueueUrl"])
    return url.partition("//")[2].partition("/")[2]
