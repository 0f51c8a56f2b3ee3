"""A whole study of Azure's storage, seen from this machine: measured at Azurite, answered, and nothing left."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.servers.clients import azure, azure_connection
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving
from tests.slices import some

from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.azure.storage import CONNECTION
from cloudcmp.provider.local import LocalProvider

PROBES = {
    "blob": "{probe: blob, params: {op: [download, upload], size_bytes: 1 KiB, objects: 4, duration_s: 0.5 s}}",
    "table": "{probe: table, params: {op: [get, query], entries: 100, duration_s: 0.5 s}}",
    "queue": "{probe: queue, params: {op: [send, receive], duration_s: 0.5 s}}",
}
LISTS = {"blob": "list_containers", "table": "list_tables", "queue": "list_queues"}
DECIDES = {
    "blob": "blob_latency_s percentile=50;op=download",
    "table": "table_latency_s percentile=50;op=get",
    "queue": "queue_latency_s percentile=50;op=send",
}


@pytest.fixture(scope="module")
def azurite() -> Iterator[Served]:
    """An empty Azurite."""
    try:
        with serving("azurite") as one:
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


def study(kind: str, prices: str = "requests: 0.05 USD/10000, moved: 0.01 USD/GB, stored: 0.02 USD/GB-month") -> str:
    here = LocalProvider(OwnedPath(Path())).offerings()[0].name
    seen_from = f"from: {{provider: local, offering: {here}, price: 0.01 USD/h}}"
    candidate = (
        f"{{provider: azure, region: westeurope, service: {kind}, name: NAME, {seen_from}, prices: {{{prices}}}}}"
    )
    candidates = "\n".join(f"  - {candidate.replace('NAME', name)}" for name in ("one", "two"))
    return (
        f"schema: 1\nquestion: Which of two equal accounts answers sooner?\ncandidates:\n{candidates}\n"
        f"probes:\n  - {PROBES[kind]}\ndecide:\n  - {DECIDES[kind]}\nlaunches: 2\nbudget: 5 USD\n"
    )


@pytest.mark.parametrize("kind", some(list(PROBES), 1, 1))
def test_a_study_of_a_service_runs_is_answered_and_leaves_nothing(
    agent: Path, azurite: Served, kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(study(kind))
    environ = {CONNECTION: azure_connection(azurite), "CLOUDCMP_AGENT": str(agent)}
    ran = cloudcmp("run", file, "--out", tmp_path / "out", **environ)
    assert ran.code == 0, ran.out + ran.err
    assert "azure/one" in ran.out
    assert azurite.secret not in ran.out + ran.err
    with azure(azurite, kind) as client:
        assert list(getattr(client, LISTS[kind])()) == []
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert azurite.secret.encode() not in content, path
            assert b"sig=" not in content, path
