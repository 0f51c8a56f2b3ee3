"""Sweeps of data sets without tags: their names tell whose they are and when they expire."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from cloudcmp.app.sweep import sweep
from cloudcmp.model.cast import DataSet, Service
from cloudcmp.model.lease import DATA_SET, CreateRequest, Handle, Listing
from cloudcmp.model.leftover import Fate, SweepResult, study_digest
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.data_sets import DataSets, Found, resources
from cloudcmp.provider.time import VirtualTime
from cloudcmp.provision.ownership import token_of

NOW = datetime(2026, 1, 5, tzinfo=UTC).timestamp()
STUDY = "storage-1f4529698cca"


class Tables(DataSets):
    """A service that keeps names alone."""

    name, billed = "tables", False

    def __init__(self) -> None:
        self.names: list[str] = []

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        return ()

    async def _create(self, request: CreateRequest, name: str) -> str:
        self.names.append(name)
        return name

    async def _list(self, region: str | None) -> Listing:
        return Listing(resources(Found(name, "here") for name in self.names))

    async def destroy(self, handle: Handle) -> None:
        if handle.cloud_id in self.names:
            self.names.remove(handle.cloud_id)

    async def gone(self, handle: Handle) -> str | None:
        return None if handle.cloud_id in self.names else f"there is no {handle.cloud_id}"

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        raise AssertionError("no trial asks these tables")


def made(tables: Tables, study: str, slot: str = "launch-0", *, ttl_s: float = 3600.0) -> str:
    """The name of a study's table that expires so long after now."""
    token = token_of(study, slot, 1)
    request = CreateRequest(slot, 1, DATA_SET, "t", token, "here", "", ttl_s, (), 0, 0, 1, NOW)
    return asyncio.run(tables.create(request))


def swept(tables: Tables, study: str | None = None) -> SweepResult:
    return asyncio.run(sweep({"tables": tables}, VirtualTime(NOW), study=study, delete=True))


def test_a_named_study_loses_its_tables_before_they_expire_and_no_other_study_does() -> None:
    tables = Tables()
    own = {made(tables, STUDY, f"launch-{number}") for number in range(20)}
    others = [made(tables, f"storage-{number:012x}") for number in range(200)]
    done = swept(tables, STUDY)
    assert {one.found.cloud_id for one in done.of(Fate.DELETED)} == own
    assert {(one.study, one.why.partition(" ")[0]) for one in done.leftovers} == {(STUDY, "there")}
    assert (done.complete, done.elsewhere) == (True, 200)
    assert tables.names == others


def test_without_a_study_only_what_has_expired_goes() -> None:
    tables = Tables()
    expired, running = made(tables, STUDY, ttl_s=-1.0), made(tables, STUDY, "launch-1")
    done = swept(tables)
    assert [one.found.cloud_id for one in done.of(Fate.DELETED)] == [expired]
    assert [one.why for one in done.of(Fate.KEPT)] == ["it has not expired; its study may be running"]
    assert tables.names == [running]


@pytest.mark.parametrize("version", [1, 3, 5])
def test_a_name_whose_token_is_no_token_of_ours_is_kept(version: int) -> None:
    tables = Tables()
    token = UUID(hex=UUID(token_of(STUDY, "launch-0", 1)).hex, version=version)
    tables.names = [f"cloudcmp-{token.hex}-00000000"]
    for study in (None, STUDY):
        assert swept(tables, study).of(Fate.DELETED) == ()
    assert len(tables.names) == 1


def test_tags_count_before_the_name() -> None:
    """Data sets that bear tags of another study, or half of the tags, are not taken for the study of their name."""

    class Tagged(Tables):
        tags: tuple[tuple[str, str], ...] = ()

        async def _list(self, region: str | None) -> Listing:
            return Listing(tuple(replace(one, tags=self.tags) for one in (await super()._list(region)).found))

    for tags in ((("cloudcmp:schema", "1"), ("cloudcmp:study", "another")), (("cloudcmp:schema", "1"),), (("a", "b"),)):
        tables = Tagged()
        tables.tags = tags
        name = made(tables, STUDY, ttl_s=-1.0)
        assert swept(tables, STUDY).of(Fate.DELETED) == ()
        assert tables.names == [name]


def test_tokens_of_a_study_differ_from_their_first_digits_on_and_end_alike() -> None:
    tokens = [token_of(STUDY, f"launch-{slot}", attempt) for slot in range(40) for attempt in range(1, 4)]
    assert len({token[:8] for token in tokens}) == len(tokens), "names of Azure's groups have no more of a token"
    assert {token.rpartition("-")[2] for token in tokens} == {study_digest(STUDY)}
    assert {UUID(token).version for token in tokens} == {4}
    assert token_of("another", "launch-0", 1)[-12:] != tokens[0][-12:]
