"""A service that one machine writes and another reads: cast, machines, traffic, caps, cells, and what is refused."""

import pytest
from tests.plan.clouds import planned as planned_on
from tests.plan.test_services import TABLE

from cloudcmp.catalog import fill
from cloudcmp.errors import UserMistake
from cloudcmp.execute.cast import refuse_place
from cloudcmp.model.cast import Role, machines_of
from cloudcmp.model.plan import Plan
from cloudcmp.model.study import ProbeSpec
from cloudcmp.plan import cast_of, service_caps, shared_caps
from cloudcmp.plan.tasks import loopback_tasks, tasks_of

APART = "[{probe: consistency, params: {service: table, writer: [here, zone]}}]"


def trial_of(plan: Plan, writer: str):
    return next(one for one in plan.trials if dict(one.params)["writer"] == writer)


@pytest.mark.parametrize(
    ("writer", "single", "machines"),
    [("here", False, 1), ("loopback", False, 1), ("zone", False, 2), ("zone", True, 1)],
)
def test_the_cast_has_a_writer_of_its_own_only_if_the_study_says_so(writer: str, single: bool, machines: int) -> None:
    params = fill("consistency", {"service": "queue", "writer": writer})
    cast = cast_of("consistency", params, "aws", "eu", single=single)
    roles = [Role.CLIENT, Role.SERVICE] if writer == "here" else [Role.SERVER, Role.CLIENT, Role.SERVICE]
    assert [one.role for one in cast] == roles
    assert machines_of(cast) == machines


def test_both_machines_are_quoted_and_what_goes_between_them_is_bounded() -> None:
    plan = planned_on(f"[{TABLE}]", probes=APART)
    alone = planned_on(f"[{TABLE}]", probes=APART.replace("[here, zone]", "here"))
    assert [one.usage[0].machines for one in (plan, alone)] == [2, 1]
    (between,) = plan.usage[0].traffic
    assert (between.path, alone.usage[0].traffic) == ("zone", ())
    assert 0 < between.expected_bytes <= between.most_bytes <= plan.runs * 400 * 2048
    note = "each launch takes 2 machines, one reads what the other has written; the cost counts both"
    assert sum(note in one for one in plan.quote.notes) == 1
    assert not any("takes 2 machines" in one for one in alone.quote.notes)


def test_two_agents_share_the_operations_that_one_may_send() -> None:
    plan = planned_on(f"[{TABLE}]", probes=APART)
    here, there = (service_caps(trial_of(plan, writer)) for writer in ("here", "zone"))
    assert here["operations"] == pytest.approx(there["operations"], rel=0.01)
    reads, writes = (shared_caps(there, writes=writes) for writes in (False, True))
    assert reads["operations"] + writes["operations"] == there["operations"]
    assert writes["operations"] == 400  # 200 entries are written and deleted, at most
    few = [shared_caps({"operations": 81, "bytes": 7}, writes=writes) for writes in (False, True)]
    assert few == [{"operations": 41, "bytes": 7}, {"operations": 40, "bytes": 7}]


def test_cells_of_the_readers_own_changes_have_the_names_that_they_had() -> None:
    plan = planned_on(f"[{TABLE}]", probes=APART)
    own, apart = (trial_of(plan, writer).cells for writer in ("here", "zone"))
    assert own[0] == "consistency_time_s change=write;read=eventual;service=table"
    assert apart[0] == "consistency_time_s change=write;read=eventual;service=table;writer=zone"


@pytest.mark.parametrize(
    ("text", "cells"), [("change=write;read=eventual;service=table", 1), ("service=table", 2), ("writer=zone", 1)]
)
def test_the_whole_name_of_a_cell_means_that_cell_alone(text: str, cells: int) -> None:
    plan = planned_on(f"[{TABLE}]", probes=APART, rest=f"decide: ['consistency_time_s {text}']")
    assert len(plan.decide) == cells


def test_one_machine_stands_in_for_both() -> None:
    specs = [ProbeSpec("", "consistency", (("writer", one),)) for one in ("here", "zone", "region")]
    writers = [dict(task.params)["writer"] for task in loopback_tasks(tasks_of(specs, 1))]
    assert writers == ["here", "loopback"]


def test_machines_in_two_zones_do_not_write_and_read_within_one() -> None:
    trial = trial_of(planned_on(f"[{TABLE}]", probes=APART), "zone")
    refused = refuse_place(trial, ("b", "a"))
    assert refused is not None
    assert refused.why == "writer: zone, and its machines are in b and a"
    assert refuse_place(trial, ("a", "a")) is None


def test_a_machine_without_a_second_one_is_refused_in_one_line() -> None:
    with pytest.raises(UserMistake) as refused:
        planned_on(f"[{TABLE.replace('from: {offering: wide}', 'from: local')}]", probes=APART)
    says = "writer: zone cannot be measured on one machine; write writer: loopback, or take another provider"
    assert [says in fault.line() for fault in refused.value.faults] == [True]
