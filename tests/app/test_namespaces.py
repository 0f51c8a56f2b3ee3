"""Studies of several machines in network namespaces, to the report, and what is left of them when they are killed."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.app.namespace_kills import Killer, existing, names_of
from tests.app.namespaces import needs_namespaces

pytestmark = [needs_namespaces, pytest.mark.usefixtures("agent")]


def test_p01_four_machines_are_measured_and_killed_and_nothing_of_them_is_left(tmp_path: Path) -> None:
    killer = Killer(tmp_path, 20261126)
    code, said, length_s = killer.whole()
    assert code == 0, said
    names = names_of(tmp_path / "whole")
    assert len(names) == 8 + 2, "four machines for each candidate, and where they meet"
    assert existing(names) == set()
    with closing(sqlite3.connect(tmp_path / "whole" / "study.db")) as database:
        ended = database.execute("SELECT outcome, why, facts FROM attempt").fetchall()
        leases = database.execute("SELECT slot, event FROM lease").fetchall()
    assert [(outcome, why) for outcome, why, _ in ended] == [("ok", "")] * 8
    assert all(json.loads(facts)["notes"]["payload_bytes"] > 0 for _, _, facts in ended)
    made, gone = ({slot for slot, event in leases if event == one} for one in ("CREATED", "GONE"))
    assert made == gone
    assert len(made) == 8, "four machines for each candidate"
    toll = killer.kills(1, length_s)
    assert toll.wrong == []
    assert toll.kills == 1
