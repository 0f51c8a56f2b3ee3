"""The providers' own clients, each pointed at a server that the tests started; they retry only as often as asked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.servers.serving import Served

REGION, PROJECT = "us-east-1", "tests"


def aws(one: Served, service: str, secret: str = "", access: str = "", retries: int = 0) -> Any:
    """boto3's client of s3, dynamodb or sqs; another key or secret may be named."""
    import boto3
    from botocore.config import Config

    return boto3.session.Session().client(
        service,
        endpoint_url=one.endpoints[service],
        region_name=REGION,
        aws_access_key_id=access or one.access,
        aws_secret_access_key=secret or one.secret,
        # rclone sends the checksum of the whole object with a part of it, and boto3 would refuse the part.
        config=Config(
            retries={"total_max_attempts": 1 + retries},
            s3={"addressing_style": "path"},
            response_checksum_validation="when_required",
        ),
    )


def azure(one: Served, service: str, key: str = "", retries: int = 0) -> Any:
    """Azure's client of blob, queue or table."""
    from azure.core.credentials import AzureNamedKeyCredential
    from azure.data.tables import TableServiceClient
    from azure.storage.blob import BlobServiceClient
    from azure.storage.queue import QueueServiceClient

    url, named = one.endpoints[f"azure-{service}"], AzureNamedKeyCredential(one.access, key or one.secret)
    if service == "table":
        return TableServiceClient(url, credential=named, retry_total=retries)
    return {"blob": BlobServiceClient, "queue": QueueServiceClient}[service](url, credential=named, retry_total=retries)


def azure_connection(one: Served, key: str = "") -> str:
    """The connection string of an account, as Azure's portal writes it."""
    ends = "".join(f";{kind.title()}Endpoint={one.endpoints[f'azure-{kind}']}" for kind in ("blob", "queue", "table"))
    return f"DefaultEndpointsProtocol=http;AccountName={one.access};AccountKey={key or one.secret}{ends};"


def gcs(one: Served) -> Any:
    """Google's client of Cloud Storage."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    ends = {"api_endpoint": one.endpoints["gcs"]}
    return storage.Client(project=PROJECT, credentials=AnonymousCredentials(), client_options=ends)  # type: ignore[no-untyped-call]


@contextmanager
def google(one: Served, protocol: str) -> Iterator[Any]:
    """Google's modules of firestore, bigtable or pubsub, which find an emulator by their environment."""
    from importlib import import_module

    name = f"{protocol.upper()}_EMULATOR_HOST"
    before = os.environ.get(name)
    os.environ[name] = one.host(protocol)
    try:
        yield import_module({"pubsub": "google.cloud.pubsub_v1"}.get(protocol, f"google.cloud.{protocol}"))
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def swift(one: Served, key: str = "", retries: int = 0) -> Any:
    """OpenStack's client of Swift, with the first version of its login."""
    from swiftclient.client import Connection

    return Connection(authurl=one.endpoints["swift"], user=one.access, key=key or one.secret, retries=retries)
