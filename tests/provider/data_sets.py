"""What tests of data sets at servers share: the server, requests, drivers as a study has them, and a whole life."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import time
from typing import TypeVar
from uuid import uuid4

import pytest
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving

from cloudcmp.model.cast import Service
from cloudcmp.model.lease import DATA_SET, CreateRequest, Handle
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.provider.common.data_sets import DataSets
from cloudcmp.provider.registry import ProviderOptions, make, store_of

Driver = TypeVar("Driver", bound=DataSets)
LOOK_ALIKES = ("cloudcmp-mine", f"cloudcmp-{'g' * 32}-00000000", f"cloudcmp-{'0' * 32}00000000", "other")
"""Names that only look like cloudcmp's."""


@contextmanager
def empty_server(name: str) -> Iterator[Served]:
    """An empty server; a test is skipped with the reason if it cannot be had."""
    try:
        with serving(name) as one:
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


def candidate(service: Service) -> Candidate:
    """A service seen from this machine."""
    store = store_of(service.provider, service.kind, service.api) or ""
    return Candidate(0, "a", Offering("local", "here", "all"), "local", service=service, store=store)


def made(kind: type[Driver], *services: Service) -> Driver:
    """The driver of the services' data sets, as a study has it made."""
    first = services[0]
    options = ProviderOptions(candidates=tuple(map(candidate, services)))
    one = make(store_of(first.provider, first.kind, first.api) or "", options)
    assert isinstance(one, kind)
    return one


def request(region: str, study: str = "study-a") -> CreateRequest:
    """A request for a data set of a study, with a token of its own."""
    token = str(uuid4())
    tags = (("cloudcmp:expires", "2026-11-26T05:00:00Z"), ("cloudcmp:schema", "1"), ("cloudcmp:study", study))
    return CreateRequest("slot", 0, DATA_SET, "name", token, region, "all", 3600.0, tags, 0, 0, 0, time())


def live(driver: DataSets, region: str, thing: str, *, study: str = "study-a", tagged: bool = True) -> None:
    """A data set is made, found, listed with another study's, and gone; `thing` is the driver's word for one.

    Without `tagged` the server keeps no tags.
    """
    asyncio.run(_live(driver, request(region, study), request(region, "study-b"), thing, tagged=tagged))


async def _live(driver: DataSets, one: CreateRequest, other: CreateRequest, thing: str, *, tagged: bool) -> None:
    assert not driver.billed
    name = await driver.create(one)
    assert await driver.create(one) == name, "idempotent"
    theirs = await driver.create(other)
    (found,) = await driver.find(dict(one.tags)["cloudcmp:study"], one.token, region=one.region)
    assert (found.cloud_id, found.token, found.kind, found.region) == (name, one.token, DATA_SET, one.region)
    assert found.tags == (tuple(sorted(one.tags)) if tagged else ())
    assert {each.cloud_id for each in (await driver.leftovers()).found} == {name, theirs}
    for gone in (name, theirs):
        handle = Handle(DATA_SET, one.region, gone)
        assert await driver.gone(handle) is None
        await driver.destroy(handle)
        assert await driver.gone(handle) == f"there is no {thing} {gone}"
        await driver.destroy(handle)
    assert (await driver.leftovers()).found == ()


def lists_nothing(driver: DataSets) -> None:
    """No resource is listed as a study's, nor as cloudcmp's."""
    assert asyncio.run(driver.leftovers()).found == ()
    assert asyncio.run(driver.find("study-a")) == ()


async def no_addresses(_: str) -> tuple[str, ...]:
    """Stands for a look-up of a provider's host, which is not reached from here."""
    return ()
