"""The samples of a study by launch, and the one measurement that a claim names."""

from pathlib import Path

import numpy as np
import pytest
from tests.made_once import run_once

from cloudcmp.analysis.request_samples import cell_named, samples_by_launch, trials_by_launch
from cloudcmp.errors import UserMistake
from cloudcmp.model.values import SeriesLimits
from cloudcmp.stats.histogram import from_base64, percentile_s
from cloudcmp.store import StudyStore

STUDY = """\
schema: 1
question: How fast are disks?
candidates:
  - {provider: simulated, region: nimbus, offering: small}
  - {provider: simulated, region: stratus, offering: small, truth: {faults: {hang: 40 %}}}
probes: [{probe: int, params: {threads: one}}, {probe: disk}]
launches: 4
runs: 1
"""
CELLS = (
    "rtt_s path=zone;percentile=50", "rtt_s path=zone;percentile=99", "rtt_s path=zones;percentile=50", "int_op_per_s",
)  # fmt: skip


def test_a_measurement_is_named_without_its_percentile() -> None:
    assert cell_named("rtt_s path=zone", CELLS, "--claim") == "rtt_s path=zone"
    assert cell_named("int_op_per_s", CELLS, "--claim") == "int_op_per_s"


@pytest.mark.parametrize(
    ("name", "told"),
    [("rtt_s", "'rtt_s' is 2 measurements: rtt_s path=zone; rtt_s path=zones"), ("loss", "did not measure 'loss'")],
)
def test_a_name_of_none_or_several_is_refused(name: str, told: str) -> None:
    with pytest.raises(UserMistake, match=told):
        cell_named(name, CELLS, "--claim")


def test_every_sample_of_a_launch_is_in_its_group(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = run_once(tmp_path_factory, "request-samples", STUDY)
    with StudyStore.open(folder, write=False) as store:
        plan, attempts = store.plan, store.attempts()
        measured = store.measured(frozenset(), SeriesLimits(most=0, whole=("int_op_per_s",)))
    cell = next(one for trial in plan.trials for one in trial.cells if one.startswith("int_op_per_s"))
    rates = samples_by_launch(plan, cell, measured)
    assert len(rates[0]) == 4
    assert sum(one.n for some in rates.values() for one in some) == sum(len(one.values) for one in measured.whole)
    of_first = [one for one in measured.histograms if plan.launches[one.launch].candidate == 0]
    row = min(of_first, key=lambda one: one.launch)
    groups = samples_by_launch(plan, f"{row.metric} {row.params}", measured)[0]
    whole = from_base64(row.hist)
    assert groups[0].n == int(whole.counts.sum())
    assert float(np.repeat(groups[0].values, groups[0].counts).max()) == pytest.approx(percentile_s(whole, 100))
    trials = trials_by_launch(plan, attempts, measured)
    assert sum(one.n for some in trials.values() for one in some) == len(plan.trials)
    assert sum(one.failed for one in trials[1]) > 0
    assert sum(one.failed for one in trials[0]) == 0
