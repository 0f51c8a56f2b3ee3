"""Several studies side by side: what pairs, what does not, and what a reader is told of it."""

from pathlib import Path

import pytest

from cloudcmp.app.compare import compare
from cloudcmp.model.result import NoVerdict, Verdict
from tests.cli.command import cloudcmp
from tests.late import Late
from tests.slices import long

np = Late("numpy")
scipy_stats = Late("scipy.stats")

STUDY = """\
schema: 1
question: Which is faster?
candidates:
{candidates}
probes:
  - {{probe: fma, params: {{threads: one}}}}
  - {{probe: chase}}
launches: 8
runs: 1
seed: {seed}
"""
ONE = """\
  - provider: simulated
    region: {region}
    offering: {size}
    price: 0.10 USD/h
    truth:
      cells:
        fma_flop_per_s: {{mean: {mean} Gflop/s, cov: 1 %, between: 2 %}}
        chase_latency_s: {{mean: 100 ns, cov: 1 %, between: 2 %}}
"""
TOLD_APART = (Verdict.BETTER, Verdict.WORSE)


def made(folder: Path, name: str, means: dict[str, float], seed: int = 1) -> Path:
    """A simulated study with a candidate for each size and planted mean, run to its end."""
    text = "".join(ONE.format(region="nimbus", size=size, mean=mean) for size, mean in means.items())
    file = folder / f"{name}.yaml"
    file.write_text(STUDY.format(candidates=text.rstrip(), seed=seed), encoding="utf-8")
    done = cloudcmp("run", file, "--out", folder / name)
    assert done.code == 0, done.err
    return folder / name


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("several")
    return (
        made(folder, "before", {"small": 10.0, "large": 20.0}),
        made(folder, "after", {"small": 12.0, "large": 20.0}, seed=2),
    )


@long
def test_candidates_are_named_after_their_study_and_compared_across(studies: tuple[Path, Path]) -> None:
    view = compare([str(one) for one in studies])
    assert [one.id.partition("/")[0] for one in view.plan.candidates] == ["before", "before", "after", "after"]
    cell = next(cell for cell in view.analysis.comparisons.cells if cell.startswith("fma"))
    pairs = view.analysis.comparisons.of(cell)
    across, within = pairs.between(0, 2), pairs.between(0, 1)
    assert across is not None
    assert within is not None
    assert across.verdict is Verdict.WORSE
    assert across.effect == pytest.approx(10.0 / 12.0, rel=0.05)
    assert "no rounds: Welch's t decides" in across.marks
    assert within.p_paired is not None
    assert "no rounds: Welch's t decides" not in within.marks


def test_welch_decides_across_studies_and_rounds_within_one(studies: tuple[Path, Path]) -> None:
    view = compare([str(one) for one in studies])
    cell = next(cell for cell in view.analysis.comparisons.cells if cell.startswith("fma"))
    values = {one.candidate: np.log(one.values) for one in view.analysis.estimates if one.cell == cell}
    pairs = view.analysis.comparisons.of(cell)
    for a, b in ((0, 2), (0, 3), (1, 2), (1, 3)):
        pair = pairs.between(a, b)
        assert pair is not None
        assert pair.p_paired is None
        welch = scipy_stats.ttest_ind(values[a], values[b], equal_var=False).pvalue
        assert pair.p_welch == pytest.approx(welch, rel=1e-9)
    alone = compare([str(studies[0])]).analysis.comparisons.of(cell).between(0, 1)
    together = pairs.between(0, 1)
    assert alone is not None
    assert together is not None
    assert together.p_paired == alone.p_paired
    assert together.bounds == alone.bounds


def test_the_family_has_every_pair_of_all_studies(studies: tuple[Path, Path]) -> None:
    view = compare([str(one) for one in studies])
    assert len(view.analysis.comparisons.cells) == 2
    assert view.analysis.comparisons.family == 6 + 6 + 6  # six pairs of four: two cells, and one of them for money


def table(folder: Path, name: str, first_s: float, *, scale: float = 1.0, metric: str = "rate", better: str = "higher",
          ) -> Path:  # fmt: skip
    """A table of ten values at known times, one launch each, without rounds."""
    wobble = (1.0, 1.01, 0.99, 1.005, 0.995, 1.0, 1.002, 0.998, 1.003, 0.997)
    rows = [f"vm,{metric},u,{better},{scale * one},{at},{first_s + 60 * at}" for at, one in enumerate(wobble)]
    path = folder / f"{name}.csv"
    path.write_text("offering,metric,unit,better,value,instance,time\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_studies_of_different_times_get_no_verdict_unless_blocks_are_allowed(tmp_path: Path) -> None:
    first, second = table(tmp_path, "monday", 0.0), table(tmp_path, "friday", 400_000.0, scale=1.2)
    (pair,) = compare([str(first), str(second)]).analysis.comparisons
    assert pair.verdict is Verdict.CANNOT_TELL
    assert pair.no_verdict is NoVerdict.BLOCKS
    assert "--allow-blocks" in pair.reason
    (pair,) = compare([str(first), str(second)], allow_blocks=True).analysis.comparisons
    assert pair.verdict in TOLD_APART
    assert "measured at different times" in pair.marks


def test_studies_of_the_same_time_get_a_verdict(tmp_path: Path) -> None:
    first, second = table(tmp_path, "a", 0.0), table(tmp_path, "b", 30.0, scale=1.2)
    (pair,) = compare([str(first), str(second)]).analysis.comparisons
    assert pair.verdict in TOLD_APART
    assert "measured at different times" not in pair.marks


@long
def test_parameters_that_a_table_cannot_know_are_marked(studies: tuple[Path, Path], tmp_path: Path) -> None:
    """An imported value of a cell is compared with a measured one, and the reader is told what is unknown."""
    exported = tmp_path / "export.csv"
    assert cloudcmp("export", studies[1], "--out", exported).code == 0
    view = compare([str(studies[0]), str(exported)])
    marks = {mark for pair in view.analysis.comparisons for mark in pair.marks}
    assert any(mark.startswith("probe parameters: known only for before/") for mark in marks)


def test_equal_folder_names_are_numbered(tmp_path: Path) -> None:
    paths = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        paths.append(str(table(tmp_path / name, "results", 0.0)))
    assert [one.id for one in compare(paths).plan.candidates] == ["results#1/vm", "results#2/vm"]


@pytest.mark.parametrize(
    ("metric", "better", "why"),
    [
        ("speed", "higher", "no measurement in common"),
        ("rate", "lower", "the metric 'rate' has another unit or direction in b; rename it"),
    ],
)
def test_studies_that_cannot_be_compared_are_one_line(tmp_path: Path, metric: str, better: str, why: str) -> None:
    done = cloudcmp("compare", table(tmp_path, "a", 0.0), table(tmp_path, "b", 0.0, metric=metric, better=better))
    assert done.code == 2
    assert why in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_study_named_twice_and_a_missing_one_are_one_line(studies: tuple[Path, Path], tmp_path: Path) -> None:
    twice = cloudcmp("compare", studies[0], studies[0])
    assert (twice.code, "named twice" in twice.err) == (2, True)
    missing = cloudcmp("compare", studies[0], tmp_path / "none")
    assert (missing.code, "no such study or file; see 'cloudcmp list studies'" in missing.err) == (2, True)


def test_the_command_shows_asserts_and_documents_several_studies(studies: tuple[Path, Path]) -> None:
    shown = cloudcmp("compare", *studies)
    assert shown.code == 0, shown.err
    assert "4 candidates" in shown.out
    assert "before" in shown.out
    assert f"cloudcmp compare {studies[0]}" in shown.out
    assert cloudcmp("compare", *studies, "--json").json["schema"] == "cloudcmp.compare/1"
    held = cloudcmp("compare", *studies, "--metric", "fma_flop_per_s", "--assert",
                    "after/simulated/nimbus/small better than before/simulated/nimbus/small")  # fmt: skip
    assert held.code == 0, held.out + held.err
    assert "| measurement | before/" in cloudcmp("compare", *studies, "--markdown").out


def test_a_file_is_compared_and_no_study_of_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = cloudcmp("compare", table(tmp_path, "results", 0.0))
    assert done.code == 0, done.err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["results.csv"]
