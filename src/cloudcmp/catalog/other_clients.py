"""The providers' own clients that can be measured in place of the agent, by the protocol they speak."""

from dataclasses import dataclass

from cloudcmp.model.cast import ServiceKind


@dataclass(frozen=True, slots=True)
class SdkClient:
    """A library: its name at the package registry, a module of it, the family of its adapter, and its service."""

    library: str
    module: str
    family: str
    kind: ServiceKind
    providers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CliClient:
    """A command: the program, and how to get it. The library of the same protocol prepares the data."""

    program: str
    install: str


SDKS = {
    "s3": SdkClient("boto3", "boto3", "aws", ServiceKind.BLOB, ("aws", "s3")),
    "dynamodb": SdkClient("boto3", "boto3", "aws", ServiceKind.TABLE, ("aws",)),
    "sqs": SdkClient("boto3", "boto3", "aws", ServiceKind.QUEUE, ("aws",)),
    "azure-blob": SdkClient("azure-storage-blob", "azure.storage.blob", "azure", ServiceKind.BLOB, ("azure",)),
    "azure-table": SdkClient("azure-data-tables", "azure.data.tables", "azure", ServiceKind.TABLE, ("azure",)),
    "azure-queue": SdkClient("azure-storage-queue", "azure.storage.queue", "azure", ServiceKind.QUEUE, ("azure",)),
    "gcs": SdkClient("google-cloud-storage", "google.cloud.storage", "google", ServiceKind.BLOB, ("gcp",)),
    "pubsub": SdkClient("google-cloud-pubsub", "google.cloud.pubsub_v1", "google", ServiceKind.QUEUE, ("gcp",)),
}
"""By protocol."""
_AWS = CliClient("aws", "pip install awscli in an environment of its own, and have its aws in PATH")
_GOOGLE = CliClient("gcloud", "install Google's Cloud SDK, and have its gcloud in PATH")
CLIS = {"s3": _AWS, "dynamodb": _AWS, "sqs": _AWS, "gcs": _GOOGLE}
"""By protocol."""


def protocol_of(provider: str, kind: ServiceKind) -> str | None:
    """The protocol of a provider's service for which a client other than the agent is measured; None without one."""
    known = (name for name, one in SDKS.items() if one.kind is kind and provider in one.providers)
    return next(known, None)
