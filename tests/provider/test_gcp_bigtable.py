"""Bigtable's data sets, in an emulator of tables and in one with instances: made, found, listed, deleted, gone."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any

import pytest
from google.cloud.bigtable_admin_v2 import types
from google.oauth2 import service_account
from tests.emulated.bigtable_instances import BigtableInstances, bigtable_instances
from tests.provider import data_sets
from tests.servers.serving import Served

from cloudcmp.errors import IncompleteListing, LostAnswer, NoCredentials, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, Handle
from cloudcmp.provider.gcp.bigtable import BigtableDataSets, instance_id
from cloudcmp.provider.gcp.bigtable_sdk import INSTANCE, TABLE, BigtableSdk

REGION = "europe-west1"
TABLE_SERVICE = Service(ServiceKind.TABLE, "gcp", REGION, api="bigtable")


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """An empty emulator of tables."""
    with data_sets.empty_server("bigtable") as one:
        yield one


@pytest.fixture
def tables(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """That emulator, named by the environment."""
    _name(server.host("bigtable"), monkeypatch)
    return server


@pytest.fixture
def instances(server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[BigtableInstances]:
    """An emulator of instances before it, named by the environment."""
    with bigtable_instances(server.host("bigtable")) as one:
        _name(one.host, monkeypatch)
        yield one


@pytest.fixture(params=["tables", "instances"])
def either(request: pytest.FixtureRequest) -> str:
    """Each of both in turn."""
    request.getfixturevalue(request.param)
    return str(request.param)


def _name(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", host)
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)


def store() -> BigtableDataSets:
    """The provider of data sets, as a study has it made."""
    return data_sets.made(BigtableDataSets, TABLE_SERVICE)


def handle(name: str) -> Handle:
    return Handle(DATA_SET, REGION, name)


def test_a_data_set_is_made_found_and_gone(either: str) -> None:
    asyncio.run(_life(tagged=either == "instances"))


async def _life(*, tagged: bool) -> None:
    driver, one, other = store(), data_sets.request(REGION, "Größer & <b>"), data_sets.request(REGION, "study-b")
    assert not driver.billed
    name = await driver.create(one)
    assert await driver.create(one) == name, "idempotent"
    theirs = await driver.create(other)
    (found,) = (each for each in await driver.find("Größer & <b>", one.token, region=REGION) if each.cloud_id == name)
    assert (found.token, found.kind, found.region) == (one.token, DATA_SET, REGION)
    assert found.tags == (tuple(sorted(one.tags)) if tagged else ())
    assert {each.cloud_id for each in (await driver.leftovers()).found} == {name, theirs}
    for gone in (name, theirs):
        assert await driver.gone(handle(gone)) is None
        await driver.destroy(handle(gone))
        assert (await driver.gone(handle(gone)) or "").startswith("there is no projects/cloudcmp/instances/")
        await driver.destroy(handle(gone))
    assert (await driver.leftovers()).found == ()


def test_what_a_study_finds_is_its_own_where_there_are_tags(instances: BigtableInstances) -> None:
    one, other = data_sets.request(REGION), data_sets.request(REGION, "study-b")
    name = asyncio.run(store().create(one))
    asyncio.run(store().create(other))
    assert [each.cloud_id for each in asyncio.run(store().find("study-a"))] == [name]
    assert [each.cloud_id for each in asyncio.run(store().find("study-c", one.token))] == [name]


def test_an_instance_is_the_cheapest_one_with_a_table_that_keeps_one_version(instances: BigtableInstances) -> None:
    name = asyncio.run(store().create(data_sets.request(REGION)))
    ((full, made),) = instances.instances.items()
    assert full == f"projects/cloudcmp/instances/{instance_id(name)}"
    assert len(instance_id(name)) == 33
    cluster = instances.clusters[full]
    assert (cluster.location, cluster.serve_nodes) == (f"projects/cloudcmp/locations/{REGION}-b", 1)
    assert cluster.default_storage_type == types.StorageType.SSD
    assert made.labels["cloudcmp-data-set"] == name
    client = BigtableSdk("gcp").make_client(TABLE)
    table = client.get_table(name=f"{full}/tables/{name}")
    assert dict(table.column_families) == {"f": types.ColumnFamily(gc_rule={"max_num_versions": 1})}


def test_what_only_looks_like_ours_is_never_listed_or_deleted(instances: BigtableInstances) -> None:
    client, own = BigtableSdk("gcp").make_client(INSTANCE), asyncio.run(store().create(data_sets.request(REGION)))
    labels = dict(instances.instances[f"projects/cloudcmp/instances/{instance_id(own)}"].labels)
    others = {
        "cloudcmp-mine": {},
        f"cloudcmp-{'0' * 24}": {},
        f"cloudcmp-{'1' * 24}": labels,  # copied from one of ours
        f"cloudcmp-{'2' * 24}": {**labels, "cloudcmp-data-set": "cloudcmp-mine"},
        "another": labels,
    }
    for id, some in others.items():
        cluster = types.Cluster(location=f"projects/cloudcmp/locations/{REGION}-b", serve_nodes=1)
        made = types.Instance(display_name="somebody's", labels=some)
        client.create_instance(parent="projects/cloudcmp", instance_id=id, instance=made, clusters={"cluster": cluster})
    assert [each.cloud_id for each in asyncio.run(store().leftovers()).found] == [own]
    assert [each.cloud_id for each in asyncio.run(store().find("study-a"))] == [own]
    asyncio.run(store().destroy(handle(own)))
    assert {one.rpartition("/")[2] for one in instances.instances} == set(others)
    with pytest.raises(Refused, match="cloudcmp-mine is no data set of cloudcmp's"):
        asyncio.run(store().destroy(handle("cloudcmp-mine")))


def test_tables_of_other_names_are_never_listed(tables: Served) -> None:
    client, parent = BigtableSdk("gcp").make_client(TABLE), "projects/cloudcmp/instances/cloudcmp"
    names = ("cloudcmp-mine", f"cloudcmp-{'g' * 32}-00000000", f"cloudcmp-{'0' * 32}00000000", "other")
    for name in names:
        client.create_table(parent=parent, table_id=name, table={})
    assert asyncio.run(store().leftovers()).found == ()
    assert asyncio.run(store().find("study-a")) == ()
    for name in names:
        client.delete_table(name=f"{parent}/tables/{name}")


def test_a_slow_instance_is_waited_for_also_if_an_earlier_call_made_it(instances: BigtableInstances) -> None:
    one = data_sets.request(REGION)
    instances.looks = 1
    name = asyncio.run(store().create(one))
    instances.looks = 2
    instances.instances[f"projects/cloudcmp/instances/{instance_id(name)}"].state = types.Instance.State.CREATING
    assert asyncio.run(store().create(one)) == name
    assert instances.asked.count("get") == 3
    sdk = BigtableSdk("gcp")
    sdk.deadline_s, instances.looks = 0.5, 1000
    instances.instances[f"projects/cloudcmp/instances/{instance_id(name)}"].state = types.Instance.State.CREATING
    with pytest.raises(LostAnswer):
        asyncio.run(BigtableDataSets("gcp-bigtable", sdk=sdk).create(one))


def test_an_instance_needs_a_region(instances: BigtableInstances) -> None:
    with pytest.raises(Refused, match="Bigtable needs a region; write region: europe-west1"):
        asyncio.run(store().create(data_sets.request("unknown")))
    assert instances.instances == {}


def test_a_place_that_cannot_be_listed_is_told_and_a_refused_list_is_none(instances: BigtableInstances) -> None:
    instances.unlisted = ("projects/cloudcmp/locations/europe-west9-a",)
    listing = asyncio.run(store().leftovers())
    assert listing.unlisted == ("instances of projects/cloudcmp/locations/europe-west9-a: not listed",)
    instances.denied = True
    with pytest.raises(IncompleteListing, match=r"bigtable\.instances\.list is lacking"):
        asyncio.run(store().leftovers())
    (finding,) = asyncio.run(store().check([data_sets.candidate(TABLE_SERVICE)]))
    assert (finding.ok, "gcp-policy.json" in (finding.next or "")) == (False, True)


def test_a_trial_needs_no_token_there_and_the_project_is_checked(server: Served, either: str) -> None:
    name = f"cloudcmp-{'ab' * 16}-7fffffff"
    given = asyncio.run(store().data_set(TABLE_SERVICE, handle(name), time() + 60.0))
    instance = f"cloudcmp-{'ab' * 12}" if either == "instances" else "cloudcmp"
    assert given.name == f"projects/cloudcmp/instances/{instance}/tables/{name}"
    assert given == DataSet("bigtable", given.endpoint, given.name, REGION)
    assert given.endpoint.startswith("http://127.0.0.1:")
    (finding,) = asyncio.run(store().check([data_sets.candidate(TABLE_SERVICE)]))
    assert finding.ok
    assert finding.text == f"instances of project cloudcmp can be listed at {given.endpoint}"
    assert asyncio.run(store().account()) == f"cloudcmp at {given.endpoint}"


class Broad(service_account.Credentials):
    """A service account without Google: its tokens name their scopes."""

    def refresh(self, request: Any) -> None:
        from datetime import UTC, datetime, timedelta

        self.token = f"token of {' '.join(self.scopes)}"
        self.expiry = (datetime.now(UTC) + timedelta(seconds=3600)).replace(tzinfo=None)


def test_a_trials_token_opens_rows_alone_and_lives_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BIGTABLE_EMULATOR_HOST", raising=False)
    sdk = BigtableSdk("gcp")
    sdk.credentials._credentials = Broad(None, "me@example.org", "https://example.org", scopes=["all"])  # type: ignore[no-untyped-call]
    sdk.credentials._project = "mine"
    monkeypatch.setattr("cloudcmp.provider.gcp.bigtable.addresses_of", data_sets.no_addresses)
    driver, name = BigtableDataSets("gcp-bigtable", sdk=sdk), f"cloudcmp-{'ab' * 16}-7fffffff"
    access = asyncio.run(driver.data_set(TABLE_SERVICE, handle(name), time() + 600.0))
    table = f"projects/mine/instances/cloudcmp-{'ab' * 12}/tables/{name}"
    assert (access.endpoint, access.name) == ("https://bigtable.googleapis.com", table)
    value = "Bearer token of https://www.googleapis.com/auth/bigtable.data"
    assert access.credential == {"kind": "token", "header": "authorization", "value": value}
    assert driver.billed
    with pytest.raises(Refused, match="before the trial may end; choose shorter trials"):
        asyncio.run(driver.data_set(TABLE_SERVICE, handle(name), time() + 3600.0))


def test_without_credentials_a_list_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("BIGTABLE_EMULATOR_HOST", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(NoCredentials, match="there are no credentials"):
        asyncio.run(store().leftovers())
    (finding,) = asyncio.run(store().check([data_sets.candidate(TABLE_SERVICE)]))
    assert (finding.ok, finding.text) == (False, "there are no credentials")
