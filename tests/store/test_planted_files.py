"""A study's folder in which a stranger put pipes, devices, links or endless files in the place of its own."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.store.conftest import TOTALS

from cloudcmp.errors import CorruptStore, UserMistake
from cloudcmp.store import StudyStore
from cloudcmp.store.access import StudyLock
from cloudcmp.store.files import Reserve
from cloudcmp.store.study_store import open_to_end


@contextmanager
def at_once(seconds: int = 5) -> Iterator[None]:
    """Fails what waits for the other end of a pipe."""

    def late(*_: object) -> None:
        raise AssertionError(f"still waiting after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def study(full: StudyStore) -> Path:
    """A finished study, closed."""
    full.close()
    return full.folder


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path, 0o600)


def test_a_pipe_as_the_lock_is_refused_at_once(study: Path) -> None:
    pipe(study / "study.lock")
    for write in (False, True):
        with at_once(), pytest.raises(CorruptStore, match=r"study\.lock: is no plain file") as caught:
            StudyLock(study, write=write)
        assert len(str(caught.value).splitlines()) == 1
    with at_once():  # what is rented is ended all the same
        store, why = open_to_end(study)
    store.close()
    assert "is no plain file" in why


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_link_or_a_folder_as_the_lock_is_refused(kind: str, study: Path, tmp_path: Path) -> None:
    path = study / "study.lock"
    path.unlink()
    path.mkdir() if kind == "folder" else path.symlink_to(tmp_path / "victim")
    with pytest.raises(CorruptStore, match="is no plain file"):
        StudyStore.open(study, write=True)
    assert not (tmp_path / "victim").exists()


def test_a_pipe_as_the_reserve_does_not_keep_a_study_from_going_on(study: Path) -> None:
    pipe(study / "reserve")
    with at_once(), pytest.raises(OSError, match=r"no plain file|No such device"):
        Reserve(study).keep()
    reader = os.open(study / "reserve", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with at_once(), pytest.raises(OSError, match="no plain file"):
            Reserve(study).keep()
        with at_once(), StudyStore.open(study, write=True):
            pass
    finally:
        os.close(reader)
    assert (study / "reserve").is_fifo()


@pytest.mark.parametrize("name", ["study.db", "study.db-wal", "study.db-shm"])
def test_a_pipe_beside_the_database_is_refused_at_once(name: str, study: Path) -> None:
    pipe(study / name)
    for write in (False, True):
        with at_once(), pytest.raises((CorruptStore, UserMistake), match=r"is no plain file|is no cloudcmp study"):
            StudyStore.open(study, write=write)


def read(study: Path) -> None:
    with StudyStore.open(study, write=False) as store:
        store.measured(TOTALS)


@pytest.fixture
def file(study: Path) -> Path:
    """The first file of samples."""
    return min((study / "samples").iterdir())


def test_samples_with_a_hole_of_terabytes_are_refused_at_once(study: Path, file: Path) -> None:
    with suppress(OSError):
        os.truncate(file, 4 * 2**40)
    if file.stat().st_size < 2**40:
        pytest.skip("this file system has no file of 4 TiB")
    with at_once(), pytest.raises(CorruptStore, match="has a hole in its 4398046511104 bytes"):
        read(study)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_samples_that_are_no_plain_file_are_refused(kind: str, study: Path, file: Path, tmp_path: Path) -> None:
    content = file.read_bytes()
    if kind == "pipe":
        pipe(file)
    else:
        (tmp_path / "elsewhere").write_bytes(content)
        file.unlink()
        file.symlink_to(tmp_path / "elsewhere")
    with at_once(), pytest.raises(CorruptStore, match="is no plain file"):
        read(study)
