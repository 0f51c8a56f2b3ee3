"""The tutorial, typed from top to bottom."""

import shlex
import sys
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, blocks

from cloudcmp.cli.main import main
from cloudcmp.provider.registry import make

PAGE = DOCS / "tutorial.md"


def _typed(line: str) -> list[str]:
    """The words of a line; what measures for real is kept short, because the other tests share the machine."""
    words = shlex.split(line)[1:]
    real = words[0] == "run" and "--on" not in words and "--resume" not in words
    return [*words, "--short"] if real else words


def test_every_command_of_the_tutorial_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    largest = make("local").offerings()[-1].name
    shown = list(blocks(PAGE))
    for block in shown:
        if block.info.startswith("yaml "):
            study = block.text.replace("2cpu", largest)  # as the tutorial says to do where there is no 2cpu
            (tmp_path / block.info.partition(" ")[2]).write_text(study, encoding="utf-8")
    lines = [line for block in shown if block.info == "sh" for line in block.text.splitlines()]
    # The demonstration is driven whole by tests of its own.
    typed = [_typed(line) for line in lines if line.startswith("cloudcmp ") and "first" not in line]
    assert len(typed) > 9
    for words in typed:
        monkeypatch.setattr(sys, "argv", ["cloudcmp", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert ended.value.code == 0, f"{' '.join(words)}: {told.err}"
    assert (tmp_path / "mine" / "report.html").is_file()
    assert (tmp_path / "mine.csv").read_text(encoding="utf-8").startswith("provider,")
    assert list((tmp_path / "figures").glob("*.svg"))
