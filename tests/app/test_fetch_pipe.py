"""Price lists through a pipe: the same as from a file, and nothing stays behind."""

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cloudcmp.app.fetch import seekable, take_in
from cloudcmp.errors import UserMistake
from cloudcmp.store.prices import PriceBook

HEAD = b"provider,region,name,amount,currency,unit\n"
LIST = HEAD + b"".join(b"ours,hall,type-%d,0.%d,EUR,h\n" % (number, number) for number in range(1, 4000))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files, and an empty book."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def piped(path: Path, content: bytes) -> Iterator[Path]:
    """A FIFO into which somebody writes."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    try:
        yield path
    finally:
        writer.join(timeout=10)
        assert not writer.is_alive()


def test_a_list_through_a_pipe_is_the_list_of_the_file(temporary: Path, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_bytes(LIST)
    with piped(tmp_path / "pipe", LIST) as pipe:
        first = take_in("csv", [pipe])
    second = take_in("csv", [file])
    assert (first.sha256, first.bytes, first.rows) == (second.sha256, len(LIST), 3999)
    assert first.source == "own list, pipe"
    assert list(temporary.iterdir()) == []


def test_a_pipe_that_brings_nothing_or_half_a_row_is_refused_in_whole(temporary: Path, tmp_path: Path) -> None:
    for number, (content, why) in enumerate(((b"", "it is empty"), (LIST[:-9], "columns"))):
        with piped(tmp_path / f"pipe{number}", content) as pipe, pytest.raises(UserMistake, match=why) as told:
            take_in("csv", [pipe])
        assert str(told.value).startswith(str(pipe))
    with PriceBook() as book:
        assert book.lists() == []
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused_before_it_is_read(device: str, temporary: Path) -> None:
    with pytest.raises(UserMistake, match="is a terminal or a device"):
        take_in("csv", [Path(device)])
    assert list(temporary.iterdir()) == []


def test_what_can_be_read_again_is_not_copied(temporary: Path, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with seekable(path) as same:
            assert same == path
    assert list(temporary.iterdir()) == []
