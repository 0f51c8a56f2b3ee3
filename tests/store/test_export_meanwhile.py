"""A study that is exported while another process measures it: one moment of it is written, whatever ends meanwhile."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.conftest import create, make_plan, run_trial

from cloudcmp.app import export
from cloudcmp.store import StudyStore


@pytest.fixture
def running(tmp_path: Path) -> StudyStore:
    """A store of trials without histograms, of which half have ended."""
    plan = make_plan()
    trials = [trial for trial in plan.trials if trial.probe != "rtt"]
    plan = replace(plan, trials=tuple(replace(trial, index=index) for index, trial in enumerate(trials)))
    with create(tmp_path / "study", plan) as made:
        for trial in plan.trials[: len(trials) // 2]:
            run_trial(made, trial)
        yield made


def meanwhile(name: str, writer: StudyStore, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Before each reading by the method `name` another trial ends; how many have."""
    waiting = list(writer.plan.trials[len(writer.done()) :])
    original = getattr(StudyStore, name)
    count = len(waiting)

    def reading(self: StudyStore, *given: object) -> object:
        if waiting:
            run_trial(writer, waiting.pop(0))
        return original(self, *given)

    monkeypatch.setattr(StudyStore, name, reading)
    return lambda: count - len(waiting)


@pytest.mark.parametrize("name", ["attempts", "measured"])
def test_a_trial_that_ends_between_two_reads(name: str, running: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    before = export.rows(running.folder)
    ended = meanwhile(name, running, monkeypatch)
    assert export.rows(running.folder) == before
    assert ended() > 0
    monkeypatch.undo()
    assert len(export.rows(running.folder)) == len(before) + ended()


def test_files_that_are_made_one_between_two_reads(running: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    before = export.rows(running.folder)
    original, times = StudyStore.measured, []

    def reading(self: StudyStore, *given: object) -> object:
        if not times:
            running.compact()
        times.append(1)
        return original(self, *given)

    monkeypatch.setattr(StudyStore, "measured", reading)
    assert export.rows(running.folder) == before
    assert len(times) > 1
