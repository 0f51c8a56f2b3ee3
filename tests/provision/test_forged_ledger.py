"""Rows of a ledger that name what is not the study's: on every emulated cloud only its own resource is destroyed."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.provider.every import EVERY, pointed
from tests.provision.conftest import MemoryJournal
from tests.slices import some

from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest, Lease, LeaseEvent, LeaseRow
from cloudcmp.model.protocol import Provider
from cloudcmp.provider.time import VirtualTime, WallTime
from cloudcmp.provision import Ledger, Patience, Release, release_all
from cloudcmp.provision.lifecycle import release
from cloudcmp.provision.ownership import token_of

STUDY = "study-a"
QUICK = Patience(grace_s=1.0, poll_s=1.0, give_up_s=3.0, listings=2, settle_s=0.0)
YEAR = 365 * 86400.0


def asked(name: str, kind: str, slot: str, study: str = STUDY, **more: Any) -> CreateRequest:
    """A request for one resource of a study, as its ledger would make it."""
    tags = {
        "schema": "1",
        "study": study,
        "slot": slot,
        "attempt": "1",
        "owner": "0",
        "expires": "2030-01-01T00:00:00Z",
    }
    return EVERY[name].request(
        kind, more.pop("token", token_of(study, slot, 1)), study, slot=slot,
        tags=tuple((f"cloudcmp:{key}", value) for key, value in tags.items()), **more,
    )  # fmt: skip


async def made(name: str, driver: Provider, slot: str, study: str = STUDY, **more: Any) -> dict[str, str]:
    """A machine with its firewall: their ids by kind."""
    token = {"token": f"{more['token']}-wall"} if more else {}
    wall = await driver.create(asked(name, FIREWALL, f"{slot}.firewall", study, **token))
    machine = await driver.create(asked(name, INSTANCE, slot, study, options={"firewall": wall}, **more))
    return {FIREWALL: wall, INSTANCE: machine}


def row(name: str, kind: str, slot: str, id: str, at: float) -> LeaseRow:
    region = EVERY[name].request(kind).region
    token = token_of(STUDY, slot, 1)
    return LeaseRow(slot, 1, LeaseEvent.CREATED, name, region, kind, "a-name", token, at, cloud_id=id)


def ledger_of(rows: list[LeaseRow]) -> Ledger:
    journal = MemoryJournal()
    journal.rows += rows
    return Ledger(journal, STUDY, VirtualTime(WallTime().now()))


def ended(name: str, rows: list[LeaseRow]) -> list[Release]:
    """What comes of each row's lease, machines first."""

    async def all_of() -> list[Release]:
        ledger, driver = ledger_of(rows), EVERY[name].provider()
        leases: list[Lease] = sorted(ledger.open_leases(), key=lambda one: one.kind != INSTANCE)
        return [await release(ledger, driver, one, QUICK) for one in leases]

    return asyncio.run(all_of())


def alive(cloud: Any) -> set[tuple[str, str]]:
    return {(one.kind, one.id) for one in cloud.alive()}


@pytest.mark.parametrize("name", some([*EVERY], 3, 0))
def test_only_what_bears_our_tags_and_our_token_is_destroyed(name: str) -> None:
    with pointed(name) as cloud:
        driver, then = EVERY[name].provider(), WallTime().now() - YEAR
        region = asked(name, INSTANCE, "launch-0").region
        production = cloud.plant(INSTANCE, region, "production-db", {})
        door = cloud.plant(FIREWALL, region, "production-door", {})
        theirs = asyncio.run(made(name, driver, "launch-1", "study-b"))
        twin = asyncio.run(made(name, driver, "launch-2", token="0f0e0d0c-1111-4222-8333-444455556666"))
        foreign = alive(cloud)
        own = asyncio.run(made(name, driver, "launch-3"))
        assert len(alive(cloud)) > len(foreign)
        things = {
            "launch-0": {FIREWALL: door, INSTANCE: production},
            "launch-1": theirs,
            "launch-2": twin,
            "launch-3": own,
        }
        rows = [
            row(name, kind, slot if kind == INSTANCE else f"{slot}.firewall", id, then)
            for slot, some in things.items()
            for kind, id in some.items()
        ]
        releases = ended(name, rows)
        assert {one.lease.cloud_id for one in releases if one.evidence} == set(own.values())
        kept = [one.why for one in releases if not one.evidence]
        assert len(kept) == 6
        assert all("it is kept" in why and "\n" not in why for why in kept)
        assert alive(cloud) == foreign


@pytest.mark.parametrize("name", EVERY)
def test_a_row_without_an_id_finds_nothing_that_is_not_its_own(name: str) -> None:
    """Neither a name nor a token that somebody else's machine happens to bear makes it ours."""
    with pointed(name) as cloud:
        driver = EVERY[name].provider()
        theirs = asyncio.run(made(name, driver, "launch-1", "study-b"))
        foreign = alive(cloud)
        forged = [
            replace(one, event=LeaseEvent.INTENT, cloud_id=None, token=token_of("study-b", one.slot, 1), name=called)
            for kind, slot in ((INSTANCE, "launch-1"), (FIREWALL, "launch-1.firewall"))
            for called in [asked(name, kind, slot, "study-b").name]
            for one in [row(name, kind, slot, theirs[kind], WallTime().now() - YEAR)]
        ]
        assert [one.evidence for one in ended(name, forged)] == [None, None]
        assert alive(cloud) == foreign


@pytest.mark.parametrize("name", ["aws", "gcp"])
def test_many_leases_of_a_region_are_read_back_by_one_list(name: str) -> None:
    """A teardown of a hundred machines stays cheap."""
    with pointed(name) as cloud:
        driver = EVERY[name].provider()
        walls = [asyncio.run(driver.create(asked(name, FIREWALL, f"launch-{n}.firewall"))) for n in range(12)]
        rows = [
            row(name, FIREWALL, f"launch-{n}.firewall", wall, WallTime().now() - YEAR) for n, wall in enumerate(walls)
        ]
        seen = driver.find
        lists: list[object] = []

        async def find(*words: Any, **more: Any) -> Any:
            lists.append(words)
            return await seen(*words, **more)

        driver.find = find  # type: ignore[method-assign]

        async def all_of() -> list[Release]:
            ledger = ledger_of(rows)
            asks = [release(ledger, driver, one, QUICK) for one in ledger.open_leases()]
            return list(await asyncio.gather(*asks))

        assert all(one.evidence for one in asyncio.run(all_of()))
        assert len(lists) == 1
        assert cloud.alive() == [] or alive(cloud).isdisjoint({("firewall", wall) for wall in walls})


def test_what_this_study_tags_without_its_token_is_told_and_kept() -> None:
    """A cleanup lists what bears the study's tag: a copy of the tags on another machine ends nothing."""
    with pointed("aws") as cloud:
        driver = EVERY["aws"].provider()
        asyncio.run(made("aws", driver, "launch-2", token="0f0e0d0c-1111-4222-8333-444455556666"))
        before = alive(cloud)
        releases = asyncio.run(release_all(ledger_of([]), {"aws": driver}))
        assert sorted(one.lease.kind for one in releases if not one.evidence) == [FIREWALL, INSTANCE]
        assert all("it bears another token" in one.why for one in releases)
        assert alive(cloud) == before
