"""What is dear to make and only read, made by the first of a run's workers that asks for it."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

THREE_SIZES = """\
schema: 1
question: Which is fast enough?
candidates:
  - provider: simulated
    region: nimbus
    offering: small
    price: 0.10 USD/h
    truth: {cells: {fma_flop_per_s: {mean: 10 Gflop/s, cov: 2 %, between: 1 %}}}
  - provider: simulated
    region: nimbus
    offering: medium
    price: 0.15 USD/h
    truth: {cells: {fma_flop_per_s: {mean: 14 Gflop/s, cov: 2 %, between: 1 %}}}
  - provider: simulated
    region: nimbus
    offering: large
    price: 0.30 USD/h
    truth: {cells: {fma_flop_per_s: {mean: 20 Gflop/s, cov: 2 %, between: 1 %}}}
probes:
  - {probe: fma, params: {threads: one}}
launches: 8
runs: 1
"""
"""A study of three sizes of a simulated cloud, the larger the faster and the dearer."""


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder of that name for all workers of a run, which one of them makes while the others wait.

    No test may change what is in it. Raises what `make` raises; then the next one tries again.
    """
    base = factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    folder, done = shared / name, shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


def run_once(factory: pytest.TempPathFactory, name: str, study: str) -> Path:
    """The folder of a study of this text, run once for all workers; `study.yaml` lies beside it."""
    from tests.cli.command import cloudcmp

    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "study.yaml").write_text(study, encoding="utf-8")
        done = cloudcmp("run", folder / "study.yaml", "--out", folder / "out", "--quiet")
        assert done.code == 0, done.err

    return made_once(factory, name, make) / "out"
