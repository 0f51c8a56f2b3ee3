"""Whether a machine outlived its time to live: only one that is seen then did, on an emulated EC2."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.emulated.ec2 import Ec2, Faults, ec2
from tests.emulated.ec2_requests import REGION, launched, provider
from tests.emulated.pointed import pointed
from tests.provision.conftest import MemoryJournal

from cloudcmp.model.lease import INSTANCE, Lease, LeaseEvent, LeaseNote, LeaseRow
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Patience, Release, accrued_cost, charges, terms_of
from cloudcmp.provision.lifecycle import release
from cloudcmp.store.ledger import fold

DAY, HOUR = 86400.0, 3600.0
QUICK = Patience(grace_s=1.0, poll_s=0.1, give_up_s=10.0, settle_s=0.0)


class Journal(MemoryJournal):
    """Rows that keep price and end, as a study's own."""

    def leases(self) -> tuple[Lease, ...]:
        return fold(self.rows)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2]:
    """A cloud that forgets what has ended."""
    with pointed(ec2(Faults(forget_s=0.0)), monkeypatch) as one:
        yield one


def ended(cloud: Ec2, *, dies: bool, stops: bool = False) -> tuple[Release, list[LeaseRow], float]:
    """The end of a lease of three days ago, an hour long, and what came of it; its rows, and what it cost (USD)."""
    driver, journal, begun_at = provider(settle_s=0.5), Journal(), time.time() - 3 * DAY
    _, id = asyncio.run(launched(driver, token="token-1"))
    intent = LeaseRow(
        "launch-0", 1, LeaseEvent.INTENT, "aws", REGION, INSTANCE, "it", "token-1", begun_at,
        price_per_hour=Decimal(1), currency="USD", ttl_s=HOUR, notes=frozenset({LeaseNote.ENDS_BY_ITSELF}),
    )  # fmt: skip
    made = replace(intent, event=LeaseEvent.CREATED, at=begun_at + 1, cloud_id=id, price_per_hour=None, ttl_s=None)
    journal.rows += [intent, made]
    if dies or stops:
        cloud.state.lives.end(id, ("Client.InstanceInitiatedShutdown", "it"), "terminated" if dies else "stopped")
        time.sleep(0.01)
    ledger = Ledger(journal, "study-a", WallTime())
    (lease,) = ledger.open_leases()
    done = asyncio.run(release(ledger, driver, lease, QUICK))
    money = accrued_cost(charges(journal.rows, time.time()), terms_of({"aws": driver}), "USD")
    assert money is not None
    return done, journal.rows, float(money.amount)


def test_one_that_no_list_shows_any_more_ended_at_its_time(cloud: Ec2) -> None:
    """Though it is not said to be gone before no list has shown it for a while."""
    done, rows, cost = ended(cloud, dies=True)
    assert "is not in any complete list" in (done.evidence or "")
    assert not any(LeaseNote.STILL_THERE in row.notes for row in rows)
    assert cost == pytest.approx(1.1, abs=0.01)


@pytest.mark.parametrize("stops", [False, True], ids=["it runs", "it is stopped"])
def test_one_that_is_seen_after_its_time_costs_until_it_is_seen_gone(cloud: Ec2, stops: bool) -> None:
    cloud.faults = Faults()
    done, rows, cost = ended(cloud, dies=False, stops=stops)
    assert done.evidence
    assert sum(LeaseNote.STILL_THERE in row.notes for row in rows) == 1
    assert cost == pytest.approx(72.0, abs=0.1)
