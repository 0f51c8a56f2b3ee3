"""The watch on the money of a study that runs: what it cannot count, it does not let go on."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.execute.conftest import Told

from cloudcmp.errors import StorageFault
from cloudcmp.execute.spending import watch_money
from cloudcmp.model.lease import INSTANCE, LeaseEvent, LeaseRow
from cloudcmp.model.offering import Billing
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Guard
from cloudcmp.units import Money

BUDGET = Money(Decimal(5), "USD")


def row(**more) -> LeaseRow:
    told = {"price_per_hour": Decimal("0.1"), "currency": "USD", "ttl_s": 3600.0} | more
    return LeaseRow("launch-0", 1, LeaseEvent.INTENT, "aws", "eu", INSTANCE, "n", "t", WallTime().now(), **told)


class Noted(Told):
    """Writes down what is told."""

    def __init__(self, did: list[tuple[str, str]]) -> None:
        super().__init__()
        self._did = did

    def note(self, text: str) -> None:
        self._did.append(("note", text))


def watched(rows, *, noted: bool = False, within_s: float = 0.1) -> list[tuple[str, str]]:
    """What the watch does within a moment; with `noted` also what it tells."""
    did: list[tuple[str, str]] = []
    progress = Noted(did) if noted else Told()
    guard = Guard(BUDGET, {"aws": Billing()}, rows, WallTime())

    async def look():
        watch = watch_money(
            guard, progress, lambda why: did.append(("drain", why)), lambda why: did.append(("teardown", why)), 0.01
        )
        task = asyncio.create_task(watch)
        await asyncio.sleep(within_s)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(look())
    return did


def failing(number):
    raise StorageFault.at("study.db", "input/output error")


def test_p12_within_the_budget_nothing_is_done():
    assert watched(lambda number: [row()][number:]) == []


@pytest.mark.parametrize("wrong", [{"price_per_hour": None}, {"currency": "EUR"}])
def test_p13_a_machine_without_a_price_that_says_something_ends_the_study(wrong):
    ((what, why),) = watched(lambda number: [row(**wrong)][number:])
    assert what == "teardown"
    assert "no known price in USD" in why


def test_p12_a_ledger_that_cannot_be_read_ends_the_study():
    ((what, why),) = watched(failing)
    assert what == "teardown"
    assert "input/output error" in why


def used(share: str):
    """The rows of a machine that is gone and cost a share of the budget; it lived an hour."""
    price, now = Decimal(share) * BUDGET.amount, WallTime().now()
    one = row(price_per_hour=price)
    return [replace(one, at=now - 3600.0), replace(one, at=now, event=LeaseEvent.GONE)]


@pytest.mark.parametrize(
    ("share", "does"),
    [
        ("0.79", []),
        ("0.80", ["note"]),
        ("0.94", ["note"]),
        ("0.95", ["note", "drain"]),
        ("0.99", ["note", "drain"]),
        ("1.00", ["note", "teardown"]),
    ],
)
def test_p12_the_watch_warns_at_80_drains_at_95_and_ends_all_at_100_percent(share: str, does: list[str]) -> None:
    did = watched(lambda number: used(share)[number:], noted=True)
    assert [what for what, _ in did] == does
    assert all("of 5.00 USD spent" in why for _, why in did)


def test_p12_each_step_is_told_once_as_the_money_goes() -> None:
    steps = iter(["0.5", "0.31", "0.01", "0.14", "0.01", "0.03"])
    known = []

    def rows(number):
        """A further machine each time, which cost a further share."""
        share = next(steps, None)
        if share is not None:
            slot = f"launch-{len(known)}"
            known.extend(replace(one, slot=slot, token=slot) for one in used(share))
        return known[number:]

    assert [what for what, _ in watched(rows, noted=True, within_s=1.0)] == [
        "note",
        "note",
        "drain",
        "note",
        "teardown",
    ]
