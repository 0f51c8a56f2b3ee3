"""The real agent on this machine: every probe that is built gives every cell of its trial."""

import json
import math

import pytest

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.model.trial import Outcome

# Small and short: what is asked is whether it works, not how fast it is.
SHORT = {
    "barrier": {"rounds": "5"},
    "fma": {"duration_s": "0.1", "interval_s": "0.1"},
    "int": {"duration_s": "0.1", "interval_s": "0.1"},
    "peak": {"duration_s": "0.1", "interval_s": "0.1"},
    "gemm": {"n": "200", "duration_s": "0.1"},
    "lu": {"n": "200", "duration_s": "0.1"},
    "loop": {"loops": "2"},
    "pi": {"digits": "1000"},
    "twolf": {"cells": "200"},
    "task": {"task": "aes", "size": "small"},
    "npb": {"benchmark": "cg", "class": "S"},
    "stream": {"duration_s": "0.1", "interval_s": "0.1", "array_bytes": "8388608"},
    "chase": {"duration_s": "0.1"},
    "disk": {"duration_s": "0.1", "interval_s": "0.1", "file_bytes": "1048576", "durability": "cached"},
    "iozone": {"file_bytes": "65536", "record_bytes": "4096", "durability": "cached"},
    "postmark": {"files": "20", "transactions": "50"},
    "dbench": {"duration_s": "0.2"},
    "unixbench": {"duration_s": "0.05", "passes": "1"},
    "tcp": {"duration_s": "0.1", "interval_s": "0.1"},
    "udp": {"duration_s": "0.1", "interval_s": "0.1", "rate_bytes_per_s": "1000000"},
    "rtt": {"duration_s": "0.1"},
}


def test_every_built_probe_is_tried():
    here = {probe.name for probe in PROBES.values() if probe.built and not probe.by_controller}
    assert set(SHORT) == here - {"command", "tool"}  # which a study words; tests/app/test_commands.py runs them


@pytest.mark.parametrize("probe", SHORT)
def test_a_probe_gives_every_cell(rig, agent, probe):
    trials = [rig.trial(index, probe, **SHORT[probe]) for index in range(2)]
    visit = rig.on_local(agent, trials)
    assert rig.outcomes == ["ok", "ok"], [attempt.why for attempt in rig.memory.attempts]
    assert visit.finished
    for trial, attempt in zip(trials, rig.memory.attempts, strict=True):
        samples = rig.memory.samples[trial.index]
        assert {sample.metric for sample in samples} == set(PROBES[probe].metrics)
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
