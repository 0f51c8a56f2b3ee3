"""Google's own clients write, read, list and delete at the servers that speak its protocols."""

import hashlib
from collections.abc import Callable

import pytest
from google.api_core.exceptions import NotFound
from google.auth.credentials import AnonymousCredentials

from tests.servers.clients import PROJECT, gcs, google
from tests.servers.serving import Served

Give = Callable[[str], Served]


def test_objects_are_read_back_listed_and_deleted(served: Give) -> None:
    client = gcs(served("fake-gcs"))
    bucket = client.create_bucket("cloudcmp-written")
    written = {f"b/1024/{index:06d}": hashlib.sha512(b"%d" % index).digest() * 16 for index in range(12)}
    for key, body in written.items():
        bucket.blob(key).upload_from_string(body)
    assert {key: bucket.blob(key).download_as_bytes() for key in written} == written
    assert [each.name for each in client.list_blobs(bucket, prefix="b/1024/")] == sorted(written)
    for key in written:
        bucket.blob(key).delete()
    with pytest.raises(NotFound):
        bucket.blob("b/1024/000003").download_as_bytes()
    bucket.delete()
    client.close()


def test_documents_are_read_back_queried_and_deleted(served: Give) -> None:
    with google(served("firestore"), "firestore") as firestore:
        client = firestore.Client(project=PROJECT, credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
        rows = client.collection("cloudcmp-written")
        for index in range(25):
            rows.document(f"r{index:08d}").set({"g": f"g{index // 10}", "v": f"{index:0100d}"})
        assert rows.document("r00000007").get().to_dict() == {"g": "g0", "v": f"{7:0100d}"}
        found = rows.where(filter=firestore.FieldFilter("g", "==", "g1")).stream()
        assert sorted(each.id for each in found) == [f"r{index:08d}" for index in range(10, 20)]
        rows.document("r00000007").delete()
        assert not rows.document("r00000007").get().exists
        client.close()


@pytest.mark.filterwarnings("ignore:Connecting to Bigtable emulator:RuntimeWarning")
def test_rows_are_read_back_scanned_and_deleted(served: Give) -> None:
    with google(served("bigtable"), "bigtable") as bigtable:
        client = bigtable.Client(project=PROJECT, credentials=AnonymousCredentials(), admin=True)
        table = client.instance("tests").table("cloudcmp-written")
        table.create(column_families={"f": None})
        for index in range(25):
            row = table.direct_row(f"r{index:08d}")
            row.set_cell("f", "v", f"{index:0100d}")
            row.commit()
        assert table.read_row(b"r00000007").cell_value("f", b"v") == b"%0100d" % 7
        keys = [row.row_key.decode() for row in table.read_rows(start_key=b"r00000010", end_key=b"r00000020")]
        assert keys == [f"r{index:08d}" for index in range(10, 20)]
        row = table.direct_row("r00000007")
        row.delete()
        row.commit()
        assert table.read_row(b"r00000007") is None
        table.delete()
        client.close()


def test_messages_are_pulled_and_acknowledged(served: Give) -> None:
    with google(served("pubsub"), "pubsub") as pubsub:
        publisher, subscriber = pubsub.PublisherClient(), pubsub.SubscriberClient()
        topic, subscription = (f"projects/{PROJECT}/{what}/cloudcmp-written" for what in ("topics", "subscriptions"))
        publisher.create_topic(name=topic)
        subscriber.create_subscription(name=subscription, topic=topic)
        sent = [f"{index:050d}".encode() for index in range(5)]
        for each in [publisher.publish(topic, body) for body in sent]:
            each.result(30)
        received: dict[bytes, str] = {}
        while len(received) < 5:
            pulled = subscriber.pull(subscription=subscription, max_messages=10, timeout=30)
            received |= {each.message.data: each.ack_id for each in pulled.received_messages}
        assert sorted(received) == sent
        subscriber.acknowledge(subscription=subscription, ack_ids=list(received.values()))
        subscriber.delete_subscription(subscription=subscription)
        publisher.delete_topic(topic=topic)
        assert list(publisher.list_topics(project=f"projects/{PROJECT}")) == []
        publisher.stop()
        subscriber.close()
