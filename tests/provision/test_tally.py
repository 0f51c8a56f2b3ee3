"""Running totals of a ledger: whatever its rows and however they come, they are what all rows together add up to."""

import random
import time
from decimal import Decimal

import pytest
from tests.provision.conftest import MemoryJournal
from tests.slices import spread

from cloudcmp.errors import StorageFault
from cloudcmp.model.lease import FIREWALL, INSTANCE, LeaseEvent, LeaseNote, LeaseRow
from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import Extra
from cloudcmp.provision.ledger_cost import EXACT, ExtraCosts, charges, sum_of
from cloudcmp.provision.tally import RowLog, Tally

TERMS = {"aws": Billing(60, 1, ends=True), "gcp": Billing(60, 60), "old": Billing()}
BESIDE = ExtraCosts(lambda slot: Extra(((Decimal("0.005"), Billing(60, 1)),), Decimal("0.01") * len(slot)))
KNOWN = (LeaseNote.ENDS_BY_ITSELF, LeaseNote.BY_THE_HOUR)
LAST = (LeaseEvent.GONE, LeaseEvent.GONE, LeaseEvent.REFUSED, LeaseEvent.DELETE_ASKED, LeaseEvent.CREATED)


def lease_rows(draw: random.Random, slot: str, attempt: int) -> list[LeaseRow]:
    """One lease's rows, which may end anywhere, come to life again, and have no intent or no price."""
    provider, kind = draw.choice(["aws", "aws", "gcp", "old", "free"]), draw.choice([INSTANCE] * 5 + [FIREWALL])
    price = None if draw.random() < 0.02 else Decimal(draw.randint(1, 10**6)).scaleb(-draw.randint(0, 6))
    at, token = draw.uniform(0, 1e5), draw.choice([f"token-{slot}-{attempt}", f"token-{draw.randint(0, 9)}"])

    def row(event: LeaseEvent, *notes: LeaseNote, **more: object) -> LeaseRow:
        nonlocal at
        at += draw.choice([0.0, 1.0, 60.0, 3600.5, -30.0, 86400.25]) * draw.random()
        return LeaseRow(slot, attempt, event, provider, "eu", kind, "n", token, at, notes=frozenset(notes), **more)  # type: ignore[arg-type]

    known = draw.choice([(), *((one,) for one in KNOWN), KNOWN])
    currency = draw.choice(["USD"] * 40 + ["EUR"])
    rows = [
        row(LeaseEvent.INTENT, *known, price_per_hour=price, currency=currency, ttl_s=draw.choice([60.0, 3600.0, 1e5]))
    ]
    rows = rows if draw.random() < 0.95 else []
    for _ in range(draw.randint(0, 4)):
        event, notes = draw.choice([
            (LeaseEvent.CREATED, ()), (LeaseEvent.CREATED, (LeaseNote.STARTED_AGAIN,)),
            (LeaseEvent.DELETE_ASKED, (LeaseNote.STILL_THERE,)),
            (LeaseEvent.DELETE_ASKED, ()), (LeaseEvent.INDETERMINATE, ()), (LeaseEvent.GONE, ()),
        ])  # fmt: skip
        rows.append(row(event, *notes))
    return [*rows, row(draw.choice(LAST))] if draw.random() < 0.7 else rows


def a_ledger(draw: random.Random) -> list[LeaseRow]:
    """The rows of some leases, mingled as they are when launches run side by side."""
    waiting = [lease_rows(draw, f"launch-{draw.randint(0, 6)}", number) for number in range(draw.randint(0, 12))]
    rows: list[LeaseRow] = []
    while waiting := [some for some in waiting if some]:
        rows.append(draw.choice(waiting).pop(0))
    return rows


@pytest.mark.parametrize("seed", spread(range(300), 75))
def test_the_totals_are_what_all_rows_add_up_to(seed: int) -> None:
    draw = random.Random(seed)
    rows, told, now = a_ledger(draw), list[LeaseRow](), 0.0
    tally = Tally(lambda number: told[number:], TERMS, "USD", BESIDE, lambda charge: charge)
    while True:
        now += draw.uniform(0, 2e5)
        tally.read(now)
        whole = charges(told, now)
        assert sorted((*tally._gone.values(), *tally.open(now)), key=lambda one: one.key) == sorted(
            whole, key=lambda one: one.key
        )
        for worst in (False, True):
            gone, more = tally.gone_cost(), sum_of(tally.open(now), TERMS, "USD", BESIDE, worst=worst)
            total = None if gone is None or more is None else EXACT.add(gone, more)
            assert total == sum_of(whole, TERMS, "USD", BESIDE, worst=worst)
        for slot in {row.slot for row in rows}:
            assert tally.last_attempt(slot) == max((row.attempt for row in told if row.slot == slot), default=0)
        if len(told) == len(rows):
            break
        told += rows[len(told) : len(told) + draw.randint(1, 5)]


def test_the_drawn_ledgers_meet_what_they_are_about() -> None:
    """Prices that are not known, machines that came to life again, and machines without an intent of their own."""
    met = {"unpriced": 0, "again": 0, "stray": 0, "open": 0}
    for seed in range(300):
        rows = a_ledger(random.Random(seed))
        whole = charges(rows, 1e6)
        met["unpriced"] += sum_of(whole, TERMS, "USD", BESIDE, worst=True) is None
        met["open"] += any(one.open for one in whole)
        keys = {(row.slot, row.attempt) for row in rows}
        for key in keys:
            own = [row for row in rows if (row.slot, row.attempt) == key]
            gone = [number for number, row in enumerate(own) if row.event is LeaseEvent.GONE]
            met["again"] += bool(gone) and gone[0] < len(own) - 1
            met["stray"] += own[0].event is not LeaseEvent.INTENT
    assert all(count >= 15 for count in met.values()), met


def test_a_row_that_cannot_be_written_is_not_counted() -> None:
    journal = MemoryJournal()
    journal.fails = {LeaseEvent.CREATED}
    log = RowLog(journal, ())
    intent = LeaseRow("launch-0", 1, LeaseEvent.INTENT, "aws", "eu", INSTANCE, "n", "t", 0.0)
    log.append_lease(intent)
    with pytest.raises(StorageFault):
        log.append_lease(LeaseRow("launch-0", 1, LeaseEvent.CREATED, "aws", "eu", INSTANCE, "n", "t", 1.0))
    assert list(log.rows_from(0)) == journal.rows == [intent]


def test_a_question_costs_the_same_after_ten_thousand_machines_as_after_a_hundred() -> None:
    """By processor time, in the fastest of some rounds; reading all rows again would take a hundred times as long."""

    def question_s(machines: int) -> float:
        rows: list[LeaseRow] = []
        for number in range(machines):
            head = (f"launch-{number}", 1)
            tail = ("aws", "eu", INSTANCE, "n", f"t-{number}")
            rows.append(LeaseRow(*head, LeaseEvent.INTENT, *tail, 0.0, None, Decimal("0.1"), "USD", 3600.0))
            rows.append(LeaseRow(*head, LeaseEvent.GONE, *tail, 100.0))
        tally = Tally(lambda seen: rows[seen:], TERMS, "USD", BESIDE, lambda charge: charge)
        tally.read(200.0)
        took = []
        for _ in range(30):
            began = time.process_time()
            tally.read(200.0)
            sum_of(tally.open(200.0), TERMS, "USD", BESIDE, worst=True)
            took.append(time.process_time() - began)
        return min(took)

    assert question_s(10_000) < 10 * question_s(100) + 1e-4
