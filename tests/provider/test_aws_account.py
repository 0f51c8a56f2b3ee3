"""Whose things a driver sees: the account of its credentials, and the endpoint that the environment names."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.emulated.ec2 import EUCALYPTUS, Ec2, Faults, ec2
from tests.emulated.ec2_requests import provider
from tests.emulated.pointed import point

from cloudcmp.errors import OtherAccount
from cloudcmp.provision import Accounts


@pytest.fixture
def pair() -> Iterator[tuple[Ec2, Ec2]]:
    """Two clouds, each with an account and an endpoint of its own."""
    with ec2() as one, ec2(EUCALYPTUS) as other:
        yield one, other


@pytest.mark.parametrize("name", ["aws", "ec2"])
def test_the_account_is_that_of_the_credentials_and_told_with_its_endpoint(
    pair: tuple[Ec2, Ec2], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = pair
    point(one, monkeypatch)
    driver = provider(name)
    assert asyncio.run(driver.account()) == f"{one.account.id} at {one.url}"
    asked = len(one.journal)
    asyncio.run(driver.account())
    assert len(one.journal) == asked  # it is asked once


@pytest.mark.parametrize("name", ["aws", "ec2"])
def test_another_endpoint_is_another_place(pair: tuple[Ec2, Ec2], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = pair
    point(one, monkeypatch)
    accounts = Accounts()
    asyncio.run(accounts.settle(provider(name)))
    asyncio.run(accounts.confirm(provider(name)))
    point(other, monkeypatch)
    with pytest.raises(OtherAccount) as raised:
        asyncio.run(accounts.confirm(provider(name)))
    assert one.url in str(raised.value)
    assert other.url in str(raised.value)


def test_a_cloud_that_does_not_tell_its_account_any_more_is_the_same_place(
    pair: tuple[Ec2, Ec2], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = pair
    point(one, monkeypatch)
    accounts = Accounts()
    asyncio.run(accounts.settle(provider("ec2")))
    one.faults = Faults(denied=frozenset({"DescribeSecurityGroups"}))
    driver = provider("ec2")
    assert asyncio.run(driver.account()) == f"untold at {one.url}"
    asyncio.run(accounts.check_account(driver))
    asyncio.run(accounts.confirm(driver))


def test_another_spelling_of_the_endpoint_is_the_same_place(
    pair: tuple[Ec2, Ec2], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = pair
    point(one, monkeypatch)
    accounts = Accounts()
    asyncio.run(accounts.settle(provider("ec2")))
    monkeypatch.setenv("AWS_ENDPOINT_URL", one.url.replace("http", "HTTP") + "/")
    asyncio.run(accounts.confirm(provider("ec2")))
