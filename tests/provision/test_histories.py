"""Lives of studies on clouds that misbehave: nothing forgotten, nothing believed too soon, nothing spent beyond."""

from dataclasses import replace

import pytest
from tests.provision.history import History, histories
from tests.slices import examples, spread

from cloudcmp.model.lease import Lease, TaggedResource
from cloudcmp.model.protocol import Provider
from cloudcmp.provision import ledger_cost, lifecycle
from cloudcmp.provision.budget import Guard
from cloudcmp.provision.ledger import Patience
from cloudcmp.provision.ownership import Ownership
from cloudcmp.provision.tally import Tally

SEED = 20260105
_DOUBT = Ownership.doubt


def test_p2_p3_p4_p12_histories_at_random() -> None:
    """A slice; `histories` plays as many as one likes."""
    assert histories(examples(150, 3), SEED) == []


def test_the_histories_meet_what_they_are_about() -> None:
    """Faults, deaths of controllers, budgets that were too small and machines that worked, all in one slice."""
    met = {"machines": 0, "killed": 0, "shortened": 0, "lost": 0, "stale": 0, "several": 0}
    n = examples(150, 3)
    for number in range(n):
        one = History(SEED * 1_000_003 + number)
        one.play()
        rows = one.disk.rows
        met["machines"] += any(row.event == "CREATED" for row in rows)
        met["killed"] += one.kills > 0
        met["lost"] += any(row.event == "INDETERMINATE" for row in rows)
        met["shortened"] += any(row.ttl_s is not None and row.ttl_s < one.ttl_s for row in rows)
        met["stale"] += one.how.lag_s > 0
        met["several"] += any(row.slot.endswith(".2") for row in rows)
    assert all(count >= n // 10 for count in met.values()), met


def _careless_patience(provider: object) -> Patience:
    return Patience(sightings=1)


def _hasty_patience(provider: object) -> Patience:
    return Patience(settle_s=0.0)


def _no_grace(provider: object) -> Patience:
    return Patience(grace_s=0.0, listings=1)


def _by_tags_alone(self: Ownership, provider: Provider, found: TaggedResource, lease: Lease) -> str:
    return _DOUBT(self, provider, replace(found, token=lease.token), lease)


MUTANTS: dict[str, tuple[object, str, object]] = {
    "one look is enough": (lifecycle, "patience_with", _careless_patience),
    "what is new may be unseen": (lifecycle, "patience_with", _hasty_patience),
    "one empty list is enough": (lifecycle, "patience_with", _no_grace),
    "whatever is listed is ours": (Ownership, "doubt", lambda *_: ""),
    "tokens are not read": (Ownership, "doubt", _by_tags_alone),
    "the ledger's word is enough": (Ownership, "is_made_here", lambda *_: True),
    "no budget": (Guard, "allow", lambda self, ask: ask.wanted_ttl_s),
    "it ends before its time": (ledger_cost, "SLACK_S", -1800.0),
    "the past is forgotten": (Tally, "read", lambda self, now: frozenset()),
}


@pytest.mark.parametrize("mutant", spread([*MUTANTS], 3))
def test_the_histories_notice(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule of ours, taken away, breaks a promise within a few hundred histories."""
    where, name, careless = MUTANTS[mutant]
    monkeypatch.setattr(where, name, careless)
    assert any(histories(20, seed) for seed in range(40))
