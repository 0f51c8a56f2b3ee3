"""The ledger: rows are only ever added, and the last one says what a lease is."""

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.conftest import QUICK, create

from cloudcmp.model.lease import LeaseEvent, LeaseNote, LeaseRow, LeaseState
from cloudcmp.store import StudyStore
from cloudcmp.store.ledger import fold

NAMES = st.text(st.characters(exclude_characters="\0"), max_size=5)
NUMBERS = st.floats(min_value=0, max_value=4e9)
ROWS = st.builds(
    LeaseRow,
    slot=st.sampled_from(["a", "b"]),
    attempt=st.integers(0, 2),
    event=st.sampled_from(LeaseEvent),
    provider=NAMES,
    region=NAMES,
    kind=st.just("instance"),
    name=NAMES,
    token=NAMES,
    at=NUMBERS,
    cloud_id=st.none() | NAMES.filter(bool),
    price_per_hour=st.none() | st.decimals(0, 1000, places=4),
    currency=st.none() | st.just("USD"),
    ttl_s=st.none() | NUMBERS,
    detail=st.text(max_size=20),
    notes=st.frozensets(st.sampled_from(LeaseNote)),
)


def row(event: LeaseEvent, at: float = 0.0, attempt: int = 0, cloud_id: str | None = None) -> LeaseRow:
    return LeaseRow(
        "slot", attempt, event, "aws", "eu", "instance", "name", f"token-{attempt}", at, cloud_id, Decimal("0.1")
    )


def test_a_lease_passes_through_its_states() -> None:
    rows = [
        row(LeaseEvent.INTENT, 1.0),
        row(LeaseEvent.INDETERMINATE, 2.0),
        row(LeaseEvent.CREATED, 3.0, cloud_id="i-1"),
        row(LeaseEvent.DELETE_ASKED, 4.0),
        row(LeaseEvent.GONE, 5.0),
    ]
    states = [fold(rows[: n + 1])[0].state for n in range(5)]
    assert states == [
        LeaseState.INTENDED,
        LeaseState.INDETERMINATE,
        LeaseState.LIVE,
        LeaseState.LIVE,
        LeaseState.GONE,
    ]
    (lease,) = fold(rows)
    assert (lease.cloud_id, lease.created_at) == ("i-1", 3.0)


def test_a_new_try_at_a_slot_is_a_lease_of_its_own() -> None:
    rows = [row(LeaseEvent.INTENT), row(LeaseEvent.REFUSED), row(LeaseEvent.INTENT, attempt=1)]
    assert [(lease.attempt, lease.state) for lease in fold(rows)] == [(0, LeaseState.GONE), (1, LeaseState.INTENDED)]


@given(st.lists(ROWS, max_size=12))
def test_folding_keeps_what_matters(rows: list[LeaseRow]) -> None:
    leases = fold(rows)
    keys = [(lease.slot, lease.attempt) for lease in leases]
    assert keys == list(dict.fromkeys((one.slot, one.attempt) for one in rows))
    for lease in leases:
        mine = [one for one in rows if (one.slot, one.attempt) == (lease.slot, lease.attempt)]
        gone = mine[-1].event in (LeaseEvent.GONE, LeaseEvent.REFUSED)
        assert (lease.state is LeaseState.GONE) == gone
        ids = [one.cloud_id for one in mine if one.cloud_id]
        assert lease.cloud_id == (ids[-1] if ids else None)
        made = [one.at for one in mine if one.event is LeaseEvent.CREATED]
        assert lease.created_at == (made[0] if made else None)


@settings(max_examples=10, deadline=None)
@given(st.lists(ROWS, max_size=6))
def test_rows_are_read_as_they_were_written(rows: list[LeaseRow]) -> None:
    with TemporaryDirectory(dir=QUICK) as folder:
        with create(Path(folder) / "study") as store:
            for one in rows:
                store.append_lease(one)
        with StudyStore.open(Path(folder) / "study", write=False) as store:
            assert store.lease_rows() == tuple(rows)
            assert store.leases() == fold(rows)
