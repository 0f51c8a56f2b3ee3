"""Every command of the page on fleets runs on the tables that the page shows."""

import shlex
from pathlib import Path

from tests.cli.command import cloudcmp
from tests.docs.pages import DOCS, blocks

PAGE = DOCS / "how-to" / "fleet.md"


def test_the_commands_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    shown = list(blocks(PAGE))
    for block in shown:
        if block.info.startswith("csv "):
            (tmp_path / block.info.removeprefix("csv ")).write_text(block.text, encoding="utf-8")
    commands = [line for block in shown if block.info == "sh" for line in block.text.splitlines()]
    assert len(commands) >= 5
    for line in commands:
        done = cloudcmp(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.code == 0, f"{line}: {done.err}"
    printed = [block for block in shown if block.info == "console"]
    assert printed
    for block in printed:
        command, _, rest = block.text.partition("\n")
        done = cloudcmp(*shlex.split(command)[2:], cwd=tmp_path)
        assert [line.rstrip() for line in done.out.splitlines()] == rest.splitlines()
