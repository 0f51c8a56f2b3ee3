"""Google's own libraries, at the emulators of their services."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.client.trials import run
from tests.servers.clients import gcs, google
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving

from cloudcmp.agent import JobTarget

BUCKET = "cloudcmp-test"
TOPIC = "projects/p/topics/cloudcmp-test"


@contextmanager
def emulator(name: str) -> Iterator[Served]:
    """An empty emulator; skips a test where it is not fetched."""
    try:
        with serving(name) as one:
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


def asked(one: Served, protocol: str, data_set: str, probe: str, **params: str) -> Any:
    """A trial without a credential, which an emulator does not ask for."""
    endpoint = one.endpoints[protocol].replace("grpc://", "http://")
    place = JobTarget("service", endpoint=endpoint, protocol=protocol, data_set=data_set)
    return run(place, {"value": "no such text"}, probe, deadline_s=60.0, **params)


def test_blobs_are_measured_in_one_request_each() -> None:
    with emulator("fake-gcs") as one:
        gcs(one).create_bucket(BUCKET)
        for op in ("download", "upload", "list"):
            ran = asked(one, "gcs", BUCKET, "blob", op=op, objects="4", size_bytes="3000", concurrency="2")
            assert ran.outcome == "ok", ran
            assert (ran.notes["wrong_bodies"], ran.notes["broken_connections"]) == (0, 0)
            assert ran.notes["client_version"].startswith("google-cloud-storage ")
        ran = asked(one, "gcs", BUCKET, "blob", op="upload", objects="1", size_bytes=str(9 * 2**20))
        assert ran.outcome == "ok", ran
        missing = asked(one, "gcs", "not-there", "blob", op="upload")
        assert (missing.outcome, "404" in missing.error) == ("failed", True)


@pytest.mark.filterwarnings("ignore:.*return_immediately:DeprecationWarning")  # the agent asks so, too
def test_messages_are_measured() -> None:
    with emulator("pubsub") as one:
        with google(one, "pubsub") as pubsub:
            pubsub.PublisherClient().create_topic(name=TOPIC)
            pubsub.SubscriberClient().create_subscription(name=TOPIC.replace("topics", "subscriptions"), topic=TOPIC)
        for op in ("send", "receive"):
            ran = asked(one, "pubsub", TOPIC, "queue", op=op)
            assert ran.outcome == "ok", ran
            assert ran.notes["wrong_bodies"] == 0
            assert ran.notes["client_version"].startswith("google-cloud-pubsub ")


def test_failures_are_judged_by_the_services_own_codes() -> None:
    from google.api_core import exceptions

    from cloudcmp.client.google import _failure_of

    for error, kind, words in (
        (exceptions.TooManyRequests("slow"), "throttled", "429"),
        (exceptions.Forbidden("no", errors=[{"reason": "rateLimitExceeded"}]), "throttled", "rateLimitExceeded"),
        (exceptions.NotFound("none"), "client_errors", "404"),
        (exceptions.InternalServerError("oh"), "server_errors", "500"),
        (exceptions.DeadlineExceeded("late"), "timeouts", "no answer"),
        (ConnectionResetError("gone"), "broken_connections", "gone"),
    ):
        failure = _failure_of(error)  # type: ignore[no-untyped-call]
        assert (failure.kind.value, words in failure.what) == (kind, True), failure
