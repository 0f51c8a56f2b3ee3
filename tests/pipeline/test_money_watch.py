"""The watch on the money of a study that runs: what it can not count, it does not let go on."""

import asyncio
from decimal import Decimal

import pytest

from cloudcmp.errors import StorageFault
from cloudcmp.model.lease import INSTANCE, LeaseEvent, LeaseRow
from cloudcmp.model.offering import Billing
from cloudcmp.pipeline.spending import watch_money
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Guard
from cloudcmp.units import Money
from tests.measure.conftest import Told

BUDGET = Money(Decimal(5), "USD")


def row(**more) -> LeaseRow:
    told = {"price_per_hour": Decimal("0.1"), "currency": "USD", "ttl_s": 3600.0} | more
    return LeaseRow("launch-0", 1, LeaseEvent.INTENT, "aws", "eu", INSTANCE, "n", "t", WallTime().now(), **told)


def watched(rows) -> list[tuple[str, str]]:
    """What the watch does within a moment."""
    did: list[tuple[str, str]] = []
    guard = Guard(BUDGET, {"aws": Billing()}, rows, WallTime())

    async def look():
        watch = watch_money(
            guard, Told(), lambda why: did.append(("drain", why)), lambda why: did.append(("teardown", why)), 0.01
        )
        task = asyncio.create_task(watch)
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(look())
    return did


def failing():
    raise StorageFault.at("study.db", "input/output error")


def test_p12_within_the_budget_nothing_is_done():
    assert watched(lambda: [row()]) == []


@pytest.mark.parametrize("wrong", [{"price_per_hour": None}, {"currency": "EUR"}])
def test_p13_a_machine_without_a_price_that_says_something_ends_the_study(wrong):
    ((what, why),) = watched(lambda: [row(**wrong)])
    assert what == "teardown"
    assert "no known price in USD" in why


def test_p12_a_ledger_that_can_not_be_read_ends_the_study():
    ((what, why),) = watched(failing)
    assert what == "teardown"
    assert "input/output error" in why
