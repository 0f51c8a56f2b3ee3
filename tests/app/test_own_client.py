"""A study that measures a service through its provider's own library beside the agent, from this machine."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.app.storage import KEY, STUDY, environ, service
from tests.cli.command import forked

pytestmark = pytest.mark.usefixtures("agent")


def test_the_library_is_measured_beside_the_agent_and_leaves_no_key(tmp_path: Path) -> None:
    with service() as (storage, buckets):
        text = STUDY.format(endpoint=storage.endpoint).replace("launches: 6", "launches: 2")
        (tmp_path / "s.yaml").write_text(text.replace("op: download", "op: download, client: [native, sdk-python]"))
        ran = forked(["run", "s.yaml", "--out", "out", "--json"], environ(tmp_path), tmp_path)
        assert ran.code == 0, ran.err
        assert (buckets.left(), buckets.touched()) == (set(), [])
    with closing(sqlite3.connect(tmp_path / "out" / "study.db")) as database:
        facts = [json.loads(one) for (one,) in database.execute("SELECT facts FROM attempt").fetchall()]
    notes = [one["notes"] for one in facts]
    by_library = [one for one in notes if "sdk" in one]
    assert (len(notes), len(by_library)) == (4, 2)
    assert all(one["operations"] > 0 and one["wrong_bodies"] == 0 and one["retries"] == 0 for one in notes)
    assert {one["sdk"].partition(" ")[0] for one in by_library} == {"boto3"}
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert 'id="figure-service-clients"' in report
    assert "sdk-python client" in report
    assert by_library[0]["sdk"] in report, "the table says which library and version"
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file for file in kept if KEY.secret_key.encode() in file.read_bytes()] == []
    assert KEY.secret_key not in ran.out + ran.err
