"""What is done on a launch: whole, short, and as far as this machine can."""

import pytest
from tests.plan.clouds import planned

from cloudcmp.catalog import APART, METRICS, PROBES
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import Role
from cloudcmp.model.plan import Plan
from cloudcmp.plan import check_runnable

LOCAL = "[{provider: local, offering: 1cpu}]"
CLOUD = "[{provider: aws, offering: small}]"
MIXED = "[{probe: fma}, {probe: table}, {probe: tcp, params: {path: [zone, region]}}, {probe: consistency}]"


def cells(plan: Plan) -> set[str]:
    return {cell for trial in plan.trials for cell in trial.cells}


def probes(plan: Plan) -> set[str]:
    return {trial.probe for trial in plan.trials}


def params(plan: Plan, probe: str) -> dict[str, str]:
    return dict(next(trial.params for trial in plan.trials if trial.probe == probe))


def test_on_this_machine_services_are_left_out_and_said() -> None:
    plan = planned(CLOUD, MIXED, on="local")
    assert probes(plan) == {"fma", "tcp"}
    assert "left out: this machine has no such service: table, consistency" in plan.quote.notes


def test_on_this_machine_no_cell_pretends_to_be_of_a_network() -> None:
    plan = planned(CLOUD, MIXED, on="local")
    assert {cell for cell in cells(plan) if cell.startswith("tcp")} == {
        "tcp_bytes_per_s path=loopback;size_bytes=131072;streams=1"
    }
    assert any("over loopback" in note for note in plan.quote.notes)


def test_a_local_candidate_has_no_network_to_another_machine() -> None:
    with pytest.raises(UserMistake, match="path: zone cannot be measured on one machine; write path: loopback"):
        planned(LOCAL, "[{probe: rtt, params: {path: zone}}]")


def test_simulated_runs_everything() -> None:
    assert probes(planned(CLOUD, MIXED, on="simulated")) == {"fma", "table", "tcp", "consistency"}


def test_where_nothing_is_left_one_line_says_so() -> None:
    with pytest.raises(UserMistake, match="this machine has no such service: table, consistency; use --on simulated"):
        planned(CLOUD, "[{probe: table}, {probe: consistency}]", on="local")


def test_this_machine_stands_in_for_machines_and_for_no_service() -> None:
    service = "{provider: simulated, region: nimbus, service: table, from: {offering: small}}"
    machine = "{provider: simulated, region: nimbus, offering: small}"
    plan = planned(f"[{service}, {machine}]", MIXED, on="local")
    assert [one.id for one in plan.candidates] == ["simulated/nimbus/small on local"]
    assert "left out: 1 services, for which this machine cannot stand in" in plan.quote.notes
    with pytest.raises(UserMistake, match="this machine cannot stand in for a service; use --on simulated"):
        planned(f"[{service}]", MIXED, on="local")


def test_what_cannot_decide_any_more_is_noted() -> None:
    plan = planned(CLOUD, MIXED, "decide: [consistency_time_s, fma_flop_per_s]", on="local")
    assert [one.cell for one in plan.decide] == ["fma_flop_per_s"]
    assert "left out of what should decide: consistency_time_s" in plan.quote.notes
    none = planned(CLOUD, MIXED, "decide: [consistency_time_s]", on="local")
    assert none.decide == ()
    assert "no cell that should decide is left: every cell decides" in none.quote.notes


BY_AGENT = [
    name
    for name, one in PROBES.items()
    if not one.by_controller and name not in APART and Role.SERVICE not in one.roles
]
ALL = f"[{', '.join(f'{{probe: {name}}}' for name in BY_AGENT)}]"


def test_short_is_short() -> None:
    plan = planned(LOCAL, ALL, "launches: 9\nruns: 4\nevery: 1 h\nfor: 1 day", short=True)
    assert (plan.rounds, plan.runs, plan.short, plan.sessions) == (2, 1, True, ())
    assert plan.quote.trials == 2 * len(BY_AGENT)
    # UnixBench is twelve tests, of 0.2 s each.
    assert plan.quote.expected_s < 0.5 * plan.quote.trials + plan.rounds * 12 * 0.2
    assert params(plan, "disk")["file_bytes"] == params(plan, "stream")["array_bytes"] == str(16 * 2**20)
    assert params(plan, "fma")["duration_s"] == "0.2"


def test_short_takes_the_smallest_sizes_and_says_so() -> None:
    chase = "{probe: chase, params: {size_bytes: [1 MiB, 16 KiB, 256 MiB]}}"
    solve = "{probe: lu, params: {n: [1000, 100], threads: [one, all]}}"
    plan = planned(LOCAL, f"[{chase}, {solve}]", short=True)
    assert cells(plan) == {
        "chase_latency_s pages=base;size_bytes=16384",
        "lu_flop_per_s n=100;threads=one",
        "lu_flop_per_s n=100;threads=all",
    }
    assert any(note.startswith("short: ") and "larger sizes are left out" in note for note in plan.quote.notes)


def test_short_changes_no_cells_meaning() -> None:
    short, whole = cells(planned(LOCAL, ALL, short=True)), cells(planned(LOCAL, ALL))
    named = {name for name in BY_AGENT if any(param.short for param in PROBES[name].params)}
    told = {metric for name in named for metric in PROBES[name].metrics}
    assert {cell for cell in short if cell.split()[0] not in told} == {c for c in whole if c.split()[0] not in told}
    assert {cell.split()[0] for cell in short} == {cell.split()[0] for cell in whole}


def test_a_short_study_takes_the_short_value_of_a_parameter_and_its_cells_say_so() -> None:
    asked = "[{probe: pi, params: {digits: [500, 524288]}}, {probe: twolf}, {probe: lu, params: {n: [memory]}}]"
    assert cells(planned(LOCAL, asked, short=True)) == {
        "pi_time_s digits=500",
        "twolf_time_s cells=1000;threads=one",
        "lu_flop_per_s n=1000;threads=one",
    }


def test_a_short_file_holds_several_blocks() -> None:
    plan = planned(LOCAL, "[{probe: disk, params: {block_bytes: 10 MiB}}]", short=True)
    assert int(params(plan, "disk")["file_bytes"]) >= 4 * 10 * 2**20


def test_short_never_makes_anything_longer() -> None:
    quick = "[{probe: fma, params: {duration_s: 50 ms, interval_s: 10 ms}}, {probe: disk, params: {file_bytes: 1 MiB}}]"
    plan = planned(LOCAL, quick, short=True)
    assert (params(plan, "fma")["duration_s"], params(plan, "fma")["interval_s"]) == ("0.05", "0.01")
    assert params(plan, "disk")["file_bytes"] == str(2**20)


def test_cells_are_those_of_the_catalogue() -> None:
    for cell in cells(planned(LOCAL, ALL)):
        assert cell.partition(" ")[0] in METRICS


def test_a_plan_that_can_be_run_is_not_refused() -> None:
    check_runnable(planned(LOCAL, ALL), {"local", "simulated"})
    check_runnable(planned(CLOUD, MIXED, on="simulated"), {"local", "simulated"})
    check_runnable(planned(CLOUD, "[{probe: fma}]", "budget: 9 USD"), {"aws"}, {"aws"})


def test_a_plan_that_cannot_be_run_says_why() -> None:
    with pytest.raises(UserMistake) as caught:
        check_runnable(planned(CLOUD, MIXED, "caps: {duty: 20 %}"), {"local"})
    assert [fault.line() for fault in caught.value.faults] == [
        "aws: there is no driver for this provider yet; use --on simulated or --on local",
        "aws/eu/small: it is a machine, and table measures a service; write service: blob and from: in a "
        "candidate, or leave the probe out",
    ]


@pytest.mark.parametrize(
    ("candidate", "rest", "line"),
    [
        (CLOUD, "", "budget: the worst case of .* USD is not within it; raise the budget"),
        (CLOUD, "budget: 0.01 USD", "budget: the worst case of .* USD is not within it; raise the budget"),
        ("[{provider: gcp, offering: wide}]", "budget: 9 USD", "price: no price is known for gcp/eu/wide; write price"),
    ],
)
def test_money_is_not_spent_without_leave(candidate: str, rest: str, line: str) -> None:
    with pytest.raises(UserMistake, match=line):
        check_runnable(planned(candidate, rest=rest), {"aws", "gcp"}, {"aws", "gcp"})
