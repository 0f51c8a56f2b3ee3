"""The overall index: what it is, whose it is, and that no unit or size matters in it."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.command import cloudcmp
from tests.late import Late

from cloudcmp.app.compare import compare
from cloudcmp.app.plan import plan_file
from cloudcmp.model.metric import OVERALL
from cloudcmp.model.result import Verdict
from cloudcmp.model.view import View

np = Late("numpy")
analysis = Late("cloudcmp.analysis")
scipy_stats = Late("scipy.stats")

STUDY = """\
schema: 1
question: Which is best for us?
candidates:
{candidates}
probes:
  - {{probe: fma, params: {{threads: [one, all]}}}}
  - {{probe: stream, params: {{threads: one}}}}
  - {{probe: chase}}
launches: 8
runs: 1
{more}
"""
ONE = """\
  - provider: simulated
    region: nimbus
    offering: {name}
    price: 0.10 USD/h
    truth:
      cells:
        fma_flop_per_s: {{mean: {fma} Gflop/s, cov: 1 %, between: 3 %}}
        triad_bytes_per_s: {{mean: {triad} GB/s, cov: 1 %, between: 3 %}}
        chase_latency_s: {{mean: {chase} ns, cov: 1 %, between: 3 %}}
"""
WEIGHTS = "weights: {fma_flop_per_s: 2, triad_bytes_per_s: 1, chase_latency_s: 1}"
NAMED = f"decide: [fma_flop_per_s threads=one]\n{WEIGHTS}"


def written(folder: Path, more: str) -> Path:
    two = ONE.format(name="small", fma=10, triad=20, chase=100) + ONE.format(name="large", fma=12, triad=18, chase=80)
    (folder / "study.yaml").write_text(STUDY.format(candidates=two.rstrip(), more=more), encoding="utf-8")
    return folder / "study.yaml"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> View:
    folder = tmp_path_factory.mktemp("overall")
    done = cloudcmp("run", written(folder, WEIGHTS), "--out", folder / "out")
    assert done.code == 0, done.err
    assert "OVERALL    large is best; " in done.out
    assert "of 4 measurements" in done.out, "the index is no measurement"
    assert "overall weighs fma_flop_per_s by 2" in done.out
    return compare([str(folder / "out")])


def test_it_is_the_weighted_geometric_mean_of_each_launch(shown: View) -> None:
    """By numpy alone: half of the weight is that of fma, which its two cells share; latency counts inverted."""
    of = {(one.cell, one.candidate): np.array(one.values) for one in shown.analysis.estimates}
    cells = sorted({cell for cell, _ in of} - {OVERALL.name})
    weight = {"fma_flop_per_s": 0.25, "triad_bytes_per_s": 0.25, "chase_latency_s": -0.25}
    raw = [np.prod([of[cell, at] ** weight[cell.split(" ")[0]] for cell in cells], axis=0) for at in (0, 1)]
    scale = 100.0 / scipy_stats.gmean(raw[0])
    for at in (0, 1):
        assert of[OVERALL.name, at] == pytest.approx(scale * raw[at], rel=1e-9)
    assert scipy_stats.gmean(of[OVERALL.name, 0]) == pytest.approx(100.0)


def test_it_is_compared_by_rounds_like_any_measurement(shown: View) -> None:
    pair = shown.analysis.comparisons.of(OVERALL.name).between(0, 1)
    assert pair is not None
    values = [np.log(one.values) for one in shown.analysis.estimates if one.cell == OVERALL.name]
    assert pair.p_paired == pytest.approx(scipy_stats.ttest_rel(*values).pvalue, rel=1e-9)
    assert pair.verdict is Verdict.WORSE
    assert pair.effect == pytest.approx((10 / 12) ** 0.5 * (20 / 18) ** 0.25 * (80 / 100) ** 0.25, rel=0.03)
    assert shown.analysis.money.of(OVERALL.name)
    assert shown.analysis.comparisons.family == 5 + 4  # five cells with the index; latency is no work for money


def test_it_decides_where_a_study_names_what_decides(tmp_path: Path) -> None:
    plan, _ = plan_file(written(tmp_path, NAMED), on=None, short=False, seed=None)
    assert [one.cell.partition(" ")[0] for one in plan.decide] == [OVERALL.name, "fma_flop_per_s"]
    assert any(
        note.startswith("overall weighs fma_flop_per_s by 2, triad_bytes_per_s by 1") for note in plan.quote.notes
    )


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("weights: {fma_flop_per_s: 0}", "the weight 0 is not a number above 0; write e.g. fma_flop_per_s: 1"),
        ("weights: {fma_flop_per_s: much}", "the weight 'much' is not a number above 0"),
        ("weights: {speed: 1}", "unknown metric 'speed'"),
        ("weights: {rtt_s: 1}", "no probe of this study gives"),
        ("weights: [fma_flop_per_s]", "weights must hold key: value"),
    ],
)
def test_weights_that_mean_nothing_are_one_line(tmp_path: Path, more: str, why: str) -> None:
    done = cloudcmp("plan", written(tmp_path, more))
    assert done.code == 2
    assert why in done.err


@given(st.floats(1e-6, 1e6), st.sampled_from([0, 1, 2, 3]))
def test_no_unit_matters(shown: View, factor: float, cell: int) -> None:
    """In another unit of a metric, every index is the same."""
    measured = [one for one in shown.analysis.estimates if one.cell != OVERALL.name]
    name = sorted({one.cell for one in measured})[cell]
    scaled = [
        replace(one, values=tuple(factor * value for value in one.values)) if one.cell == name else one
        for one in measured
    ]
    first, second = (analysis.overall(shown.plan, some, shown.metrics) for some in (measured, scaled))
    for one, other in zip(first, second, strict=True):
        assert one.values == pytest.approx(other.values, rel=1e-9)


def test_a_launch_that_lacks_a_cell_has_no_index(shown: View) -> None:
    measured = [one for one in shown.analysis.estimates if one.cell != OVERALL.name]
    first = measured[0]
    fewer = replace(first, values=first.values[1:], rounds=first.rounds[1:], sessions=first.sessions[1:], n=first.n - 1)
    (small, large) = analysis.overall(shown.plan, [fewer, *measured[1:]], shown.metrics)
    assert (small.n, large.n) == (7, 8)
    none = replace(first, values=(), rounds=(), sessions=(), n=0, offered=False)
    (small, large) = analysis.overall(shown.plan, [none, *measured[1:]], shown.metrics)
    assert (small.n, small.offered, large.n) == (0, False, 8)
