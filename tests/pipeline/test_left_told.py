"""A run that ends by a fault of its own still says which machines it could not see gone."""

import asyncio
from types import SimpleNamespace

import pytest

from cloudcmp.errors import StorageFault
from cloudcmp.model.lease import INSTANCE, Lease, LeaseState
from cloudcmp.pipeline import running
from cloudcmp.pipeline.crew import Crew, Halt
from cloudcmp.provision import Release
from tests.measure.conftest import Told


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

    monkeypatch.setattr(running, "release_all", released)
    monkeypatch.setattr(running, "run_rounds", full)
    monkeypatch.setattr(running, "watch_money", watched)
    heard = Heard()
    bench, office = SimpleNamespace(stop=asyncio.Event(), progress=heard), SimpleNamespace(ledger=None)
    crew = Crew(None, SimpleNamespace(folder="out"), {}, office, bench, None, Halt())  # type: ignore[arg-type]

    def leave(ending: object) -> None:
        raise AssertionError(ending)

    with pytest.raises(type(fault)) as caught:
        asyncio.run(running._measure(crew, leave))  # type: ignore[arg-type]
    assert caught.value is fault
    told = "\n".join([*heard.notes, *(one.line() for one in getattr(fault, "faults", ()))])
    assert "aws/eu-west-1 instance i-0123: it is still there" in told
    assert "cloudcmp cleanup out" in told
