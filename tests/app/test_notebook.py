"""A study in a notebook: frames of pandas, polars and Arrow, figures, and the answer, in a real kernel too."""

import subprocess
import sys
from pathlib import Path

import pytest

import cloudcmp
from cloudcmp.app.compare import compare
from cloudcmp.app.notebook import Study
from cloudcmp.errors import UserMistake
from cloudcmp.store import StudyStore
from tests.cli.command import cloudcmp as command
from tests.docs.pages import DOCS, blocks
from tests.late import Late
from tests.made_once import made_once
from tests.slices import long

pa = Late("pyarrow")
pd = Late("pandas")
pl = Late("polars")
jupyter_client = Late("jupyter_client")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        done = command("demo", "--out", folder)
        assert done.code == 0, done.err

    return made_once(tmp_path_factory, "notebook-demo", make)


@pytest.fixture(scope="module")
def opened(demo: Path) -> Study:
    """The demonstration, opened once: a study analyses itself when it is first asked."""
    return cloudcmp.open(demo)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    rows = [f"{name},rate,u,higher,{value + at},{at}" for name, value in (("a", 10.0), ("b", 20.0)) for at in range(8)]
    (folder / "t.csv").write_text("offering,metric,unit,better,value,round\n" + "\n".join(rows) + "\n")
    assert command("import", folder / "t.csv", "--out", folder / "study").code == 0
    return folder / "study"


def test_opening_a_study_loads_no_heavy_library(demo: Path) -> None:
    heavy = {"scipy", "duckdb", "pyarrow", "pandas", "polars", "vl_convert"}
    code = f"import cloudcmp, sys; print(cloudcmp.open(sys.argv[1])); print(sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(demo)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[0].startswith("demo: Which of three simulated clouds")
    assert done.stdout.splitlines()[1] == "[]"


def test_trials_have_a_row_for_each_attempt_that_ended(demo: Path) -> None:
    with StudyStore.open(demo, write=False) as store:
        attempts = [one for one in store.attempts() if not one.interrupted]
        plan = store.plan
    frame = cloudcmp.open(demo).trials().pandas()
    assert len(frame) == len(attempts)
    assert frame["outcome"].tolist() == [one.outcome.value for one in attempts]
    first = plan.launches[plan.trials[attempts[0].trial].launch]
    assert frame["candidate"][0] == plan.candidates[first.candidate].id
    assert frame["round"][0] == first.round


def test_the_median_of_samples_is_the_value_of_a_trial(opened: Study) -> None:
    """The frames agree with each other: from samples to the launch values of an estimate."""
    samples = opened.samples().pandas()
    chosen = samples[samples["metric"] == "triad_bytes_per_s"].dropna(subset=["value"])
    of_trial = chosen.groupby(["candidate", "round", "trial"])["value"].median()
    medians = of_trial.groupby(["candidate", "round"]).median().groupby("candidate").median()
    estimates = opened.estimates().pandas()
    (cell,) = set(estimates["cell"][estimates["cell"].str.startswith("triad")])
    triad = estimates[estimates["cell"] == cell]
    assert len(triad) == 3
    for _, one in triad.iterrows():
        assert one["median"] == pytest.approx(medians[one["candidate"]], rel=1e-12)
        assert one["median_low"] <= one["median"] <= one["median_high"]


def test_comparisons_are_those_of_compare(demo: Path, opened: Study) -> None:
    frame = opened.comparisons().polars()
    shown = compare([str(demo)]).analysis
    assert len(frame) == len(shown.comparisons) + len(shown.money)
    assert set(frame["basis"]) == {"performance", "work per money"}
    verdicts = [None if one.verdict is None else one.verdict.value for one in shown.comparisons]
    assert frame["verdict"].to_list()[: len(verdicts)] == verdicts


def test_every_reader_of_arrow_streams_reads_a_frame(opened: Study) -> None:
    frame = opened.estimates()
    assert pa.table(frame).equals(frame.arrow)
    assert pl.DataFrame(frame).shape == (len(frame), len(frame.columns))
    assert repr(frame).startswith(f"{len(frame)} rows: candidate, cell")
    assert "<table>" in frame._repr_html_()


def test_unknown_values_are_null(opened: Study) -> None:
    columns = opened.estimates().arrow
    unknown = columns.column("cost_per_task").null_count
    assert 0 < unknown <= len(columns)


def test_an_imported_table_gives_its_rows_as_samples(table: Path) -> None:
    study = cloudcmp.open(table)
    frame = study.samples().pandas()
    assert len(frame) == 16
    assert frame["value"].sum() == sum(10.0 + at + 20.0 + at for at in range(8))
    assert len(study.trials()) == 0
    assert study.comparisons().pandas()["verdict"].tolist() == ["worse"]


def test_a_cell_is_drawn(opened: Study) -> None:
    figure = opened.plot("rtt_s")
    assert figure._repr_svg_().startswith("<svg")
    assert figure.png().startswith(b"\x89PNG")
    with pytest.raises(UserMistake, match="the study has no cell 'rtt'; nearest: rtt_s"):
        opened.plot("rtt")


def test_the_answer_is_html_that_runs_nothing(opened: Study, table: Path) -> None:
    for study in (opened, cloudcmp.open(table)):
        shown = study._repr_html_()
        assert "<table>" in shown
        assert not {"<script", "<style", "href", "src="} & set(shown.replace(">", " ").split())
    assert "SIMULATED" in opened._repr_html_()


def test_text_from_outside_is_escaped(tmp_path: Path) -> None:
    rows = [
        f"<b>x</b>{name},rate,u,higher,{value + at},{at}" for name, value in (("a", 10), ("b", 20)) for at in range(8)
    ]
    (tmp_path / "t.csv").write_text("offering,metric,unit,better,value,round\n" + "\n".join(rows) + "\n")
    assert command("import", tmp_path / "t.csv", "--out", tmp_path / "study").code == 0
    study = cloudcmp.open(tmp_path / "study")
    assert "<b>x" not in study._repr_html_()
    assert "<b>x" not in study.estimates()._repr_html_()


def test_what_is_no_study_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="is no cloudcmp study"):
        cloudcmp.open(tmp_path)


@long
def test_a_real_kernel_shows_the_answer_and_a_frame(demo: Path) -> None:
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3", startup_timeout=60)
    try:
        shown: list[dict[str, str]] = []

        def heard(message: dict) -> None:  # type: ignore[type-arg]
            if message["msg_type"] in {"execute_result", "display_data"}:
                shown.append(message["content"]["data"])
            assert message["msg_type"] != "error", message["content"]

        for line in (
            f"import cloudcmp; s = cloudcmp.open({str(demo)!r}); s",
            "s.estimates()",
            "s.comparisons().pandas().head(3)",
            "s.plot('rtt_s')",
        ):
            client.execute_interactive(line, timeout=60, output_hook=heard)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert "<table>" in shown[0]["text/html"]
    assert "SIMULATED" in shown[0]["text/html"]
    assert "<table>" in shown[1]["text/html"]
    assert "verdict" in shown[2]["text/html"]
    assert shown[3]["image/svg+xml"].startswith("<svg")


def test_the_lines_of_the_page_run(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python of docs/how-to/notebook.md, with the study that its first line makes."""
    (block,) = (one for one in blocks(DOCS / "how-to" / "notebook.md") if one.info == "python")
    monkeypatch.chdir(demo.parent)
    (demo.parent / "first").symlink_to(demo)
    exec(compile(block.text, block.place, "exec"), {})
    assert "practically the same" in capsys.readouterr().out
