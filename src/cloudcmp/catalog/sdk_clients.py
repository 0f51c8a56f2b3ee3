"""The providers' own Python libraries that can be measured in place of the agent, by the protocol they speak."""

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


def sdk_of(provider: str, kind: ServiceKind) -> SdkClient | None:
    """The library for a provider's service; None if none is measured."""
    return next((one for one in SDKS.values() if one.kind is kind and provider in one.providers), None)
