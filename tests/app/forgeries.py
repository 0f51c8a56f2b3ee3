"""Study folders that somebody else sends, forged in ten ways, and what acting on them does to a user's own things.

`forged(n, seed)` makes n of them, acts on each with every verb that may destroy, run or write, with and without
`--adopt`, and returns a line for each thing of the user's that was touched, and for each fault of the verbs' own.
"""

import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from cloudcmp.app import cleanup as cleaning
from cloudcmp.app import export
from cloudcmp.app import run as running
from cloudcmp.app.report import report as write_report
from cloudcmp.errors import CloudcmpError
from cloudcmp.model.lease import LeaseEvent, LeaseRow
from cloudcmp.provision.ownership import token_of
from cloudcmp.report.progress import Silence
from cloudcmp.store import StudyStore
from cloudcmp.store.seals import Seals
from tests.cli.command import cloudcmp
from tests.forged import STRANGER, change, change_plan, database_of, forget_trials, own_seals, revive_lease
from tests.provider.every import pointed
from tests.store.conftest import create, make_plan

REGION = "us-east-1"
STUDY = """\
schema: 1
question: How fast is this machine?
candidates: [{provider: local, offering: 1cpu}]
probes:
  - command: {name: hello, run: echo hello, expected: 0.1 s}
launches: 1
runs: 1
"""
PLAIN = """\
schema: 1
question: How fast is this machine?
candidates: [{provider: local, offering: 1cpu}]
probes: [{probe: fma, params: {duration_s: "0.1"}}]
launches: 1
runs: 1
"""


@dataclass(frozen=True)
class Belongings:
    """What is the user's own: documents, another study, processes at work, and machines in a cloud."""

    home: Path
    study: Path
    token: str
    cloud: Any
    machine: str

    def content(self) -> dict[str, bytes]:
        """Every file of the user's, with its mode; not what each reader of a database leaves beside it."""
        found = (path for root in (self.home, self.study) for path in root.rglob("*"))
        return {
            str(path): (b"" if path.is_dir() else path.read_bytes()) + oct(path.lstat().st_mode).encode()
            for path in found
            if path.name not in {"study.db-wal", "study.db-shm"}
        }

    def machines(self) -> list[str]:
        """What runs in the cloud."""
        return sorted(f"{one.kind} {one.id}" for one in self.cloud.alive())


def _launches(folder: Path) -> Path:
    (folder / "work" / "launches").mkdir(parents=True, exist_ok=True)
    return folder / "work" / "launches"


def _link(place: Path, to: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(to)


def launches_are_a_link(folder: Path, own: Belongings, seals: Seals) -> None:
    """The folder of launches leads to the user's home, in which a launch has the name of the documents."""
    _link(_launches(folder), own.home)
    revive_lease(folder, "Documents", seals)


def work_is_a_link(folder: Path, own: Belongings, seals: Seals) -> None:
    """The folder of test files leads to the user's other study, with its own launches."""
    _link(folder / "work", own.study / "work")
    revive_lease(folder, own.token, seals)


def a_launch_is_a_link(folder: Path, own: Belongings, seals: Seals) -> None:
    """One launch leads to the documents."""
    _link(_launches(folder) / "Documents", own.home / "Documents")
    revive_lease(folder, "Documents", seals)


def work_is_elsewhere(folder: Path, own: Belongings, seals: Seals) -> None:
    """The note of where test files are names a folder of the user's."""
    with database_of(folder) as connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('work_folder', ?, '')", (str(own.study / "work"),))
    change(folder, "meta", {"value": str(own.study / "work")}, "key = 'work_folder'", seals)
    revive_lease(folder, own.token, seals)


def a_name_leads_out(folder: Path, own: Belongings, seals: Seals) -> None:
    """The id of a launch climbs out of the study."""
    out = os.path.relpath(own.home / "Documents", _launches(folder))
    revive_lease(folder, out, seals)


def another_studys_launch(folder: Path, own: Belongings, seals: Seals) -> None:
    """The study claims to be the user's other one, with a copy of its launch, whose token a process has."""
    shutil.copytree(own.study / "work" / "launches" / own.token, _launches(folder) / own.token)
    with StudyStore.open(own.study, write=False) as store:
        tag = store.tag
    change(folder, "meta", {"value": tag}, "key = '.tag'", seals)
    change(folder, "lease", {"token": own.token}, "1", seals)
    revive_lease(folder, own.token, seals)


def samples_are_a_link(folder: Path, own: Belongings, seals: Seals) -> None:
    """The folder of samples is that of the user's other study, and the rows name none of its files."""
    _link(folder / "samples", own.study / "samples")
    change(folder, "attempt", {"file": "trial-000009-0.parquet"}, "file IS NOT NULL", seals)


def files_are_links(folder: Path, own: Belongings, seals: Seals) -> None:
    """What commands write into a study leads to the user's files: the report, outputs, the log of the database."""
    _link(folder / "report.html", own.home / ".bashrc")
    _link(folder / "outputs", own.home / "Documents")
    _link(folder / "reserve", own.home / ".bashrc")
    _link(folder / ("study.db-wal" if seals is STRANGER else "study.lock"), own.home / "Documents" / "letter.txt")


def commands_are_others(folder: Path, own: Belongings, seals: Seals) -> None:
    """The plan runs other commands than its text says."""
    change_plan(folder, "echo hello", f"echo pwned > {own.home}/pwned", seals)
    forget_trials(folder)


def machines_are_others(folder: Path, own: Belongings, seals: Seals) -> None:
    """The ledger names the user's own machine in a cloud, with a token that fits the study's."""
    with StudyStore.open(folder, write=False) as store:
        token = token_of(store.tag, "launch-0", 1)
    change(folder, "lease", {"cloud_id": own.machine, "token": token, "at": 1.0}, "1", seals)


Forge = Callable[[Path, Belongings, Seals], None]
KINDS: tuple[Forge, ...] = (
    launches_are_a_link,
    work_is_a_link,
    a_launch_is_a_link,
    work_is_elsewhere,
    a_name_leads_out,
    another_studys_launch,
    samples_are_a_link,
    files_are_links,
    commands_are_others,
    machines_are_others,
)


def _leave(_: object) -> NoReturn:
    raise AssertionError("nobody interrupted it")


def _cleanup(folder: Path, *, adopt: bool) -> None:
    cleaning.cleanup(folder, adopt=adopt)


def _resume(folder: Path, *, adopt: bool) -> None:
    running.resume(folder, work=None, wait=False, progress=Silence(), leave=_leave, adopt=adopt)


def _report(folder: Path, *, adopt: bool) -> None:
    write_report(folder)


def _export(folder: Path, *, adopt: bool) -> None:
    export.rows(folder)


VERBS = (_cleanup, _resume, _report, _export)


@contextmanager
def _belongings(place: Path, templates: Path, cloud: Any) -> Iterator[tuple[Belongings, list[subprocess.Popen[bytes]]]]:
    home, study = place / "home", place / "another"
    (home / "Documents").mkdir(parents=True)
    (home / "Documents" / "letter.txt").write_text("dear")
    (home / ".bashrc").write_text("alias ll='ls -l'\n")
    shutil.copytree(templates / "plain", study)
    token = token_of("another", "launch-0", 1)
    launch = study / "work" / "launches" / token
    launch.mkdir(parents=True)
    card = {"name": "x", "token": token, "tags": {"cloudcmp:study": "another"}, "offering": "1cpu"}
    (launch / "lease.json").write_text(json.dumps(card))
    machine = cloud.plant("instance", REGION, "production-db", {})
    environ = {"PATH": os.defpath, "CLOUDCMP_LEASE": token}
    with (
        subprocess.Popen(["sleep", "3600"], cwd=home / "Documents", start_new_session=True) as first,
        subprocess.Popen(["sleep", "3600"], cwd=launch, env=environ, start_new_session=True) as second,
    ):
        try:
            yield Belongings(home, study, token, cloud, machine), [first, second]
        finally:
            first.kill()
            second.kill()


def _templates(place: Path) -> None:
    """Honest studies to be forged: one that ran a command, one that ran a probe, one of a cloud."""
    for name, text in (("command", STUDY), ("plain", PLAIN)):
        (place / f"{name}.yaml").write_text(text)
        done = cloudcmp("run", place / f"{name}.yaml", "--out", place / name, "--yes")
        assert done.code == 0, done.err
    plan = make_plan(1)
    machine = plan.candidates[1]
    sold = replace(machine.offering, provider="aws", region=REGION, name="t3.micro")
    one = replace(machine, index=0, offering=sold, runner="aws")
    launch = plan.launches[1]
    plan = replace(plan, candidates=(one,), launches=(replace(launch, index=0, candidate=0),), trials=())
    with create(place / "cloud", plan) as store:
        row = LeaseRow("launch-0", 1, LeaseEvent.INTENT, "aws", REGION, "instance", "cloudcmp-x", "t", 1.0)
        store.append_lease(row)
        store.append_lease(replace(row, event=LeaseEvent.CREATED, cloud_id="i-1"))


def _template_of(kind: Forge) -> str:
    return {"commands_are_others": "command", "machines_are_others": "cloud"}.get(kind.__name__, "plain")


class Ground:
    """Honest studies to be forged, and the user's own things beside them; a context."""

    def __enter__(self) -> "Ground":
        with ExitStack() as stack:
            self._place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cloudcmp-")))
            cloud = stack.enter_context(pointed("aws"))
            _templates(self._place)
            self._own, self._processes = stack.enter_context(_belongings(self._place, self._place, cloud))
            self._before, self._machines = self._own.content(), self._own.machines()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def wrong_of(self, kind: Forge, rng: random.Random) -> list[str]:
        """Forge a folder, act on it, and tell what was wrong; half of them are signed as the user's own."""
        folder = self._place / "forged"
        shutil.copytree(self._place / _template_of(kind), folder)
        try:
            seals = rng.choice((STRANGER, own_seals(folder)))
            kind(folder, self._own, seals)
            harm = _acted_on(folder, rng) + _harm(self._own, self._processes, self._before, self._machines)
            return [f"{kind.__name__}: {one}" for one in harm]
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def forged(n: int, seed: int) -> list[str]:
    """Act on n forged folders, each kind in turn; a line for each thing that was wrong."""
    rng = random.Random(seed)
    with Ground() as ground:
        return [line for at in range(n) for line in ground.wrong_of(KINDS[at % len(KINDS)], rng)]


def _acted_on(folder: Path, rng: random.Random) -> list[str]:
    """What is wrong with how verbs ended, each tried in any order, first without and then with `--adopt`."""
    wrong = []
    for adopt in (False, True):
        for verb in rng.sample(VERBS, len(VERBS)):
            try:
                verb(folder, adopt=adopt)
            except CloudcmpError as error:
                wrong += [f"{verb.__name__}: {fault.line()!r}" for fault in error.faults if "\n" in fault.line()]
            except Exception as error:
                wrong.append(f"{verb.__name__}: {type(error).__name__}: {error}")
    return wrong


def _harm(
    own: Belongings, processes: list[subprocess.Popen[bytes]], before: dict[str, bytes], machines: list[str]
) -> list[str]:
    """What of the user's was touched."""
    after = own.content()
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    killed = [f"process {one.pid} was killed" for one in processes if one.poll() is not None]
    ended = [f"{one} was ended" for one in set(machines) - set(own.machines())]
    return [*(f"{name} was touched" for name in changed), *killed, *ended]
