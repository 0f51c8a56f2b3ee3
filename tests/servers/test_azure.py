"""Azure's own clients write, read, list and delete blobs, rows and messages at Azurite, and a wrong key is refused."""

import base64
import hashlib
from collections.abc import Callable

import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceNotFoundError

from tests.servers.clients import azure
from tests.servers.serving import Served

WRONG = base64.b64encode(b"another key").decode()


@pytest.fixture
def one(served: Callable[[str], Served]) -> Served:
    return served("azurite")


def test_blobs_are_read_back_listed_and_deleted(one: Served) -> None:
    with azure(one, "blob") as service, service.get_container_client("cloudcmp-written") as container:
        container.create_container()
        written = {f"b/1024/{index:06d}": hashlib.sha512(b"%d" % index).digest() * 16 for index in range(12)}
        for name, body in written.items():
            container.upload_blob(name, body)
        assert {name: container.download_blob(name).readall() for name in written} == written
        assert container.download_blob("b/1024/000003", offset=5, length=4).readall() == written["b/1024/000003"][5:9]
        assert [each.name for each in container.list_blobs(name_starts_with="b/1024/")] == sorted(written)
        container.delete_blob("b/1024/000003")
        with pytest.raises(ResourceNotFoundError) as missing:
            container.download_blob("b/1024/000003")
        assert missing.value.error_code == "BlobNotFound"
        container.delete_container()


def test_rows_are_read_back_queried_and_deleted(one: Served) -> None:
    rows = [
        {"PartitionKey": "r0", "RowKey": f"r{index:08d}", "g": f"g{index // 10}", "v": f"{index}" * 100}
        for index in range(25)
    ]
    with azure(one, "table") as service, service.create_table("cloudcmpwritten") as table:
        for row in rows:
            table.create_entity(row)
        assert dict(table.get_entity("r0", "r00000007")) == rows[7]
        assert [dict(each) for each in table.query_entities("g eq 'g1'")] == rows[10:20]
        table.delete_entity("r0", "r00000007")
        with pytest.raises(ResourceNotFoundError):
            table.get_entity("r0", "r00000007")
        service.delete_table("cloudcmpwritten")
        assert [each.name for each in service.list_tables()] == []


def test_messages_are_received_once_deleted(one: Served) -> None:
    with azure(one, "queue") as service, service.create_queue("cloudcmp-written") as queue:
        for index in range(5):
            queue.send_message(f"{index:050d}")
        received = list(queue.receive_messages(messages_per_page=32))
        assert sorted(each.content for each in received) == [f"{index:050d}" for index in range(5)]
        for each in received:
            queue.delete_message(each)
        assert queue.get_queue_properties().approximate_message_count == 0
        service.delete_queue("cloudcmp-written")


@pytest.mark.parametrize("service", ["blob", "queue", "table"])
def test_a_wrong_key_is_refused(one: Served, service: str) -> None:
    with azure(one, service, key=WRONG) as client:
        lists = {"blob": "list_containers", "queue": "list_queues", "table": "list_tables"}
        with pytest.raises((ClientAuthenticationError, HttpResponseError)) as refused:
            list(getattr(client, lists[service])())
    assert refused.value.status_code == 403
