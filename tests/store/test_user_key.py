"""The user's key on odd file systems, in another user's home, and where there is no place for one."""

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.conftest import create, make_plan

from cloudcmp.errors import StorageFault
from cloudcmp.store import MadeElsewhere, StudyStore, user_key
from cloudcmp.store.user_key import KEY_BYTES, new_study_key, state_folder, study_key


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of states."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "cloudcmp"


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_key_is_made_where_there_are_no_hard_links(number: int, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    assert new_study_key("study") == study_key("study")
    assert [path.name for path in state.iterdir()] == ["key"]
    assert (state / "key").stat().st_mode & 0o777 == 0o600


def of_a_mount(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    """From here all files have the mode of their mount, as on FAT."""
    real = os.fstat

    def told(descriptor: int) -> os.stat_result:
        kind = real(descriptor)
        return os.stat_result((stat.S_IFMT(kind.st_mode) | bits, *tuple(kind)[1:]))

    monkeypatch.setattr(os, "fstat", told)


def test_a_key_is_used_where_no_mode_is_kept(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_a_mount(monkeypatch, 0o755)
    assert new_study_key("study") == study_key("study")
    assert [path.name for path in state.iterdir()] == ["key"]


def test_a_key_that_others_can_write_is_refused_where_no_mode_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    of_a_mount(monkeypatch, 0o777)
    with pytest.raises(StorageFault, match="can be read or changed by others"):
        new_study_key("study")


def test_a_new_keys_name_is_durable(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[Path, list[str]]] = []
    real = user_key.sync_folder

    def note(folder: Path) -> None:
        synced.append((folder, [path.name for path in folder.iterdir()]))
        real(folder)

    monkeypatch.setattr(user_key, "sync_folder", note)
    new_study_key("study")
    assert synced == [(state, ["key"])]


def test_the_key_of_another_user_is_told_by_its_owner(state: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    new_study_key("study")
    os.chown(state / "key", 65534, 65534)
    with pytest.raises(StorageFault, match=r"belongs to another user \(uid 65534\)") as caught:
        study_key("study")
    assert "chmod" not in str(caught.value)


def without_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "state"))


def test_without_a_place_for_a_key_a_study_that_rents_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_place(monkeypatch, tmp_path)
    plan = make_plan()
    simulated = replace(plan, candidates=tuple(replace(one, runner="simulated") for one in plan.candidates))
    for name, harmless in (("a", simulated), ("b", replace(plan, imported=True))):
        with create(tmp_path / name, harmless) as store:
            store.set_meta("note", "text")
        with StudyStore.open(tmp_path / name, write=False) as store:
            assert store.meta("note") == "text"
            assert not store.made_here()
        with pytest.raises((MadeElsewhere, StorageFault)):
            StudyStore.open(tmp_path / name, write=True)
    with pytest.raises(StorageFault, match="your key for signing studies"):
        create(tmp_path / "c", plan)
    assert not (tmp_path / "c").exists()


def test_a_passing_key_is_not_the_next_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_place(monkeypatch, tmp_path)
    with create(tmp_path / "a", replace(make_plan(), imported=True)) as store:
        assert store.made_here()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with StudyStore.open(tmp_path / "a", write=False) as store:
        assert not store.made_here()


def test_a_key_that_is_spoilt_is_told_for_every_study(state: Path, tmp_path: Path) -> None:
    new_study_key("study")
    (state_folder() / "key").write_bytes(b"x" * (KEY_BYTES - 1))
    with pytest.raises(StorageFault, match="does not hold a key"):
        create(tmp_path / "a", replace(make_plan(), imported=True))
    assert state.is_dir()
