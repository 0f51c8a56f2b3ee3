"""Whole studies of Swift and of Google's services, seen from this machine: measured, answered, and nothing left."""

from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.servers.held import HeldService
from tests.servers.services import standing
from tests.slices import long, some

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


def study(service: HeldService) -> str:
    kind, names = service.kind, ("one", "two")
    candidates = "\n".join(
        f"  - {{{service.candidate}, name: {name}, from: local, prices: {{{service.prices}}}}}" for name in names
    )
    return (
        f"schema: 1\nquestion: Which of two equal services answers sooner?\ncandidates:\n{candidates}\n"
        f"probes:\n  - {PROBES[kind]}\ndecide:\n  - {DECIDES[kind]}\nlaunches: 2\nbudget: 5 USD\n"
    )


@long  # a study of one service of another cloud each day: tests/provider/test_azure_storage_study.py
@pytest.mark.parametrize("store", some(["openstack-swift", "gcp-storage", "gcp-pubsub", "gcp-firestore"], 1, 0))
def test_a_study_runs_is_answered_and_leaves_nothing(agent: Path, store: str, tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    with standing((store,)) as there:
        if there.absent:
            pytest.skip(there.absent[0])
        (service,) = there.services
        file.write_text(study(service))
        ran = cloudcmp("run", file, "--out", tmp_path / "out", **there.environ, CLOUDCMP_AGENT=str(agent))
        assert ran.code == 0, ran.out + ran.err
        assert ", all ok" in ran.out
        assert (service.left(), service.touched()) == (set(), [])
        secrets = [service.served.secret, "AUTH_tk"] if service.served.secret else []
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(secret.encode() in content for secret in secrets), path
