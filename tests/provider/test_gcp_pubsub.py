"""Topics and subscriptions as data sets, at Google's test server: made with labels, found, listed, emptied, gone."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any

import pytest
from google.oauth2 import service_account
from tests.provider import data_sets
from tests.servers.clients import google
from tests.servers.serving import Served

from cloudcmp.errors import NoCredentials, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, Handle
from cloudcmp.provider.gcp.pubsub import SUBSCRIPTION, TOPIC, PubSubDataSets, PubSubSdk

REGION = "europe-west1"
QUEUE = Service(ServiceKind.QUEUE, "gcp", REGION)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """An empty server of Pub/Sub."""
    with data_sets.empty_server("pubsub") as one:
        yield one


@pytest.fixture
def account(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """That server, named by the environment."""
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", server.host("pubsub"))
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    return server


def store() -> PubSubDataSets:
    """The provider of topics, as a study has it made."""
    return data_sets.made(PubSubDataSets, QUEUE)


def handle(name: str) -> Handle:
    return Handle(DATA_SET, REGION, name)


def test_a_topic_is_made_with_its_subscription_found_and_gone(account: Served) -> None:
    data_sets.live(store(), REGION, "topic and no subscription", study="Größer & <b>")


@pytest.mark.parametrize("left", [TOPIC, SUBSCRIPTION])
def test_half_of_a_data_set_is_found_and_removed(account: Served, left: str) -> None:
    name = asyncio.run(store().create(data_sets.request(REGION)))
    with google(account, "pubsub") as pubsub:
        if left == TOPIC:
            pubsub.SubscriberClient().delete_subscription(subscription=f"projects/cloudcmp/subscriptions/{name}")
        else:
            pubsub.PublisherClient().delete_topic(topic=f"projects/cloudcmp/topics/{name}")
    (found,) = asyncio.run(store().leftovers()).found
    assert found.cloud_id == name
    assert asyncio.run(store().gone(handle(name))) is None
    asyncio.run(store().destroy(handle(name)))
    assert asyncio.run(store().gone(handle(name))) is not None


def test_what_only_looks_like_ours_is_never_listed(account: Served) -> None:
    with google(account, "pubsub") as pubsub:
        client = pubsub.PublisherClient()
        for name in data_sets.LOOK_ALIKES:
            client.create_topic(name=f"projects/cloudcmp/topics/{name}")
        data_sets.lists_nothing(store())
        for name in data_sets.LOOK_ALIKES:
            client.delete_topic(topic=f"projects/cloudcmp/topics/{name}")


def test_an_unused_subscription_expires_and_hides_what_was_received(account: Served) -> None:
    name = asyncio.run(store().create(data_sets.request(REGION)))
    with google(account, "pubsub") as pubsub:
        made = pubsub.SubscriberClient().get_subscription(subscription=f"projects/cloudcmp/subscriptions/{name}")
        assert made.expiration_policy.ttl.total_seconds() == 86_400
        assert made.ack_deadline_seconds == 60
        assert made.topic == f"projects/cloudcmp/topics/{name}"
    asyncio.run(store().destroy(handle(name)))


def test_a_trial_needs_no_token_there_and_the_project_is_checked(account: Served) -> None:
    url = f"http://{account.host('pubsub')}"
    given = asyncio.run(store().data_set(QUEUE, handle("cloudcmp-x"), time() + 60.0))
    assert given == DataSet("pubsub", url, "projects/cloudcmp/topics/cloudcmp-x", REGION)
    (finding,) = asyncio.run(store().check([data_sets.candidate(QUEUE)]))
    assert (finding.ok, finding.text) == (True, f"topics of project cloudcmp can be listed at {url}")
    assert asyncio.run(store().account()) == f"cloudcmp at {url}"


class Broad(service_account.Credentials):
    """A service account without Google: its tokens name their scopes."""

    def refresh(self, request: Any) -> None:
        from datetime import UTC, datetime, timedelta

        self.token = f"token of {' '.join(self.scopes)}"
        self.expiry = (datetime.now(UTC) + timedelta(seconds=3600)).replace(tzinfo=None)


def test_a_trials_token_opens_pubsub_alone_and_lives_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PUBSUB_EMULATOR_HOST", raising=False)
    sdk = PubSubSdk("gcp")
    sdk.credentials._credentials = Broad(None, "me@example.org", "https://example.org", scopes=["all"])  # type: ignore[no-untyped-call]
    sdk.credentials._project = "mine"
    monkeypatch.setattr("cloudcmp.provider.gcp.pubsub.addresses_of", data_sets.no_addresses)
    driver = PubSubDataSets("gcp-pubsub", sdk=sdk)
    access = asyncio.run(driver.data_set(QUEUE, handle("cloudcmp-x"), time() + 600.0))
    assert (access.endpoint, access.name) == ("https://pubsub.googleapis.com", "projects/mine/topics/cloudcmp-x")
    value = "Bearer token of https://www.googleapis.com/auth/pubsub"
    assert access.credential == {"kind": "token", "header": "authorization", "value": value}
    assert driver.billed
    with pytest.raises(Refused, match="before the trial may end; choose shorter trials"):
        asyncio.run(driver.data_set(QUEUE, handle("cloudcmp-x"), time() + 3600.0))


def test_without_credentials_a_list_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PUBSUB_EMULATOR_HOST", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(NoCredentials, match="there are no credentials"):
        asyncio.run(store().leftovers())
    (finding,) = asyncio.run(store().check([data_sets.candidate(QUEUE)]))
    assert (finding.ok, finding.text) == (False, "there are no credentials")
