"""OpenStack's own client puts, reads, lists and deletes at a whole Swift, and a wrong key is refused."""

import hashlib
from collections.abc import Callable

import pytest
from swiftclient.exceptions import ClientException

from tests.servers.clients import aws, swift
from tests.servers.serving import Served


@pytest.fixture
def one(served: Callable[[str], Served]) -> Served:
    return served("swift")


def test_objects_are_read_back_listed_and_deleted(one: Served) -> None:
    client, name = swift(one), "cloudcmp-written"
    client.put_container(name, headers={"X-Container-Meta-Study": "a"})
    written = {f"b/1024/{index:06d}": hashlib.sha512(b"%d" % index).digest() * 16 for index in range(12)}
    for key, body in written.items():
        client.put_object(name, key, body)
    assert {key: client.get_object(name, key)[1] for key in written} == written
    headers, listed = client.get_container(name, prefix="b/1024/")
    assert [each["name"] for each in listed] == sorted(written)
    assert headers["x-container-meta-study"] == "a"
    for key in written:
        client.delete_object(name, key)
    with pytest.raises(ClientException) as missing:
        client.get_object(name, "b/1024/000003")
    assert missing.value.http_status == 404
    client.delete_container(name)
    client.close()


def test_both_its_protocols_show_the_same_objects(one: Served) -> None:
    client, s3, name = swift(one), aws(one, "s3"), "cloudcmp-both"
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="by-s3", Body=b"one")
    client.put_object(name, "by-swift", b"two")
    assert client.get_object(name, "by-s3")[1] == b"one"
    assert s3.get_object(Bucket=name, Key="by-swift")["Body"].read() == b"two"
    for key in ("by-s3", "by-swift"):
        client.delete_object(name, key)
    client.delete_container(name)
    client.close()


def test_a_wrong_key_and_a_wrong_token_are_refused(one: Served) -> None:
    with pytest.raises(ClientException) as refused:
        swift(one, key="wrong").get_auth()
    assert refused.value.http_status == 401
    url, _ = swift(one).get_auth()
    from swiftclient.client import get_account

    with pytest.raises(ClientException) as refused:
        get_account(url, "AUTH_tk" + "0" * 32)
    assert refused.value.http_status == 401
