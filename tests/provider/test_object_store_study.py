"""Whole studies of Swift and of Google's services, seen from this machine: measured, answered, and nothing left."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.servers.clients import gcs, google, swift
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving

PROBES = {
    "blob": "{probe: blob, params: {op: [download, upload], size_bytes: 1 KiB, objects: 4, duration_s: 0.5 s}}",
    "table": "{probe: table, params: {op: [get, put, query], entries: 100, duration_s: 0.5 s}}",
    "queue": "{probe: queue, params: {op: [send, receive], duration_s: 0.5 s}}",
}
DECIDES = {
    "blob": "blob_latency_s percentile=50;op=download",
    "table": "table_latency_s percentile=50;op=query",
    "queue": "queue_latency_s percentile=50;op=send",
}
CASES = [
    ("openstack", "blob", "swift"),
    ("gcp", "blob", "fake-gcs"),
    ("gcp", "queue", "pubsub"),
    ("gcp", "table", "firestore"),
]


def study(provider: str, kind: str) -> str:
    prices = "requests: 0.05 USD/10000, moved: 0.01 USD/GB, stored: 0.02 USD/GB-month"
    candidates = "\n".join(
        f"  - {{provider: {provider}, region: here, service: {kind}, name: {name}, from: local, prices: {{{prices}}}}}"
        for name in ("one", "two")
    )
    return (
        f"schema: 1\nquestion: Which of two equal services answers sooner?\ncandidates:\n{candidates}\n"
        f"probes:\n  - {PROBES[kind]}\ndecide:\n  - {DECIDES[kind]}\nlaunches: 2\nbudget: 5 USD\n"
    )


def environ(one: Served) -> Mapping[str, str]:
    """The variables by which the provider's own clients find a server."""
    if one.name == "swift":
        return {"OS_AUTH_URL": one.endpoints["swift"], "OS_USERNAME": one.access, "OS_PASSWORD": one.secret}
    if one.name in {"pubsub", "firestore"}:
        return {f"{one.name.upper()}_EMULATOR_HOST": one.host(one.name)}
    return {"STORAGE_EMULATOR_HOST": one.endpoints["gcs"]}


def left(one: Served) -> list[str]:
    """The names of all data sets that a server still has, by the provider's own client."""
    if one.name == "swift":
        with closing(swift(one)) as client:
            return [str(each["name"]) for each in client.get_account()[1]]
    if one.name == "pubsub":
        with google(one, "pubsub") as pubsub:
            topics = pubsub.PublisherClient().list_topics(project="projects/cloudcmp")
            subscriptions = pubsub.SubscriberClient().list_subscriptions(project="projects/cloudcmp")
            return [each.name for some in (topics, subscriptions) for each in some]
    if one.name == "firestore":
        with google(one, "firestore") as firestore:
            return [str(each.id) for each in firestore.Client(project="cloudcmp").collections()]
    with closing(gcs(one)) as client:
        return [str(each.name) for each in client.list_buckets()]


@pytest.mark.parametrize(("provider", "kind", "server"), CASES)
def test_a_study_runs_is_answered_and_leaves_nothing(
    agent: Path, provider: str, kind: str, server: str, tmp_path: Path
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(study(provider, kind))
    try:
        with serving(server) as one:
            own = {**environ(one), "CLOUDCMP_AGENT": str(agent)}
            ran = cloudcmp("run", file, "--out", tmp_path / "out", **own)
            assert ran.code == 0, ran.out + ran.err
            assert ", all ok" in ran.out
            assert left(one) == []
            secrets = [one.secret, "AUTH_tk"] if one.secret else []
    except Absent as absent:
        pytest.skip(str(absent))
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(secret.encode() in content for secret in secrets), path
