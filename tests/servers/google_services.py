"""Google's storage services at the servers: how a study names each, and what it holds by Google's own clients."""

from collections.abc import Mapping
from typing import Any

from tests.servers.clients import gcs, google
from tests.servers.held import HeldService
from tests.servers.serving import Served

_INSTANCE = "projects/cloudcmp/instances/cloudcmp"


class GoogleBuckets(HeldService):
    """Buckets of Cloud Storage."""

    kind, candidate = "blob", "provider: gcp, region: europe-west1, service: blob"

    def __init__(self, served: Served, store: str) -> None:
        super().__init__(served, store)
        self.client: Any = gcs(served)

    @property
    def environ(self) -> Mapping[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.served.endpoints["gcs"]}

    def names(self) -> set[str]:
        return {one.name for one in self.client.list_buckets()}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        self.client.create_bucket(name).blob("precious").upload_from_string(b"x")

    def holds(self, name: str) -> bool:
        return [one.name for one in self.client.list_blobs(name)] == ["precious"]


class Topics(HeldService):
    """Topics and subscriptions of Pub/Sub, by the names that both have; a subscription is what is in a topic."""

    kind, candidate = "queue", "provider: gcp, region: europe-west1, service: queue"

    def __init__(self, served: Served, store: str) -> None:
        super().__init__(served, store)
        with google(served, "pubsub") as pubsub:
            self.topics, self.subscriptions = pubsub.PublisherClient(), pubsub.SubscriberClient()

    @property
    def environ(self) -> Mapping[str, str]:
        return {"PUBSUB_EMULATOR_HOST": self.served.host("pubsub")}

    def _read(self) -> set[str]:
        found = self.subscriptions.list_subscriptions(project="projects/cloudcmp")
        return {one.name.rpartition("/")[2] for one in found}

    def names(self) -> set[str]:
        topics = self.topics.list_topics(project="projects/cloudcmp")
        return {one.name.rpartition("/")[2] for one in topics} | self._read()

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        topic, read = f"projects/cloudcmp/topics/{name}", f"projects/cloudcmp/subscriptions/{name}"
        self.topics.create_topic(name=topic)
        self.subscriptions.create_subscription(name=read, topic=topic)

    def holds(self, name: str) -> bool:
        return name in self._read()


class Collections(HeldService):
    """Collections of Firestore, which are there while they have a document."""

    kind, candidate = "table", "provider: gcp, region: europe-west1, service: table"

    def __init__(self, served: Served, store: str) -> None:
        super().__init__(served, store)
        with google(served, "firestore") as firestore:
            self.client: Any = firestore.Client(project="cloudcmp")

    @property
    def environ(self) -> Mapping[str, str]:
        return {"FIRESTORE_EMULATOR_HOST": self.served.host("firestore")}

    def names(self) -> set[str]:
        return {str(one.id) for one in self.client.collections()}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        if tags:
            self.client.collection(name).document("cloudcmp").set({"tags": dict(tags)})
        self.client.collection(name).document("precious").set({"v": "x"})

    def holds(self, name: str) -> bool:
        return bool(self.client.collection(name).document("precious").get().exists)


class BigTables(HeldService):
    """Tables of Bigtable in an emulator without instances, by their names alone; a column family is what is in one."""

    kind, candidate = "table", "provider: gcp, region: europe-west1, service: table, api: bigtable"
    prices = "nodes: 0.65 USD/h"

    def __init__(self, served: Served, store: str) -> None:
        import grpc
        from google.cloud.bigtable_admin_v2.services.bigtable_table_admin import (
            BaseBigtableTableAdminClient,
            transports,
        )

        super().__init__(served, store)
        channel = grpc.insecure_channel(served.host("bigtable"))
        transport = transports.BigtableTableAdminGrpcTransport(channel=channel)
        self.client: Any = BaseBigtableTableAdminClient(transport=transport)

    @property
    def environ(self) -> Mapping[str, str]:
        return {"BIGTABLE_EMULATOR_HOST": self.served.host("bigtable")}

    def names(self) -> set[str]:
        return {one.name.rpartition("/")[2] for one in self.client.list_tables(parent=_INSTANCE)}

    def make(self, name: str, tags: Mapping[str, str]) -> None:
        table: dict[str, Any] = {"column_families": {"precious": {}}}
        self.client.create_table(parent=_INSTANCE, table_id=name, table=table)

    def holds(self, name: str) -> bool:
        return list(self.client.get_table(name=f"{_INSTANCE}/tables/{name}").column_families) == ["precious"]
