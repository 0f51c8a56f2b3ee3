"""The real agent on this machine: every probe gives every cell of its trial."""

import json
import math
from dataclasses import replace

import pytest
from tests.slices import spread

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.model.cast import Role
from cloudcmp.model.metric import Probe
from cloudcmp.model.trial import Outcome
from cloudcmp.plan import cast_of

# Small and short: what is asked is whether it works, not how fast it is. What a row calls short goes before this.
QUICK = {
    "duration_s": "0.1",
    "interval_s": "0.1",
    "array_bytes": "8388608",
    "file_bytes": "1048576",
    "durability": "cached",
    "rate_bytes_per_s": "1000000",
    "loops": "2",
}
WORDED_BY_A_STUDY = {"command", "tool", "neighbour"}  # see tests/app/test_commands.py, test_beside.py


def short(probe: Probe) -> dict[str, str]:
    """The parameters that make a run short: those that the probe's row calls so, and times and sizes by their names."""
    taken = {param.name: QUICK[param.name] for param in probe.params if param.name in QUICK}
    for param in probe.params:
        if param.short is not None:
            numbers = param.short.isdigit() and param.default.isdigit()
            taken[param.name] = str(min(int(param.short), int(param.default))) if numbers else param.short
    return taken


SHORT = {
    probe.name: short(probe)
    for probe in PROBES.values()
    if not probe.by_controller and probe.name not in WORDED_BY_A_STUDY
    and Role.SERVICE not in probe.roles  # tests/agent/test_s3.py and its like have services
}  # fmt: skip


@pytest.mark.parametrize("probe", spread([*SHORT], 11))
def test_a_probe_gives_every_cell(rig, agent, probe):
    trials = [rig.trial(index, probe, **SHORT[probe]) for index in range(2)]
    if Role.VANTAGE in PROBES[probe].roles:  # this machine looks at itself
        trials = [replace(one, cast=cast_of(probe, dict(one.params), "", "", served=True)) for one in trials]
    where = f"give long parameters of {probe} a `short` in its row of src/cloudcmp/catalog/tables"
    visit = rig.on_local(agent, trials)
    assert rig.outcomes == ["ok", "ok"], [where, *(attempt.why for attempt in rig.memory.attempts)]
    assert visit.finished
    for trial, attempt in zip(trials, rig.memory.attempts, strict=True):
        samples = rig.memory.samples[trial.index]
        given = {sample.metric for sample in samples}
        assert given | {one for one in PROBES[probe].metrics if METRICS[one].sparse} == set(PROBES[probe].metrics)
        for sample in samples:
            assert sample.hist or math.isfinite(sample.value)
            assert METRICS[sample.metric].signed or sample.hist or sample.value > 0
        facts = json.loads(attempt.facts)
        assert facts["host"]
        assert facts["clock"]["resolution_s"] >= 0
        assert attempt.ended_at > attempt.started_at
    assert not list((rig.folder / "work").iterdir())


def test_a_job_that_the_agent_refuses_says_why(rig, agent):
    trial = rig.trial(0, "fma")
    wrong = type(trial)(0, 0, "fma", (("threads", "many"),), trial.cells, 0, 0.0, 1.0, 20.0, 1)
    rig.on_local(agent, [wrong])
    assert rig.memory.attempts[0].outcome is Outcome.FAILED
    assert "threads" in rig.memory.attempts[0].why


def test_a_run_that_takes_too_long_is_a_timeout(rig, agent):
    rig.on_local(agent, [rig.trial(0, "fma", deadline_s=0.5, duration_s="30")])
    assert rig.outcomes == ["timeout"]
    assert rig.seconds < 5
