"""Every study in the folder can be planned: as it is, simulated, and in a short form on this machine."""

import re
from pathlib import Path

import pytest
from tests.cost.rows import at, tiers
from tests.slices import spread

from cloudcmp import plan
from cloudcmp.catalog import METRICS, PROBES, refusal
from cloudcmp.cost import Market, with_quote
from cloudcmp.errors import UserMistake
from cloudcmp.model.bill import Rate, Use
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import Item
from cloudcmp.study import demo_text, read

FOLDER = Path(__file__).parents[2] / "studies"
WITH_DRIVERS = {"aws", "local", "netns", "qemu", "s3", "simulated", "ssh"}
STUDIES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
SEEDS = ("cloudcmp-2010", "deval-2017", "rodamilans-2014", "delgado-2010", "shah")
SIMULATED = tuple(Offering("simulated", cloud, "medium", 2.0, 8.0) for cloud in ("nimbus", "stratus", "cumulus"))
LOCAL = tuple(Offering("local", "local", f"{cpus}cpu", float(cpus), 8.0) for cpus in (1, 2))


def offerings_of(provider: str, region: str | None) -> tuple[Offering, ...]:
    return tuple(one for one in SIMULATED + LOCAL if one.provider == provider and region in {None, one.region})


def host_of(candidate: Candidate) -> str:
    return "this machine" if candidate.runner == "local" else candidate.id


def planned(name: str, on: str | None = None, *, short: bool = False) -> Plan:
    study = read(FOLDER / f"{name}.yaml", providers=plan.published_providers() | WITH_DRIVERS, billed={"aws"})
    made = plan.make(study, offerings_of=offerings_of, host_of=host_of, on=on, short=short, start_at=1767571200.0)
    return with_quote(made, Market())


def test_there_is_one_study_for_each_document_and_a_demonstration() -> None:
    assert set(STUDIES) >= {*SEEDS, "demo"}


@pytest.mark.parametrize("name", STUDIES)
def test_it_can_be_planned_as_it_is(name: str) -> None:
    made = planned(name)
    assert made.quote.trials == len(made.trials) > 0
    assert made.decide


@pytest.mark.parametrize("name", spread([*STUDIES], 4))
def test_it_can_be_run_whole_on_simulated(name: str) -> None:
    made = planned(name, "simulated")
    plan.check_runnable(made, {"local", "simulated"})
    asked = {trial.probe for trial in planned(name).trials}
    assert {trial.probe for trial in made.trials} == asked
    if any(PROBES[probe].by_controller for probe in asked):
        assert {trial.cells for trial in made.trials} >= {trial.cells for trial in planned(name).trials}
    for candidate in made.candidates:
        assert candidate.truth is not None
        cells, planted = (
            {cell for trial in made.trials for cell in trial.cells},
            {cell for cell, _ in candidate.truth.cells},
        )
        assert planted <= cells
        # A machine's own pages have no name and no TLS: what a probe may leave out need not be planted.
        assert all(METRICS[cell.partition(" ")[0]].sparse for cell in cells - planted)


OF_MACHINES = ("scaling", "scaling-batch", "scaling-qemu")


@pytest.mark.parametrize("name", OF_MACHINES)
def test_what_only_a_cloud_can_do_is_refused_on_this_machine(name: str) -> None:
    with pytest.raises(UserMistake, match="use --on simulated"):
        planned(name, "local", short=True)


@pytest.mark.parametrize("name", sorted(set(STUDIES) - set(OF_MACHINES)))
def test_it_can_be_run_short_on_this_machine_as_far_as_the_probes_exist(name: str) -> None:
    made = planned(name, "local", short=True)
    plan.check_runnable(made, {"local", "simulated"})
    assert made.rounds <= 2
    assert made.quote.expected_s < 300
    assert {refusal(trial.probe, dict(trial.params)) for trial in made.trials} == {("", "")}
    left = {trial.probe for trial in planned(name).trials} - {trial.probe for trial in made.trials}
    assert all(any(note.startswith("left out: ") and probe in note for note in made.quote.notes) for probe in left)


TRIALS = {"cloudcmp-2010": 21_990, "deval-2017": 1_008, "rodamilans-2014": 3_080, "delgado-2010": 573, "shah": 268} | {
    "scaling": 340,
    "scaling-batch": 160,
    "scaling-qemu": 80,
    "aws-ssh-qemu": 84,
    "isolation-qemu": 72,
}


@pytest.mark.parametrize(("name", "trials"), TRIALS.items())
def test_how_much_it_takes(name: str, trials: int) -> None:
    assert planned(name).quote.trials == trials


def test_one_study_asks_three_kinds_of_providers_within_its_budget() -> None:
    made = planned("aws-ssh-qemu")
    assert [candidate.runner for candidate in made.candidates] == ["aws", "ssh", "qemu"]
    plan.check_runnable(made, WITH_DRIVERS, billed={"aws"})
    assert made.budget is not None
    assert made.quote.worst_cost is not None
    assert made.quote.worst_cost.amount < made.budget.amount
    waited = {
        made.candidates[made.launches[trial.launch].candidate].runner
        for trial in made.trials
        if trial.probe == "scaling"
    }
    assert waited == {"aws", "qemu"}


def test_half_an_hour_of_bulk_inside_one_zone_is_let_through_and_quoted_in_bytes() -> None:
    made = planned("deval-2017")
    assert plan.traffic.duty_excess(made) == []
    caps = plan.caps_of(made.caps, "aws")
    bulk = [dict(one.params) for one in made.trials if one.probe == "tcp"]
    assert {one["path"] for one in bulk} == {"zone"}
    assert all(float(one["duration_s"]) + float(one["warmup_s"]) <= caps["burst_s"] for one in bulk)
    assert "caps of this study: burst 31 min 00 s, rate 2.50 GB/s, duty 50.0 %" in made.quote.notes
    # 144 transfers of 1800.1 s at 2.5 GB/s, and the 2 s by which an agent may cut a burst late.
    assert "between machines (zone): 648 TB expected, 649 TB at most" in made.quote.notes
    assert made.quote.worst_cost is None, "the machines of 2017 have no price today"


def test_the_worst_case_of_bulk_inside_one_zone_is_its_money_where_a_zone_is_not_free(tmp_path: Path) -> None:
    text = (FOLDER / "deval-2017.yaml").read_text(encoding="utf-8").replace("1000 USD", "100000 USD")
    priced = re.sub(r"(offering: [\w.-]+)\}", r"\1, price: 0.5 USD/h}", text)
    (tmp_path / "priced.yaml").write_text(priced, encoding="utf-8")
    study = read(tmp_path / "priced.yaml", providers=plan.published_providers() | WITH_DRIVERS, billed={"aws"})
    made = plan.make(study, offerings_of=offerings_of, host_of=host_of, start_at=1767571200.0)

    def rate_of(use: Use) -> Rate:
        return at(tiers(("0.01", None)) if use.item is Item.EGRESS else ())(use)

    free = with_quote(made, Market(billing_of=lambda _: Billing(free=("zone",)), rate_of=rate_of)).quote.worst_cost
    paid = with_quote(made, Market(rate_of=rate_of)).quote.worst_cost
    assert free is not None
    assert paid is not None
    most = sum(one.launches * sent.most_bytes for one in made.usage for sent in one.traffic)
    assert float(paid.amount - free.amount) == pytest.approx(most / 1e9 * 0.01, rel=0.01)


def test_a_study_that_costs_money_cannot_be_read_without_a_budget(tmp_path: Path) -> None:
    text = (FOLDER / "aws-ssh-qemu.yaml").read_text(encoding="utf-8").replace("budget: 2 USD\n", "")
    (tmp_path / "no-budget.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserMistake, match="budget"):
        read(tmp_path / "no-budget.yaml", providers=WITH_DRIVERS, billed={"aws"})


def test_the_demonstration_is_small() -> None:
    assert planned("demo").quote.trials <= 1000


def test_the_demonstration_in_the_folder_is_the_one_that_is_shipped() -> None:
    assert (FOLDER / "demo.yaml").read_text(encoding="utf-8") == demo_text()
