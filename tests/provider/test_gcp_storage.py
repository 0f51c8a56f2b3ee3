"""Buckets of Cloud Storage as data sets, at fake-gcs-server: made with their labels, found, listed, emptied, gone."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from google.oauth2.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st
from tests.provider import data_sets
from tests.servers.clients import gcs
from tests.servers.serving import Served

from cloudcmp.errors import NoCredentials, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, Handle
from cloudcmp.provider.common.data_sets import DataSetName
from cloudcmp.provider.gcp.storage import StorageDataSets
from cloudcmp.provider.gcp.storage_sdk import StorageSdk
from cloudcmp.provider.gcp.tags import exact_labels, exact_tags

REGION = "europe-west1"
BLOB = Service(ServiceKind.BLOB, "gcp", REGION)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """An empty fake-gcs-server."""
    with data_sets.empty_server("fake-gcs") as one:
        yield one


@pytest.fixture
def account(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """That server, named by the environment."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.endpoints["gcs"])
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    return server


def store() -> StorageDataSets:
    """The provider of buckets, as a study has it made."""
    return data_sets.made(StorageDataSets, BLOB)


def handle(name: str) -> Handle:
    return Handle(DATA_SET, REGION, name)


def test_a_bucket_is_made_found_by_its_name_and_gone(account: Served) -> None:
    data_sets.live(store(), REGION, "bucket", tagged=False)


def test_a_full_bucket_is_emptied_first(account: Served) -> None:
    name = asyncio.run(store().create(data_sets.request(REGION)))
    with closing(gcs(account)) as client:
        for key in (*(f"b/10/{index:06d}" for index in range(12)), "ä ö?&#%2F"):
            client.bucket(name).blob(key).upload_from_string(b"x")
        asyncio.run(store().destroy(handle(name)))
        assert name not in {each.name for each in client.list_buckets()}


def test_what_only_looks_like_ours_is_never_listed(account: Served) -> None:
    with closing(gcs(account)) as client:
        for name in data_sets.LOOK_ALIKES:
            client.create_bucket(name)
        data_sets.lists_nothing(store())
        for name in data_sets.LOOK_ALIKES:
            client.bucket(name).delete()


class Buckets(BaseHTTPRequestHandler):
    """The part of Cloud Storage that keeps what buckets were made with; names of others are taken."""

    made: ClassVar[dict[str, dict[str, Any]]] = {}
    of_others: ClassVar[set[str]] = set()

    def do_POST(self) -> None:
        bucket = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if bucket["name"] in self.made or bucket["name"] in self.of_others:
            why = {"message": "The requested bucket name is not available.", "reason": "conflict"}
            return self._say(409, {"error": {"code": 409, "message": why["message"], "errors": [why]}})
        self.made[bucket["name"]] = bucket
        return self._say(200, bucket)

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        names = sorted(name for name in self.made if name.startswith(asked.get("prefix", [""])[0]))
        at = int(asked.get("pageToken", ["0"])[0])
        more = {"nextPageToken": str(at + 1)} if at + 1 < len(names) else {}  # one bucket a page
        self._say(200, {"kind": "storage#buckets", "items": [self.made[name] for name in names[at : at + 1]], **more})

    def _say(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def test_tags_are_labels_in_the_creating_call_and_a_name_of_somebody_else_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, more, theirs = (data_sets.request(REGION, study) for study in ("Größer & <b>", "study-b", "study-a"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Buckets) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.server_port}")
        name = asyncio.run(store().create(ours))
        assert asyncio.run(store().create(ours)) == name, "idempotent"
        made = Buckets.made[name]
        assert made["location"] == REGION
        assert made["softDeletePolicy"] == {"retentionDurationSeconds": "0"}
        assert made["iamConfiguration"]["uniformBucketLevelAccess"] == {"enabled": True}
        asyncio.run(store().create(more))
        (found,) = asyncio.run(store().find("Größer & <b>"))
        assert (found.cloud_id, found.tags) == (name, tuple(sorted(ours.tags)))
        assert len(asyncio.run(store().leftovers()).found) == 2, "of two pages"
        Buckets.of_others.add(str(DataSetName.of(theirs)))
        with pytest.raises(Refused, match="not available"):
            asyncio.run(store().create(theirs))
        Buckets.made[name]["labels"] = {"cloudcmp-study": "another"}
        with pytest.raises(Refused, match="not available"):
            asyncio.run(store().create(ours))
        server.shutdown()


def test_a_trial_needs_no_token_there_and_the_project_is_checked(
    account: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = asyncio.run(store().data_set(BLOB, handle("cloudcmp-x"), time() + 60.0))
    assert given == DataSet("gcs", account.endpoints["gcs"], "cloudcmp-x", REGION)
    (finding,) = asyncio.run(store().check([data_sets.candidate(BLOB)]))
    text = f"buckets of project cloudcmp can be listed at {account.endpoints['gcs']}"
    assert (finding.ok, finding.text) == (True, text)
    assert asyncio.run(store().account()) == f"cloudcmp at {account.endpoints['gcs']}"
    assert abs((asyncio.run(store().date()) or 0.0) - time()) < 60
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:9")
    (finding,) = asyncio.run(store().check([data_sets.candidate(BLOB)]))
    assert finding.ok is False
    assert "\n" not in finding.text


@given(st.dictionaries(st.from_regex(r"cloudcmp:[a-z]{1,9}", fullmatch=True), st.text(max_size=90), max_size=6))
def test_tags_are_read_back_from_labels_exactly(tags: dict[str, str]) -> None:
    pairs = tuple(sorted(tags.items()))
    labels = exact_labels(pairs)
    assert exact_tags(labels | {"cloudcmp-token": ""} | {"other": "x"}) == tuple(
        sorted((*pairs, *(() if "cloudcmp:token" in tags else (("cloudcmp:token", ""),))))
    )
    for key, value in labels.items():
        assert len(key) <= 63
        assert len(value) <= 63
        assert set(key + value) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")


class Broad(Credentials):
    """Credentials whose token is always good for another hour."""

    def refresh(self, request: Any) -> None:
        self.token, self.expiry = "broad", (datetime.now(UTC) + timedelta(hours=1)).replace(tzinfo=None)


@contextmanager
def token_server(lives_s: int) -> Iterator[tuple[str, list[dict[str, list[str]]]]]:
    """A server in place of Google's, that exchanges tokens: its URL, and the forms that it was sent."""
    forms: list[dict[str, list[str]]] = []

    class Exchange(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            forms.append(parse_qs(self.rfile.read(int(self.headers["content-length"])).decode()))
            body = json.dumps({"access_token": "narrow", "expires_in": lives_s, "token_type": "Bearer"}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Exchange) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/token", forms
        server.shutdown()


def test_a_trials_token_opens_its_bucket_alone_and_lives_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    sdk = StorageSdk()
    sdk._sdk._credentials = Broad("")  # type: ignore[no-untyped-call]
    sdk._sdk._project = "mine"
    with token_server(3000) as (url, forms):
        monkeypatch.setattr("google.auth.downscoped._STS_TOKEN_URL_PATTERN", url + "?{}")
        driver = StorageDataSets("gcp-storage", sdk=sdk)
        monkeypatch.setattr("cloudcmp.provider.gcp.storage.addresses_of", data_sets.no_addresses)
        access = asyncio.run(driver.data_set(BLOB, handle("cloudcmp-x"), time() + 600.0))
        assert driver.billed
        with pytest.raises(Refused, match="before the trial may end; choose shorter trials"):
            asyncio.run(driver.data_set(BLOB, handle("cloudcmp-x"), time() + 3000.0))
    assert (access.endpoint, access.protocol) == ("https://storage.googleapis.com", "gcs")
    assert access.credential == {"kind": "token", "header": "authorization", "value": "Bearer narrow"}
    assert forms[0]["subject_token"] == ["broad"]
    (rule,) = json.loads(unquote(forms[0]["options"][0]))["accessBoundary"]["accessBoundaryRules"]
    assert rule == {
        "availableResource": "//storage.googleapis.com/projects/_/buckets/cloudcmp-x",
        "availablePermissions": ["inRole:roles/storage.objectUser"],
    }


def test_without_credentials_a_list_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("STORAGE_EMULATOR_HOST", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(NoCredentials, match="there are no credentials"):
        asyncio.run(store().leftovers())
    (finding,) = asyncio.run(store().check([data_sets.candidate(BLOB)]))
    assert (finding.ok, finding.text) == (False, "there are no credentials")
