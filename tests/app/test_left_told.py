"""A run that ends by a fault of its own, or is interrupted, still says which machines it could not see gone."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from cloudcmp.app import cleanup as cleaning
from cloudcmp.app import plan as planning
from cloudcmp.app.run import resume
from cloudcmp.errors import StorageFault
from cloudcmp.execute import study as study_run
from cloudcmp.execute.context import Halt, RunContext
from cloudcmp.model.lease import INSTANCE, Lease, LeaseEvent, LeaseRow, LeaseState
from cloudcmp.provision import Release
from cloudcmp.report.progress import Silence
from cloudcmp.store import StudyStore
from tests.execute.conftest import Told


class Heard(Told):
    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


FULL = StorageFault.at("study.db", "no space left on the disk")


@pytest.mark.parametrize("fault", [FULL, RuntimeError("a fault of our own")])
def test_p4_what_is_left_is_told_with_the_fault(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease("launch-0", 1, LeaseState.LIVE, "aws", "eu-west-1", INSTANCE, "n", "t", "i-0123", 0.0)

    async def released(*_: object) -> tuple[Release, ...]:
        return (Release(lease, None, "it is still there"),)

    async def full(*_: object) -> str:
        raise fault

    async def watched(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(study_run, "release_all", released)
    monkeypatch.setattr(study_run, "run_rounds", full)
    monkeypatch.setattr(study_run, "watch_money", watched)
    heard = Heard()
    bench, office = SimpleNamespace(stop=asyncio.Event(), progress=heard), SimpleNamespace(ledger=None)
    crew = RunContext(None, SimpleNamespace(folder="out"), {}, office, bench, None, Halt())  # type: ignore[arg-type]

    def leave(ending: object) -> None:
        raise AssertionError(ending)

    with pytest.raises(type(fault)) as caught:
        asyncio.run(study_run._measure(crew, leave))  # type: ignore[arg-type]
    assert caught.value is fault
    told = "\n".join([*heard.notes, *(one.line() for one in getattr(fault, "faults", ()))])
    assert "aws/eu-west-1 instance i-0123: it is still there" in told
    assert "cloudcmp cleanup out" in told


class Left(Exception):
    """In place of the end of the process."""


def test_p08_who_interrupts_before_anything_came_is_told_what_may_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: None
) -> None:
    plan, text = planning.plan_file(Path(__file__).with_name("small.yaml"), on=None, short=False, seed=1)
    told: list[cleaning.RunEnd] = []

    def leave(ending: cleaning.RunEnd) -> None:
        told.append(ending)
        raise Left

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with StudyStore.create(tmp_path / "small", plan, study_text=text, provenance={}, created_at=0.0) as store:
        store.append_lease(
            LeaseRow("launch-0", 1, LeaseEvent.INTENT, "simulated", "stratus", INSTANCE, "cloudcmp-n", "t", 0.0)
        )
    monkeypatch.setattr(StudyStore, "interrupt_open", interrupted)
    how = {"work": None, "wait": False, "progress": Silence(), "leave": leave}
    with pytest.raises(Left):
        resume(tmp_path / "small", **how)  # type: ignore[arg-type]
    monkeypatch.setattr(cleaning, "open_providers", interrupted)
    with pytest.raises(Left):
        cleaning.cleanup(tmp_path / "small", leave)  # type: ignore[arg-type]
    for ending in told:
        (line,) = ending.left
        assert line.startswith("simulated/stratus instance cloudcmp-n: ")
        assert ending.interrupted
        assert ending.reason == "interrupted"
