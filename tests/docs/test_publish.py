"""The commands of the pages on publishing and on gaps run, in their order, on the studies that the pages show."""

import shlex
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.docs.pages import DOCS, blocks


@pytest.mark.parametrize("name", ["publish-a-study", "where-a-provider-is-behind"])
def test_the_commands_of_a_page_run(name: str, tmp_path: Path) -> None:
    said = []
    for block in blocks(DOCS / "how-to" / f"{name}.md"):
        kind, _, file = block.info.partition(" ")
        if kind == "yaml":
            (tmp_path / file).write_text(block.text, encoding="utf-8")
        elif kind == "sh":
            for line in block.text.splitlines():
                done = cloudcmp(*shlex.split(line)[1:], cwd=tmp_path)
                assert done.code == 0, f"{line}: {done.err}"
                assert max(map(len, done.out.splitlines()), default=0) <= 80 or "--out" in line
                said.append(done.out)
    if name == "publish-a-study":
        listed = (DOCS / "how-to" / f"{name}.md").read_text(encoding="utf-8")
        assert [path.name for path in (tmp_path / "clouds-bundle").iterdir() if f"`{path.name}`" not in listed] == []
    else:
        assert "surely in" in said[1]
        assert "where the time goes, time until usable: " in said[1]
