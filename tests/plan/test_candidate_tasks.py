"""What a candidate cannot have is not offered; what it can have has its turn in the launch."""

from dataclasses import replace

import pytest
from tests.plan.clouds import planned, sold

from cloudcmp.catalog import PROBES
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import When
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.plan import check_runnable
from cloudcmp.plan.candidate_tasks import system_of

SMALL = "{provider: aws, region: eu, offering: small}"
LARGE = "{provider: aws, region: eu, offering: large}"
SIMULATED = "{provider: simulated, offering: small}"
LOCAL = "{provider: local, offering: 1cpu}"
ALL = "[{probe: fma}, {suite: elasticity}]"


def cells(plan: Plan, candidate: int) -> set[str]:
    """The cells that one candidate has."""
    mine = {launch.index for launch in plan.launches if launch.candidate == candidate}
    return {cell for trial in plan.trials if trial.launch in mine for cell in trial.cells}


def metrics(plan: Plan, candidate: int = 0) -> set[str]:
    return {cell.partition(" ")[0] for cell in cells(plan, candidate)}


def test_a_machine_of_a_cloud_has_all_of_it() -> None:
    assert {"scaling_latency_s", "booting_latency_s", "recovery_latency_s", "resize_latency_s", "scale_in_latency_s",
            "fma_flop_per_s"} <= metrics(planned(f"[{SMALL}]", ALL))  # fmt: skip


def test_what_is_there_before_and_after_a_study_neither_comes_nor_goes() -> None:
    mixed = planned(f"[{SMALL}, {LOCAL}]", ALL)
    assert metrics(mixed, 1) == {"fma_flop_per_s"}
    assert "scaling_latency_s" in metrics(mixed, 0)


def test_all_on_this_machine_leaves_it_out_and_says_so() -> None:
    plan = planned(f"[{SMALL}]", ALL, on="local")
    assert metrics(plan) == {"fma_flop_per_s"}
    assert "left out: this machine cannot do it to itself: scaling, recovery, resize, scale_in" in plan.quote.notes


def test_windows_has_no_agent_and_no_split() -> None:
    both = f"[{SMALL}, {{provider: aws, region: eu, offering: small, os: windows}}]"
    plan = planned(both, "[{probe: fma}, {probe: recovery}, {probe: scaling, params: {os: [linux, windows]}}]")
    assert cells(plan, 1) == {
        f"{metric} count=1;os=windows"
        for metric in ("scaling_latency_s", "api_latency_s", "running_latency_s", "reachable_latency_s")
    }
    assert "booting_latency_s count=1;os=linux" in cells(plan, 0)
    assert not {cell for cell in cells(plan, 0) if "windows" in cell}
    assert [system_of(one) for one in plan.candidates] == ["linux", "windows"]
    assert plan.candidates[1].id == "aws/eu/small windows"


def test_a_batch_is_another_cell() -> None:
    four = f"[{SMALL}, {SMALL[:-1]}, count: 4}}]"
    plan = planned(four, "[{probe: scaling, params: {count: [1, 4]}}, {probe: scale_in, params: {count: [1, 4]}}]")
    assert "scaling_latency_s count=1;os=linux" in cells(plan, 0)
    assert {cell.partition("count=")[2][0] for cell in cells(plan, 1)} == {"4"}


def test_next_is_the_cheapest_larger_one_and_none_is_not_offered() -> None:
    plan = planned(f"[{SMALL}, {LARGE}]", "[{probe: fma}, {probe: resize}]")
    (first,) = {trial.params for trial in plan.trials if trial.probe == "resize"}
    assert dict(first)["to"] == "large"
    assert cells(plan, 0) >= {"resize_latency_s to=next"}
    assert "resize_latency_s" not in metrics(plan, 1)


def test_a_spot_machine_cannot_be_stopped_and_is_not_resized() -> None:
    spot = f"{SMALL[:-1]}, market: spot}}"
    plan = planned(f"[{SMALL}, {spot}]", "[{probe: fma}, {probe: resize}, {probe: recovery}]")
    assert "resize_latency_s" in metrics(plan, 0)
    assert metrics(plan, 1) == {"fma_flop_per_s", "recovery_latency_s"}


def test_a_resized_machine_is_quoted_at_the_dearer_price() -> None:
    plain, resized = planned(f"[{SMALL}]", "[{probe: fma}]"), planned(f"[{SMALL}]", "[{probe: fma}, {probe: resize}]")
    assert plain.quote.worst_cost is not None
    assert resized.quote.worst_cost is not None
    # 0.20 and 0.02 USD/h, an hour begun each; the other type begins an hour anew.
    assert resized.quote.worst_cost.amount == 2 * 10 * plain.quote.worst_cost.amount
    unknown = planned(f"[{SMALL}]", "[{probe: resize, params: {to: unheard-of}}]", "budget: 1000 USD")
    assert unknown.quote.worst_cost is None
    with pytest.raises(
        UserMistake, match="no price in USD is known for unheard-of, which resize makes of aws/eu/small"
    ):
        check_runnable(unknown, {"aws"}, {"aws"})


UNPRICED = (
    sold("aws", "eu", "m.small", (2, 4), "general", None),
    sold("aws", "eu", "a.large", (4, 8), "general", None),
    sold("aws", "eu", "m.large", (4, 16), "general", None),
    sold("aws", "eu", "m.huge", (8, 32), "general", None),
)
RESIZE = "[{probe: resize}]"


def resized(candidates: str, probes: str = RESIZE) -> Plan:
    """The plan at a cloud that tells no prices, as EC2."""
    return planned(candidates, probes, "launches: 2\nbudget: 100 USD", offerings_of=lambda *_: UNPRICED)


def m(name: str, price: str, more: str = "") -> str:
    return f"{{provider: aws, region: eu, offering: m.{name}, price: {price}{more}}}"


def targets(plan: Plan) -> list[str]:
    return sorted({dict(trial.params)["to"] for trial in plan.trials if trial.probe == "resize"})


def test_what_a_machine_becomes_costs_what_another_candidate_says() -> None:
    plan = resized(f"[{m('small', '0.10 USD/h')}, {m('huge', '0.40 USD/h')}]", "[{probe: fma}, {probe: resize}]")
    assert targets(plan) == ["m.huge"]  # the cheapest that is known, though others are smaller
    check_runnable(plan, {"aws"}, {"aws"})
    alone = resized(f"[{m('small', '0.10 USD/h')}, {m('huge', '0.40 USD/h')}]", "[{probe: fma}]")
    assert plan.quote.worst_cost is not None
    assert alone.quote.worst_cost is not None
    assert plan.quote.worst_cost.amount > alone.quote.worst_cost.amount


def test_or_what_the_candidate_itself_says() -> None:
    plan = resized(f"[{m('small', '0.10 USD/h', ', resize_price: 0.20 USD/h')}]")
    assert targets(plan) == ["m.large"]  # of its own family
    assert plan.candidates[0].resize_price is not None
    check_runnable(plan, {"aws"}, {"aws"})


SAYS_NONE = [
    "",
    f"}}, {m('large', '0.40 USD/h', ', tenancy: dedicated')[1:-1].join(('{', ''))}",
]


@pytest.mark.parametrize("more", SAYS_NONE)
def test_what_nobody_says_the_price_of_is_refused_with_what_to_write(more: str) -> None:
    plan = resized(f"[{m('small', '0.10 USD/h', more)}]", "[{probe: fma}, {probe: resize, params: {to: m.large}}]")
    assert plan.quote.worst_cost is None
    with pytest.raises(UserMistake) as refused:
        check_runnable(plan, {"aws"}, {"aws"})
    (fault,) = refused.value.faults
    assert fault.what == "no price in USD is known for m.large, which resize makes of aws/eu/m.small"
    assert "write resize_price: 0.20 USD/h in that candidate" in fault.next
    assert "add a candidate of m.large with its price" in fault.next
    assert f"no cost is quoted: {fault.what}; {fault.next}" in plan.quote.notes


def test_next_must_be_somebody() -> None:
    plan = planned(f"[{m('small', '0.1 USD/h', ', resize_price: 1 USD/h')}]", RESIZE, "budget: 100 USD",
                   offerings_of=lambda *_: ())  # fmt: skip
    with pytest.raises(UserMistake, match=r"to: next is nobody; name the type: params: \{to: \.\.\.\}"):
        check_runnable(plan, {"aws"}, {"aws"})


def test_a_machine_never_becomes_one_of_another_processor() -> None:
    arm = replace(UNPRICED[1], name="m.arm", attributes=(("architecture", "aarch64"),))
    known = (*(replace(one, attributes=(("architecture", "x86_64"),)) for one in UNPRICED), arm)
    plan = planned(f"[{m('small', '0.1 USD/h')}, {m('arm', '0.2 USD/h')}]", "[{probe: fma}, {probe: resize}]",
                   offerings_of=lambda *_: known)  # fmt: skip
    assert targets(plan) == ["m.large"]


def test_a_type_for_windows_or_of_its_own_has_no_price_that_a_list_of_ours_tells() -> None:
    for option in ("os: windows", "tenancy: dedicated"):
        scaling = "[{probe: scaling, params: {os: windows}}]" if "os" in option else "[{probe: fma}]"
        plan = planned(f"[{SMALL[:-1]}, {option}}}]", scaling)
        assert plan.candidates[0].offering.price is None
        assert plan.quote.worst_cost is None
        told = planned(f"[{SMALL[:-1]}, {option}, price: 1 USD/h}}]", scaling)
        assert told.quote.worst_cost is not None


REFUSED = [
    (f"[{SMALL}]", "[{probe: scaling, params: {count: 2}}]", "the candidates have os: linux and count: 1"),
    (f"[{SMALL}]", "[{probe: scaling, params: {os: windows}}]", "the candidates have os: linux and count: 1"),
    (f"[{LOCAL}]", "[{probe: fma}, {probe: scaling}]", "take a provider that launches machines"),
    (f"[{SMALL[:-1]}, market: spot}}]", "[{probe: fma}, {probe: resize}]", "add a candidate of market: on-demand"),
    (f"[{LARGE}]", "[{probe: fma}, {probe: resize}]", "name an offering of their region with to:"),
    (f"[{SMALL[:-1]}, os: windows}}]", "[{probe: fma}]", "no agent runs on Windows"),
    (f"[{SMALL}, {LOCAL}]", "[{probe: scaling}]", "it can have none of the probes"),
    (f"[{SMALL}]", "[{probe: scaling, runs: 3}]", "scaling happens once a launch; leave runs out, and raise launches"),
]


@pytest.mark.parametrize(("candidates", "probes", "says"), REFUSED)
def test_what_no_candidate_can_have_is_one_line(candidates: str, probes: str, says: str) -> None:
    with pytest.raises(UserMistake, match=says) as refused:
        planned(candidates, probes)
    assert "\n" not in str(refused.value)


def test_this_machine_alone_has_none_of_it() -> None:
    with pytest.raises(UserMistake, match="this machine can do none of it to itself: scaling; use --on simulated"):
        planned(f"[{SMALL}]", "[{probe: scaling}]", on="local")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(f"[{SMALL}, {SIMULATED}]", "[{suite: cpu}, {suite: elasticity}]", "launches: 3\nruns: 4")


def test_each_happens_once_a_launch_in_its_turn(plan: Plan) -> None:
    for launch in plan.launches:
        probes = [trial.probe for trial in plan.trials_of(launch.index)]
        assert probes[0] == "scaling"
        assert probes[-3:] == ["recovery", "resize", "scale_in"]
        assert all(PROBES[probe].when is When.DURING for probe in probes[1:-3])


def test_waiting_for_machines_takes_no_time_of_its_own(plan: Plan) -> None:
    for launch in plan.launches:
        scaling, first, *_ = plan.trials_of(launch.index)
        assert scaling.start_s == launch.start_s
        assert scaling.start_s + scaling.expected_s == pytest.approx(first.start_s)
        assert scaling.deadline_s == 1200


def planted(candidate: Candidate) -> dict[str, float]:
    assert candidate.truth is not None
    return {cell.partition(" ")[0]: truth.mean for cell, truth in candidate.truth.cells}


TRUTHS = [
    ("", None),
    ("truth: {boot_s: 75}", 75.0),
    ("truth: {cells: {scaling_latency_s: {mean: 40 s}}}", 40.0),
    ("truth: {cells: {provisioning_latency_s: {mean: 30 s}, booting_latency_s: {mean: 12 s}}}", 42.0),
    ("truth: {boot_s: 50, cells: {booting_latency_s: {mean: 20 s}}}", 50.0),
]


@pytest.mark.parametrize(("truth", "whole"), TRUTHS)
def test_the_planted_wait_is_the_boot_time_and_its_parts_add_up(truth: str, whole: float | None) -> None:
    made = planned(f"[{{provider: simulated, offering: small, {truth}}}]", "[{probe: scaling}]", "seed: 3")
    (candidate,) = made.candidates
    assert candidate.truth is not None
    means = planted(candidate)
    assert means["scaling_latency_s"] == pytest.approx(candidate.truth.boot_s)
    assert whole is None or means["scaling_latency_s"] == pytest.approx(whole)
    assert means["provisioning_latency_s"] + means["booting_latency_s"] == pytest.approx(means["scaling_latency_s"])
    assert 0 < means["api_latency_s"] < means["running_latency_s"] < means["provisioning_latency_s"] * 1.001
    assert means["running_latency_s"] < means["reachable_latency_s"] < means["scaling_latency_s"]


def test_what_is_planted_otherwise_stays() -> None:
    text = "truth: {boot_s: 75, cells: {scaling_latency_s: {mean: 40 s}}}"
    (candidate,) = planned(f"[{{provider: simulated, offering: small, {text}}}]", "[{probe: scaling}]").candidates
    assert candidate.truth is not None
    assert (candidate.truth.boot_s, planted(candidate)["scaling_latency_s"]) == (75.0, 40.0)


def test_what_a_provider_has_not_is_refused_and_not_ignored() -> None:
    local = "[{provider: local, offering: 1cpu, market: spot, os: linux, volume: ssd}]"
    with pytest.raises(UserMistake) as caught:
        check_runnable(planned(local), ["local"])
    lines = [fault.line() for fault in caught.value.faults]
    assert lines == [
        "local/local/1cpu+ssd spot: local has no market; leave it out",
        "local/local/1cpu+ssd spot: local has no volume; leave it out",
    ]
    check_runnable(planned(local, on="simulated"), ["simulated"])
