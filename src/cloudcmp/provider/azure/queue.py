"""Queues of Azure's queue storage."""

from collections.abc import Mapping
from typing import Any

from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import Handle
from cloudcmp.provider.azure.data_sets import AzureDataSets
from cloudcmp.provider.azure.storage import instant
from cloudcmp.provider.common.data_sets import PREFIX


class QueueDataSets(AzureDataSets):
    """The queues of a storage account; their metadata hold the tags."""

    kind = ServiceKind.QUEUE
    permissions = "ap"

    def make(self, client: Any, name: str, metadata: dict[str, str], options: Mapping[str, Any]) -> None:
        """Creates a queue with its metadata, in one call."""
        client.create_queue(name, metadata=metadata, **options)

    def listed(self, client: Any, options: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
        """Names and metadata of the queues whose names begin as cloudcmp's do."""
        found = client.list_queues(name_starts_with=PREFIX, include_metadata=True, **options)
        return [(str(one.name), dict(one.metadata or {})) for one in found]

    def remove(self, client: Any, name: str, options: Mapping[str, Any]) -> None:
        """Deletes a queue with its messages."""
        client.delete_queue(name, **options)

    def look(self, client: Any, name: str, options: Mapping[str, Any]) -> bool:
        """True if the queue is there."""
        client.get_queue_client(name).get_queue_properties(**options)
        return True

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The queue, emptied first: no signature of one queue allows a trial to do that at once."""
        await self._sdk.change(
            lambda client, options: client.get_queue_client(handle.cloud_id).clear_messages(**options), again=True
        )
        return await super().data_set(service, handle, until)

    def signed(self, client: Any, name: str, since: float, until: float) -> str:
        """A signature of one queue."""
        from azure.storage.queue import generate_queue_sas

        def delegated() -> Any:
            return client.get_user_delegation_key(start=instant(since), expiry=instant(until))

        return str(generate_queue_sas(queue_name=name, **self.signing(delegated, since, until)))
