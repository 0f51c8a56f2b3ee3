"""Containers of Azure's blob storage."""

from collections.abc import Mapping
from typing import Any

from cloudcmp.model.cast import ServiceKind
from cloudcmp.provider.azure.data_sets import AzureDataSets
from cloudcmp.provider.azure.storage import instant
from cloudcmp.provider.common.data_sets import PREFIX


class BlobDataSets(AzureDataSets):
    """The containers of a storage account; their metadata hold the tags."""

    kind = ServiceKind.BLOB
    permissions = "rwdl"

    def make(self, client: Any, name: str, metadata: dict[str, str], options: Mapping[str, Any]) -> None:
        """Creates a container with its metadata, in one call."""
        client.create_container(name, metadata=metadata, **options)

    def listed(self, client: Any, options: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
        """Names and metadata of the containers whose names begin as cloudcmp's do."""
        found = client.list_containers(name_starts_with=PREFIX, include_metadata=True, **options)
        return [(str(one.name), dict(one.metadata or {})) for one in found]

    def remove(self, client: Any, name: str, options: Mapping[str, Any]) -> None:
        """Deletes a container with its blobs, their versions and snapshots, and unfinished uploads."""
        client.delete_container(name, **options)

    def look(self, client: Any, name: str, options: Mapping[str, Any]) -> bool:
        """True if the container is there."""
        client.get_container_client(name).get_container_properties(**options)
        return True

    def signed(self, client: Any, name: str, since: float, until: float) -> str:
        """A signature of one container."""
        from azure.storage.blob import generate_container_sas

        def delegated() -> Any:
            return client.get_user_delegation_key(instant(since), instant(until))

        return str(generate_container_sas(container_name=name, **self.signing(delegated, since, until)))
