"""What keeps something from being seen gone, and what then is said of it: of the asker's own troubles nobody else's."""

import asyncio
from typing import Any

import pytest

from cloudcmp.errors import (
    BadCredentials,
    CloudcmpError,
    IncompleteListing,
    LostAnswer,
    OtherAccount,
    ProviderFault,
    Refused,
    Unreached,
)
from cloudcmp.model.lease import LeaseEvent, LeaseNote, LeaseState
from cloudcmp.provision import Accounts, Patience, release_all
from cloudcmp.provision.lifecycle import acquire, release, release_earlier

SHORT = Patience(grace_s=20.0, poll_s=5.0, give_up_s=30.0, settle_s=0.0)


def raising(fault: Exception) -> Any:
    def fail() -> None:
        raise fault

    return fail


def made(world: Any) -> Any:
    return asyncio.run(acquire(world.ledger, world.cloud, world.candidate, world.launch(), 3600.0))


def test_what_is_gone_already_is_seen_gone_though_it_may_not_be_ended(world: Any) -> None:
    """A machine that has ended may have lost the tags on which the right to end it rests."""
    one = world()
    lease = made(one)
    asyncio.run(one.cloud.destroy(lease.handle()))
    one.cloud.before["destroy"] = raising(Refused.at("it", "UnauthorizedOperation"))
    began = one.cloud.time.monotonic()
    done = asyncio.run(release(one.ledger, one.cloud, lease, SHORT))
    assert done.evidence
    assert one.cloud.time.monotonic() - began < SHORT.give_up_s
    assert one.ledger.open_leases() == ()


def test_one_that_is_there_and_may_not_be_ended_is_left_with_the_reason(world: Any) -> None:
    one = world()
    lease = made(one)
    one.cloud.before["destroy"] = raising(Refused.at("it", "UnauthorizedOperation"))
    done = asyncio.run(release(one.ledger, one.cloud, lease, SHORT))
    assert done.evidence is None
    assert "UnauthorizedOperation" in done.why
    assert isinstance(done.fault, Refused)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Unreached, Unreached),
        (BadCredentials, BadCredentials),
        (IncompleteListing, IncompleteListing),
        (Refused, ProviderFault),
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["its id is known", "its answer was lost"])
def test_a_fault_of_whoever_asks_stays_one(
    world: Any, fault: type[ProviderFault], kind: type[ProviderFault], known: bool
) -> None:
    """What an earlier attempt left cannot be ended: the candidate is to blame for none of the asker's troubles."""
    one = world()
    lease = made(one)
    if not known:
        one.journal.rows = [row for row in one.journal.rows if row.event is LeaseEvent.INTENT]
        one.restart()
        lease = one.ledger.open_leases()[0]
        assert lease.state is LeaseState.INTENDED
    for call in ("find", "destroy", "gone"):
        one.cloud.before[call] = raising(fault.at("nimbus", "said"))
    with pytest.raises(ProviderFault) as raised:
        asyncio.run(release_earlier(one.ledger, one.cloud, one.ledger.open_of(one.launch()), SHORT))
    assert type(raised.value) is kind
    assert "said" in str(raised.value)


def test_an_answer_that_was_lost_to_a_network_that_went_stays_the_networks(world: Any) -> None:
    one = world()

    def lose() -> None:
        one.cloud.before["find"] = raising(Unreached.at("nimbus", "no way"))
        raise LostAnswer.at("nimbus", "no answer")

    one.cloud.before["create"] = lose
    with pytest.raises(Unreached):
        asyncio.run(acquire(one.ledger, one.cloud, one.candidate, one.launch(), 3600.0, patience=SHORT))


@pytest.mark.parametrize("late", [True, False])
def test_that_a_machine_outlived_its_time_is_written_down_once(world: Any, late: bool) -> None:
    """It costs until it is seen gone then; one that nobody saw ended by itself."""
    one = world()
    lease = made(one)
    asyncio.run(one.cloud.time.sleep(3700.0 if late else 60.0))
    one.cloud.before["destroy"] = raising(ProviderFault.at("nimbus", "503"))
    assert asyncio.run(release(one.ledger, one.cloud, lease, SHORT)).evidence is None
    one.cloud.before.clear()
    assert asyncio.run(release(one.ledger, one.cloud, lease, SHORT)).evidence
    assert sum(LeaseNote.STILL_THERE in row.notes for row in one.journal.rows) == 2 * late


def test_it_is_written_down_where_its_time_passes_while_it_is_being_ended(world: Any) -> None:
    one = world()
    lease = made(one)
    asyncio.run(one.cloud.time.sleep(3600.0 - 15.0))
    one.cloud.before["destroy"] = raising(ProviderFault.at("nimbus", "503"))
    assert asyncio.run(release(one.ledger, one.cloud, lease, SHORT)).evidence is None
    assert sum(LeaseNote.STILL_THERE in row.notes for row in one.journal.rows) == 1


class Noted:
    """What a study remembers."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def accounts(self) -> Accounts:
        return Accounts(self.kept.get, self.kept.__setitem__)


@pytest.fixture
def owned(world: Any) -> Any:
    """A world whose cloud tells the account, which its study remembers."""
    one, noted = world(), Noted()

    async def mine() -> str:
        return "mine"

    one.cloud.account = mine
    one.ledger.accounts = noted.accounts()
    one.noted = noted
    return one


def elsewhere(one: Any) -> None:
    """A successor, with the credentials of another account, which sees nothing."""

    async def other() -> str:
        return "theirs"

    async def none(*_: Any, **__: Any) -> tuple[()]:
        return ()

    async def unseen(_: Any) -> str:
        return "it does not exist"

    one.restart()
    one.ledger.accounts = one.noted.accounts()
    one.cloud.account, one.cloud.find, one.cloud.gone = other, none, unseen


def test_the_account_is_kept_before_the_first_create(owned: Any) -> None:
    owned.cloud.before["create"] = lambda: owned.log.append(str(owned.noted.kept))
    made(owned)
    assert owned.log[:3] == ["INTENT", "create", "{'account.simulated': 'mine'}"]


@pytest.mark.parametrize("event", [LeaseEvent.CREATED, LeaseEvent.INDETERMINATE])
def test_p4_what_another_account_does_not_show_is_not_gone(owned: Any, event: LeaseEvent) -> None:
    made(owned)
    if event is LeaseEvent.INDETERMINATE:
        owned.journal.rows = [row for row in owned.journal.rows if row.event is LeaseEvent.INTENT]
    elsewhere(owned)
    began = owned.cloud.time.monotonic()
    releases = asyncio.run(release_all(owned.ledger, {"simulated": owned.cloud}))
    assert [one.evidence for one in releases] == [None] * len(releases)
    assert all("these credentials are of account theirs, it was made in account mine" in one.why for one in releases)
    assert owned.cloud.time.monotonic() - began < 10.0  # it does not get better by waiting
    assert len(owned.ledger.open_leases()) == 1


def test_nothing_is_made_in_another_account_than_before(owned: Any) -> None:
    made(owned)
    elsewhere(owned)
    with pytest.raises(OtherAccount):
        asyncio.run(acquire(owned.ledger, owned.cloud, owned.candidate, owned.launch(1), 3600.0))
    assert len(owned.cloud.holds) == 1


def test_an_absence_is_not_believed_while_the_account_cannot_be_told(owned: Any) -> None:
    lease = made(owned)

    async def silent() -> str:
        raise Unreached.at("nimbus", "no way")

    owned.cloud.account = silent
    done = asyncio.run(release(owned.ledger, owned.cloud, lease, SHORT))
    assert done.evidence is None
    assert isinstance(done.fault, CloudcmpError)
    assert owned.cloud.holds == []  # it was asked to go all the same


PATIENT = Patience(grace_s=600.0, poll_s=5.0, give_up_s=1200.0)
EXPIRED = BadCredentials.at("nimbus", "ExpiredToken")


def within(one: Any, fault: Exception, *spans: tuple[float, float]) -> Any:
    """Fails from some seconds to others, from now on."""
    began = one.cloud.time.monotonic()

    def fail() -> None:
        if any(first <= one.cloud.time.monotonic() - began < last for first, last in spans):
            raise fault

    return fail


@pytest.mark.parametrize("hindered", ["destroy", "gone"])
def test_credentials_that_were_renewed_meanwhile_end_no_wait(world: Any, hindered: str) -> None:
    """The wait for a deletion goes on as if they had held all the time."""
    one = world()
    lease = made(one)
    refused = within(one, EXPIRED, (0.0, 50.0), (100.0, 150.0))
    one.cloud.before["destroy"] = one.cloud.before["gone"] = refused
    gone_at = one.cloud.time.monotonic() + 300.0

    async def slow(handle: Any) -> str | None:
        one.cloud._call("gone")
        return "gone" if one.cloud.time.monotonic() >= gone_at else None

    one.cloud.gone = slow
    if hindered == "gone":  # what else goes wrong says nothing of the credentials
        one.cloud.before["destroy"] = raising(Refused.at("nimbus", "DependencyViolation"))
    done = asyncio.run(release(one.ledger, one.cloud, lease, PATIENT))
    assert done.evidence == "gone"


@pytest.mark.parametrize("known", [True, False], ids=["its id is known", "its answer was lost"])
def test_credentials_that_are_never_renewed_are_waited_for_a_minute(world: Any, known: bool) -> None:
    one = world()
    lease = made(one)
    if not known:
        one.journal.rows = [row for row in one.journal.rows if row.event is LeaseEvent.INTENT]
        one.restart()
        lease = one.ledger.open_leases()[0]
    for call in ("find", "destroy", "gone"):
        one.cloud.before[call] = raising(EXPIRED)
    began = one.cloud.time.monotonic()
    done = asyncio.run(release(one.ledger, one.cloud, lease, PATIENT))
    assert done.evidence is None
    assert isinstance(done.fault, BadCredentials)
    assert 60.0 <= one.cloud.time.monotonic() - began < 90.0


def test_a_refusal_that_is_over_is_no_reason_any_more(world: Any) -> None:
    one = world()
    lease = made(one)

    async def there(_: Any) -> None:
        return None

    one.cloud.before["destroy"] = within(one, EXPIRED, (0.0, 50.0))
    one.cloud.gone = there
    done = asyncio.run(release(one.ledger, one.cloud, lease, PATIENT))
    assert (done.evidence, done.why, done.fault) == (None, "it is still there", None)


def test_what_is_looked_for_is_found_once_the_credentials_are_renewed(world: Any) -> None:
    one = world()
    made(one)
    one.journal.rows = [row for row in one.journal.rows if row.event is LeaseEvent.INTENT]
    one.restart()
    one.cloud.before["find"] = within(one, EXPIRED, (0.0, 50.0))
    assert asyncio.run(release(one.ledger, one.cloud, one.ledger.open_leases()[0], PATIENT)).evidence
    assert one.cloud.holds == []


def named(one: Any, account: str) -> None:
    """A successor with other words for where it is, which sees what there is."""

    async def told() -> str:
        return account

    one.restart()
    one.ledger.accounts = one.noted.accounts()
    one.cloud.account = told


HERE = "mine at http://Cloud.example:80/api/"
SAME = [
    (HERE, "mine at HTTP://cloud.EXAMPLE/api"),
    (HERE, "untold at http://cloud.example:80/api"),
    ("untold at https://cloud.example/", "mine at https://cloud.example:443"),
    ("untold", "untold"),
    ("untold", "mine"),
]


@pytest.mark.parametrize(("then", "now"), SAME)
def test_an_account_that_is_not_told_and_another_spelling_are_no_other_account(owned: Any, then: str, now: str) -> None:
    named(owned, then)
    lease = made(owned)
    named(owned, now)
    assert asyncio.run(release(owned.ledger, owned.cloud, lease, SHORT)).evidence
    assert made(owned).cloud_id in owned.cloud.holds


@pytest.mark.parametrize("now", ["mine", "mine at http://cloud.example:81/api", "untold at https://cloud.example/api"])
def test_p4_at_another_endpoint_it_is_ended_and_no_absence_believed(owned: Any, now: str) -> None:
    """It may be the same cloud by another name, and it may not."""
    named(owned, HERE)
    lease = made(owned)
    named(owned, now)
    done = asyncio.run(release(owned.ledger, owned.cloud, lease, SHORT))
    assert (done.evidence, owned.cloud.holds) == (None, [])
    assert f"the current account is {now}, the resource was made in {HERE}" in done.why
    assert "name the endpoint" in done.why
    assert len(owned.ledger.open_leases()) == 1
    with pytest.raises(OtherAccount):
        asyncio.run(acquire(owned.ledger, owned.cloud, owned.candidate, owned.launch(1), 3600.0))


def test_in_another_account_nothing_is_asked_to_go(owned: Any) -> None:
    named(owned, HERE)
    lease = made(owned)
    named(owned, HERE.replace("mine", "theirs"))
    assert asyncio.run(release(owned.ledger, owned.cloud, lease, SHORT)).evidence is None
    assert owned.cloud.holds == [lease.cloud_id]
