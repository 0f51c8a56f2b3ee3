"""Every number in the answers is printed by the command beside it, on tables of real clouds."""

import os
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.docs.pages import DOCS, Block, blocks

DATA = os.environ.get("CLOUDCMP_DATA")
PAGES = (DOCS / "answers.md", *(DOCS / "how-to" / name for name in ("wan.md", "regions.md", "move.md")))
SHOWN = [block for page in PAGES for block in blocks(page) if block.info == "console"]
FILES = [block for page in PAGES for block in blocks(page) if block.info.startswith(("csv ", "json ", "text "))]
_AGE = re.compile(r"\d+ days ago")


def split(block: Block) -> tuple[list[str], str]:
    """The words of the command in a block, and what it prints."""
    lines = block.text.splitlines()
    command = [lines[0].removeprefix("$ ")]
    while command[-1].endswith("\\"):
        command.append(lines[len(command)])
    return shlex.split(" ".join(one.rstrip("\\") for one in command)), "\n".join(lines[len(command) :])


def shown(text: str) -> str:
    """Words without the ages of measurements and prices, which grow and move what is after them."""
    return _AGE.sub("N days ago", " ".join(text.split()))


def test_there_are_answers() -> None:
    assert {block.page for block in SHOWN} == set(PAGES)


@pytest.mark.skipif(DATA is None, reason="$CLOUDCMP_DATA is not set: no data of real clouds")
@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.place)
def test_an_answer_is_what_the_command_prints(block: Block, tmp_path: Path) -> None:
    for file in FILES:
        if file.page == block.page:
            (tmp_path / file.info.partition(" ")[2]).write_text(file.text, encoding="utf-8")
    words, printed = split(block)
    words = [str(tmp_path / word) if (tmp_path / word).is_file() else word for word in words]
    assert words[0] == "cloudcmp"
    done = cloudcmp(*words[1:], cwd=Path(DATA or ""))
    assert done.code == 0, done.err
    assert shown(done.out) == shown(printed)
