"""The pages on rules that stop a study: the commands run, and print what the page shows; the table is the script's."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cli.command import cloudcmp
from tests.docs.pages import DOCS, ROOT, blocks
from tests.slices import long

PAGE = DOCS / "how-to" / "measure-only-enough.md"
TABLE = DOCS / "reference" / "selection.md"


def test_the_page_can_be_followed_and_shows_what_is_printed(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    shutil.copy(ROOT / "studies" / "stop-early.yaml", tmp_path / "studies")
    printed = ""
    for block in blocks(PAGE):
        for line in block.text.splitlines() if block.info == "sh" else ():
            done = cloudcmp(*shlex.split(line)[1:], cwd=tmp_path)
            assert done.code == 0, f"{line}: {done.err}"
            printed += f"{done.out}\n{done.err}\n"
    words = " ".join(printed.split())
    shown = [block.text for block in blocks(PAGE) if block.info == "text"]
    assert len(shown) == 2
    for text in shown:
        assert " ".join(text.split()) in words
    assert "fast is the best, or at most 2 % behind it (95 %)" in words


@long
def test_the_table_is_what_the_script_prints() -> None:
    script = [sys.executable, ROOT / "benchmarks" / "selection.py", "10000", "1"]
    printed = subprocess.run(script, capture_output=True, text=True, check=True, timeout=1200).stdout
    page = TABLE.read_text(encoding="utf-8")
    rows = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(rows) > 50
    assert [row for row in rows if row not in page] == []
