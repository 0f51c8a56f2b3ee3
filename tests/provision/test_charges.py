"""What a machine is charged for beyond its age: that it may not end by itself, and that it was started again."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.emulated.ec2_requests import candidate
from tests.provision.conftest import MemoryJournal
from tests.provision.test_budget import BY_HOUR, BY_SECOND, HOUR, ask_for, guard_of, life, row

from cloudcmp.errors import StorageFault
from cloudcmp.model.lease import INSTANCE, Handle, Lease, LeaseEvent, LeaseNote
from cloudcmp.model.offering import Price
from cloudcmp.model.plan import Launch
from cloudcmp.provider.aws import Ec2Provider
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, accrued_cost, change_type, charges, committed_cost, terms_of
from cloudcmp.store.ledger import fold
from cloudcmp.units import Money

AGAIN = frozenset({LeaseNote.STARTED_AGAIN})


def test_one_of_which_it_is_not_known_that_it_ends_costs_until_it_is_seen_gone() -> None:
    """Whatever its provider promises of others."""
    terms = {"aws": replace(BY_SECOND, ends=True)}
    found = charges(life("a", Decimal("3.6"), HOUR, until=65 * HOUR, ends=False), 70 * HOUR)
    assert accrued_cost(found, terms, "USD") == Money(Decimal("3.6") * 65, "USD")


IMAGES = [
    ({}, True),
    ({"image": "ubuntu-24.04"}, True),
    ({"image": "ami-0123456789abcdef0"}, False),
    ({"image": "my-own"}, False),
    ({"os": "windows"}, False),
    ({"image": "windows-2022"}, False),
    ({"os": "windows", "image": "debian-13"}, False),
]


@pytest.mark.parametrize(("options", "ends"), IMAGES)
@pytest.mark.parametrize("name", ["aws", "ec2"])
def test_the_intent_says_whether_its_machine_is_known_to_end_itself(
    name: str, options: dict[str, str], ends: bool
) -> None:
    """Of another cloud than Amazon's that is known of none."""
    journal, one = MemoryJournal(), candidate(**options)
    ledger = Ledger(journal, "study-a", WallTime())
    ledger.intend(ledger.request_for(one, Launch(0, 0, 0, None, 0.0, 1), HOUR), Ec2Provider(name), one)
    assert (journal.rows[0].notes == {LeaseNote.ENDS_BY_ITSELF}) is (ends and name == "aws")


@pytest.mark.parametrize(
    ("options", "hourly"),
    [({}, False), ({"image": "al2023"}, False), ({"os": "windows"}, False), ({"image": "ami-1"}, True)],
)
def test_p12_the_intent_says_whether_its_machine_is_counted_by_the_hour_begun(
    options: dict[str, str], hourly: bool
) -> None:
    """From the ledger's rows alone, so also once another process counts: half an hour, with a start in between."""
    journal, one = MemoryJournal(), candidate(**options)
    one = replace(one, offering=replace(one.offering, price=Price(Decimal(1), "USD", "test")))
    ledger, aws = Ledger(journal, "study-a", WallTime()), Ec2Provider()
    ledger.intend(ledger.request_for(one, Launch(0, 0, 0, None, 0.0, 1), 1800.0), aws, one)
    (intent,) = journal.rows
    assert (LeaseNote.BY_THE_HOUR in intent.notes) is hourly
    moment = intent.at + 1800.0
    found, terms = charges([replace(intent, at=moment - 1800.0)], moment), terms_of({"aws": aws})
    half_and_a_minute = Decimal("0.516667")  # in which its own timer ends it
    assert committed_cost(found, terms, "USD") == Money(Decimal(1) if hourly else half_and_a_minute, "USD")
    again = replace(intent, event=LeaseEvent.CREATED, at=intent.at + 60.0, notes=AGAIN)
    started = committed_cost(charges([intent, again], moment), terms, "USD")
    assert started is not None
    assert started.amount == (2 if hourly else Decimal("0.516667"))


@pytest.mark.parametrize(("hourly", "ttl_s"), [(False, 1.5 * HOUR), (True, HOUR)])
def test_p12_the_guard_counts_by_the_hour_begun_what_is_asked_for_so(hourly: bool, ttl_s: float) -> None:
    guard = guard_of("1.5", [], BY_SECOND)
    ask = replace(ask_for(Decimal(1), 2 * HOUR), hourly=hourly)
    assert guard.allow(ask) == ttl_s
    assert guard.spend().committed == Money(Decimal(1) if hourly else Decimal("1.5"), "USD")


def restarted(*at: float, until: float | None = None) -> list[Any]:
    """The rows of a machine whose time to live is two hours, of which one is counted for its one restart."""
    rows = life("a", Decimal(1), 2 * HOUR)
    rows += [row("a", LeaseEvent.CREATED, moment, notes=AGAIN) for moment in at]
    return rows + ([] if until is None else [row("a", LeaseEvent.GONE, until)])


@pytest.mark.parametrize(("at", "hours"), [((), 1), ((600.0,), 2), ((600.0, 900.0), 3)])
def test_each_start_is_paid_anew_also_once_the_machine_is_gone(at: tuple[float, ...], hours: int) -> None:
    found = charges(restarted(*at, until=1800.0), 65 * HOUR)
    assert accrued_cost(found, {"aws": BY_HOUR}, "USD") == Money(Decimal(hours), "USD")
    assert accrued_cost(found, {"aws": BY_SECOND}, "USD") == accrued_cost(
        charges(life("a", Decimal(1), 2 * HOUR, until=1800.0 + 60 * len(at)), 65 * HOUR), {"aws": BY_SECOND}, "USD"
    )


@pytest.mark.parametrize(("at", "hours"), [((), 2), ((600.0,), 2), ((600.0, 900.0), 3)])
def test_what_its_time_to_live_counts_for_a_start_is_not_counted_twice(at: tuple[float, ...], hours: int) -> None:
    assert committed_cost(charges(restarted(*at), 1800.0), {"aws": BY_HOUR}, "USD") == Money(Decimal(hours), "USD")


class Types:
    """A provider that can do one thing."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self.seen: list[frozenset[LeaseNote]] = []

    async def resize(self, handle: Handle, offering: str, stopped: Any) -> None:
        self.seen = [one.notes for one in self._journal.rows]
        assert (handle, offering) == (Handle(INSTANCE, "us-east-1", "i-1"), "t3.small")
        stopped()


def test_a_start_is_written_down_before_the_machine_is_stopped() -> None:
    journal, one = MemoryJournal(), candidate()
    ledger, provider = Ledger(journal, "study-a", WallTime()), Types(journal)
    lease = ledger.intend(ledger.request_for(one, Launch(0, 0, 0, None, 0.0, 1), HOUR), Ec2Provider(), one)
    made: Lease = ledger.write(lease, LeaseEvent.CREATED, cloud_id="i-1")
    asyncio.run(change_type(ledger, provider, made, "t3.small"))  # type: ignore[arg-type]
    assert provider.seen[-1] == AGAIN
    assert [charge.starts for charge in charges(journal.rows, 0.0)] == [1]
    (known,) = ledger.open_leases()
    assert (known.created_at, known.cloud_id) == (made.created_at, "i-1")
    assert fold(journal.rows)[0].created_at == journal.rows[1].at


def test_where_a_start_cannot_be_written_down_nothing_is_stopped() -> None:
    journal, one = MemoryJournal(), candidate()
    ledger, provider = Ledger(journal, "study-a", WallTime()), Types(journal)
    lease = ledger.intend(ledger.request_for(one, Launch(0, 0, 0, None, 0.0, 1), HOUR), Ec2Provider(), one)
    made = ledger.write(lease, LeaseEvent.CREATED, cloud_id="i-1")
    journal.fails = {LeaseEvent.CREATED}
    with pytest.raises(StorageFault):
        asyncio.run(change_type(ledger, provider, made, "t3.small"))  # type: ignore[arg-type]
    assert provider.seen == []
