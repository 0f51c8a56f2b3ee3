"""End what a dead controller left, where little works: no room on the disk, no valid credentials, no network (P11).

The cloud is an emulated EC2; see clouds.py.
"""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cloudcmp.app import study_view as viewing
from cloudcmp.model.lease import LeaseEvent, LeaseRow
from cloudcmp.provision import Patience
from cloudcmp.provision.ownership import token_of
from cloudcmp.store import StudyStore
from tests.app.cloud_walk import Stand
from tests.app.clouds import unable
from tests.app.test_stopping import leases
from tests.cli.command import COMMAND
from tests.emulated.ec2 import ec2
from tests.slices import long, some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")

# A disk of its own, which is full when the command begins.
_ON_A_FULL_DISK = """
disk=$1 study=$2 command=$3
mount -t tmpfs -o size=12m none "$disk" || exit 77
cp -a "$study" "$disk/out" || exit 78
rm -f "$disk"/out/study.db-shm  # an index that a controller leaves only where it was killed
cat /dev/zero >"$disk/junk" 2>/dev/null
dd if=/dev/zero bs=1 count=4096 >>"$disk/junk" 2>/dev/null
echo "free:" $(df --output=avail "$disk" | tail -1)
"$command" cleanup "$disk/out"; echo "cleanup: $?"
cat /dev/zero >>"$disk/junk" 2>/dev/null
"$command" run --resume "$disk/out"; echo "resume: $?"
"""


# The same on a disk that can only be read; `$3` is run there first.
_READ_ONLY = """
disk=$1 study=$2 first=$3 command=$4
mount -t tmpfs -o size=32m none "$disk" || exit 77
cp -a "$study" "$disk/out" || exit 78
(cd "$disk/out" && eval "$first") || exit 79
mount -o remount,ro "$disk" || exit 77
"$command" cleanup "$disk/out"; echo "cleanup: $?"
"""


def in_a_disk(stand: Stand, tmp_path: Path, script: str, *words: str) -> str:
    """What a script says that has a tiny disk of its own."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare command to give the test a tiny disk of its own")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        [unshare, "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", script, "sh", str(disk), *words], cwd=tmp_path,
        env=stand.sky.environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"a tiny disk cannot be mounted here: {done.stderr.strip()}")
    return done.stdout + done.stderr


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    """Two clouds, and on them all that a study has, whose controller is dead."""
    with Stand(tmp_path) as one:
        yield one


def died(stand: Stand) -> Path:
    """The folder of a study whose controller died when all was there; the answer for the last machine was lost."""
    out = stand.folder()
    assert stand.begin("run", out, "cloud.after_create:3").wait() == -9
    assert len(stand.sky.left()) > 3
    return out


def open_leases(out: Path) -> list[str]:
    return [name for name, (_, event) in leases(out).items() if event not in {"GONE", "REFUSED"}]


def rented_open(out: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(out / "study.db")) as database:
        names = {name for (name,) in database.execute("SELECT name FROM lease WHERE provider = 'aws'")}
    return [name for name in open_leases(out) if name in names]


@long
def test_p11_a_full_disk_does_not_keep_machines_alive_and_nothing_new_is_made(stand: Stand, tmp_path: Path) -> None:
    out = died(stand)
    made = len(stand.sky.cloud.calls("RunInstances"))
    said = in_a_disk(stand, tmp_path, _ON_A_FULL_DISK, str(out), str(COMMAND))
    assert "free: 0" in said, said
    assert "cleanup: 0" in said, said
    assert "resume: 3" in said, said
    assert "disk is full" in said, said
    asked = stand.sky.cloud.calls("RunInstances")[made:]
    assert [call.outcome for call in asked if call.params.get("DryRun") != "true"] == []
    assert stand.seen() == []


@long
def test_p11_credentials_that_expired_and_were_renewed_end_it_from_elsewhere(stand: Stand, tmp_path: Path) -> None:
    out, account = died(stand), stand.sky.cloud.account
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    file = elsewhere / "credentials"

    def write() -> None:
        file.write_text(f"[default]\naws_access_key_id = {account.key_id}\naws_secret_access_key = {account.secret}\n")

    write()
    environ = {name: text for name, text in stand.sky.environ.items() if not name.startswith("AWS_ACC")}
    del environ["AWS_SECRET_ACCESS_KEY"]
    stand.sky.environ = {**environ, "AWS_SHARED_CREDENTIALS_FILE": str(file), "HOME": str(elsewhere)}
    account.expire()
    job = stand.begin("cleanup", Path(os.path.relpath(out, elsewhere)), cwd=elsewhere)
    time.sleep(3.0)
    assert job.code() is None, job.said()
    assert len(stand.sky.left()) > 3
    account.renew()
    write()
    assert job.wait() == 0, job.said()
    assert open_leases(out) == []
    assert stand.seen() == []


def test_p11_it_waits_while_the_cloud_cannot_be_reached(stand: Stand) -> None:
    out = died(stand)
    with stand.sky.offline():
        job = stand.begin("cleanup", out)
        time.sleep(3.0)
        assert job.code() is None, job.said()
    assert job.wait() == 0, job.said()
    assert open_leases(out) == []
    assert stand.seen() == []
    assert Patience().give_up_s > 600.0  # the user's own wait, where this one is shorter: ten minutes offline are borne


@long
def test_p11_where_it_cannot_be_reached_at_all_that_is_said(stand: Stand) -> None:
    out = died(stand)
    with stand.sky.offline():
        job = stand.begin("cleanup", out, give_up_s=2.0, grace_s=0.5)
        assert job.wait() == 3, job.said()
    told = " ".join(job.said().split())
    assert all((id or name) in told for name, (id, event) in leases(out).items() if event not in {"GONE", "REFUSED"})
    assert re.search(r", 0\.1\d+ USD/h", told), told
    assert stand.mend("cleanup", out) == []


@long
def test_p4_under_another_account_nothing_is_believed_to_be_gone(stand: Stand) -> None:
    """Neither the machines that have an id nor the one whose answer was lost, by cleanup or by going on."""
    out, own = died(stand), stand.sky.environ
    rented = rented_open(out)
    assert len(rented) == 2
    there = [one for one in stand.sky.left() if one.startswith("aws")]
    with ec2() as other:
        stand.sky.cloud.neighbours.append(other)
        mine, theirs = stand.sky.cloud.account.id, other.account.id
        keys = {"AWS_ACCESS_KEY_ID": other.account.key_id, "AWS_SECRET_ACCESS_KEY": other.account.secret}
        stand.sky.environ = {**own, **keys}
        for verb in ("cleanup", "resume"):
            job = stand.begin(verb, out)
            assert job.wait() == 3, job.said()
            told = " ".join(job.said().split())
            assert f"these credentials are of account {theirs}" in told
            assert f"it was made in account {mine}" in told
        asked = [call for call in other.journal if call.action in {"RunInstances", "CreateSecurityGroup"}]
        assert [call.params.get("DryRun") for call in asked] == ["true"] * len(asked)
    assert [one for one in stand.sky.left() if one.startswith("aws")] == there
    assert rented_open(out) == rented
    stand.sky.environ = own
    assert stand.mend("cleanup", out) == []
    with StudyStore.open(out, write=False) as store:
        assert mine not in (shown := viewing.pseudonyms(store).text(f"account {mine} at {stand.sky.cloud.url}"))
        assert stand.sky.cloud.url not in shown


def tag_of(out: Path) -> str:
    """The study's tag, as its things bear it."""
    name = next(iter(leases(out)))
    return name.removeprefix("cloudcmp-").partition("-launch-")[0]


@long
@pytest.mark.parametrize("first", some([":", "rm study.db-shm"], 1, 1))
def test_p1_a_disk_that_can_only_be_read_does_not_keep_machines_alive(stand: Stand, tmp_path: Path, first: str) -> None:
    out = died(stand)
    said = " ".join(in_a_disk(stand, tmp_path, _READ_ONLY, str(out), first, str(COMMAND)).split())
    assert "cleanup: 3" in said, said
    assert "could not record what was destroyed" in said, said
    assert f"cloudcmp sweep --study {tag_of(out)} --delete" in said, said
    assert stand.sky.left() == []


def damage(out: Path, event: str, provider: str = "aws") -> None:
    """Another name in one row of the ledger, as a flipped bit leaves it."""
    with contextlib.closing(sqlite3.connect(out / "study.db")) as database, database:
        changed = database.execute(
            "UPDATE lease SET cloud_id = 'i-00000000', name = name || 'x' WHERE id = "
            "(SELECT max(id) FROM lease WHERE event = ? AND provider = ?)", (event, provider),
        )  # fmt: skip
        assert changed.rowcount == 1


@long
@pytest.mark.parametrize("event", some(["INTENT", "CREATED"], 1, 0))
def test_p1_a_damaged_row_does_not_keep_the_others_machines_alive(stand: Stand, event: str) -> None:
    out = died(stand)
    tag = tag_of(out)
    damage(out, event)
    job = stand.begin("cleanup", out)
    assert job.wait() == 3, job.said()
    said = " ".join(job.said().split())
    assert "1 damaged row of the ledger could not be read" in said
    assert f"cloudcmp sweep --study {tag} --delete" in said
    assert stand.sky.left() == []
    assert stand.sky.harm() == []


def test_a_study_that_cannot_be_read_at_all_says_how_to_go_on_without_it(stand: Stand) -> None:
    out = died(stand)
    tag = tag_of(out)
    with contextlib.closing(sqlite3.connect(out / "study.db")) as database, database:
        database.execute("UPDATE plan SET body = body || ' '")
    job = stand.begin("cleanup", out)
    assert job.wait() == 3, job.said()
    assert f"cloudcmp sweep --study {tag} --delete" in " ".join(job.said().split())


@long
def test_what_rows_name_and_is_not_the_studys_is_kept_and_told(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without tags, one of another study, and the study's own: only those of its own are ended."""
    out, sky = died(stand), stand.sky
    monkeypatch.setenv("XDG_STATE_HOME", sky.environ["XDG_STATE_HOME"])  # where the study's maker has the key
    theirs = [one.split()[-1] for one in sorted(sky.foreign) if one.startswith("aws instance")]
    before = sky.there()
    production = sky.cloud.plant("instance", "us-east-1", "production-db", {})
    sky.foreign |= sky.there() - before
    with StudyStore.open(out, write=True) as store:
        for number, id in enumerate((production, *theirs)):
            slot, at = f"launch-{90 + number}", time.time() - 86400.0
            head = ("aws", "us-east-1", "instance", "production-db", token_of(store.tag, slot, 1), at)
            intent = LeaseRow(slot, 1, LeaseEvent.INTENT, *head, ttl_s=3600.0)
            store.append_lease(intent)
            store.append_lease(replace(intent, event=LeaseEvent.CREATED, cloud_id=id, ttl_s=None))
    said = sky.shortly("cleanup", out)
    told = " ".join(said.out.split())
    assert said.code == 3, said.out
    assert f"{1 + len(theirs)} left" in told
    assert all(f"instance {id}: it is" in told for id in (production, *theirs))
    assert told.count("it is kept") >= 1 + len(theirs)
    assert stand.seen() == []
    assert sky.shortly("cleanup", out).code == 3  # they stay open in the ledger, and are told each time
