"""Leases on this machine: folders, found again whatever a kill left of them."""

import asyncio
import json

import pytest

from cloudcmp.errors import NotOurs
from cloudcmp.model.lease import LeaseEvent
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalProvider
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, release_all
from cloudcmp.provision.lifecycle import acquire, release


def test_from_intent_to_evidence(world, tmp_path):
    one = world()
    provider = LocalProvider(OwnedPath(tmp_path), study="study-a")
    ledger = Ledger(one.journal, "study-a", WallTime())
    lease = asyncio.run(acquire(ledger, provider, one.candidate, one.launch(), 60.0))
    assert [path.name for path in tmp_path.iterdir()] == [lease.token]
    outcome = asyncio.run(release(ledger, provider, lease))
    assert outcome.evidence == f"folder {lease.token} is not there"
    assert list(tmp_path.iterdir()) == []
    assert one.journal.events == ["INTENT", "CREATED", "DELETE_ASKED", "GONE"]


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "half a card", "the folder"])
def test_p1_a_controller_killed_while_it_made_the_folder(world, tmp_path, left):
    one = world()
    ledger = Ledger(one.journal, "study-a", WallTime())
    request = ledger.request_for(one.candidate, one.launch(), 60.0)
    ledger.intend(request, LocalProvider(OwnedPath(tmp_path), study="study-a"), one.candidate)
    (tmp_path / "of-somebody-else").mkdir()
    folder = tmp_path / request.token
    if left == "the folder":
        asyncio.run(LocalProvider(OwnedPath(tmp_path), study="study-a").create(request))
    elif left != "nothing":
        folder.mkdir()
        if left == "half a card":
            (folder / "lease.json.new").write_text('{"name": "clo')
    successor = Ledger(one.journal, "study-a", WallTime())
    (outcome,) = asyncio.run(release_all(successor, {"local": LocalProvider(OwnedPath(tmp_path), study="study-a")}))
    assert outcome.evidence
    assert not folder.exists()
    assert (tmp_path / "of-somebody-else").exists()
    assert one.journal.rows[-1].event is LeaseEvent.GONE
    assert successor.open_leases() == ()


def test_what_lies_planted_under_the_token_of_a_new_request_is_refused(world, tmp_path):
    one = world()
    provider = LocalProvider(OwnedPath(tmp_path), study="study-a")
    ledger = Ledger(one.journal, "study-a", WallTime())
    request = ledger.request_for(one.candidate, one.launch(), 60.0)
    folder = tmp_path / request.token
    folder.mkdir()
    card = {"name": request.name, "token": request.token, "tags": dict(request.tags), "offering": request.offering}
    (folder / "lease.json").write_text(json.dumps(card))
    (folder / "GNUmakefile").write_text("all:\n\ttouch planted\n")
    with pytest.raises(NotOurs, match="nothing is launched in it"):
        asyncio.run(acquire(ledger, provider, one.candidate, one.launch(), 60.0))
    assert one.journal.events == ["INTENT", "REFUSED"]
    assert sorted(path.name for path in folder.iterdir()) == ["GNUmakefile", "lease.json"]
