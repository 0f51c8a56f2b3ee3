"""Whoever waits is told for what, and until when; what is over soon is not spoken of."""

import asyncio
from typing import Any

import pytest

from cloudcmp.errors import Unreached
from cloudcmp.model.lease import LeaseEvent
from cloudcmp.provision.lifecycle import acquire, release_all
from cloudcmp.provision.progress import run_with_progress


def waited(world: Any, said: list[str], first_s: float = 0.01) -> str:
    async def all_of_it() -> str:
        over = asyncio.Event()

        async def work() -> str:
            await over.wait()
            return "done"

        def say(line: str) -> None:
            said.append(line)
            over.set()

        return await run_with_progress(work(), world.ledger, {world.cloud.name: world.cloud}, say, first_s)

    return asyncio.run(all_of_it())


def made(world: Any, index: int = 0) -> Any:
    return asyncio.run(acquire(world.ledger, world.cloud, world.candidate, world.launch(index), 3600.0))


def test_what_is_asked_to_go_is_named_with_the_end_of_patience(world: Any) -> None:
    one, said = world(), []
    lease = made(one)
    assert waited(one, said) == "done"
    (line,) = said
    assert lease.cloud_id in line
    assert "it is asked to go, and given up after 20 min" in line
    assert "more" not in line


def test_what_may_have_been_made_is_named_with_how_long_is_looked_for_it(world: Any) -> None:
    one, said = world(), []
    made(one)
    made(one, 1)
    one.journal.rows = [row for row in one.journal.rows if row.event is LeaseEvent.INTENT]
    one.restart()
    waited(one, said)
    assert "it may have been made, and is looked for until 10 min 00 s are over, and for 1 more" in said[0]
    assert one.ledger.open_leases()[0].name in said[0]


def test_where_no_lease_is_open_the_tags_are_what_is_looked_at(world: Any) -> None:
    one, said = world(), []
    waited(one, said)
    assert "looking for other resources with this study's tags" in said[0]


def test_nothing_is_said_of_what_is_over_soon_and_its_fault_is_passed_on(world: Any) -> None:
    one, said = world(), []
    made(one)
    work = release_all(one.ledger, {one.cloud.name: one.cloud})
    (done,) = asyncio.run(run_with_progress(work, one.ledger, {}, said.append))
    assert done.evidence

    async def fails() -> None:
        raise Unreached.at("nimbus", "no way")

    with pytest.raises(Unreached):
        asyncio.run(run_with_progress(fails(), one.ledger, {}, said.append))
    assert said == []


def test_what_cuts_the_wait_short_cuts_the_work_short(world: Any) -> None:
    one, ended = world(), []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def cut() -> None:
        waiting = asyncio.create_task(run_with_progress(endless(), one.ledger, {}, lambda _: None))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait({waiting})
        await asyncio.sleep(0)

    asyncio.run(cut())
    assert ended == [True]


def test_p08_that_nobody_can_be_told_cuts_nothing_short(world: Any) -> None:
    one, over = world(), asyncio.Event()
    lease = made(one)

    def closed(_: str) -> None:
        over.set()
        raise BrokenPipeError(32, "broken pipe")

    async def work() -> Any:
        await over.wait()
        return await release_all(one.ledger, {one.cloud.name: one.cloud})

    (done,) = asyncio.run(run_with_progress(work(), one.ledger, {one.cloud.name: one.cloud}, closed, 0.01))
    assert done.lease.cloud_id == lease.cloud_id
    assert done.evidence
