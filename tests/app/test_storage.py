"""Storage services from the study file to the report, and what is left of them."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from cloudcmp.provider.simulated.storage import StorageTruth
from tests.app.storage import KEY, STUDY, environ, service
from tests.app.storage_kills import Killer
from tests.cli.command import forked
from tests.emulated.simulated_storage import simulated_storage
from tests.servers.services import standing
from tests.slices import examples, long

pytestmark = pytest.mark.usefixtures("agent")


def test_a_bucket_is_made_measured_and_removed_and_nothing_else_is_touched(tmp_path: Path) -> None:
    with service() as (storage, buckets):
        (tmp_path / "s.yaml").write_text(STUDY.format(endpoint=storage.endpoint))
        ran = forked(["run", "s.yaml", "--out", "out", "--json"], environ(tmp_path), tmp_path)
        assert ran.code == 0, ran.err
        assert buckets.left() == set()
        assert buckets.touched() == []
        counted = storage.of("blob_get")
    data = json.loads(ran.out)["data"]
    rate = next(one for one in data["estimates"] if one["cell"].startswith("blob_bytes_per_s"))
    assert (rate["n_ok"], rate["n_started"]) == (6, 6)
    # Each launch first looks whether its blobs are there; every other request was answered.
    assert counted["outcomes"] == {"answered": counted["requests"] - 6, "refused": 6}
    with closing(sqlite3.connect(tmp_path / "out" / "study.db")) as database:
        rows = database.execute("SELECT slot, event, provider FROM lease WHERE kind = 'data-set'").fetchall()
        facts = [json.loads(one) for (one,) in database.execute("SELECT facts FROM attempt").fetchall()]
    assert {provider for _, _, provider in rows} == {"s3"}
    assert {slot for slot, event, _ in rows if event == "CREATED"} == {
        slot for slot, event, _ in rows if event == "GONE"
    }
    assert all(one["notes"]["retries"] == 0 and one["notes"]["wrong_bodies"] == 0 for one in facts)


def test_p38_no_key_is_in_a_file_of_the_study_nor_in_what_it_prints(tmp_path: Path) -> None:
    with service() as (storage, _):
        (tmp_path / "s.yaml").write_text(STUDY.format(endpoint=storage.endpoint).replace("launches: 6", "launches: 1"))
        ran = forked(["run", "s.yaml", "--out", "out"], environ(tmp_path), tmp_path)
    assert ran.code == 0, ran.err
    assert KEY.secret_key not in ran.out + ran.err
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(kept) > 3
    assert [file for file in kept if KEY.secret_key.encode() in file.read_bytes()] == []


@pytest.mark.parametrize(
    ("key", "secret", "says"),
    [
        (KEY.access_key, "wrong", "SignatureDoesNotMatch"),
        ("AKIANOBODY", KEY.secret_key, "InvalidAccessKeyId"),
    ],
)
def test_a_wrong_key_is_one_line_with_the_services_own_code(tmp_path: Path, key: str, secret: str, says: str) -> None:
    with service() as (storage, buckets):
        (tmp_path / "s.yaml").write_text(STUDY.format(endpoint=storage.endpoint))
        env = environ(tmp_path) | {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
        ran = forked(["run", "s.yaml", "--out", "out"], env, tmp_path)
        assert buckets.left() == set()
    assert ran.code in {2, 3}
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_clock_that_is_an_hour_off_is_told(tmp_path: Path) -> None:
    with simulated_storage(StorageTruth(clock_offset_s=3600.0)) as storage:
        (tmp_path / "s.yaml").write_text(STUDY.format(endpoint=storage.endpoint))
        ran = forked(["run", "s.yaml", "--out", "out"], environ(tmp_path), tmp_path)
    assert ran.code in {2, 3}
    assert "RequestTimeTooSkewed" in ran.err


@long
def test_p01_p11_killed_studies_leave_nothing_once_they_are_cleaned_up_or_swept(tmp_path: Path) -> None:
    """At light servers, in services with tags and without; `make promises` kills studies of all services."""
    n = examples(10, 5)
    with standing(("s3", "azure-table", "azure-queue")) as there:
        killer = Killer(tmp_path, there, 1)
        assert killer.whole() == []
        cleaned, swept = killer.kills(n, sweeps=False), killer.kills(n // 2, sweeps=True)
    assert cleaned.wrong + swept.wrong == []
    assert (cleaned.deaths, swept.deaths) == (n, n // 2)
    if there.absent:
        pytest.skip(f"tried with S3 alone: {'; '.join(there.absent)}")


SERVED = """\
schema: 1
question: How fast is it?
candidates:
  - {{provider: s3, name: own, service: blob, endpoint: "http://127.0.0.1:{port}", from: local, serve: "{command}"}}
probes:
  - {{probe: blob, params: {{op: download, objects: 2, duration_s: 0.1}}}}
launches: 1
runs: 1
"""


def test_a_server_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVED.format(port=9, command="echo no disk; exit 7"))
    ran = forked(["run", "s.yaml", "--out", "out", "--yes"], environ(tmp_path), tmp_path)
    assert ran.code == 0, ran.err
    assert "exit 7: no disk" in " ".join(ran.err.split())


def test_a_port_that_is_taken_is_told_and_the_other_server_is_not_measured(tmp_path: Path) -> None:
    with service() as (storage, buckets):
        (tmp_path / "s.yaml").write_text(SERVED.format(port=storage.port, command="sleep 60"))
        ran = forked(["run", "s.yaml", "--out", "out", "--yes"], environ(tmp_path), tmp_path)
        assert buckets.left() == set()
    assert "listens at" in " ".join(ran.err.split())


def test_a_served_service_ends_with_its_launch(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").write_text(
        'RCLONE_AUTH_KEY="\\"$AWS_ACCESS_KEY_ID,$AWS_SECRET_ACCESS_KEY\\""'
        " exec rclone serve s3 --addr 127.0.0.1:9017 .\n"
    )
    (tmp_path / "s.yaml").write_text(SERVED.format(port=9017, command=f"exec sh {tmp_path / 'serve.sh'}"))
    ran = forked(["run", "s.yaml", "--out", "out", "--yes", "--json"], environ(tmp_path), tmp_path)
    assert ran.code == 0, ran.err
    (rate,) = [one for one in json.loads(ran.out)["data"]["estimates"] if one["cell"].startswith("blob_bytes_per_s")]
    assert rate["n_ok"] == 1, ran.err
    assert subprocess.run(["pgrep", "-f", "127.0.0.1:9017"], capture_output=True, check=False).returncode == 1
