"""What several tests of studies stand on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider import registry

from .paid import Paid


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is interrupted leaves its runner open, for the process ends then; this one does not."""
    runners: list[asyncio.Runner] = []

    class Runner(asyncio.Runner):
        def __init__(self) -> None:
            super().__init__()
            runners.append(self)

    monkeypatch.setattr(asyncio, "Runner", Runner)
    yield
    for one in runners:
        one.close()


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[Paid]:
    """A billed provider among the registered ones, in an empty folder; tests may bend it."""

    class Own(Paid):
        created: list[str] = []  # noqa: RUF012

    def make(means: registry.ProviderOptions) -> Own:
        return Own((means.work or OwnedPath(Path())).below("launches"), means.agent, means.study)

    monkeypatch.setitem(registry._FACTORIES, "paid", make)
    monkeypatch.chdir(tmp_path)
    return Own
