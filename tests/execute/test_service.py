"""The access that a trial gets to the service that it measures."""

import asyncio
from collections.abc import Sequence

import pytest

from cloudcmp.errors import Unreached
from cloudcmp.execute.cast import target_of
from cloudcmp.execute.service import resolved_at
from cloudcmp.model.cast import DataSet
from cloudcmp.model.remote import CommandOutput

BUCKET = DataSet("s3", "https://blobs.example.org", "b", "r", addresses=("192.0.2.1",))


class Answers:
    """A machine that answers one command."""

    def __init__(self, out: bytes) -> None:
        self.out = out
        self.asked: list[Sequence[str]] = []

    async def run(self, command: Sequence[str], **_: object) -> CommandOutput:
        self.asked.append(command)
        return CommandOutput(0, self.out, b"")


def test_the_machine_that_asks_finds_the_address_itself() -> None:
    there = Answers(b"198.51.100.7 STREAM blobs.example.org\n198.51.100.7 DGRAM\n2001:db8::7 STREAM\n; rm -rf x\n")
    found = asyncio.run(resolved_at(there, BUCKET))  # type: ignore[arg-type]
    assert found.addresses == ("198.51.100.7", "2001:db8::7")
    assert there.asked == [["getent", "ahosts", "blobs.example.org"]]


def test_a_machine_that_finds_none_is_told() -> None:
    with pytest.raises(Unreached, match="finds no address"):
        asyncio.run(resolved_at(Answers(b""), BUCKET))  # type: ignore[arg-type]


def test_an_endpoint_that_is_an_address_needs_no_look() -> None:
    there = Answers(b"")
    plain = DataSet("s3", "http://192.0.2.1:9000", "b", "r")
    assert asyncio.run(resolved_at(there, plain)) is plain  # type: ignore[arg-type]
    assert there.asked == []


def test_what_a_library_signs_in_with_is_never_what_an_agent_gets() -> None:
    narrow, own = {"kind": "sigv4", "keys": {}}, {"kind": "keys", "secret_key": "5ec3e7"}
    both = DataSet("s3", "http://192.0.2.1:9000", "b", "r", credential=narrow, own_client_credential=own)
    assert target_of(both)[1] == {"service": narrow}
    assert target_of(both, by_other_client=True)[1] == {"service": own}
    assert "5ec3e7" not in repr(both)
    shared = DataSet("gcs", "http://192.0.2.1:9000", "b", "r", credential=narrow)
    assert target_of(shared, by_other_client=True) == target_of(shared)
    nobody = DataSet("gcs", "http://192.0.2.1:9000", "b", "r")
    assert target_of(nobody, by_other_client=True)[1] == {}
    assert target_of(nobody)[0].credential_ref is None
