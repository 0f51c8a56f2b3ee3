"""The agent's Pub/Sub beside Google's own client, at Google's test server, with the access of a trial."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agent.made_data_sets import made, serving_or_skip
from tests.servers.clients import google
from tests.servers.serving import Served

from cloudcmp.agent import encode_job
from cloudcmp.execute.cast import target_of
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.plan import PlannedTrial


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """An empty server of Pub/Sub."""
    with serving_or_skip("pubsub") as one:
        yield one


@pytest.fixture
def topic(server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[DataSet]:
    """A topic and its subscription, made by the driver."""
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", server.host("pubsub"))
    with made(Service(ServiceKind.QUEUE, "gcp", "here")) as found:
        yield found


def measure(agent: Path, access: DataSet, probe: str = "queue", **params: str) -> tuple[str, dict[str, Any], str]:
    """Runs a trial; gives its outcome, its notes and its error."""
    target, credentials = target_of(access)
    own = {"duration_s": "0.5", **params}
    trial = PlannedTrial(0, 0, probe, tuple(sorted(own.items())), (), 0, 0.0, 1.0, 20.0, 7)
    line = encode_job(trial, cpus=[0], folder=None, role="client", targets=[target], credentials=credentials)
    with subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        frames = [json.loads(text) for text in process.stdout.read().splitlines()]
    notes = {frame["key"]: frame["value"] for frame in frames if frame["type"] == "note"}
    errors = [frame["what"] for frame in frames if frame["type"] == "error"]
    return frames[-1]["outcome"], notes, " ".join(errors)


def texts_of(client: Any, subscription: str, count: int) -> list[str]:
    """The texts of so many messages that Google's own client receives and acknowledges."""
    texts: list[str] = []
    while len(texts) < count:
        some = client.pull(subscription=subscription, max_messages=1000, timeout=30).received_messages
        texts += [one.message.data.decode() for one in some]
        client.acknowledge(subscription=subscription, ack_ids=[one.ack_id for one in some])
    return texts


def test_googles_client_receives_what_the_agent_sends(agent: Path, server: Served, topic: DataSet) -> None:
    witness = "projects/cloudcmp/subscriptions/witness"
    with google(server, "pubsub") as pubsub, pubsub.SubscriberClient() as client:
        client.create_subscription(name=witness, topic=topic.name)
        outcome, notes, error = measure(agent, topic, op="send", size_bytes="50")
        assert (outcome, error, notes["purged"]) == ("ok", "", True)
        assert notes["operations"] > 5
        texts = texts_of(client, witness, notes["operations"])
        client.delete_subscription(subscription=witness)
    assert len(set(texts)) == len(texts) == notes["operations"]
    assert {len(text) for text in texts} == {50}


def test_the_agent_receives_what_it_sent_and_removes_what_somebody_else_did(
    agent: Path, server: Served, topic: DataSet
) -> None:
    with google(server, "pubsub") as pubsub:
        publisher = pubsub.PublisherClient()
        publisher.publish(topic.name, b"somebody's").result(30)
        publisher.stop()
    outcome, notes, error = measure(agent, topic, op="receive", size_bytes="50")
    assert (outcome, error, notes["wrong_bodies"], notes["removed_before"]) == ("ok", "", 0, 1)
    assert notes["operations"] > 5


@pytest.mark.parametrize("probe", ["propagation", "consistency"])
def test_a_message_is_followed_through_an_empty_queue(agent: Path, topic: DataSet, probe: str) -> None:
    params = {"service": "queue", "change": "write"} if probe == "consistency" else {}
    outcome, notes, error = measure(agent, topic, probe, **params)
    assert (outcome, error, notes["wrong_bodies"]) == ("ok", "", 0)


def test_a_mistake_is_one_line_with_the_status_of_grpc(agent: Path, server: Served, topic: DataSet) -> None:
    def fails(access: DataSet, **params: str) -> str:
        outcome, _, error = measure(agent, access, **params)
        assert outcome == "failed"
        assert "\n" not in error
        return error

    assert "5 NOT_FOUND" in fails(replace(topic, name="projects/cloudcmp/topics/cloudcmp-nobodys"), op="send")
    other = {"kind": "sas", "query": "sig=secret"}
    assert "takes a credential of kind token" in fails(replace(topic, credential=other))
    assert "no such operation" in measure(agent, topic, "blob")[2]
