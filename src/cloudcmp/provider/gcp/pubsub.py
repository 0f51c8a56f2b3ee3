"""Topics and subscriptions of Google Pub/Sub."""

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.errors import IncompleteListing, NoCredentials, ProviderFault, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import CreateRequest, Handle, Listing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.data_sets import DataSetName, DataSets, Found, resources
from cloudcmp.provider.common.hosts import addresses_of, is_loopback
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.gcp.grpc_sdk import GrpcSdk
from cloudcmp.provider.gcp.storage_sdk import is_missing, is_taken
from cloudcmp.provider.gcp.tags import exact_labels, exact_tags

_CLOCKS_S = 60.0  # a token outlives its trial by as much as clocks may differ
_NOWHERE = ("", "unknown")
_HIDDEN_S = 60  # as long as a receive of the agent wants a message hidden
_KEPT_S, _EXPIRY_S = 600, 86_400  # the least that the service allows
TOPIC, SUBSCRIPTION = "topics", "subscriptions"


class PubSubSdk(GrpcSdk):
    """The clients of Pub/Sub's topics and subscriptions."""

    library = "google-cloud-pubsub"
    emulator, host, scope = "PUBSUB_EMULATOR_HOST", "pubsub", "https://www.googleapis.com/auth/pubsub"

    def path(self, kind: str, name: str) -> str:
        """The full name of a topic or a subscription."""
        return f"projects/{self.project()}/{kind}/{name}"

    def make_client(self, kind: str) -> Any:
        """The client of topics or of subscriptions."""
        import_modules("google.cloud.pubsub_v1")
        pubsub_v1: Any = import_module("google.cloud.pubsub_v1")
        of = {TOPIC: pubsub_v1.PublisherClient, SUBSCRIPTION: pubsub_v1.SubscriberClient}[kind]
        return of() if self.endpoint() else of(credentials=self.credentials.session().credentials)


class PubSubDataSets(DataSets):
    """The topics of Pub/Sub, each with a subscription of the same name; labels are the tags, set in the creating calls.

    An unused subscription expires after a day, a topic never does. The environment's PUBSUB_EMULATOR_HOST names an
    emulator, which asks for no credentials. A trial gets a token that opens the project's Pub/Sub, for an hour at most:
    Google has none for one topic.
    """

    def __init__(self, name: str, services: Iterable[Service] = (), *, sdk: PubSubSdk | None = None) -> None:
        self.name = name
        self._sdk = sdk or PubSubSdk(name.partition("-")[0])
        self._regions = tuple(dict.fromkeys(one.region for one in services if one.kind is ServiceKind.QUEUE))
        self.billed = not is_loopback(self._sdk.endpoint() or "")  # nothing that stays on this machine costs money

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Whether the credentials may list topics of the project."""
        if not any(one.service and one.service.kind is ServiceKind.QUEUE for one in candidates):
            return ()
        try:
            await self._named(TOPIC)
        except ProviderFault as fault:
            return (Finding("queue of gcp", False, fault.faults[0].what, fault.faults[0].next),)
        project = await self._sdk.run_in_thread(self._sdk.project)
        return (Finding("queue of gcp", True, self._sdk.with_endpoint(f"topics of project {project} can be listed")),)

    async def account(self) -> str:
        """The project in use, and the endpoint if it is not Google's own."""
        return self._sdk.with_endpoint(await self._sdk.run_in_thread(self._sdk.project))

    async def _create(self, request: CreateRequest, name: str) -> str:
        topic, subscription = await self._paths(name)
        labels = exact_labels(request.tags)
        made: dict[str, Any] = {"name": topic, "labels": labels}
        if request.region not in _NOWHERE:
            made["message_storage_policy"] = {"allowed_persistence_regions": [request.region]}
        await self._make(TOPIC, lambda client, how: client.create_topic(request=made, **how))
        read = {
            "name": subscription,
            "topic": topic,
            "labels": labels,
            "ack_deadline_seconds": _HIDDEN_S,
            "message_retention_duration": {"seconds": _KEPT_S},
            "expiration_policy": {"ttl": {"seconds": _EXPIRY_S}},
        }
        await self._make(SUBSCRIPTION, lambda client, how: client.create_subscription(request=read, **how))
        return name

    async def _make(self, kind: str, work: Callable[[Any, dict[str, Any]], Any]) -> None:
        """Creates one of both; one that is there is this request's, because names are the project's own."""
        try:
            await self._sdk.call(kind, work, changes=True)
        except Refused as fault:
            if not is_taken(fault):
                raise

    async def _paths(self, name: str) -> tuple[str, str]:
        paths = await self._sdk.run_in_thread(lambda: (self._sdk.path(TOPIC, name), self._sdk.path(SUBSCRIPTION, name)))
        return paths[0], paths[1]

    async def _list(self, region: str | None) -> Listing:
        place = region or (self._regions[0] if len(self._regions) == 1 else "")
        found: dict[str, Found] = {}
        try:
            for kind in (SUBSCRIPTION, TOPIC):  # a subscription may outlive its topic
                for name, labels in await self._named(kind):
                    found[name] = Found(name, place, exact_tags(labels))
        except NoCredentials:
            raise
        except ProviderFault as fault:
            raise IncompleteListing(*fault.faults) from fault
        return Listing(resources(found.values()))

    async def _named(self, kind: str) -> list[tuple[str, dict[str, str]]]:
        """The names and labels of all topics or subscriptions whose names are cloudcmp's."""
        project = f"projects/{await self._sdk.run_in_thread(self._sdk.project)}"

        def work(client: Any, how: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
            pages = getattr(client, f"list_{kind}")(request={"project": project}, **how)
            listed = ((one.name.rpartition("/")[2], dict(one.labels)) for one in pages)
            return [(name, labels) for name, labels in listed if DataSetName.read(name)]

        return await self._sdk.call(kind, work)

    async def destroy(self, handle: Handle) -> None:
        """Deletes a subscription with its messages, then its topic."""
        topic, subscription = await self._paths(handle.cloud_id)
        await self._remove(
            SUBSCRIPTION, lambda client, how: client.delete_subscription(subscription=subscription, **how)
        )
        await self._remove(TOPIC, lambda client, how: client.delete_topic(topic=topic, **how))

    async def _remove(self, kind: str, work: Callable[[Any, dict[str, Any]], Any]) -> None:
        try:
            await self._sdk.call(kind, work, changes=True)
        except Refused as fault:
            if not is_missing(fault):
                raise

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a topic and its subscription are gone: the service knows neither."""
        topic, subscription = await self._paths(handle.cloud_id)
        there = (
            await self._is_there(TOPIC, lambda client, how: client.get_topic(topic=topic, **how)),
            await self._is_there(
                SUBSCRIPTION, lambda client, how: client.get_subscription(subscription=subscription, **how)
            ),
        )
        return None if any(there) else f"there is no topic and no subscription {handle.cloud_id}"

    async def _is_there(self, kind: str, work: Callable[[Any, dict[str, Any]], Any]) -> bool:
        try:
            await self._sdk.call(kind, work)
        except Refused as fault:
            if is_missing(fault):
                return False
            raise
        return True

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The topic, with a token that opens the project's Pub/Sub."""
        (topic, _), url = await self._paths(handle.cloud_id), await self._sdk.run_in_thread(self._sdk.url)
        token = await self._sdk.run_in_thread(lambda: self._sdk.token(until + _CLOCKS_S))
        credential = {"kind": "token", "header": "authorization", "value": f"Bearer {token}"} if token else None
        addresses = await addresses_of(urlsplit(url).hostname or "")
        return DataSet("pubsub", url, topic, service.region, addresses=addresses, credential=credential)
