"""Containers as data sets, at a whole Swift: made with their tags, found, listed, used, emptied, gone."""

import asyncio
from collections.abc import Iterator
from time import time
from typing import Any

import pytest
from tests.provider import data_sets, openstacks
from tests.servers.clients import swift
from tests.servers.serving import Served

from cloudcmp.errors import BadCredentials, NoCredentials, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, Handle
from cloudcmp.provider.openstack.swift import SwiftDataSets
from cloudcmp.provider.openstack.swift_sdk import SwiftSdk
from cloudcmp.provider.registry import stores_of

REGION = "lon"
BLOB = Service(ServiceKind.BLOB, "openstack", REGION)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """An empty Swift."""
    with data_sets.empty_server("swift") as one:
        yield one


@pytest.fixture
def account(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The account of that Swift, named by the environment."""
    monkeypatch.setenv("OS_AUTH_URL", server.endpoints["swift"])
    monkeypatch.setenv("OS_USERNAME", server.access)
    monkeypatch.setenv("OS_PASSWORD", server.secret)
    return server


def store() -> SwiftDataSets:
    """The provider of containers, as a study has it made."""
    return data_sets.made(SwiftDataSets, BLOB)


def handle(name: str) -> Handle:
    return Handle(DATA_SET, REGION, name)


def test_a_container_is_made_found_and_gone_with_all_its_tags(account: Served) -> None:
    data_sets.live(store(), REGION, "container", study="größer & <b>")


def test_a_full_container_is_emptied_first_page_by_page(account: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudcmp.provider.openstack.swift._BATCH", 5)
    name = asyncio.run(store().create(data_sets.request(REGION)))
    client = swift(account)
    for key in (*(f"b/10/{index:06d}" for index in range(12)), "ä ö?&#%2F", "folder/"):
        client.put_object(name, key, b"x")
    asyncio.run(store().destroy(handle(name)))
    assert asyncio.run(store().gone(handle(name))) is not None
    assert name not in {each["name"] for each in client.get_account()[1]}
    client.close()


def test_what_only_looks_like_ours_is_never_listed(account: Served) -> None:
    client = swift(account)
    for name in data_sets.LOOK_ALIKES:
        client.put_container(name)
    try:
        data_sets.lists_nothing(store())
    finally:
        for name in data_sets.LOOK_ALIKES:
            client.delete_container(name)
        client.close()


def test_a_trial_gets_a_token_and_never_the_password(account: Served) -> None:
    async def access() -> tuple[str, DataSet]:
        driver = store()
        name = await driver.create(data_sets.request(REGION))
        return name, await driver.data_set(BLOB, handle(name), time() + 600.0)

    name, given = asyncio.run(access())
    url, token = swift(account).get_auth()
    assert (given.protocol, given.name, given.endpoint, given.region) == ("swift", name, url, REGION)
    assert given.credential == {"kind": "token", "header": "x-auth-token", "value": token}
    assert account.secret not in repr(given)
    assert token not in repr(given)
    with pytest.raises(Refused, match="before the trial may end; choose shorter trials"):
        asyncio.run(store().data_set(BLOB, handle(name), time() + 10 * 86_400.0))
    asyncio.run(store().destroy(handle(name)))


def test_a_mistake_is_one_line(account: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def finding() -> tuple[bool | None, str]:
        (one,) = asyncio.run(store().check([data_sets.candidate(BLOB)]))
        return one.ok, one.text

    assert finding() == (True, "its containers can be listed")
    assert asyncio.run(store().account()) == f"AUTH_test at {account.endpoints['swift']}"
    assert abs((asyncio.run(store().date()) or 0.0) - time()) < 60
    monkeypatch.setenv("OS_PASSWORD", "wrong")
    assert finding() == (False, "Swift's login does not accept the credentials")
    with pytest.raises(BadCredentials):
        asyncio.run(store().create(data_sets.request(REGION)))
    monkeypatch.delenv("OS_PASSWORD")
    with pytest.raises(NoCredentials, match="set OS_USERNAME and OS_PASSWORD"):
        asyncio.run(store().leftovers())
    monkeypatch.setenv("OS_AUTH_URL", "http://127.0.0.1:9/auth/v1.0")
    monkeypatch.setenv("OS_PASSWORD", "any")
    assert finding()[0] is False


def test_an_expired_token_is_renewed(account: Served) -> None:
    driver = store()
    sdk: Any = driver._sdk
    asyncio.run(driver.leftovers())
    sdk._login = type(sdk._login)(sdk._login.url, "AUTH_tk" + "0" * 32, sdk._login.expires_at)
    assert asyncio.run(driver.leftovers()).found == ()


def test_keystone_names_the_account_of_a_region_and_gives_the_token() -> None:
    with openstacks.pointed() as cloud:
        cloud.keystone.objects = True
        sdk = SwiftSdk("openstack")
        (region, *_) = sdk.keystone.regions("object-store")
        url, token = sdk.access(region, time() + 60.0)
        assert url.endswith(f"/{region}/objects/v1/AUTH_{sdk.keystone.project()[0]}")
        assert token in cloud.keystone.tokens
        assert sdk.access(region, refused=token)[1] != token
        with pytest.raises(Refused, match="before the trial may end"):
            sdk.access(region, time() + 10 * 86_400.0)
    with openstacks.pointed() as cloud, pytest.raises(Refused, match="no Swift there"):
        SwiftSdk("openstack").access(next(iter(cloud.regions)))


def test_both_names_of_the_provider_have_containers() -> None:
    assert stores_of("openstack") == ("openstack-swift",)
    assert stores_of("rackspace") == ("rackspace-swift",)
