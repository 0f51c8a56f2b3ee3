"""What is said and done with a study that somebody else made."""

import json
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from cloudcmp.app import cleanup as cleaning
from cloudcmp.app import reconcile as reconciling
from cloudcmp.app import run as running
from cloudcmp.app import study_view as viewing
from cloudcmp.app.adoption import check_maker, teardown_actions
from cloudcmp.app.export import rows
from cloudcmp.errors import StorageFault, StudyBusy
from cloudcmp.model.lease import LeaseEvent
from cloudcmp.report.progress import Silence
from cloudcmp.store import MadeElsewhere, StudyStore
from cloudcmp.store.user_key import new_study_key, state_folder
from tests.cli.command import cloudcmp
from tests.forged import as_a_stranger_made_it, change
from tests.store.conftest import create, run_trial
from tests.store.worker import lease_row

BILL = "lineItem/UsageStartDate,lineItem/UsageEndDate\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stranger's study of this machine, with one live lease and some trials left to be run."""
    with create(tmp_path / "study") as store:
        store.append_lease(lease_row("launch-0", 1, LeaseEvent.INTENT))
        store.append_lease(lease_row("launch-0", 1, LeaseEvent.CREATED))
        for trial in store.plan.trials:
            if trial.probe != "rtt":
                run_trial(store, trial)
    change(tmp_path / "study", "lease", {"cloud_id": "Documents", "provider": "local"})
    as_a_stranger_made_it(tmp_path / "study")
    return tmp_path / "study"


def leave(_: object) -> NoReturn:
    raise AssertionError("nobody interrupted it")


def files_of(folder: Path) -> dict[str, bytes]:
    """What a folder holds, without what every reader of a database in WAL mode leaves."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("study.db-"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def told(error: MadeElsewhere) -> str:
    assert all("\n" not in fault.line() for fault in error.faults)
    return str(error)


def test_it_can_be_looked_at(folder: Path) -> None:
    assert len(viewing.view(folder).attempts) == 8
    assert rows(folder)


def test_cleanup_tells_what_it_would_end_and_ends_nothing(folder: Path) -> None:
    before = files_of(folder)
    with pytest.raises(MadeElsewhere) as caught:
        cleaning.cleanup(folder)
    assert "another user" in told(caught.value)
    assert f"it would end local/here instance Documents, the folder {folder}/work/launches/Documents" in told(
        caught.value
    )
    assert files_of(folder) == before


def test_going_on_tells_what_it_would_do_and_does_nothing(folder: Path) -> None:
    before = files_of(folder)
    with pytest.raises(MadeElsewhere) as caught:
        running.resume(folder, work=None, wait=False, progress=Silence(), leave=leave)
    assert f"it would make test files in {folder}/work" in told(caught.value)
    assert files_of(folder) == before


def test_a_bill_is_not_looked_through_for_a_strangers_names(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bill.csv").write_text(BILL)
    with pytest.raises(MadeElsewhere) as caught:
        reconciling.reconcile(folder, [tmp_path / "bill.csv"])
    assert "it would look in the bill for the tag small-" in told(caught.value)
    assert "Documents" in told(caught.value)


def test_an_adopted_study_is_ended_and_what_it_names_told_before(folder: Path) -> None:
    lines: list[str] = []
    cleaned = cleaning.cleanup(folder, say=lines.append, adopt=True)
    assert any("it will end local/here instance Documents" in line for line in lines)
    assert cleaned.left == ()  # nothing of that name is there
    with StudyStore.open(folder, write=True) as store:
        assert store.made_here()
    cleaning.cleanup(folder)


def test_a_study_that_another_process_works_on_is_not_adopted(folder: Path, tmp_path: Path) -> None:
    with create(tmp_path / "own"), pytest.raises(StudyBusy):
        StudyStore.adopt(tmp_path / "own")


def test_control_characters_of_a_stranger_are_not_shown_raw(folder: Path) -> None:
    change(folder, "lease", {"cloud_id": "\x1b[2J\x9b\u202eevil"})
    with pytest.raises(MadeElsewhere) as caught:
        cleaning.cleanup(folder)
    assert not {"\x1b", "\x9b", "\u202e"} & set(told(caught.value))


def test_the_command_refuses_with_exit_2_and_adopts(folder: Path, tmp_path: Path) -> None:
    said = cloudcmp("cleanup", folder)
    assert (said.code, said.out) == (2, "")
    assert "--adopt" in said.err
    document = cloudcmp("run", "--resume", folder, "--json")
    assert document.code == 2
    assert {"where", "what", "next"} == set(document.json["errors"][0])
    assert "another user" in json.dumps(document.json["errors"])
    other = cloudcmp("run", tmp_path / "any.yaml", "--adopt")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "--resume" in other.err
    shutil.copytree(folder, tmp_path / "copy")
    said = cloudcmp("cleanup", tmp_path / "copy", "--adopt")
    assert said.code == 0, said.err
    assert "Documents" in said.err


def test_a_key_that_cannot_be_used_is_told_instead_of_another_maker(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    new_study_key("any")
    (state_folder() / "key").chmod(0o644)
    before, lines = files_of(folder), list[str]()
    for adopt in (False, True):
        with pytest.raises(StorageFault, match="can be read or changed by others"):
            check_maker(folder, teardown_actions, adopt=adopt, say=lines.append)
        with pytest.raises(StorageFault, match="can be read or changed by others"):
            cleaning.cleanup(folder, say=lines.append, adopt=adopt)
    assert lines == []
    assert files_of(folder) == before
