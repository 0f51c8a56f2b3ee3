"""Every command of the page on service levels runs on what the page shows, and prints what it says."""

import contextlib
import io
import shlex
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.docs.pages import DOCS, Block, blocks

PAGE = DOCS / "how-to" / "sla.md"
SHOWN = list(blocks(PAGE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, and what its program prints."""
    made = tmp_path_factory.mktemp("page")
    for block in SHOWN:
        kind, _, name = block.info.partition(" ")
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block.text, str(PAGE), "exec"), {})
            (made / name).write_text(printed.getvalue(), encoding="utf-8")
        elif name:
            (made / name).write_text(block.text, encoding="utf-8")
    return made


@pytest.mark.parametrize("block", [one for one in SHOWN if one.info == "console"], ids=lambda one: one.place)
def test_a_command_prints_what_the_page_shows(folder: Path, block: Block) -> None:
    command, _, rest = block.text.partition("\n")
    words = shlex.split(command)
    if words[1] != "cloudcmp":
        assert words[1:] == ["python", "make_watch.py", ">", "watch.csv"]
        return
    done = cloudcmp(*words[2:], cwd=folder)
    assert done.code in {0, 1}, done.err
    assert rest.splitlines()
    assert [line.rstrip() for line in done.out.splitlines()] == rest.splitlines()


def test_the_other_commands_run(folder: Path) -> None:
    lines = [line for block in SHOWN if block.info == "sh" for line in block.text.splitlines()]
    assert len(lines) >= 4
    for line in lines:
        done = cloudcmp(*shlex.split(line)[1:], cwd=folder)
        assert done.code in {0, 1}, f"{line}: {done.err}"
        assert "fault" not in done.err
