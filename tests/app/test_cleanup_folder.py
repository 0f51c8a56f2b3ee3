"""What a cleanup takes from the study's folder: where its test files are, and the tag of all that it made."""

import os
import shutil
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from cloudcmp.execute.environment import ledger_of, time_of
from cloudcmp.execute.teardown import lines_left
from cloudcmp.model.lease import FIREWALL, INSTANCE, Lease, LeaseState
from cloudcmp.provision import Release
from cloudcmp.store import StudyStore
from tests.cli.command import forked
from tests.forged import change

_STUDY = """\
schema: 1
question: Here?
candidates:
  - {provider: local, offering: 1cpu, price: 0.01 USD/h}
probes:
  - {probe: int, params: {threads: one, duration_s: 0.02}}
launches: 1
runs: 1
"""


def cloudcmp(folder: Path, *words: str, **environ: str) -> int:
    return forked(words, {**os.environ, "HOME": str(folder), **environ}, folder).code


def died(folder: Path, *words: str) -> Path:
    """A study whose controller died when its launch was made."""
    (folder / "study.yaml").write_text(_STUDY)
    at = {"CLOUDCMP_CRASH_AT": "cloud.after_create:1"}
    assert cloudcmp(folder, "run", "study.yaml", "--out", "out", *words, **at) == -9
    return folder / "out"


def test_p1_what_was_made_in_a_folder_of_its_own_is_ended_there(tmp_path: Path) -> None:
    out = died(tmp_path, "--dir", "elsewhere")
    made = tmp_path / "elsewhere" / "launches"
    assert len(list(made.iterdir())) == 1
    assert cloudcmp(tmp_path, "cleanup", "out") == 0
    assert list(made.iterdir()) == []
    assert not (out / "work").exists()


def test_a_cleanup_makes_no_folder(tmp_path: Path) -> None:
    out = died(tmp_path)
    shutil.rmtree(out / "work")
    assert cloudcmp(tmp_path, "cleanup", "out") == 0
    assert not (out / "work").exists()


def test_the_tag_stays_whatever_a_later_version_writes_of_the_plan(tmp_path: Path) -> None:
    out = died(tmp_path)
    with StudyStore.open(out, write=False) as store:
        before, own = ledger_of(store, time_of(store.plan)).study, store.tag
    assert before == own
    assert own.startswith("study-")
    value = "study-0123456789ab"
    change(out, "meta", {"value": value}, "key = '.tag'")
    with StudyStore.open(out, write=False) as store:
        assert ledger_of(store, time_of(store.plan)).study == value
    with closing(sqlite3.connect(out / "study.db")) as database, database:  # as studies were before tags were kept
        database.execute("DELETE FROM meta WHERE key = '.tag'")
    with StudyStore.open(out, write=False) as store:
        assert ledger_of(store, time_of(store.plan)).study == own


def left(provider: str, kind: str, price: str | None) -> str:
    currency = None if price is None else "USD"
    lease = Lease(
        "launch-0", 1, LeaseState.LIVE, provider, "eu", kind, "cloudcmp-x", "token", "i-1", 0.0,
        None if price is None else Decimal(price), currency,
    )  # fmt: skip
    return lines_left([Release(lease, None, "it is still there")])[0]


def test_p4_what_is_left_is_told_with_its_id_its_region_and_what_it_costs() -> None:
    assert left("aws", INSTANCE, "0.0105") == "aws/eu instance i-1: it is still there, 0.0105 USD/h"
    assert left("aws", INSTANCE, None) == "aws/eu instance i-1: it is still there, price unknown"
    assert left("aws", FIREWALL, None) == "aws/eu firewall i-1: it is still there"
    assert left("qemu", INSTANCE, None) == "qemu/eu instance i-1: it is still there"
