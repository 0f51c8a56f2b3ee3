"""A load on the machines of a study: the answer, its certainty, and every fault in one line."""

import math
from pathlib import Path

import pytest

from cloudcmp.app.scale import ScaleQuestion, scale
from cloudcmp.errors import UserMistake
from cloudcmp.model.replay import Policy
from tests.made_once import run_once

STUDY = """\
schema: 1
question: Which of two clouds has a machine for me within a minute?
candidates:
  - {provider: simulated, region: nimbus, offering: small, truth: {faults: {hang: 8 %}}}
  - {provider: simulated, region: stratus, offering: small}
  - {provider: simulated, region: stratus, offering: small, count: 2}
probes:
  - {probe: scaling, params: {count: [1, 2], give_up_s: 600 s}}
  - {probe: fma}
launches: 20
"""
SERVED = "provider,region,offering,requests_per_s\nsimulated,nimbus,small,100\nsimulated,stratus,small,150\n"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_once(tmp_path_factory, "scale-study", STUDY)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("load") / "trace.csv"
    rates = (1000 + 800 * math.sin(2 * math.pi * at / 288) for at in range(3 * 288))
    lines = [f"{at * 300},{rate:.1f}" for at, rate in enumerate(rates)]
    path.write_text("\n".join(["time,requests_per_s", *lines]), encoding="utf-8")
    return path


def test_a_study_with_a_table_of_capacities_is_answered(measured: Path, trace: Path, tmp_path: Path) -> None:
    table = tmp_path / "served.csv"
    table.write_text(SERVED, encoding="utf-8")
    found = scale([str(measured), str(table)], trace, ScaleQuestion("requests_per_s"))
    assert found.simulated
    assert [one.machine.capacity.value for one in found.choices] == [150.0, 100.0]
    assert found.best.machine.key.region == "stratus"
    assert {one.policy for one in found.best.outcomes} == set(Policy)
    assert all(one.over.value <= 0.001 for one in found.best.outcomes)
    money = [one.money.value for one in found.best.outcomes if one.money]
    assert money == sorted(money)
    assert len(money) == 4
    assert any("SIMULATED" in one for one in found.cautions)
    assert [(key.name, lack.value) for key, lack in found.left_out] == [("small x 2", "SINGLE")]


def test_failed_launches_are_counted(measured: Path, trace: Path) -> None:
    found = scale([str(measured)], trace, ScaleQuestion("100"))
    by_region = {one.machine.key.region: one.machine for one in found.choices}
    assert by_region["stratus"].failed == 0
    assert by_region["nimbus"].failed == 1
    assert by_region["nimbus"].launches == by_region["stratus"].launches == 20


def test_a_cheap_machine_of_ones_own_is_owned_and_a_dear_one_is_not(measured: Path, trace: Path) -> None:
    cheap = scale([str(measured)], trace, ScaleQuestion("100", owned_cost="2 USD/month")).owned
    dear = scale([str(measured)], trace, ScaleQuestion("100", owned_cost="500 USD/month")).owned
    assert cheap is not None
    assert dear is not None
    assert cheap.owned == cheap.most
    assert cheap.total < cheap.cloud_only
    assert (dear.owned, dear.total) == (0, dear.cloud_only)


def test_names_can_be_replaced(measured: Path, trace: Path) -> None:
    found = scale([str(measured)], trace, ScaleQuestion("100"), anonymise=True)
    assert {one.machine.key.provider for one in found.choices} == {"C1", "C2"}
    assert "nimbus" not in repr(found)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (ScaleQuestion("none"), "--capacity: no source has a column 'none'"),
        (ScaleQuestion("0"), "--capacity: '0' is not more than zero"),
        (ScaleQuestion("nan"), "--capacity: 'nan' is not more than zero"),
        (ScaleQuestion("100", over="2"), "--over: '2' is not above 0 and at most 50 %"),
        (ScaleQuestion("100", over="x"), "--over: 'x' is not a number"),
        (ScaleQuestion("100", utilisation="110 %"), "--utilisation: '110 %' is not above 0 and at most 100 %"),
        (ScaleQuestion("100", watch="-1 s"), "--watch: '-1 s' is less than nothing"),
        (ScaleQuestion("100", cool_down="5"), "--cool-down: '5' needs a unit of time"),
        (ScaleQuestion("100", launch_time="p200"), "--launch-time: 'p200' is no launch time"),
        (ScaleQuestion("100", owned_cost="120 USD"), "--owned-cost: '120 USD' needs its period"),
        (ScaleQuestion("100", owned_cost="0 USD/month"), "--owned-cost: '0 USD' is not more than zero"),
        (ScaleQuestion("100", owned_cost="1 EUR/month"), "--owned-cost: it is in EUR and the prices are in USD"),
    ],
)
def test_a_fault_of_the_question_is_one_line(measured: Path, trace: Path, asked: ScaleQuestion, told: str) -> None:
    with pytest.raises(UserMistake) as refused:
        scale([str(measured)], trace, asked)
    (fault,) = refused.value.faults
    assert fault.line().startswith(told)
    assert fault.next


def test_without_measured_launches_it_is_refused_unless_a_launch_time_is_given(trace: Path, tmp_path: Path) -> None:
    table = tmp_path / "served.csv"
    table.write_text("provider,region,offering,requests_per_s,usd_per_hour\naws,r,a,100,0.1\n", encoding="utf-8")
    with pytest.raises(UserMistake, match="no source measured how long machines take to come"):
        scale([str(table)], trace, ScaleQuestion("requests_per_s"))
    found = scale([str(table)], trace, ScaleQuestion("requests_per_s", launch_time="90 s"))
    assert found.best.machine.usable == (90, 90, 90)
    assert all(one.money is not None and one.money.bounds is None for one in found.best.outcomes)
