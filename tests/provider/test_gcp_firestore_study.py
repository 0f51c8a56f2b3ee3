"""Studies of Firestore that are killed: `cleanup`, or a sweep from an empty home, leaves nothing of theirs there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.servers.clients import google
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving
from tests.slices import long

STUDY = """\
schema: 1
question: How soon is a document read?
candidates:
  - {provider: gcp, region: here, service: table, api: firestore, from: local, prices: {requests: 0.05 USD/10000}}
probes:
  - {probe: table, params: {op: [get, query], entries: 200, duration_s: 0.3 s}}
launches: 2
budget: 5 USD
"""
THEIRS = ("cloudcmp-backup", f"cloudcmp-{'ab' * 16}-7fffffff", "other")
"""Collections of other people: one whose name begins alike, one of another study, and one that has nothing of ours."""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """A Firestore with the collections of other people."""
    try:
        with serving("firestore") as one:
            with google(one, "firestore") as firestore:
                client = firestore.Client(project="cloudcmp")
                for name in THEIRS:
                    client.collection(name).document("precious").set({"v": name})
                tags = {"cloudcmp:study": "another-study", "cloudcmp:schema": "1"}
                client.collection(THEIRS[1]).document("cloudcmp").set({"tags": tags})
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


def there(server: Served) -> dict[str, int]:
    """How many documents each collection has, by Google's own client."""
    with google(server, "firestore") as firestore:
        client = firestore.Client(project="cloudcmp")
        return {str(one.id): len(list(one.stream())) for one in client.collections()}


def killed(server: Served, agent: Path, folder: Path) -> dict[str, str]:
    """A study that is killed when its first trial has ended; returns the variables that its commands need."""
    environ = {"FIRESTORE_EMULATOR_HOST": server.host("firestore"), "CLOUDCMP_AGENT": str(agent)}
    (folder / "study.yaml").write_text(STUDY)
    before = there(server)
    ran = cloudcmp(
        "run", folder / "study.yaml", "--out", folder / "out", CLOUDCMP_CRASH_AT="finish.after_commit:1", **environ
    )
    assert ran.code == -9, ran.out + ran.err
    left = there(server)
    assert len(left) == len(before) + 1
    assert max(left.values()) > 100, "with its rows"
    return environ


@long
def test_p01_a_killed_study_leaves_nothing_once_it_is_cleaned_up(agent: Path, server: Served, tmp_path: Path) -> None:
    before = there(server)
    environ = killed(server, agent, tmp_path)
    cleaned = cloudcmp("cleanup", tmp_path / "out", **environ)
    assert cleaned.code == 0, cleaned.out + cleaned.err
    assert there(server) == before


@long
def test_p11_a_sweep_without_the_studys_folder_finds_it_and_touches_nothing_else(
    agent: Path, server: Served, tmp_path: Path
) -> None:
    before = there(server)
    environ = killed(server, agent, tmp_path)
    (mine,) = there(server).keys() - before.keys()
    (tmp_path / "empty").mkdir()
    listed = cloudcmp("sweep", "gcp-firestore", HOME=str(tmp_path / "empty"), **environ)
    assert mine in "".join((listed.out + listed.err).split())
    with google(server, "firestore") as firestore:
        marker = firestore.Client(project="cloudcmp").collection(mine).document("cloudcmp").get().to_dict()
    tag = marker["tags"]["cloudcmp:study"]
    swept = cloudcmp("sweep", "gcp-firestore", "--delete", "--study", tag, HOME=str(tmp_path / "empty"), **environ)
    assert swept.code == 0, swept.out + swept.err
    assert there(server) == before
