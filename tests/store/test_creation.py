"""The making of a study's folder: where it may be made, and what it is called."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.conftest import TOTALS, create, run_trial

from cloudcmp.errors import UserMistake
from cloudcmp.store.access import StudyLock


def test_a_folder_with_signs_of_a_pattern(tmp_path: Path) -> None:
    with create(tmp_path / "odd [a-z]* ?%20#'") as store:
        run_trial(store, store.plan.trials[0])
        assert store.measured(TOTALS).values.value.tolist() == [11.0]


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UserMistake, match="is there already and is not empty"):
        create(tmp_path)
    with pytest.raises(UserMistake, match="is there already"):
        create(tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with create(tmp_path):
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def unfinished(parent: Path, name: str) -> Path:
    """What a killed process leaves of a folder that it makes."""
    with create(parent / "killed") as store:
        run_trial(store, store.plan.trials[0])
    (parent / "killed" / "samples" / "imported.parquet.0.part").write_bytes(b"half")
    return (parent / "killed").rename(parent / name)


def test_what_a_killed_process_left_beside_the_place_goes(tmp_path: Path) -> None:
    unfinished(tmp_path, ".new.abcdefg_.part")
    (tmp_path / ".new.01234567.part").mkdir()
    with create(tmp_path / "new"):
        assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_what_is_still_being_made_beside_the_place_stays(tmp_path: Path) -> None:
    part = unfinished(tmp_path, ".new.abcdefgh.part")
    lock = StudyLock(part)
    with create(tmp_path / "new"):
        assert (part / "study.db").exists()
    lock.release()


@pytest.mark.parametrize(
    "name", [".new.backup.part", ".new.abcdefgh.part", ".new.ABCDEFGH.part", ".new.abcdefghi.part"]
)
def test_a_folder_of_the_users_beside_the_place_stays(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.txt").write_text("dear")
    with create(tmp_path / "new"):
        assert [path.name for path in (tmp_path / name).iterdir()] == ["thesis.txt"]


def in_the_samples(part: Path, _: Path) -> None:
    (part / "samples" / "thesis.txt").write_text("dear")


def in_a_folder(part: Path, _: Path) -> None:
    (part / "reserve").unlink()
    (part / "reserve").mkdir()


def through_the_samples(part: Path, victim: Path) -> None:
    (part / "samples").rename(victim / "samples")
    (part / "samples").symlink_to(victim / "samples")


def without_its_lock(part: Path, _: Path) -> None:
    (part / "study.lock").unlink()


@pytest.mark.parametrize("spoil", [in_the_samples, in_a_folder, through_the_samples, without_its_lock])
def test_a_folder_that_no_killed_process_left_stays(spoil: Callable[[Path, Path], None], tmp_path: Path) -> None:
    part, victim = unfinished(tmp_path, ".new.abcdefgh.part"), tmp_path / "victim"
    victim.mkdir()
    spoil(part, victim)
    before = sorted(part.rglob("*")), sorted(victim.rglob("*"))
    with create(tmp_path / "new"):
        assert (sorted(part.rglob("*")), sorted(victim.rglob("*"))) == before


def test_a_link_beside_the_place_is_not_followed(tmp_path: Path) -> None:
    victim = unfinished(tmp_path, "victim")
    (tmp_path / ".new.abcdefgh.part").symlink_to(victim)
    before = sorted(victim.rglob("*"))
    with create(tmp_path / "new"):
        assert sorted(victim.rglob("*")) == before
    assert (tmp_path / ".new.abcdefgh.part").is_symlink()
