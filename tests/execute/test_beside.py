"""A trial beside a neighbour: what the neighbour did is recorded, and one that did not work makes it invalid."""

import json
from pathlib import Path

import pytest

from cloudcmp.agent import expected_series
from cloudcmp.catalog import METRICS
from cloudcmp.execute.beside import load_trial, processors, with_load
from cloudcmp.execute.cast import Agent
from cloudcmp.model.cast import Role
from cloudcmp.model.trial import Outcome, Sample, TrialResult

LOADS = ("cpu", "memory", "disk_read", "disk_write", "disk_mixed", "small_files")
NETWORK = ("net_out", "net_in")


def beside(rig, load, index=0, probe="int", **params):
    own = {"duration_s": "0.2", **params, "neighbour": load}
    level = {} if load == "none" else {"intensity": "2000000" if load in NETWORK else "1"}
    return rig.trial(index, probe, **own, **level)


@pytest.mark.parametrize("load", LOADS)
def test_a_victim_is_measured_while_each_load_works(rig, agent, load):
    trials = [beside(rig, load), beside(rig, "none", 1)]
    rig.on_local(agent, trials)
    assert rig.outcomes == ["ok", "ok"], [one.why for one in rig.memory.attempts]
    loaded, alone = (json.loads(one.facts) for one in rig.memory.attempts)
    assert loaded["neighbour"]["load"] == load
    assert loaded["neighbour"]["op_per_s"] > 1
    assert "neighbour" not in alone
    for trial, params in zip(trials, (f"intensity=1;neighbour={load};", "neighbour=none;"), strict=True):
        assert {sample.params for sample in rig.memory.samples[trial.index]} == {f"{params}threads=one"}
    assert not list((rig.folder / "work").iterdir()), "nothing is left of the load"


@pytest.mark.parametrize("load", NETWORK)
@pytest.mark.parametrize("probe", ["int", "udp"])
def test_a_victim_is_measured_while_traffic_goes_on(rig, agent, load, probe):
    more = {"rate_bytes_per_s": "1000000"} if probe == "udp" else {}
    rig.on_local(agent, [beside(rig, load, 0, probe, duration_s="0.5", **more)])
    assert rig.outcomes == ["ok"], [one.why for one in rig.memory.attempts]
    did = json.loads(rig.memory.attempts[0].facts)["neighbour"]
    assert (did["load"], did["rate_bytes_per_s"]) == (load, 2e6)
    assert 2e5 < did["received_bytes_per_s"] < 2.5e6
    assert {sample.params.split(";")[0] for sample in rig.memory.samples[0]} <= {"intensity=2000000", "direction=out"}


@pytest.mark.parametrize("end", ["server", "client"])
def test_traffic_whose_other_end_is_missing_makes_the_trial_invalid(rig, agent, end):
    rig.on_local(impostor(rig.folder, agent, "exit 3", f'"role":"{end}"'), [beside(rig, "net_out")])
    assert rig.outcomes == ["invalid"]
    assert rig.memory.attempts[0].why.startswith("neighbour: ")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("exit 3", "without an end record"),
        ("printf 'nonsense\\n'", "not a line of JSON"),
    ],
)
def test_a_neighbour_that_never_loads_makes_the_trial_invalid(rig, agent, body, why):
    rig.on_local(impostor(rig.folder, agent, body), [beside(rig, "cpu")])
    assert rig.outcomes == ["invalid"]
    assert rig.memory.attempts[0].why.startswith("neighbour: ")
    assert why in rig.memory.attempts[0].why
    assert rig.memory.samples[0] == ()


def test_a_neighbour_that_dies_beside_its_victim_makes_the_trial_invalid(rig, agent):
    """It loads for some time, and is killed while the victim is measured."""
    body = f'{{ printf "%s\n" "$line"; cat; }} | timeout -s KILL 1 {agent}'
    rig.on_local(impostor(rig.folder, agent, body), [beside(rig, "cpu", duration_s="3")])
    assert rig.outcomes == ["invalid"]
    assert "stood still" in rig.memory.attempts[0].why


@pytest.mark.parametrize("load", ["cpu", "net_out"])
def test_a_load_that_stands_still_for_an_interval_is_no_fault_of_its_stream(rig, load):
    trial = beside(rig, load)
    series = expected_series(load_trial(trial, {}, single=True).cells, METRICS)
    assert [one.signed for one in series.values()] == [True]


def test_a_neighbour_that_talks_nonsense_beside_its_victim_makes_the_trial_invalid(rig, agent):
    body = f'{{ printf "%s\n" "$line"; cat; }} | timeout -s KILL 1 {agent}; printf "nonsense\n"'
    rig.on_local(impostor(rig.folder, agent, body), [beside(rig, "cpu", duration_s="3")])
    assert rig.outcomes == ["invalid"]
    assert rig.memory.attempts[0].why.startswith("neighbour: ")
    assert "not a line of JSON" in rig.memory.attempts[0].why


def impostor(folder: Path, agent: Path, body: str, whose: str = '"role":"neighbour"') -> Path:
    """The real agent, but for jobs with a text: with those it runs these shell lines; `$line` is the job."""
    path = folder / "impostor"
    path.write_text(
        "#!/bin/bash\nread -r line\n"
        f"case \"$line\" in *'{whose}'*)\n"
        f"{body}\nexit;; esac\n"
        f'{{ printf "%s\\n" "$line"; cat; }} | exec {agent}\n'
    )
    path.chmod(0o700)
    return path


def test_simulated_neighbours_work_all_the_time(rig):
    rig.on_simulated([beside(rig, "memory", probe="stream")])
    assert rig.outcomes == ["ok"]
    assert json.loads(rig.memory.attempts[0].facts)["neighbour"]["threads"] == "1"


class _Machine:
    def __init__(self, *cpus: int) -> None:
        self.cpus, self.address, self.folder = cpus, "127.0.0.1", None


@pytest.mark.parametrize(("cpus", "victim", "neighbour"), [((0, 1, 2), (0,), (1, 2)), ((4,), (4,), (4,))])
def test_one_machine_is_shared_in_halves_and_two_are_not(cpus, victim, neighbour):
    machine = _Machine(*cpus)
    agents = [
        Agent(Role.VICTIM, machine, "", "", isolated=True),
        Agent(Role.NEIGHBOUR, machine, "", "", isolated=True, loads=True),
        Agent(Role.SOLO, machine, "", ""),
    ]
    assert [tuple(processors(one, alone=True)) for one in agents] == [victim, neighbour, cpus]
    assert [tuple(processors(one, alone=False)) for one in agents] == [cpus] * 3


@pytest.mark.parametrize(
    ("times", "took_s", "fine"),
    [
        ((0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7), 0.5, True),
        ((0.1, 0.2, 0.3), 2.0, False),
        ((0.1, 0.2, 1.9, 2.0, 2.1), 2.0, False),
        ((0.1, 0.9, 1.6, 2.1), 2.0, True),
        ((0.1,), 0.1, True),
        ((0.1,), 5.0, False),
        ((0.1, 9.0), 1.0, False),
    ],
)
def test_a_load_must_have_worked_during_the_victims_time(rig, times, took_s, fine):
    load = load_trial(beside(rig, "cpu"), {}, single=True)
    samples = [Sample(at, "neighbour_op_per_s", "", t_s, 5.0, None) for at, t_s in enumerate(times)]
    found = with_load(TrialResult(Outcome.OK, (), "", "{}"), "cpu", load, samples, took_s)
    assert found.outcome is (Outcome.OK if fine else Outcome.INVALID)
    failed = TrialResult(Outcome.FAILED, (), "why")
    assert with_load(failed, "cpu", load, samples, took_s) == failed
