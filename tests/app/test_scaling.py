"""A study of how fast clouds scale, from its file to its report: what is planted is found, and failing is not fast."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from cloudcmp.app.compare import only
from cloudcmp.execute.spending import request_for
from cloudcmp.model.cell import Cell
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate, PlannedTrial
from cloudcmp.model.result import Estimate, Verdict
from cloudcmp.model.view import View
from cloudcmp.provider.registry import make
from cloudcmp.report import documents, html

from .planted import measured_study

STUDY = """\
schema: 1
question: Which cloud scales fastest?
candidates:
  - {provider: simulated, region: nimbus, offering: small, truth: {boot_s: 75}}
  - {provider: simulated, region: stratus, offering: medium, truth: {boot_s: 40}}
  - {provider: simulated, region: cumulus, offering: small, truth: {boot_s: 20, faults: {%s}}}
probes:
  - {probe: scaling, params: {within_s: 50 s}}
  - {probe: fma}
%s
launches: 10
runs: 2
seed: 7
"""
MORE = """\
  - {probe: recovery}
  - {probe: resize}
  - {probe: scale_in}
decide: [scaling_latency_s, resize_latency_s]
"""
SCALING = "scaling_latency_s count=1;os=linux"


def measured(folder: Path, faults: str, more: str) -> View:
    """The study, run on simulated clouds of which the quickest has faults."""
    return measured_study(STUDY % (faults, more), folder, None)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> View:
    return measured(tmp_path_factory.mktemp("sound"), "", MORE)


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> View:
    return measured(tmp_path_factory.mktemp("failing"), "capacity: 0.6", "decide: [scaling_latency_s]")


def estimates(view: View, cell: str) -> list[Estimate]:
    return [one for one in view.analysis.estimates if one.cell == cell]


def test_the_planted_order_is_found(sound: View) -> None:
    (winner,) = [one for one in sound.analysis.winners if one.cell == SCALING]
    assert winner.winners == (2,)
    verdicts = {(one.a, one.b): one.verdict for one in sound.analysis.comparisons if one.cell == SCALING}
    assert set(verdicts.values()) <= {Verdict.BETTER, Verdict.WORSE}
    medians = [one.median for one in estimates(sound, SCALING)]
    assert medians == [pytest.approx(boot_s, rel=0.05) for boot_s in (75, 40, 20)]


def test_each_launch_has_one_value_and_its_parts_add_up_to_it(sound: View) -> None:
    wholes, first, second = (
        estimates(sound, str(Cell(f"{part}_latency_s", (("count", "1"), ("os", "linux")))))
        for part in ("scaling", "provisioning", "booting")
    )
    for whole, before, boot in zip(wholes, first, second, strict=True):
        assert (whole.n, whole.n_ok, whole.n_started) == (10, 10, 10)
        sums = [one + other for one, other in zip(before.values, boot.values, strict=True)]
        assert sums == pytest.approx(list(whole.values))
        assert not [warning for warning in whole.warnings if "one run a launch" in warning]


def test_the_other_three_are_measured_too(sound: View) -> None:
    for cell in ("recovery_latency_s", "resize_latency_s to=next", "scale_in_latency_s count=1"):
        assert [one.n for one in estimates(sound, cell)] == [10, 10, 10]


def test_the_chance_to_be_there_follows_from_what_is_planted(sound: View) -> None:
    by_candidate = {one.candidate: dict(one.in_time) for one in sound.scaling}
    assert [by_candidate[at][50.0].k for at in range(3)] == [0, 10, 10]
    assert [by_candidate[at][120.0].k for at in range(3)] == [10, 10, 10]
    assert by_candidate[0][120.0].bounds.low == pytest.approx(0.025**0.1)


def test_p31_a_cloud_whose_launches_fail_is_never_the_fastest(failing: View) -> None:
    (winner,) = [one for one in failing.analysis.winners if one.cell == SCALING]
    assert 2 not in winner.winners
    assert winner.winners == (1,)
    (bad,) = [one for one in failing.scaling if one.candidate == 2]
    estimate = next(one for one in estimates(failing, SCALING) if one.candidate == 2)
    assert bad.failed is not None
    assert bad.failed.k == 10 - estimate.n_ok > 2
    assert dict(bad.in_time)[600.0].k == estimate.n_ok
    assert dict(bad.in_time)[600.0].n == 10


def test_the_page_shows_it(failing: View) -> None:
    page = html.render(failing)
    (bad,) = [one for one in failing.scaling if one.candidate == 2]
    assert bad.failed is not None
    assert page.count('<div id="scaling">') == 1
    assert page.count('id="figure-scaling"') == 1
    assert f"{bad.failed.k}/10" in page
    assert "within 50 s" in page


def test_json_has_it_and_a_filter_keeps_it(failing: View) -> None:
    data = documents.comparison(failing)
    assert [one.candidate for one in data["scaling"]] == [0, 1, 2]
    assert only(failing, "scaling_latency_s").scaling == failing.scaling
    assert only(failing, "fma_flop_per_s").scaling == ()


def test_p12_what_a_restart_costs_is_asked_for_before_it_is_begun() -> None:
    sold = Offering("aws", "eu", "small", price=Price(Decimal("0.1"), "USD", "study file"))
    grows = PlannedTrial(0, 0, "resize", (("to", "large"),), (), 0, 0.0, 120.0, 1200.0, 1)
    for name, period_s in (("aws", 60.0), ("ec2", 3600.0), ("qemu", 0.0)):
        one = Candidate(0, "small", replace(sold, provider=name), name)
        with_, without = (
            request_for(make(name), one, [replace(grows, probe=probe)], ("launch-0",))
            for probe in ("resize", "recovery")
        )
        assert with_.wanted_ttl_s - without.wanted_ttl_s == period_s
        assert with_.shortest_ttl_s - without.shortest_ttl_s == period_s


def test_machines_that_become_types_of_different_names_are_compared(sound: View) -> None:
    pairs = [one for one in sound.analysis.comparisons if one.cell == "resize_latency_s to=next"]
    assert len(pairs) == 3
    assert [one.reason for one in pairs if "unlike" in one.reason] == []
