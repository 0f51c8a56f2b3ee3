"""`run --resume DIR --more N`: a study that has ended goes on, and keeps all that it had."""

import csv
import io
import shutil
from pathlib import Path

import pytest

from tests.cli.command import cloudcmp
from tests.crash_points import REPLAN_CRASH_POINTS

STUDY = """
schema: 1
name: grow
question: Which one is faster?
candidates:
  - {provider: simulated, region: a, offering: x, price: 0.10 USD/h}
  - {provider: simulated, region: b, offering: y, price: 0.20 USD/h}
launches: 6
runs: 1
seed: 5
probes: [{probe: fma}, {probe: chase}]
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that has ended."""
    folder = tmp_path_factory.mktemp("ended")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    assert cloudcmp("run", folder / "study.yaml", "--out", folder / "study").code == 0
    return folder / "study"


@pytest.fixture
def study(ended: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(ended, tmp_path / "study"))


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(cloudcmp("export", folder).out)))


def test_what_was_measured_stays_and_more_comes_after_it(study: Path) -> None:
    before = rows(study)
    done = cloudcmp("run", "--resume", study, "--more", "4")
    assert done.code == 0, done.err
    after = rows(study)
    assert after[: len(before)] == before
    assert {row["round"] for row in after} == {str(at) for at in range(10)}
    data = cloudcmp("compare", study, "--json").json["data"]
    assert {one["n"] for one in data["comparisons"]} == {10}
    again = cloudcmp("run", "--resume", study, "--more", "2", "--json")
    assert {one["n"] for one in again.json["data"]["comparisons"]} == {12}


def test_a_longer_study_is_as_sure_as_its_looks_allow(study: Path) -> None:
    """The second look has a tenth of the error: its p values are corrected more."""
    cloudcmp("run", "--resume", study, "--more", "6")
    found = cloudcmp("compare", study, "--json").json["data"]["comparisons"]
    assert found
    for one in found:
        assert one["p_adjusted"] >= min(1.0, one["p_paired"])


@pytest.mark.parametrize("point", REPLAN_CRASH_POINTS)
def test_a_controller_that_dies_while_it_adds_rounds_has_added_all_or_none(study: Path, point: str) -> None:
    died = cloudcmp("run", "--resume", study, "--more", "2", CLOUDCMP_CRASH_AT=f"{point}:1")
    assert died.code == -9
    gone_on = cloudcmp("run", "--resume", study)
    assert gone_on.code == 0, gone_on.err
    added = point == "replan.after_commit"
    assert {int(row["round"]) for row in rows(study)} == set(range(8 if added else 6))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--more", "0"), "--more: 0 is no number of rounds; write 1 to 10000"),
        (("--more", "10001"), "--more: 10001 is no number of rounds"),
        (("--more", "many"), "--more"),
    ],
)
def test_what_is_no_number_of_rounds_is_one_line(study: Path, words: tuple[str, ...], why: str) -> None:
    done = cloudcmp("run", "--resume", study, *words)
    assert done.code == 2
    assert why in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_more_needs_a_study_that_has_ended(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    alone = cloudcmp("run", tmp_path / "study.yaml", "--more", "2")
    assert (alone.code, alone.err.count("\n")) == (2, 1)
    assert "add --resume DIR" in alone.err
    died = cloudcmp(
        "run", tmp_path / "study.yaml", "--out", tmp_path / "study", CLOUDCMP_CRASH_AT="finish.after_commit:3"
    )
    assert died.code == -9
    early = cloudcmp("run", "--resume", tmp_path / "study", "--more", "2")
    assert early.code == 2
    assert "the study has not ended" in early.err


def test_an_imported_table_takes_no_rounds(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("offering,metric,unit,better,value\na,score,score,higher,1\nb,score,score,higher,2\n")
    assert cloudcmp("import", table, "--out", tmp_path / "study").code == 0
    done = cloudcmp("run", "--resume", tmp_path / "study", "--more", "2")
    assert done.code == 2
    assert "an imported table has nothing to run" in done.err


def test_the_answer_of_a_study_that_has_not_ended_is_preliminary(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    words = "run", tmp_path / "study.yaml", "--out", tmp_path / "study"
    assert cloudcmp(*words, CLOUDCMP_CRASH_AT="finish.after_commit:13").code == -9
    assert "PRELIMINARY: " in cloudcmp("compare", tmp_path / "study").out
    assert cloudcmp("run", "--resume", tmp_path / "study").code == 0
    assert "PRELIMINARY" not in cloudcmp("compare", tmp_path / "study").out
