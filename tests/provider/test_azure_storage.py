"""Containers, tables and queues of a storage account as data sets, at Azurite: made, found, listed, emptied, gone."""

import asyncio
import base64
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from time import time
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.provider import data_sets
from tests.servers.clients import azure, azure_connection
from tests.servers.serving import Served
from tests.slices import WHOLE

from cloudcmp.errors import BadCredentials, NoCredentials, NotAllowed
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, Handle
from cloudcmp.provider.azure import policy
from cloudcmp.provider.azure.blob import BlobDataSets
from cloudcmp.provider.azure.data_sets import AzureDataSets
from cloudcmp.provider.azure.queue import QueueDataSets
from cloudcmp.provider.azure.storage import ACCOUNT, CONNECTION, KEY, StorageAccount
from cloudcmp.provider.azure.table import TableDataSets
from cloudcmp.provider.common.data_sets import DataSetName

REGION = "westeurope"
KINDS: dict[str, type[AzureDataSets]] = {"blob": BlobDataSets, "table": TableDataSets, "queue": QueueDataSets}
WRONG = base64.b64encode(b"another key").decode()


@pytest.fixture(scope="module")
def azurite() -> Iterator[Served]:
    """An empty Azurite."""
    with data_sets.empty_server("azurite") as one:
        yield one


@pytest.fixture
def account(azurite: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The account of Azurite, named by the environment."""
    monkeypatch.setenv(CONNECTION, azure_connection(azurite))
    return azurite


def store(kind: str, *regions: str) -> AzureDataSets:
    """The provider of data sets in one service, as a study has it made."""
    return data_sets.made(KINDS[kind], *(_service(kind, region) for region in regions or (REGION,)))


def _service(kind: str, region: str = REGION) -> Service:
    return Service(ServiceKind(kind), "azure", region)


@pytest.mark.parametrize("kind", KINDS)
def test_a_data_set_is_made_found_and_gone(account: Served, kind: str) -> None:
    asyncio.run(_life(kind))


async def _life(kind: str) -> None:
    driver, one, other = store(kind), data_sets.request(REGION), data_sets.request(REGION, "study-b")
    assert not driver.billed
    name = await driver.create(one)
    assert await driver.create(one) == name, "idempotent"
    theirs = await driver.create(other)
    found = await driver.find("study-a", one.token, region=REGION)
    assert [(each.cloud_id, each.token, each.kind, each.region) for each in found if each.cloud_id == name] == [
        (name, one.token, DATA_SET, REGION)
    ]
    tags = {each.cloud_id: each.tags for each in await driver.find("study-a")}
    assert tags[name] == (() if kind == "table" else tuple(sorted(one.tags)))
    assert (theirs in tags) is (kind == "table"), "a table's tags tell no study"
    left = {each.cloud_id: dict(each.tags) for each in (await driver.leftovers()).found}
    assert {"cloudcmp:expires", "cloudcmp:schema"} <= left[name].keys() & left[theirs].keys()
    for gone in (name, theirs):
        handle = Handle(DATA_SET, REGION, gone)
        assert await driver.gone(handle) is None
        await driver.destroy(handle)
        assert await driver.gone(handle) == f"there is no {kind} data set {gone}"
        await driver.destroy(handle)


LOOK_ALIKES = {
    "blob": ("cloudcmp-mine", f"cloudcmp-{'g' * 32}-00000000", f"cloudcmp-{'0' * 32}00000000", "other"),
    "queue": ("cloudcmp-mine", f"cloudcmp-{'g' * 32}-00000000", f"cloudcmp-{'0' * 32}-0000000", "other"),
    "table": ("cloudcmpmine", f"cloudcmp{'g' * 40}", f"cloudcmp{'0' * 39}", f"cloudcmp{'0' * 41}", "other"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_only_looks_like_ours_is_never_listed(account: Served, kind: str) -> None:
    what = {"blob": "container"}.get(kind, kind)
    with azure(account, kind) as client:
        for name in LOOK_ALIKES[kind]:
            getattr(client, f"create_{what}")(name)
        try:
            assert asyncio.run(store(kind).leftovers()).found == ()
            assert asyncio.run(store(kind).find("study-a")) == ()
        finally:
            for name in LOOK_ALIKES[kind]:
                getattr(client, f"delete_{what}")(name)


@given(st.uuids(), st.integers(0, 2**32 - 1))
def test_a_name_is_read_in_both_spellings_and_in_no_other(token: Any, expires: int) -> None:
    name = DataSetName(str(token), expires)
    assert DataSetName.read(str(name)) == DataSetName.read(name.plain) == name
    assert name.plain.isalnum()
    assert 3 <= len(name.plain) <= 63
    parts = str(name).split("-")
    assert DataSetName.read(f"{parts[0]}-{parts[1]}{parts[2]}") is None
    assert DataSetName.read(f"{parts[0]}{parts[1]}-{parts[2]}") is None


def signed(kind: str, cloud_id: str, until: float) -> DataSet:
    handle = Handle(DATA_SET, REGION, cloud_id)
    return asyncio.run(store(kind).data_set(_service(kind), handle, until))


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_gets_a_signature_of_its_data_set_and_its_time_alone(account: Served, kind: str) -> None:
    driver = store(kind)
    own, other = (asyncio.run(driver.create(data_sets.request(REGION))) for _ in range(2))
    access = signed(kind, own, time() + 60.0)
    assert (access.protocol, access.name, access.endpoint) == (f"azure-{kind}", own, account.endpoints[f"azure-{kind}"])
    assert (access.addresses, access.region) == ((), REGION)
    credential = dict(access.credential or {})
    assert (credential["kind"], account.secret in repr(access)) == ("sas", False)
    fields = dict(part.split("=", 1) for part in str(credential["query"]).split("&"))
    ends = datetime.strptime(fields["se"].replace("%3A", ":"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    assert 60.0 <= ends - time() + 1 < 60.0 + 700.0
    assert sorted(fields["sp"]) == sorted({"blob": "rwdl", "table": "raud", "queue": "ap"}[kind])
    _use(kind, access.endpoint, own, str(credential["query"]))
    if kind == "queue":
        signed(kind, own, time() + 60.0)
        with azure(account, kind) as client:
            assert client.get_queue_client(own).get_queue_properties().approximate_message_count == 0, "emptied"
    if kind != "table":  # Azurite refuses batches with a signature of one table, and gets one of all its tables
        with pytest.raises(Exception, match=r"403|[Aa]uth"):
            _use(kind, access.endpoint, other, str(credential["query"]))
    with pytest.raises(Exception, match=r"403|[Aa]uth"):
        _use(kind, access.endpoint, own, str(dict(signed(kind, own, time() - 700.0).credential or {})["query"]))
    for name in (own, other):
        asyncio.run(driver.destroy(Handle(DATA_SET, REGION, name)))


def test_azure_itself_gets_a_signature_of_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONNECTION, raising=False)
    monkeypatch.setenv(ACCOUNT, "mine")
    monkeypatch.setenv(KEY, WRONG)
    query = store("table").signed(None, "cloudcmpone", 1000.0, 2000.0)
    fields = dict(part.split("=", 1) for part in query.split("&"))
    assert (fields["tn"], fields["sp"], fields["spr"]) == ("cloudcmpone", "raud", "https")
    assert "srt" not in fields, "no signature of the account"


def _use(kind: str, url: str, name: str, query: str) -> None:
    """Writes one blob, row or message with Azure's own client and a signature."""
    from azure.core.credentials import AzureSasCredential
    from azure.data.tables import TableServiceClient
    from azure.storage.blob import BlobServiceClient
    from azure.storage.queue import QueueServiceClient

    classes: dict[str, Any] = {"blob": BlobServiceClient, "table": TableServiceClient, "queue": QueueServiceClient}
    with classes[kind](url, credential=AzureSasCredential(query), retry_total=0) as client:
        if kind == "blob":
            client.get_blob_client(name, "b/1/000000").upload_blob(b"x")
        elif kind == "table":
            client.get_table_client(name).upsert_entity({"PartitionKey": "r0", "RowKey": "r00000000"})
        else:
            client.get_queue_client(name).send_message("x")


@pytest.mark.parametrize("kind", KINDS)
def test_the_account_is_checked_and_a_mistake_is_one_line(
    azurite: Served, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finding(*regions: str) -> tuple[bool | None, str, str]:
        some = [data_sets.candidate(_service(kind, region)) for region in regions or (REGION,)]
        (one,) = asyncio.run(store(kind).check(some))
        return one.ok, one.text, one.next

    for name in (CONNECTION, ACCOUNT, KEY):
        monkeypatch.delenv(name, raising=False)
    assert finding()[:2] == (False, "no storage account is named")
    assert KEY in finding()[2]
    monkeypatch.setenv(CONNECTION, azure_connection(azurite))
    url = azurite.endpoints[f"azure-{kind}"]
    text = f"the data sets of storage account {azurite.access} can be listed at {url}"
    assert finding() == (True, text, "")
    assert finding("northeurope", REGION)[:2] == (False, "one storage account cannot be in northeurope and westeurope")
    now = asyncio.run(store(kind).date())
    assert now is not None
    assert abs(now - time()) < 60.0
    assert asyncio.run(store(kind).account()) == f"{azurite.access} at {url}"
    monkeypatch.setenv(CONNECTION, azure_connection(azurite, key=WRONG))
    ok, text, hint = finding()
    assert (ok, "\n" in text, KEY in hint) == (False, False, True)
    assert text.startswith(("AuthorizationFailure: ", "AuthenticationFailed: "))
    assert WRONG not in text + hint
    if WHOLE or kind == "table":  # the other two libraries wait half a minute between their tries
        monkeypatch.setenv(CONNECTION, azure_connection(azurite).replace(url, url.rpartition(":")[0] + ":9/none"))
        ok, text, _ = finding()
        assert (ok, "cannot be reached" in text) == (False, True)


def test_an_account_is_named_by_its_variables() -> None:
    one = StorageAccount.of({ACCOUNT: "mine", KEY: "a2V5"})
    assert one == StorageAccount("mine", "a2V5", {kind: f"https://mine.{kind}.core.windows.net" for kind in KINDS})
    assert "a2V5" not in repr(one)
    text = "DefaultEndpointsProtocol=https;AccountName=mine;AccountKey=a2V5PT0=;EndpointSuffix=core.chinacloudapi.cn"
    two = StorageAccount.of({CONNECTION: text, ACCOUNT: "other"})
    assert (two.name, two.key, two.urls["queue"]) == ("mine", "a2V5PT0=", "https://mine.queue.core.chinacloudapi.cn")
    assert StorageAccount.of({ACCOUNT: "mine"}).key == ""
    with pytest.raises(NoCredentials, match="no storage account is named"):
        StorageAccount.of({})
    with pytest.raises(BadCredentials, match="no name of a storage account"):
        StorageAccount.of({ACCOUNT: "mine.example.org/"})
    with pytest.raises(BadCredentials, match="has no AccountName or no AccountKey") as wrong:
        StorageAccount.of({CONNECTION: "AccountName=mine;SharedAccessSignature=sig=5ec3e7"})
    assert "5ec3e7" not in str(wrong.value)


@given(st.text(max_size=60))
def test_no_connection_string_is_a_crash(text: str) -> None:
    with suppress(NoCredentials):
        assert StorageAccount.of({CONNECTION: text}).key


class _Login:
    """A service whose client is signed in by a login: it gives keys that sign for a while."""

    def __init__(self, delegated: Callable[..., Any]) -> None:
        self.get_user_delegation_key = delegated


def test_without_the_accounts_key_a_delegated_key_signs_and_a_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from azure.storage.blob import UserDelegationKey

    for name in (CONNECTION, KEY):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(ACCOUNT, "mine")
    asked: list[tuple[Any, ...]] = []

    def delegated(*times: Any, **named: Any) -> UserDelegationKey:
        asked.append((*times, *named.values()))
        key = UserDelegationKey()
        key.signed_oid = key.signed_tid = str(uuid4())
        key.signed_start = key.signed_expiry = "2026-11-26T05:00:00Z"
        key.signed_service, key.signed_version, key.value = "b", "2026-02-06", WRONG
        return key

    for kind in ("blob", "queue"):
        query = store(kind).signed(_Login(delegated), "some", 1000.0, 2000.0)
        assert {"skoid", "sktid", "se", "sp", "spr", "sig"} <= {part.partition("=")[0] for part in query.split("&")}
    assert [{one.timestamp() for one in times} for times in asked] == [{1000.0, 2000.0}] * 2
    with pytest.raises(NotAllowed, match=KEY):
        store("table").signed(_Login(delegated), "some", 1000.0, 2000.0)


def test_the_role_allows_what_data_sets_need() -> None:
    role = policy()
    kinds = {"blobServices/containers", "queueServices/queues"}
    for one in kinds | {"tableServices/tables"}:
        assert {f"Microsoft.Storage/storageAccounts/{one}/{right}" for right in ("read", "write", "delete")} <= {
            *role["Actions"]
        }
    assert all(any(one in action for one in kinds) for action in role["DataActions"])
    assert not any("listkeys" in action.lower() for action in role["Actions"])
