"""A good study file says what it says, in base units."""

from decimal import Decimal
from pathlib import Path

import pytest
from tests.study.corpus import BILLED, GOOD, PROVIDERS

from cloudcmp.catalog import APART, METRICS, PROBES, SUITES, cells_of, expected_s, fill
from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.model.offering import CellTruth, Match, Offering
from cloudcmp.model.study import Study
from cloudcmp.study import default_study, default_text, demo_text, read, read_text


@pytest.fixture(scope="module")
def good() -> Study:
    return read_text(GOOD, "study.yaml", providers=PROVIDERS, billed=BILLED)


def study(**changes: str) -> Study:
    """A small study with some of its parts replaced."""
    parts = {
        "candidates": "[{provider: simulated, region: nimbus, offering: small}]",
        "probes": "[{probe: fma}]",
        "rest": "",
    } | changes
    text = f"schema: 1\nquestion: x\ncandidates: {parts['candidates']}\nprobes: {parts['probes']}\n{parts['rest']}\n"
    return read_text(text, "small.yaml", providers=PROVIDERS)


def test_the_top(good: Study) -> None:
    assert (good.schema, good.name, good.question) == (1, "example", "Which is faster?")
    assert (good.launches, good.runs, good.seed, good.until) == (6, 2, 7, None)
    assert (good.every_s, good.for_s, good.deadline_s) == (3600, 7 * 86400, 30 * 86400)
    assert good.budget is not None
    assert (good.budget.amount, good.budget.currency) == (Decimal(5), "USD")


def test_candidates(good: Study) -> None:
    first, second, third = good.candidates
    assert (first.offering, first.region, first.where) == ("m7i.large", "us-east-1", "study.yaml:5:5")
    assert first.price is not None
    assert (first.price.amount_per_hour, first.price.currency) == (Decimal("0.10"), "USD")
    assert second.match == Match(2, 8, "general")
    assert (str(second.volume), second.count, second.region, second.price) == ("fast", 2, None, None)
    assert third.truth is not None
    assert dict(third.truth.cells) == {
        "triad_bytes_per_s": CellTruth(12e9, 0.02, 0.01, -0.01, 0.03),
        "udp_loss_ratio": CellTruth(0.01),
    }
    assert third.truth.boot_s == 30
    assert (third.truth.faults.capacity, third.truth.faults.stale_list_s) == (0.02, 5)


def test_probes_are_spread_out_and_in_base_units(good: Study) -> None:
    assert [(one.probe, dict(one.params), one.runs) for one in good.probes] == [
        ("stream", {"threads": "one", "duration_s": "0.5"}, None),
        ("stream", {"threads": "all", "duration_s": "0.5"}, None),
        ("fma", {"threads": "one"}, None),
        ("fma", {"threads": "all"}, None),
        ("int", {"threads": "one"}, None),
        ("int", {"threads": "all"}, None),
        ("lu", {"n": "1000", "threads": "one"}, None),
        ("udp", {"rate_bytes_per_s": "1250000"}, 3),
    ]


def test_what_decides(good: Study) -> None:
    assert [(one.cell, one.margin) for one in good.decide] == [
        ("triad_bytes_per_s", None),
        ("fma_flop_per_s precision=f64;threads=all", None),
        ("udp_loss_ratio", 0.01),
    ]


def test_sessions(good: Study) -> None:
    peak, night = good.sessions
    assert (peak.days, peak.from_s, peak.until_s, peak.timezone) == ((0, 1, 2, 3, 4), 32400, 61200, "Europe/Stockholm")
    assert (night.days, night.from_s, night.until_s) == ((5, 6), 22 * 3600, 30 * 3600)


def test_defaults() -> None:
    small = study()
    assert (small.name, small.launches, small.runs, small.seed) == ("small", 6, 2, 1)
    assert small.budget is None
    assert small.decide == small.sessions == ()


def test_a_few_parameters_of_a_cell_stand_for_all_that_have_them() -> None:
    found = study(probes="[{probe: rtt, params: {protocol: [tcp, udp]}}]", rest="decide: [rtt_s percentile=99]")
    assert [one.cell for one in found.decide] == [
        "rtt_s path=loopback;percentile=99;protocol=tcp;size_bytes=64",
        "rtt_s path=loopback;percentile=99;protocol=udp;size_bytes=64",
    ]


def test_a_suite_takes_parameters_for_those_of_its_probes_that_know_them() -> None:
    found = study(probes="[{suite: memory, params: {pages: huge, duration_s: 2 s}}]")
    assert {one.probe: dict(one.params)["duration_s"] for one in found.probes} == {"stream": "2", "chase": "2"}
    assert all(dict(one.params).get("pages") == "huge" for one in found.probes if one.probe == "chase")


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_can_be_asked_for(name: str) -> None:
    assert {one.probe for one in study(probes=f"[{{suite: {name}}}]").probes} == {one[0] for one in SUITES[name].probes}


@pytest.mark.parametrize("name", [name for name in PROBES if name not in APART])
def test_every_probe_can_be_asked_for_with_its_own_defaults_written_out(name: str) -> None:
    params = ", ".join(f"{param.name}: '{param.default}'" for param in PROBES[name].params)
    assert dict(study(probes=f"[{{probe: {name}, params: {{{params}}}}}]").probes[0].params) == fill(name, {})


@pytest.mark.parametrize(
    ("written", "base"),
    [("5 Gflop/s", 5e9), ("5e9", 5e9), ("5000000000", 5e9), ("5e9 flop/s", 5e9), ("0.5 Tflop/s", 5e11)],
)
def test_means_are_read_in_the_metrics_unit(written: str, base: float) -> None:
    truth = f"{{provider: simulated, offering: x, truth: {{cells: {{fma_flop_per_s: {written}}}}}}}"
    found = study(candidates=f"[{truth}]").candidates[0].truth
    assert found is not None
    assert found.cells[0][1].mean == pytest.approx(base)


def test_a_file_is_read_as_its_text_is(tmp_path: Path) -> None:
    file = tmp_path / "my study.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("name: example\n", "").replace("\n", "\r\n").encode())
    found = read(file, providers=PROVIDERS, billed=BILLED)
    assert found.name == "my-study"
    assert len(found.probes) == 8


def test_a_path_that_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="there is no such file; "):
        read(tmp_path / "none.yaml", providers=PROVIDERS)
    with pytest.raises(UserMistake, match="this is a folder; "):
        read(tmp_path, providers=PROVIDERS)
    with pytest.raises((UserMistake, OutsideFault)):
        read(tmp_path / ("x" * 5000), providers=PROVIDERS)


def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(UserMistake, match="larger than"):
        read(Path("/dev/zero"), providers=PROVIDERS)


SOLD = tuple(Offering("local", "local", f"{count}cpu", float(count)) for count in (1, 4, 8))


def test_this_machines_study_has_a_candidate_for_each_offering_and_stays_within_eight_seconds() -> None:
    found = default_study(SOLD)
    assert [one.offering for one in found.candidates] == ["1cpu", "4cpu", "8cpu"]
    assert (found.launches, found.runs) == (6, 2)
    visit_s = sum(expected_s(one.probe, fill(one.probe, dict(one.params))) for one in found.probes) * found.runs
    assert 6 <= visit_s <= 8
    assert default_text(SOLD).count("provider: local") == 3


def test_this_machines_study_measures_all_that_it_should() -> None:
    params = [(one.probe, dict(one.params)) for one in default_study(SOLD[:1]).probes]
    for probe in ("fma", "int", "lu", "stream"):
        assert {one["threads"] for name, one in params if name == probe} == {"one", "all"}
    assert {one["size_bytes"] for name, one in params if name == "chase"} == {"16384", "1048576", "134217728"}
    assert {one["n"] for name, one in params if name == "lu"} == {"1000"}
    disk = {(one["op"], one["pattern"], one["block_bytes"]) for name, one in params if name == "disk"}
    assert disk == {(op, *kind) for op in ("read", "write") for kind in (("random", "4096"), ("sequential", "1048576"))}
    assert {name for name, one in params if one.get("path") == "loopback"} == {"tcp", "udp", "rtt"}


def test_the_demonstration_covers_all_service_groups_with_planted_truth() -> None:
    found = read_text(demo_text(), "demo.yaml", providers={"simulated"})
    assert len(found.candidates) == 3
    assert all(one.truth is not None and one.truth.cells for one in found.candidates)
    groups = {METRICS[cell.metric].group for one in found.probes for cell in cells_of(one.probe, dict(one.params))}
    assert len(groups) == 4
