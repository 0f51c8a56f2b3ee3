"""What goes wrong outside is one line that says what, where and what next; nothing is lost."""

import os
import resource
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from cloudcmp.store import StudyStore

from .command import COMMAND, Said, cloudcmp
from .conftest import SMALL, TINY


def refused(said: Said, code: int, *says: str) -> None:
    """One line, the exit code, no traceback."""
    assert said.code == code, said.err
    assert "Traceback" not in said.err
    last = said.err.strip().splitlines()[-1]
    for part in says:
        assert part in last
    assert ";" in last, "it does not say what next"


@pytest.fixture
def copy(measured: Path, tmp_path: Path) -> Path:
    """A copy of the measured study, to be damaged."""
    return Path(shutil.copytree(measured, tmp_path / "copy"))


def test_every_fault_of_a_study_file_is_told_at_once(tmp_path: Path) -> None:
    study = tmp_path / "bad.yaml"
    study.write_text(
        "schema: 1\nquestion: Which?\ncandidates:\n  - {provider: simulatd, region: nimbus, offering: small}\n"
        "probes: [{probe: fmaa}, {probe: fma, params: {thread: one}}]\nbudget: 5\nlaunchs: 3\n"
    )
    said = cloudcmp("plan", study)
    assert said.code == 2
    lines = said.err.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"{study}:4:16",
        f"{study}:5:18",
        f"{study}:5:47",
        f"{study}:6:9",
        f"{study}:7:1",
    ]
    assert "nearest: simulated" in lines[0]
    assert "launches" in lines[4]


def test_a_missing_agent_says_where_it_looked(tmp_path: Path) -> None:
    said = cloudcmp("run", "--short", "--out", tmp_path / "study", CLOUDCMP_AGENT=str(tmp_path / "nowhere"))
    refused(said, 3, str(tmp_path / "nowhere"), "unset the variable")
    assert not (tmp_path / "study").exists()


def test_p18_a_corrupt_sample_file_is_found(copy: Path) -> None:
    (file,) = (copy / "samples").iterdir()
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    refused(cloudcmp("compare", copy), 3, file.name)


def test_a_corrupt_database_is_found(copy: Path) -> None:
    (copy / "study.db").write_bytes(b"not a database at all" * 500)
    refused(cloudcmp("report", copy), 3, "study.db")


def test_p44_a_newer_schema_is_refused(copy: Path) -> None:
    with sqlite3.connect(copy / "study.db") as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        key = "UPDATE meta SET value = '999' WHERE key LIKE '%schema%'"
        changed = database.execute(key).rowcount
        if version:
            database.execute("PRAGMA user_version = 999")
        assert changed or version
    refused(cloudcmp("compare", copy), 3, "later")


def test_p22_a_second_process_is_refused(copy: Path) -> None:
    with StudyStore.open(copy, write=True):
        refused(cloudcmp("run", "--resume", copy), 3, "another")


@pytest.mark.skipif(os.getuid() == 0 and not shutil.which("setpriv"), reason="root writes anywhere; setpriv is missing")
def test_a_read_only_folder_is_told(tmp_path: Path) -> None:
    place = tmp_path / "readonly"
    place.mkdir()
    place.chmod(0o555)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() != "root" or folder == tmp_path:
            folder.chmod(0o755)
    words = [str(COMMAND), "run", str(SMALL), "--out", str(place / "study")]
    if os.getuid() == 0:
        # Without the power to override rights, root is refused like anybody.
        words = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    refused(Said(done.returncode, done.stdout, done.stderr), 3, str(place))


def test_p19_a_full_disk_is_told_and_nothing_half_made_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    # A file that may not grow stands in for a disk that is full; tests/store fills a real one.
    done = subprocess.run(
        [COMMAND, "run", TINY, "--out", folder], capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000,) * 2),
    )  # fmt: skip
    refused(Said(done.returncode, done.stdout, done.stderr), 3, str(folder))
    assert cloudcmp("run", TINY, "--out", folder).code == 0
