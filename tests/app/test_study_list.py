"""The list of studies that were written elsewhere: it survives concurrent writers and crashes, and fails no run."""

import os
import shutil
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cloudcmp.app import study_list
from cloudcmp.app.study_folder import known_studies, remember_folder
from cloudcmp.app.study_list import remember, remembered
from cloudcmp.errors import CorruptStore
from cloudcmp.store.summary import summary_of
from tests.store.conftest import create, make_plan


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of the user's state; the working directory is another empty folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "state" / "cloudcmp" / "studies"


def study(folder: Path) -> Path:
    """A study's folder, as far as the list looks at it."""
    folder.mkdir(parents=True)
    (folder / "study.db").write_bytes(b"")
    return folder


def test_what_is_remembered_is_for_its_owner_alone_and_once(tmp_path: Path, state: Path) -> None:
    folder = study(tmp_path / "mine: äöü\n2")
    assert remembered() == ()
    assert [remember(folder), remember(folder)] == ["", ""]
    assert remembered() == (folder,)
    (file,) = state.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_a_relative_folder_is_found_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = study(tmp_path / "here" / "mine")
    remember(Path("mine"))
    monkeypatch.chdir(tmp_path)
    assert remembered() == (folder,)


def test_what_is_gone_is_forgotten(tmp_path: Path, state: Path) -> None:
    gone, kept, file = study(tmp_path / "gone"), study(tmp_path / "kept"), study(tmp_path / "file")
    for one in (gone, kept, file):
        remember(one)
    shutil.rmtree(gone)
    shutil.rmtree(file)
    file.write_text("no folder any more")
    assert remembered() == (kept,)
    assert len(list(state.iterdir())) == 1
    study(gone)
    assert remembered() == (kept,)


def test_what_cannot_be_looked_into_is_not_forgotten(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(study(tmp_path / "locked"))

    def refuse(_: Path) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "lstat", refuse)
        assert remembered() == (tmp_path / "locked",)
    assert len(list(state.iterdir())) == 1


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    folders = [study(tmp_path / f"study-{number}") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(remember, folders)) == {""}
    assert set(remembered()) == set(folders)


_DIES = """
import os, sys
from pathlib import Path
from cloudcmp import owned_folder
from cloudcmp.app.study_list import remember
os.replace = lambda *_, **__: os._exit(9)  # killed between the draft and its name
remember(Path(sys.argv[1]))
"""


def test_a_crash_leaves_a_list_that_can_be_read(tmp_path: Path, state: Path) -> None:
    first, second = study(tmp_path / "first"), study(tmp_path / "second")
    remember(first)
    done = subprocess.run([sys.executable, "-c", _DIES, second], env=dict(os.environ), check=False)
    assert done.returncode == 9
    assert len(list(state.iterdir())) == 2
    (state / ("0" * 64)).write_bytes(b"not a study")
    (state / ("f" * 64)).write_bytes(b"")
    assert remembered() == (first,)
    assert remember(second) == ""
    assert remembered() == (first, second)


def test_a_list_that_cannot_be_written_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("no folder")
    folder = study(tmp_path / "mine")
    warning = remember_folder(folder)
    assert "list studies" in warning
    assert "\n" not in warning
    assert remembered() == ()
    monkeypatch.setattr(study_list, "state_folder", lambda: tmp_path / "mine")
    (tmp_path / "mine" / "studies").symlink_to(tmp_path)
    assert "is a link" in remember(folder)


def test_studies_in_usual_places_are_not_listed_twice(tmp_path: Path, state: Path) -> None:
    folder = study(Path("cloudcmp-studies") / "mine")
    assert remember_folder(folder) == ""
    assert not state.exists()
    remember(folder)
    assert [one.path for one in known_studies()] == ["cloudcmp-studies/mine"]
    remember(study(tmp_path / "here" / "below"))
    assert [one.path for one in known_studies()] == ["cloudcmp-studies/mine", "below"]


def test_a_damaged_study_is_listed_as_such(tmp_path: Path) -> None:
    remember(study(tmp_path / "damaged"))
    (tmp_path / "damaged" / "study.db").write_bytes(b"SQLite format 3\0 and then something else" * 100)
    (one,) = known_studies()
    assert (one.kind, one.candidates) == ("unreadable", None)
    assert one.state


def test_a_summary_says_what_a_store_says(tmp_path: Path) -> None:
    plan = make_plan()
    with create(tmp_path / "study", plan) as store:
        found = summary_of(tmp_path / "study")
        assert (found.name, found.imported, found.candidates) == (plan.name, False, len(plan.candidates))
        assert (found.trials, found.ended) == (len(plan.trials), len(store.done()))
    assert time.time() - 60 < found.written_at <= time.time()
    study(tmp_path / "x").joinpath("study.db").write_bytes(b"SQLite format 3\0" * 64)
    with pytest.raises(CorruptStore):
        summary_of(tmp_path / "x")


def test_hundreds_of_studies_are_listed_quickly(tmp_path: Path) -> None:
    with create(tmp_path / "study", make_plan()):
        pass
    for number in range(200):
        shutil.copytree(tmp_path / "study", tmp_path / "many" / str(number), ignore=shutil.ignore_patterns("reserve"))
        remember(tmp_path / "many" / str(number))
    began = time.process_time()
    assert len(known_studies()) == 200
    assert time.process_time() - began < 200 * 0.01
