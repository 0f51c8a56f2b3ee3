"""`cloudcmp list studies` finds what was written elsewhere."""

import shutil
from pathlib import Path

import pytest

from .command import Said, cloudcmp
from .conftest import TINY

TABLE = "offering,metric,unit,better,value\na,speed,op/s,higher,1\nb,speed,op/s,higher,2\n"


def said(folder: Path, *words: str | Path) -> Said:
    return cloudcmp(*words, cwd=folder, XDG_STATE_HOME=str(folder / "state"))


def listed(folder: Path, cwd: str = "") -> dict[str, dict[str, str]]:
    document = cloudcmp("list", "studies", "--json", cwd=folder / cwd, XDG_STATE_HOME=str(folder / "state")).json
    return {row["study"]: row for row in document["data"]["rows"]}


def test_studies_with_out_are_listed_wherever_they_are(tmp_path: Path) -> None:
    (tmp_path / "blog.csv").write_text(TABLE)
    (tmp_path / "other").mkdir()
    assert said(tmp_path, "run", TINY.resolve(), "--out", "deep/small", "--quiet").code == 0
    assert said(tmp_path, "import", "blog.csv", "--out", "blog").code == 0
    found = listed(tmp_path)
    assert {path: (row["kind"], row["name"], row["candidates"], row["state"]) for path, row in found.items()} == {
        "blog": ("imported", "blog", "2", "finished"),
        "deep/small": ("measured", "tiny", "2", "finished"),
    }
    assert set(listed(tmp_path, "other")) == {str(tmp_path / path) for path in found}
    shutil.rmtree(tmp_path / "blog")
    assert set(listed(tmp_path)) == {"deep/small"}
    table = said(tmp_path, "list", "studies").out
    assert "deep/small" in table
    assert max(map(len, table.splitlines())) <= 80


def test_a_study_that_was_cut_short_is_listed_as_far_as_it_came(tmp_path: Path) -> None:
    killed = cloudcmp("run", TINY.resolve(), "--out", "small", cwd=tmp_path, XDG_STATE_HOME=str(tmp_path / "state"),
                      CLOUDCMP_CRASH_AT="finish.after_commit:3")  # fmt: skip
    assert killed.code != 0
    row = listed(tmp_path)["small"]
    assert row["state"] == "3 of 6 trials"
    assert said(tmp_path, "run", "--resume", "small", "--quiet").code == 0
    assert listed(tmp_path)["small"]["state"] == "finished"


@pytest.mark.parametrize("words", [("import", "blog.csv"), ("run", str(TINY.resolve()))])
def test_a_list_that_cannot_be_written_fails_nothing(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "blog.csv").write_text(TABLE)
    (tmp_path / "state" / "cloudcmp").mkdir(parents=True)
    (tmp_path / "state" / "cloudcmp" / "studies").write_text("no folder")
    done = said(tmp_path, *words, "--out", "made")
    assert done.code == 0, done.err
    assert (done.out + done.err).count("'cloudcmp list studies' will not show made") == 1
    assert (tmp_path / "made" / "study.db").is_file()
