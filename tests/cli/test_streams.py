"""Nobody reads on: a list ends quietly, what makes or destroys goes on to its end and tells how by its exit code."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.slices import long, spread

from .command import COMMAND, forked
from .conftest import SMALL, TINY

_UNSET = ("AWS_", "CLOUDCMP_", "XDG_")


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_UNSET)}
    return {**kept, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true"}


def code_unread(*words: str | Path, cwd: Path) -> int:
    """The exit code of the command, forked, when nobody reads either stream."""
    return forked(words, _environment(cwd), cwd, prepare="tests.cli.unread").code


def unread(*words: str | Path, cwd: Path, errors: bool = True) -> tuple[int, str]:
    """The installed command with pipes that nobody reads: its exit code, and what it wrote to a standard error that is
    read (not with `errors`). How an interpreter ends shows here only."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [COMMAND, *words], cwd=cwd, stdout=writer, stderr=writer if errors else subprocess.PIPE, text=True,
            env=_environment(cwd), timeout=120, check=False,
        )  # fmt: skip
    finally:
        os.close(writer)
    return done.returncode, done.stderr or ""


@pytest.mark.parametrize(
    "words", spread([("--help",), ("list", "metrics"), ("list", "metrics", "--json"), ("plan", SMALL)], 2)
)
def test_a_list_that_nobody_reads_on_ends_quietly(words: tuple[str | Path, ...], tmp_path: Path) -> None:
    assert unread(*words, cwd=tmp_path, errors=False) == (0, "")
    assert unread(*words, cwd=tmp_path) == (0, "")


@long
def test_a_table_that_nobody_reads_on_ends_quietly(measured: Path, tmp_path: Path) -> None:
    assert unread("export", measured, cwd=tmp_path, errors=False) == (0, "")
    assert unread("export", measured, "--out", "/dev/stdout", "--format", "csv", cwd=tmp_path, errors=False) == (0, "")


def test_p08_a_study_that_nobody_listens_to_is_measured_to_its_end(tmp_path: Path) -> None:
    assert code_unread("run", TINY, "--out", "small", cwd=tmp_path) == 0
    assert (tmp_path / "small" / "report.html").is_file()
    assert code_unread("cleanup", "small", cwd=tmp_path) == 0


def test_p08_a_try_out_that_nobody_listens_to_is_ended(tmp_path: Path) -> None:
    assert code_unread("check", "--live", "simulated", cwd=tmp_path) == 0
    assert list((tmp_path / "cloudcmp-studies").iterdir()) == []


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_exit_code_is_the_same_where_nobody_reads(more: tuple[str, ...], tmp_path: Path) -> None:
    assert code_unread("check", "aws", *more, cwd=tmp_path) == 1
    assert code_unread("sweep", "aws", *more, cwd=tmp_path) == 3
    assert code_unread("cleanup", "nowhere", *more, cwd=tmp_path) == 2
    assert unread("sweep", "clout", *more, cwd=tmp_path)[0] == 2


def _shell(line: str, cwd: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["/bin/sh", "-c", line, COMMAND], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("verb", spread(["list metrics", "list metrics --json", "check --live simulated", "--help"], 2))
def test_an_answer_that_a_full_disk_cannot_take_is_a_fault(verb: str, tmp_path: Path) -> None:
    code, err = _shell(f'"$0" {verb} >/dev/full', tmp_path)
    assert code == 3
    assert "no space left on device" in err
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@long
def test_words_that_a_full_disk_cannot_take_change_nothing(tmp_path: Path) -> None:
    assert _shell('"$0" check --live simulated 2>/dev/full', tmp_path) == (0, "")
    assert _shell('"$0" list nonsense 2>/dev/full', tmp_path)[0] == 2


def test_closed_streams_change_nothing(measured: Path, tmp_path: Path) -> None:
    assert _shell(f'"$0" cleanup {measured} >&- 2>&-', tmp_path) == (0, "")
    assert _shell('"$0" list metrics >&-', tmp_path) == (0, "")
    assert _shell('"$0" list nonsense 2>&-', tmp_path) == (2, "")


@long  # it is measured to its end where its streams are open and nobody reads, too
def test_a_study_with_closed_streams_is_measured(tmp_path: Path) -> None:
    assert _shell(f'"$0" run {TINY} --out small >&- 2>&-', tmp_path) == (0, "")
    assert (tmp_path / "small" / "report.html").is_file()


@long
def test_a_closed_standard_input_is_an_empty_one(tmp_path: Path) -> None:
    code, err = _shell('"$0" start <&-', tmp_path)
    assert code == 2, err
    assert "there is no terminal to ask the questions" in err
    assert _shell('"$0" plan /dev/stdin <&-', tmp_path)[1] == _shell('"$0" plan /dev/stdin </dev/null', tmp_path)[1]
