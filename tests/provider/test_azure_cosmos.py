"""Tables of Cosmos DB for Table, at Azurite, which checks the same signatures of an account's key."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import time

import pytest
from tests.cli.command import cloudcmp
from tests.provider import data_sets
from tests.servers.clients import azure, azure_connection
from tests.servers.serving import Served
from tests.slices import long

from cloudcmp.errors import BadCredentials, NoCredentials
from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, Handle
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.azure import cosmos, storage
from cloudcmp.provider.azure.cosmos import CONNECTION, CosmosDataSets, CosmosSdk
from cloudcmp.provider.local import LocalProvider

REGION = "westeurope"
SERVICE = Service(ServiceKind.TABLE, "azure", REGION, api="cosmos-table")
STUDY = """schema: 1
question: Which of two equal tables answers sooner?
candidates:
  - {provider: azure, region: westeurope, service: table, api: cosmos-table, name: one, from: HERE, prices: PRICES}
  - {provider: azure, region: westeurope, service: table, name: two, from: HERE, prices: PRICES}
probes:
  - {probe: table, params: {op: [get, query], client: [native, sdk-python], entries: 100, duration_s: 0.3 s}}
  - {probe: load, params: {entries: 100}}
decide:
  - table_latency_s percentile=50;op=get;client=native
launches: 1
budget: 5 USD
"""
PRICES = "{requests: 0.05 USD/10000, moved: 0.01 USD/GB, stored: 0.02 USD/GB-month}"


@pytest.fixture(scope="module")
def azurite() -> Iterator[Served]:
    """An empty Azurite."""
    with data_sets.empty_server("azurite") as one:
        yield one


def test_a_table_is_made_and_gone_and_its_trial_gets_the_key(azurite: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONNECTION, azure_connection(azurite))
    monkeypatch.delenv(storage.CONNECTION, raising=False)
    driver = data_sets.made(CosmosDataSets, SERVICE)
    (finding,) = asyncio.run(driver.check([data_sets.candidate(SERVICE)]))
    assert (finding.ok, finding.what) == (True, "cosmos-table of azure")
    one = data_sets.request(REGION)
    name = asyncio.run(driver.create(one))
    handle = Handle(DATA_SET, REGION, name)
    found = asyncio.run(driver.find("study-a", one.token, region=REGION))
    assert [(each.cloud_id, each.token) for each in found] == [(name, one.token)]
    access = asyncio.run(driver.data_set(SERVICE, handle, time() + 60.0))
    assert (access.protocol, access.endpoint) == ("azure-table", azurite.endpoints["azure-table"])
    assert access.credential == {"kind": "shared-key", "account": azurite.access, "key": azurite.secret}
    assert azurite.secret not in repr(access)
    asyncio.run(driver.destroy(handle))
    assert asyncio.run(driver.gone(handle)) == f"there is no table data set {name}"


def test_a_wrong_account_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONNECTION, raising=False)
    with pytest.raises(NoCredentials, match="no account of Cosmos DB is named"):
        CosmosSdk("table", "x").account()
    monkeypatch.setenv(CONNECTION, "AccountName=mine;AccountKey=5ec3e7")
    with pytest.raises(BadCredentials, match="names no TableEndpoint of Cosmos DB") as wrong:
        CosmosSdk("table", "x").account()
    assert "5ec3e7" not in str(wrong.value)
    monkeypatch.setenv(CONNECTION, "AccountName=mine;SharedAccessSignature=5ec3e7")
    with pytest.raises(BadCredentials, match=f"{cosmos.CONNECTION} has no AccountName or no AccountKey"):
        CosmosSdk("table", "x").account()
    of_azure = "TableEndpoint=https://mine.table.cosmos.azure.com:443/"
    monkeypatch.setenv(CONNECTION, f"AccountName=mine;AccountKey=a2V5;{of_azure};")
    sdk = CosmosSdk("table", "x")
    assert (sdk.account().urls["table"], sdk.endpoint()) == ("https://mine.table.cosmos.azure.com:443", None)
    assert data_sets.made(CosmosDataSets, SERVICE).billed


@long  # its parts each day, above and in test_azure_storage_study.py
def test_a_study_measures_it_beside_table_storage_and_its_key_stays_here(
    agent: Path, azurite: Served, tmp_path: Path
) -> None:
    name = LocalProvider(OwnedPath(Path())).offerings()[0].name
    here = f"{{provider: local, offering: {name}, price: 0.01 USD/h}}"
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.replace("HERE", here).replace("PRICES", PRICES))
    text = azure_connection(azurite)
    environ = {CONNECTION: text, storage.CONNECTION: text, "CLOUDCMP_AGENT": str(agent)}
    ran = cloudcmp("run", file, "--out", tmp_path / "out", **environ)
    assert ran.code == 0, ran.out + ran.err
    assert "azure/one/cosmos-table table" in ran.out
    assert azurite.secret not in ran.out + ran.err
    with azure(azurite, "table") as client:
        assert list(client.list_tables()) == []
    for path in (tmp_path / "out").rglob("*"):
        assert not path.is_file() or azurite.secret.encode() not in path.read_bytes(), path


def test_from_a_rented_machine_it_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    rented = "{offering: Standard_D2s_v5, price: 0.1 USD/h}"
    file.write_text(STUDY.replace("HERE", rented).replace("PRICES", PRICES))
    ran = cloudcmp("run", file, "--yes", "--out", tmp_path / "out", **{CONNECTION: "x"})
    assert ran.code == 2, ran.out + ran.err
    assert "cosmos-table opens with its account's key only, which never goes to another machine" in ran.err
