"""Commands of a study at a terminal: every line is shown, and none is run before somebody says so."""

import os
from pathlib import Path

import pytest

from .terminal import Terminal

STUDY = """\
schema: 1
question: Is what a stranger wrote run?
candidates: [{provider: local, region: local, offering: 1cpu}]
launches: 1
runs: 1
probes:
  - command: {name: mine, setup: "touch $HERE/RAN # \\u202e", run: "true", expected: 1 s}
"""
QUESTION = "Run these commands on this machine as "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.yaml").write_text(STUDY.replace("$HERE", str(tmp_path)))
    return tmp_path


def ran(folder: Path, *words: str, state: str = "state") -> Terminal:
    environ = {**os.environ, "XDG_STATE_HOME": str(folder / state), "COLUMNS": "100"}
    return Terminal(folder, environ, "run", "own.yaml", "--out", "out", *words)


def asked(folder: Path) -> Terminal:
    terminal = ran(folder)
    terminal.until(QUESTION)
    terminal.until("[y/N] ")
    assert "/RAN # <U+202E>" in "".join(line.strip() for line in terminal.shown.splitlines())
    assert not (folder / "RAN").exists()
    return terminal


@pytest.mark.parametrize("typed", ["", "n", "yesterday", None])
def test_any_answer_but_yes_runs_nothing_and_leaves_nothing(folder: Path, typed: str | None) -> None:
    terminal = asked(folder)
    if typed is None:
        terminal.ends()
    else:
        terminal.types(typed)
    assert terminal.ended() == 2
    assert "own.yaml: its commands were not confirmed, and nothing of it was run" in terminal.shown
    assert [one.name for one in folder.iterdir()] == ["own.yaml"]


def test_who_interrupts_at_the_question_leaves_nothing(folder: Path) -> None:
    terminal = asked(folder)
    terminal.interrupts()
    assert terminal.ended() == 130
    assert "Traceback" not in terminal.shown
    assert [one.name for one in folder.iterdir()] == ["own.yaml"]


def test_yes_runs_it_and_the_same_lines_are_not_asked_for_again(folder: Path, agent: Path) -> None:
    assert agent.exists()
    terminal = asked(folder)
    terminal.types("y")
    assert terminal.ended() == 0, terminal.shown
    assert (folder / "RAN").exists()
    again = ran(folder, "--out", "again")
    assert again.ended() == 0, again.shown
    assert QUESTION not in again.shown
    assert "this study runs commands on this machine, as you: mine" in again.shown


def test_a_changed_line_is_asked_for_again(folder: Path) -> None:
    assert ran(folder, "--yes", "--short").ended() == 0
    text = (folder / "own.yaml").read_text()
    (folder / "own.yaml").write_text(text.replace('run: "true"', 'run: "true "'))
    (folder / "RAN").unlink()
    terminal = ran(folder, "--out", "again")
    terminal.until("[y/N] ")
    terminal.types("n")
    assert terminal.ended() == 2
    assert not (folder / "again").exists()


def test_with_json_nobody_is_asked(folder: Path) -> None:
    terminal = ran(folder, "--json")
    assert terminal.ended() == 2
    assert "look at them with 'cloudcmp plan own.yaml', then add --yes" in terminal.shown
    assert QUESTION not in terminal.shown
