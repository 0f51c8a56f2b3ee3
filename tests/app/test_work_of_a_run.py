"""The work of a whole run on simulated clouds, its end included, grows with the trials and no faster.

Work is counted in calls of Python functions, steps of generators and fsyncs, not timed.
"""

import os
import sys
from pathlib import Path
from types import FrameType

import pytest

from cloudcmp.app import plan as planning
from cloudcmp.app.run import start
from cloudcmp.report.progress import Silence

STUDY = """\
schema: 1
question: What does a trial cost?
candidates: [{{provider: simulated, region: nimbus, offering: small, price: 0.10 USD/h}}]
probes: [{{probe: fma, params: {{threads: one}}, runs: {runs}}}]
launches: 2
runs: 1
every: 1 h
for: 1 day
"""


def work_of(folder: Path, runs: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """The calls and the fsyncs of a run of two launches with so many trials on each, compaction included."""
    folder.mkdir()
    study = folder / "study.yaml"
    study.write_text(STUDY.format(runs=runs), encoding="utf-8")
    plan, text = planning.plan_file(study, on=None, short=False, seed=1)
    calls, syncs = [0], [0]

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        calls[0] += event == "call"

    def sync(_descriptor: int) -> None:
        syncs[0] += 1

    monkeypatch.setattr(os, "fsync", sync)
    sys.setprofile(count)
    try:
        end = start(plan, text, folder / "out", work=None, wait=False, progress=Silence(), leave=lambda _: None)
    finally:
        sys.setprofile(None)
    assert end.finished
    assert len(list((folder / "out" / "samples").iterdir())) == 1
    return calls[0], syncs[0]


def test_twice_the_trials_are_twice_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work_of(tmp_path / "first", 1, monkeypatch)  # the first run also imports
    some, more, most = (work_of(tmp_path / f"{runs}", runs, monkeypatch) for runs in (20, 40, 80))
    print(some, more, most)
    for before, then, last in zip(some, more, most, strict=True):
        assert last - then <= 2.02 * (then - before)
    assert (most[1] - more[1]) / 80 == 2  # the file of its samples and its folder; the database syncs by itself
