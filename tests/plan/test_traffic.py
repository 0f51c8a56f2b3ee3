"""What goes between machines needs two of them, and takes no more of a launch than is fair."""

from dataclasses import replace

import pytest
from tests.plan.clouds import planned

from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import Machine
from cloudcmp.model.study import Caps
from cloudcmp.plan import check_runnable
from cloudcmp.plan.traffic import LATE_S, caps_of, duty, expected_bytes, most_bytes

PAIR = "[{provider: aws, region: eu, offering: small, count: 2}]"
ONE = "[{provider: aws, region: eu, offering: small}]"
BULK = "[{probe: tcp, params: {path: zone}}, {probe: int}]"


def test_what_goes_between_machines_takes_a_second_one_and_its_money() -> None:
    alone, paired = planned(ONE, probes="[{probe: tcp}]"), planned(ONE, probes="[{probe: tcp, params: {path: zone}}]")
    assert alone.quote.worst_cost is not None
    assert paired.quote.worst_cost is not None
    assert paired.quote.worst_cost.amount == 2 * alone.quote.worst_cost.amount
    assert any("each launch takes 2 machines" in note for note in paired.quote.notes)
    assert not any("machines" in note for note in alone.quote.notes)
    assert paired.candidates[0].count == 1


def test_bulk_above_its_share_is_told_and_not_run_unless_the_study_says_so() -> None:
    plan = planned(PAIR, probes=BULK)
    assert any("bulk flows between machines" in note for note in plan.quote.notes)
    with pytest.raises(UserMistake, match="duty: 100 %"):
        check_runnable(plan, ["aws"])
    allowed = planned(PAIR, probes=BULK, rest="caps: {duty: 100 %, burst: 30 min, packets: 1000000}\n")
    assert allowed.caps == Caps(burst_s=1800.0, packets_per_s=1e6, duty=1.0)
    assert any("caps of this study: burst 30 min" in note for note in allowed.quote.notes)
    check_runnable(allowed, ["aws"])


def test_loopback_and_own_guests_disturb_nobody() -> None:
    assert duty([("tcp", {"path": "loopback"}, 10.0), ("int", {}, 10.0)]) == 0.0
    assert duty([("tcp", {"path": "zone"}, 10.0), ("int", {}, 30.0)]) == 0.25
    assert duty([]) == 0.0
    plan = planned("[{provider: azure, region: eu, offering: small, count: 2}]", probes=BULK)
    check_runnable(replace(plan, candidates=(replace(plan.candidates[0], runner="qemu"),)), ["qemu"])


def test_a_throttle_is_quoted_with_the_longest_and_largest_transfer_and_may_send_less() -> None:
    probes = "[{probe: throttle, params: {path: zone, duration_s: 20 s%s}}]"
    for limit, most in (("", 625e6 * (20 + LATE_S)), (", limit_bytes: 3 GB", 3e9), (", limit_bytes: 3 TB", 625e6 * 22)):
        plan = planned(PAIR, probes=probes % limit)
        (params,) = {trial.params for trial in plan.trials}
        assert most_bytes({}, "throttle", dict(params)) == most
        assert expected_bytes({}, "throttle", dict(params), plan.candidates[0]) == min(most, 625e6 * 20)
        assert any("bulk flows between machines for 100 %" in note for note in plan.quote.notes)
    longer = caps_of(Caps(burst_s=1800.0, bytes_per_s=2e9), "aws")
    assert most_bytes(longer, "throttle", {"streams": "1", "duration_s": "900"}) == 2e9 * 902


@pytest.mark.parametrize("probe", ["connect", "barrier"])
def test_probes_of_small_messages_are_quoted_by_packets(probe: str) -> None:
    peers = ", peers: 2" if probe == "barrier" else ""
    plan = planned(PAIR, probes=f"[{{probe: {probe}, params: {{path: zone{peers}}}}}]")
    (params,) = {trial.params for trial in plan.trials}
    expected = expected_bytes({}, probe, dict(params), plan.candidates[0])
    assert expected <= most_bytes({}, probe, dict(params)) <= 66 * 500_000 * (1 + LATE_S)
    assert not any("bulk" in note for note in plan.quote.notes)


def test_a_batch_that_is_timed_does_not_wait_for_a_zone() -> None:
    work = "[{probe: scaling, params: {count: %d}}, {probe: rtt, params: {path: zone}}]"
    single = "{provider: aws, region: eu, offering: small, price: 0.1 USD/h}"
    several = "{provider: aws, region: eu, offering: small, count: 4, price: 0.1 USD/h}"
    check_runnable(planned(f"[{single}]", work % 1, "budget: 900 USD"), {"aws"}, {"aws"})
    with pytest.raises(UserMistake, match="scaling of several machines and trials within one zone"):
        check_runnable(planned(f"[{several}]", work % 4, "budget: 900 USD"), {"aws"}, {"aws"})


@pytest.mark.parametrize(
    ("probe", "params", "sent"),
    [
        # Three rounds, and one that is not reported: each of four peers sends 1000 B to three others; and 3 * 16 B.
        ("exchange", "{op: alltoall, rounds: 3, size_bytes: 1000, path: zone}", 4 * (12_000 + 48)),
        # Six steps of the ring, in each of which the whole vector is sent once.
        ("exchange", "{op: allreduce, rounds: 3, size_bytes: 1000, path: zone}", 4 * (6_000 + 48)),
        ("barrier", "{rounds: 10, path: zone}", 3 * 16 * (10 + 64)),
    ],
)
def test_what_a_group_sends_is_known_exactly(probe: str, params: str, sent: int) -> None:
    plan = planned(
        "[{provider: aws, region: eu, offering: small, count: 4}]", f"[{{probe: {probe}, params: {params}}}]"
    )
    trial, candidate = plan.trials[0], plan.candidates[0]
    assert most_bytes({}, probe, dict(trial.params)) == sent
    assert expected_bytes({}, probe, dict(trial.params), candidate) == sent
    assert plan.quote.worst_cost is not None


@pytest.mark.parametrize(("probe", "most"), [("share", 625e6 * 3.1), ("connect", 5e5 * 66 * 3)])
def test_other_probes_between_machines_send_what_their_caps_allow(probe: str, most: float) -> None:
    plan = planned("[{provider: aws, region: eu, offering: small}]", f"[{{probe: {probe}, params: {{path: zone}}}}]")
    assert most_bytes({}, probe, dict(plan.trials[0].params)) == pytest.approx(most)
    assert any("each launch takes" in note for note in plan.quote.notes)


def test_a_vector_that_is_not_one_of_numbers_is_refused() -> None:
    with pytest.raises(UserMistake, match="multiple of 4"):
        planned(PAIR, "[{probe: exchange, params: {op: allreduce, size_bytes: 1001}}]")


def test_tools_between_machines_take_two_and_are_quoted_at_the_rate_of_the_caps() -> None:
    for tool, caps, expected, most in (
        ("ping, params: {path: zone, packets: 10, payload_bytes: 92}", {}, 2000, 2000),
        ("iperf3, params: {path: zone, duration_s: 5}", {}, 625e6 * 5, 625e6 * (5 + LATE_S)),
        ("iperf3, params: {path: zone, duration_s: 5}", {"bytes_per_s": 1e6}, 5e6, 7e6),
        ("iperf3, params: {path: zone, duration_s: 5, rate_bytes_per_s: 1 MB/s}", {}, 5e6, 7e6),
        ("iperf3, params: {path: zone, duration_s: 5, protocol: udp}", {"packets_per_s": 10.0}, 72400, 101360),
        ("iperf3, params: {path: zone, duration_s: 500}", {}, 625e6 * 500, 625e6 * (60 + LATE_S)),
    ):
        plan = planned(ONE, probes=f"[{{tool: {tool}}}]")
        trial = plan.trials[0]
        assert [str(one) for one in trial.cast] == ["server: machine 2", "client: machine 1"]
        assert all("path=zone" in cell for cell in trial.cells)
        assert expected_bytes(caps, "tool", dict(trial.params), plan.candidates[0]) == expected
        assert most_bytes(caps, "tool", dict(trial.params)) == most
        assert any("each launch takes 2 machines" in note for note in plan.quote.notes)
        assert any("bulk flows" in note for note in plan.quote.notes) == ("iperf3" in tool)


def test_a_tool_between_machines_is_on_loopback_unless_the_study_names_a_path() -> None:
    plan = planned(ONE, probes="[{tool: ping}]")
    trial = plan.trials[0]
    assert {one.target.number for one in trial.cast if isinstance(one.target, Machine)} == {1}
    assert all("path=loopback" in cell for cell in trial.cells)
    assert not any("2 machines" in note for note in plan.quote.notes)
