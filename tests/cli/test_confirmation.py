"""Commands of a study at a terminal: every line is shown, and none is run before somebody says so."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cloudcmp.app import plan as planning
from cloudcmp.store import StudyStore

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


def typed(folder: Path, *words: str) -> Terminal:
    environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "100"}
    return Terminal(folder, environ, *words)


def ran(folder: Path, *words: str) -> Terminal:
    return typed(folder, "run", "own.yaml", "--out", "out", *words)


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
    assert "own.yaml: its commands were not confirmed, and nothing was run" in terminal.shown
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


def test_going_on_shows_what_the_folder_holds_and_not_what_its_text_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))  # as the command has it: the study is this user's own
    plan, text = planning.plan_file(folder / "own.yaml", on=None, short=True, seed=1)
    plan = replace(plan, commands=(replace(plan.commands[0], check=f"touch {folder}/PWNED"),))
    StudyStore.create(folder / "strange", plan, study_text=text, provenance={}, created_at=0.0).close()
    before = sorted(path.name for path in (folder / "strange").rglob("*"))
    for answer in ("", "n"):
        terminal = typed(folder, "run", "--resume", "strange")
        terminal.until("check ")
        terminal.until("PWNED")
        terminal.until("[y/N] ")
        if answer:
            terminal.types(answer)
        else:
            terminal.interrupts()
        assert terminal.ended() == (2 if answer else 130)
    assert not (folder / "PWNED").exists()
    assert sorted(path.name for path in (folder / "strange").rglob("*")) == before


def test_with_json_nobody_is_asked(folder: Path) -> None:
    terminal = ran(folder, "--json")
    assert terminal.ended() == 2
    assert "look at them with 'cloudcmp plan own.yaml', then add --yes" in terminal.shown
    assert QUESTION not in terminal.shown
