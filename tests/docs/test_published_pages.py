"""The worked examples on published studies: their commands run, and print what the pages show."""

import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.docs.pages import DOCS, ROOT, blocks

from cloudcmp.analysis.published import session_evidence
from cloudcmp.published import load

SESSIONS = DOCS / "how-to" / "what-four-sessions-show.md"
INTERFERENCE = DOCS / "how-to" / "test-an-interference-hypothesis.md"


def _follow(page: Path, folder: Path, part: slice = slice(None)) -> None:
    """Run the commands of a page's blocks in `folder`, and find what the page shows below each in what they print."""
    printed = ""
    for block in list(blocks(page))[part]:
        kind, _, name = block.info.partition(" ")
        if kind == "yaml":
            (folder / name).write_text(block.text, encoding="utf-8")
        elif kind == "sh":
            printed = ""
            for line in block.text.splitlines():
                done = cloudcmp(*shlex.split(line)[1:], cwd=folder)
                assert done.code == 0, f"{line}: {done.err}"
                printed += f"{done.out}\n"
        elif kind == "text":
            assert " ".join(block.text.split()) in " ".join(printed.split()), block.place


def test_what_four_sessions_show(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    shutil.copy(ROOT / "studies" / "deval-2017.yaml", tmp_path / "studies")
    _follow(SESSIONS, tmp_path)


def test_the_page_lists_the_conclusions_that_stand() -> None:
    evidence = session_evidence(load("deval-2017"))
    assert evidence is not None
    rows = [line for line in SESSIONS.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    assert rows == [f"| {one.page} | {one.section} | {one.quote} |" for one in evidence.conclusions if one.stands]


PARTS = {"planted": "neighbours.yaml", "not planted": "slow-host.yaml", "beside": "beside.yaml"}


def _part(name: str) -> slice:
    """The blocks from the study of a name to the next study."""
    starts = [at for at, block in enumerate(blocks(INTERFERENCE)) if block.info.startswith("yaml ")]
    here = next(at for at, block in enumerate(blocks(INTERFERENCE)) if block.info == f"yaml {name}")
    return slice(here, next((at for at in starts if at > here), None))


@pytest.mark.parametrize("name", PARTS.values(), ids=PARTS)
def test_the_hypothesis_of_interference(name: str, tmp_path: Path) -> None:
    _follow(INTERFERENCE, tmp_path, _part(name))


def test_what_the_paper_itself_prints(tmp_path: Path) -> None:
    _follow(INTERFERENCE, tmp_path, slice(0, 2))
