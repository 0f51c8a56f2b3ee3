"""Google's command, at an emulator; where Google's SDK is installed, which no package registry has."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.trials import run
from tests.servers.clients import gcs
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving
from tests.slices import long

from cloudcmp.agent import JobTarget
from cloudcmp.client.command import CommandFailed
from cloudcmp.client.failures import Kind
from cloudcmp.client.google_cli import Storage
from cloudcmp.client.job import Place

BUCKET = "cloudcmp-test"
TOKEN = {"kind": "token", "value": "Bearer a-token-of-the-tests"}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Served]:
    """An emulator with a bucket; tests are skipped with the reason if it or the command cannot be had."""
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not installed")
    try:
        with serving("fake-gcs") as one:
            gcs(one).create_bucket(BUCKET)
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


def place(emulator: Served, bucket: str = BUCKET) -> Place:
    return Place("gcs", emulator.endpoints["gcs"], bucket, "", "", TOKEN, 10.0)


def test_what_the_command_writes_googles_library_reads(
    emulator: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", "of-the-user")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    blobs, body = Storage(place(emulator)), bytes(range(256)) * 9
    blobs.upload("u/one", body)
    monkeypatch.delenv("HTTP_PROXY")
    assert gcs(emulator).bucket(BUCKET).blob("u/one").download_as_bytes() == body
    assert blobs.download("u/one") == body
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"a-token-of-the-tests" in content for content in kept)
    assert {path.name[:7] for path in tmp_path.iterdir()} == {"gcloud-"}


@long
def test_every_operation_runs_and_a_missing_bucket_is_one_line(
    emulator: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    where = JobTarget("service", endpoint=emulator.endpoints["gcs"], protocol="gcs", data_set=BUCKET)
    for op, size in (("upload", "3000"), ("upload", str(9 * 2**20)), ("download", str(9 * 2**20)), ("list", "3000")):
        ran = run(where, {"value": "no such text"}, "blob", client="cli", op=op, objects="2", size_bytes=size,
                  deadline_s=90.0)  # fmt: skip
        assert ran.outcome == "ok", ran
        assert ran.notes["client_version"].startswith("gcloud ")
        assert ran.notes["retries"] == "unknown"
        assert [ran.notes[kind.value] for kind in Kind] == [0] * 6, ran
    for op in ("upload", "download"):
        with pytest.raises(CommandFailed) as caught:
            getattr(Storage(place(emulator, "not-there")), op)("k", *([b"body"] if op == "upload" else []))
        failure = Storage(place(emulator)).failure_of(caught.value)
        assert (failure.kind, failure.what.startswith("404 ")) == (Kind.CLIENT_ERROR, True), failure


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("ERROR: (gcloud.storage.cat) HTTPError 429: slow", Kind.THROTTLED, "429 slow"),
        ("Copying file:///x to gs://b/u\n  \nERROR: HTTPError 503: later\n....", Kind.SERVER_ERROR, "503 later"),
        ("ERROR: (gcloud.storage.cat) HTTPError 401: who", Kind.CLIENT_ERROR, "401 who"),
        ("ERROR: (gcloud.storage.cp) gs://none not found: 404.", Kind.CLIENT_ERROR, "404 gs://none not found: 404."),
        ("ERROR: gcloud crashed (ConnectionError): refused", Kind.BROKEN,
         "gcloud exited with 1: ERROR: gcloud crashed (ConnectionError): refused"),
        ("ERROR: gcloud crashed (ReadTimeout): Read timed out.", Kind.TIMEOUT, "no answer in time"),
        ("ERROR: (gcloud.storage) Invalid choice: 'cat'.", Kind.CLIENT_ERROR,
         "gcloud exited with 1: ERROR: (gcloud.storage) Invalid choice: 'cat'."),
    ],
)  # fmt: skip
def test_errors_are_judged_by_their_status(
    text: str, kind: Kind, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gcloud").write_text("#!/bin/sh\n")
    (tmp_path / "gcloud").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    blobs = Storage(Place("gcs", "http://127.0.0.1:9", "b", "", "", None))
    failure = blobs.failure_of(CommandFailed(1, text))
    assert (failure.kind, failure.what) == (kind, what)
