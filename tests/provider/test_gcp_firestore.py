"""Collections of Firestore as data sets, at two emulators: made with tags, found, listed, emptied, gone."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time
from typing import Any

import grpc
import pytest
from google.auth.credentials import AnonymousCredentials
from google.oauth2 import service_account
from tests.provider import data_sets
from tests.servers.clients import google
from tests.servers.serving import Served
from tests.slices import some

from cloudcmp.errors import IncompleteListing, NoCredentials, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, Handle
from cloudcmp.model.leftover import STUDY_DIGEST
from cloudcmp.provider.gcp.firestore import DATABASES, MARKER, FirestoreDataSets, FirestoreSdk

REGION = "europe-west1"
TABLE = Service(ServiceKind.TABLE, "gcp", REGION, api="firestore")


@pytest.fixture(scope="module", params=some(["firestore", "firestore-google"], 1, 0))
def server(request: pytest.FixtureRequest) -> Iterator[Served]:
    """An empty Firestore: an independent one, and Google's own where its SDK is installed."""
    with data_sets.empty_server(request.param) as one:
        yield one


@pytest.fixture
def account(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """That server, named by the environment."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.host("firestore"))
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    return server


def store() -> FirestoreDataSets:
    """The provider of collections, as a study has it made."""
    return data_sets.made(FirestoreDataSets, TABLE)


def handle(name: str) -> Handle:
    return Handle(DATA_SET, REGION, name)


def fill(server: Served, name: str, count: int) -> None:
    """Writes rows as an agent does, with Google's own client."""
    with google(server, "firestore") as firestore:
        client = firestore.Client(project="cloudcmp")
        for first in range(0, count, 400):
            batch = client.batch()
            for index in range(first, min(first + 400, count)):
                batch.set(client.collection(name).document(f"r{index:08d}"), {"g": f"g{index // 10}", "v": "x" * 100})
            batch.commit()
        client.close()


def test_a_collection_is_made_with_its_tags_found_and_gone(account: Served) -> None:
    data_sets.live(store(), REGION, "document of a collection", study="Größer & <b>")


def test_a_collection_with_more_rows_than_a_batch_is_emptied(account: Served) -> None:
    name = asyncio.run(store().create(data_sets.request(REGION)))
    fill(account, name, 1203)
    asyncio.run(store().destroy(handle(name)))
    assert asyncio.run(store().gone(handle(name))) is not None
    with google(account, "firestore") as firestore:
        client = firestore.Client(project="cloudcmp")
        assert list(client.collection(name).limit(1).stream()) == []
        client.close()


def test_rows_whose_marker_is_gone_are_found_by_their_collections_name_and_removed(account: Served) -> None:
    one = data_sets.request(REGION)
    name = asyncio.run(store().create(one))
    fill(account, name, 3)
    with google(account, "firestore") as firestore:
        firestore.Client(project="cloudcmp").collection(name).document(MARKER).delete()
    (found,) = asyncio.run(store().leftovers()).found
    assert (found.cloud_id, found.token) == (name, one.token)
    assert dict(found.tags).keys() == {"cloudcmp:expires", "cloudcmp:schema", STUDY_DIGEST}, "from the name alone"
    asyncio.run(store().destroy(handle(name)))
    assert asyncio.run(store().leftovers()).found == ()


def test_what_only_looks_like_ours_is_never_listed_and_survives(account: Served) -> None:
    ours = asyncio.run(store().create(data_sets.request(REGION)))
    names = ("cloudcmp-mine", f"cloudcmp-{'g' * 32}-00000000", f"cloudcmp-{'0' * 32}00000000", f"{ours}x", "other")
    with google(account, "firestore") as firestore:
        client = firestore.Client(project="cloudcmp")
        for name in names:
            client.collection(name).document("r00000000").set({"v": name})
        assert [one.cloud_id for one in asyncio.run(store().leftovers()).found] == [ours]
        assert [one.cloud_id for one in asyncio.run(store().find("study-a"))] == [ours]
        asyncio.run(store().destroy(handle(ours)))
        for name in names:
            assert client.collection(name).document("r00000000").get().to_dict() == {"v": name}
            client.collection(name).document("r00000000").delete()
        client.close()


def test_a_document_that_is_no_marker_has_no_tags(account: Served) -> None:
    one = data_sets.request(REGION)
    name = asyncio.run(store().create(one))
    with google(account, "firestore") as firestore:
        marker = firestore.Client(project="cloudcmp").collection(name).document(MARKER)
        for content in ({"tags": "mine"}, {"tags": {"cloudcmp:study": 7}}, {}):
            marker.set(content)
            assert asyncio.run(store().find("study-a", one.token))[0].tags == ()
    asyncio.run(store().destroy(handle(name)))


def test_a_trial_needs_no_token_there_and_the_project_is_checked(
    account: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, url = Service(ServiceKind.TABLE, "gcp", REGION), f"http://{account.host('firestore')}"
    given = asyncio.run(store().data_set(service, handle("cloudcmp-x"), time() + 60.0))
    path = "projects/cloudcmp/databases/(default)/documents/cloudcmp-x"
    assert given == DataSet("firestore", url, path, REGION, addresses=given.addresses)
    (finding,) = asyncio.run(store().check([data_sets.candidate(TABLE)]))
    assert (finding.ok, finding.text) == (True, f"collections of project cloudcmp can be listed at {url}")
    assert asyncio.run(store().account()) == f"cloudcmp at {url}"
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:9")
    sdk = FirestoreSdk("gcp")
    sdk.deadline_s = 2.0
    nobody = FirestoreDataSets("gcp-firestore", sdk=sdk)
    (finding,) = asyncio.run(nobody.check([data_sets.candidate(TABLE)]))
    assert finding.ok is False
    assert "\n" not in finding.text
    with pytest.raises(IncompleteListing):
        asyncio.run(nobody.leftovers())


class Admin:
    """Google's administration of databases, in this process: it knows one, and the requests that it was sent."""

    def __init__(self, location: str, kind: str) -> None:
        from google.cloud.firestore_admin_v1.types import database, firestore_admin

        self.asked: list[Any] = []
        answer = database.Database(location_id=location, type_=database.Database.DatabaseType[kind])

        def get(request: Any, context: grpc.ServicerContext) -> Any:
            self.asked.append(request)
            return answer

        read, write = firestore_admin.GetDatabaseRequest.deserialize, database.Database.serialize
        method = grpc.unary_unary_rpc_method_handler(get, read, write)
        handler = grpc.method_handlers_generic_handler(
            "google.firestore.admin.v1.FirestoreAdmin", {"GetDatabase": method}
        )
        self.server = grpc.server(ThreadPoolExecutor(1))
        self.server.add_generic_rpc_handlers((handler,))
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def client(self) -> Any:
        """Google's client of it."""
        from google.cloud.firestore_admin_v1 import FirestoreAdminClient
        from google.cloud.firestore_admin_v1.services.firestore_admin.transports import FirestoreAdminGrpcTransport

        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        return FirestoreAdminClient(transport=FirestoreAdminGrpcTransport(channel=channel))


@pytest.mark.parametrize(
    ("location", "kind", "says"),
    [
        (REGION, "FIRESTORE_NATIVE", ""),
        ("eur3", "FIRESTORE_NATIVE", f"the database of mine lies in eur3, not in {REGION}"),
        (REGION, "DATASTORE_MODE", "its default database is in the mode of Datastore"),
    ],
)
def test_a_database_in_another_place_or_mode_is_told_before_anything_is_made(
    location: str, kind: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FIRESTORE_EMULATOR_HOST", raising=False)
    sdk, admin = FirestoreSdk("gcp"), Admin(location, kind)
    sdk.credentials._credentials, sdk.credentials._project = AnonymousCredentials(), "mine"  # type: ignore[no-untyped-call]
    monkeypatch.setitem(sdk._clients, DATABASES, admin.client())
    driver = FirestoreDataSets("gcp-firestore", sdk=sdk)
    monkeypatch.setattr(driver, "_named", _nothing)
    findings = asyncio.run(driver.check([data_sets.candidate(TABLE)]))
    admin.server.stop(None)
    assert [one.name for one in admin.asked] == ["projects/mine/databases/(default)"]
    assert [one.text for one in findings if not one.ok] == ([says] if says else [])
    assert asyncio.run(driver.check([])) == ()


async def _nothing() -> list[Any]:
    return []


class Broad(service_account.Credentials):
    """A service account without Google: its tokens name their scopes."""

    def refresh(self, request: Any) -> None:
        from datetime import UTC, datetime, timedelta

        self.token = f"token of {' '.join(self.scopes)}"
        self.expiry = (datetime.now(UTC) + timedelta(seconds=3600)).replace(tzinfo=None)


def test_a_trials_token_opens_firestore_alone_and_lives_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIRESTORE_EMULATOR_HOST", raising=False)
    sdk = FirestoreSdk("gcp")
    sdk.credentials._credentials = Broad(None, "me@example.org", "https://example.org", scopes=["all"])  # type: ignore[no-untyped-call]
    sdk.credentials._project = "mine"
    monkeypatch.setattr("cloudcmp.provider.gcp.firestore.addresses_of", data_sets.no_addresses)
    driver, service = FirestoreDataSets("gcp-firestore", sdk=sdk), Service(ServiceKind.TABLE, "gcp", REGION)
    access = asyncio.run(driver.data_set(service, handle("cloudcmp-x"), time() + 600.0))
    path = "projects/mine/databases/(default)/documents/cloudcmp-x"
    assert (access.endpoint, access.name) == ("https://firestore.googleapis.com", path)
    value = "Bearer token of https://www.googleapis.com/auth/datastore"
    assert access.credential == {"kind": "token", "header": "authorization", "value": value}
    assert driver.billed
    with pytest.raises(Refused, match="before the trial may end; choose shorter trials"):
        asyncio.run(driver.data_set(service, handle("cloudcmp-x"), time() + 3600.0))


def test_without_credentials_a_list_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("FIRESTORE_EMULATOR_HOST", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(NoCredentials, match="there are no credentials"):
        asyncio.run(store().leftovers())
    (finding,) = asyncio.run(store().check([data_sets.candidate(TABLE)]))
    assert (finding.ok, finding.text) == (False, "there are no credentials")
