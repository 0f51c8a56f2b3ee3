"""Folders that are reached, read and removed without following a link."""

import os
import subprocess
import sys
import threading

import pytest

from cloudcmp.errors import NotOurs
from cloudcmp.owned_folder import OwnedPath, folder_in, read_small, remove_folder, write_whole

SWAP = """
import os, sys
victim, folder = sys.argv[1:]
os.chdir(folder)
while True:
    try:
        os.rename("deep", "aside")
        os.symlink(victim, "deep")
        os.unlink("deep")
        os.rename("aside", "deep")
    except OSError:
        try: os.mkdir("deep")
        except OSError: pass
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_link_that_comes_and_goes_is_never_followed(tmp_path):
    victim, folder = tmp_path / "victim", tmp_path / "study" / "token"
    (victim / "deep").mkdir(parents=True)
    for name in range(20):
        (victim / f"{name}").write_text("dear")
        (victim / "deep" / f"{name}").write_text("dear")
    folder.mkdir(parents=True)
    tries = removed = 0
    with subprocess.Popen([sys.executable, "-ISc", SWAP, victim, folder]) as swapper:
        try:
            with OwnedPath(tmp_path / "study").folder() as parent, folder_in(parent, "token", folder) as opened:
                while tries < 400 and not removed:
                    tries += 1
                    try:
                        remove_folder(parent, "token", opened, "card")
                        removed += 1
                    except OSError:
                        continue
        finally:
            swapper.kill()
    assert len(names(victim)) == 21
    assert len(names(victim / "deep")) == 20


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").write_bytes(b"x" * 2**16)
    (tmp_path / "long").write_bytes(b"x" * (2**16 + 1))
    (tmp_path / "folder").mkdir()
    done = []

    def read():
        with OwnedPath(tmp_path).folder() as folder:
            for name in ("pipe", "link", "long", "folder"):
                with pytest.raises(ValueError, match=name):
                    read_small(folder, name)
            with pytest.raises(FileNotFoundError):
                read_small(folder, "none")
            done.append(read_small(folder, "file"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(5.0)
    assert done == [b"x" * 2**16]


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_APPEND | os.O_CREAT])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_file_is_opened_only_where_it_is_one(tmp_path, flags, kind):
    (tmp_path / "victim").write_text("dear")
    (tmp_path / "work").mkdir()
    place = tmp_path / "work" / "state"
    {"link": lambda: place.symlink_to(tmp_path / "victim"), "pipe": lambda: os.mkfifo(place), "folder": place.mkdir}[
        kind
    ]()
    with pytest.raises(NotOurs, match="no regular file"), OwnedPath(tmp_path, ("work", "state")).file(flags):
        pytest.fail("it was opened")
    assert (tmp_path / "victim").read_text() == "dear"


def test_what_is_missing_is_made_for_its_owner_alone(tmp_path):
    place = OwnedPath(tmp_path / "named", ("a", "b"))
    with pytest.raises(FileNotFoundError), place.folder():
        pytest.fail("it was opened")
    with place.folder(make=True) as folder:
        write_whole(folder, "file", b"content")
        assert read_small(folder, "file") == b"content"
    assert place.path == tmp_path / "named" / "a" / "b"
    assert (place.path / "file").stat().st_mode & 0o777 == 0o600
    assert place.path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "a\0"])
def test_no_part_leads_elsewhere(tmp_path, name):
    for act in (OwnedPath(tmp_path, (name,)).folder(make=True), OwnedPath(tmp_path, (name, "x")).file(os.O_RDONLY)):
        with pytest.raises(NotOurs), act:
            pytest.fail("it was opened")
