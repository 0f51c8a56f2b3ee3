"""Where a provider is behind: ratios and intervals as scipy gives them, the worst first, with the parts of the time."""

import numpy as np
import pytest
from scipy import stats

from cloudcmp.answer.gaps import Gaps, gaps_of
from cloudcmp.app.import_ import import_files
from cloudcmp.app.study_view import view
from cloudcmp.app.tool_files import ImportOptions
from cloudcmp.errors import UserMistake
from cloudcmp.model.result import Verdict
from cloudcmp.model.view import View

ROUNDS = 8
SCALING = "count=1;os=linux"
BLOB = "op=download;percentile=50;size_bytes=1024"
# metric, parameters, unit, and the means of the fast and of the slow cloud
CELLS = (
    ("fma_flop_per_s", "precision=f64;threads=one", "flop/s", 3e10, 1e10),
    ("scaling_latency_s", SCALING, "s", 40.0, 60.0),
    ("provisioning_latency_s", SCALING, "s", 25.0, 30.0),
    ("booting_latency_s", SCALING, "s", 15.0, 30.0),
    ("blob_latency_s", BLOB, "s", 0.10, 0.12),
    ("blob_first_byte_s", BLOB, "s", 0.02, 0.03),
    ("triad_bytes_per_s", "store=nontemporal;threads=all", "B/s", 1e10, 2e10),
    ("chase_latency_s", "pages=base;size_bytes=268435456", "s", 1e-7, 1e-7),
)


def values(cell: int, cloud: int) -> np.ndarray:
    mean = CELLS[cell][3 + cloud]
    return mean * np.exp(np.random.default_rng([cell, cloud]).normal(scale=0.004, size=ROUNDS))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> View:
    folder = tmp_path_factory.mktemp("gaps")
    lines = ["provider,region,offering,instance,round,metric,params,unit,value"]
    for cell, (metric, params, unit, *_) in enumerate(CELLS):
        for cloud, name in enumerate(("fast", "slow")):
            lines += [f"{name},r,{name}.large,{name}{at},{at},{metric},{params},{unit},{value!r}"
                      for at, value in enumerate(values(cell, cloud).tolist())]  # fmt: skip
    (folder / "two.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return view(import_files([str(folder / "two.csv")], folder / "study", None, ImportOptions()).folder, drawn=False)


@pytest.fixture(scope="module")
def slow(shown: View) -> Gaps:
    return gaps_of(shown, "slow")


def test_the_worst_is_first_and_what_is_ahead_is_counted(slow: Gaps) -> None:
    assert [one.cell.partition(" ")[0] for one in slow.gaps[:4]] == [
        "fma_flop_per_s", "booting_latency_s", "scaling_latency_s", "blob_first_byte_s",
    ]  # fmt: skip
    assert all(one.verdict is Verdict.WORSE for one in slow.gaps[:6])
    assert (slow.cells, slow.ahead + slow.same) == (8, 2)


@pytest.mark.parametrize("cell", [0, 1])
def test_ratio_and_interval_are_those_of_the_paired_test_in_either_direction(slow: Gaps, cell: int) -> None:
    (one,) = [one for one in slow.gaps if one.cell.startswith(CELLS[cell][0])]
    logs = np.log(values(cell, 0)) - np.log(values(cell, 1))
    logs = logs if cell == 0 else -logs  # a rate is behind by best/own, a time by own/best
    interval = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert one.ratio == pytest.approx(np.exp(logs.mean()))
    assert one.bounds is not None
    assert (one.bounds.low, one.bounds.high) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))


def test_the_time_goes_where_it_was_planted(slow: Gaps) -> None:
    parts = {one.cell.partition(" ")[0]: one.parts for one in slow.gaps}
    assert [one.name for one in parts["scaling_latency_s"]] == ["booting", "provisioning"]
    assert [one.lost_s for one in parts["scaling_latency_s"]] == pytest.approx([15, 5], abs=0.5)
    assert {one.name for one in parts["blob_latency_s"]} == {"after the first byte", "first byte"}
    assert sum(one.lost_s for one in parts["blob_latency_s"]) == pytest.approx(0.02, abs=0.002)
    assert parts["fma_flop_per_s"] == ()


def test_the_other_side_is_behind_elsewhere(shown: View) -> None:
    found = gaps_of(shown, "fast")
    assert found.gaps[0].cell.startswith("triad_bytes_per_s")
    assert found.gaps[0].ratio == pytest.approx(2, rel=0.01)


def test_an_unknown_provider_is_a_mistake_that_names_the_known_ones(shown: View) -> None:
    with pytest.raises(UserMistake, match="no provider 'aws'; it has fast, slow"):
        gaps_of(shown, "aws")
