"""Leaving at once: what is told of each resource is what came of asking for its end."""

import asyncio
from types import SimpleNamespace

import pytest

from cloudcmp.errors import Refused
from cloudcmp.model.lease import INSTANCE, Lease, LeaseState
from cloudcmp.provision import ask_all


def lease(id: str | None) -> Lease:
    return Lease(f"slot-{id}", 1, LeaseState.LIVE, "aws", "eu", INSTANCE, f"n-{id}", "t", id, 0.0)


async def answers(handle: object) -> None:
    return None


async def refuses(handle: object) -> None:
    raise Refused.at("i-1", "UnauthorizedOperation", "")


async def breaks(handle: object) -> None:
    raise RuntimeError("a fault of its own")


async def hangs(handle: object) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("destroy", "id", "told"),
    [
        (answers, "i-1", "asked to go, not seen gone"),
        (refuses, "i-1", "it could not be asked to go: i-1: UnauthorizedOperation"),
        (breaks, "i-1", "it could not be asked to go: a fault of its own"),
        (hangs, "i-1", "not asked to go in time"),
        (answers, None, "it may have been made: there was no answer yet"),
    ],
)
def test_p08_only_what_was_asked_to_go_is_told_so(destroy: object, id: str | None, told: str) -> None:
    ledger = SimpleNamespace(open_leases=lambda: [lease(id)], write=lambda *_: None)
    providers = {"aws": SimpleNamespace(destroy=destroy)}

    async def asked() -> tuple[str, ...]:
        return tuple(one.why for one in await ask_all(ledger, providers, 0.1))  # type: ignore[arg-type]

    assert asyncio.run(asked()) == (told,)
