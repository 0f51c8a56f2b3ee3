"""What several tests of studies stand on."""

import asyncio
from collections.abc import Iterator

import pytest


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
