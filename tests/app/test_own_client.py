"""A study that measures a service through its provider's own library and command beside the agent, from here."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.app.storage import KEY, STUDY, environ, service
from tests.cli.command import forked
from tests.servers.fetch import Absent, programs_of

pytestmark = pytest.mark.usefixtures("agent")


def test_library_and_command_are_measured_beside_the_agent_and_leave_no_key(tmp_path: Path) -> None:
    try:
        programs = programs_of("awscli")
    except Absent as absent:
        pytest.skip(str(absent))
    with service() as (storage, buckets):
        text = STUDY.format(endpoint=storage.endpoint).replace("launches: 6", "launches: 2")
        (tmp_path / "s.yaml").write_text(text.replace("objects: 4", "objects: 4, client: [native, sdk-python, cli]"))
        own = environ(tmp_path)
        own["PATH"] = f"{programs}{os.pathsep}{own['PATH']}"
        ran = forked(["run", "s.yaml", "--out", "out", "--json"], own, tmp_path)
        assert ran.code == 0, ran.err
        assert (buckets.left(), buckets.touched()) == (set(), [])
    with closing(sqlite3.connect(tmp_path / "out" / "study.db")) as database:
        facts = [json.loads(one) for (one,) in database.execute("SELECT facts FROM attempt").fetchall()]
    notes = [one["notes"] for one in facts]
    versions = [one["client_version"] for one in notes if "client_version" in one]
    assert len(notes) == 6
    assert all(one["operations"] > 0 and one["wrong_bodies"] == 0 and one["retries"] == 0 for one in notes)
    assert sorted(one.partition(" ")[0] for one in versions) == ["aws-cli", "aws-cli", "boto3", "boto3"]
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert 'id="figure-service-clients"' in report
    assert "sdk-python client" in report
    assert "cli client" in report
    assert all(one in report for one in versions), "the table says which library or command, and its version"
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file for file in kept if KEY.secret_key.encode() in file.read_bytes()] == []
    assert KEY.secret_key not in ran.out + ran.err
