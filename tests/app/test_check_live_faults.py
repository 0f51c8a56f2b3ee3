"""The folder of a try-out, with the ledger by which cleanup goes, stays until all that was made is seen gone."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.app.check import live as proving
from cloudcmp.app.check.live import prepare
from cloudcmp.app.check.live import run as prove
from cloudcmp.app.cleanup import cleanup
from cloudcmp.errors import StorageFault
from cloudcmp.model.check import LiveCheck
from cloudcmp.model.safety import Finding
from cloudcmp.provider.simulated import SimulatedProvider
from cloudcmp.provision.contract_run import ContractRun
from cloudcmp.provision.lifecycle import acquire
from cloudcmp.store import StudyStore

pytestmark = pytest.mark.usefixtures("closed")


@pytest.fixture
def tryout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LiveCheck:
    monkeypatch.chdir(tmp_path)
    return prepare("simulated", budget=None, region=None, offering=None, price=None)


def made_then(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have a try-out make one machine, and end by an error."""

    async def hold(stage: ContractRun, **_: Any) -> None:
        await acquire(stage.context.ledger, stage.provider, stage.candidate, stage.launches[0], 600.0)
        raise error

    monkeypatch.setattr(proving, "run_contract", hold)


@pytest.mark.parametrize("error", [RuntimeError("oh"), KeyboardInterrupt(), StorageFault.at("study.db", "is full")])
def test_what_is_left_by_a_fault_is_told_and_kept(
    tryout: LiveCheck, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    said: list[str] = []
    made_then(monkeypatch, error)
    with pytest.raises(type(error)):
        prove(tryout, said.append)
    said += [one.line() for one in getattr(error, "faults", ())]
    assert f"end it with: cloudcmp cleanup {tryout.folder}" in said[-1]
    assert len(cleanup(tryout.folder).destroyed) == 1


@pytest.mark.parametrize("error", [RuntimeError("oh"), StorageFault.at("study.db", "is full")])
def test_a_ledger_that_cannot_be_read_is_kept(
    tryout: LiveCheck, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    said: list[str] = []

    def unread(_: StudyStore) -> None:
        raise StorageFault.at("study.db", "disk I/O error")

    made_then(monkeypatch, error)
    with monkeypatch.context() as bad:
        bad.setattr(proving, "_add_left", _first(bad, unread, proving._add_left))
        with pytest.raises(type(error)) as caught:
            prove(tryout, said.append)
    assert caught.value is error
    said += [one.line() for one in getattr(error, "faults", ())]
    assert "what it created may still exist: study.db: disk I/O error" in said[-1]
    assert len(cleanup(tryout.folder).destroyed) == 1


def _first(patch: pytest.MonkeyPatch, unread: Any, then: Any) -> Any:
    """The same, from which on no ledger can be read."""

    def told(*arguments: Any) -> Any:
        patch.setattr(StudyStore, "leases", unread)
        return then(*arguments)

    return told


def test_what_was_told_to_nobody_is_kept(tryout: LiveCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_: str) -> None:
        raise BrokenPipeError(32, "broken pipe")

    made_then(monkeypatch, RuntimeError("oh"))
    with pytest.raises(RuntimeError, match="oh"):
        prove(tryout, closed)
    assert len(cleanup(tryout.folder).destroyed) == 1


def test_where_nothing_was_made_nothing_stays(tryout: LiveCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("oh")

    monkeypatch.setattr(proving, "open_provisioning", broken)
    with pytest.raises(RuntimeError, match="oh"):
        prove(tryout)
    assert not tryout.folder.exists()


def test_who_interrupts_the_look_before_leaves_no_folder(tryout: LiveCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    async def looks(*_: Any) -> tuple[Finding, ...]:
        assert not tryout.folder.exists()
        await asyncio.sleep(0)
        raise KeyboardInterrupt

    monkeypatch.setattr(SimulatedProvider, "check", looks)
    with pytest.raises(KeyboardInterrupt):
        prove(tryout, said.append)
    assert said == ["checking first: simulated"]
    assert not tryout.folder.exists()
