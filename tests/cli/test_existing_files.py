"""What stands where a verb is to write: its like is replaced, anything else is kept and told in one line."""

import subprocess
from pathlib import Path

import pytest

from tests.slices import long

from .command import COMMAND, cloudcmp


@pytest.mark.parametrize("verb", ["report", "export"])
@pytest.mark.parametrize("name", ["keepme", "k2.yaml", "t.parquet", "page.html"])
def test_a_file_of_another_kind_is_kept(verb: str, name: str, measured: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("<!doctype html>\n<title>mine</title>\n")
    said = cloudcmp(verb, measured, "--out", path)
    assert said.code == 2
    assert said.err.startswith(f"{path}: is there already and is no ")
    assert said.err.count("\n") == 1
    assert path.read_text() == "<!doctype html>\n<title>mine</title>\n"
    assert list(tmp_path.iterdir()) == [path]


@long
@pytest.mark.parametrize(("verb", "name"), [("report", "r.html"), ("export", "t.csv"), ("export", "t.parquet")])
def test_its_like_is_replaced(verb: str, name: str, measured: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.touch()
    for _ in range(2):
        assert cloudcmp(verb, measured, "--out", path).code == 0
    assert path.stat().st_size > 1000


def test_a_device_is_no_file(measured: Path) -> None:
    said = cloudcmp("report", measured, "--out", "/dev/null")
    assert said.code == 2
    assert said.err == "/dev/null: is no plain file; name another file\n"
    assert cloudcmp("export", measured, "--out", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


@long
def test_a_table_goes_to_an_open_file_and_takes_no_place(measured: Path, tmp_path: Path) -> None:
    """As root a file could be put into the place of /dev/stdout, for every program of the machine."""
    expected = cloudcmp("export", measured).out
    before = Path("/dev/stdout").readlink()
    assert cloudcmp("export", measured, "--out", "/dev/stdout").out == expected
    with (tmp_path / "table").open("w") as out:
        words = [COMMAND, "export", measured, "--out", "/dev/stdout", "--format", "csv"]
        subprocess.run(words, stdout=out, check=True, timeout=60)
    assert (tmp_path / "table").read_text() == expected
    assert Path("/dev/stdout").readlink() == before


@long
def test_figures_are_written_where_no_other_file_has_their_names(measured: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures"
    for _ in range(2):
        assert cloudcmp("report", measured, "--out", tmp_path / "r.html", "--figures", figures).code == 0
    last = sorted(figures.glob("*.csv"))[-1]
    last.write_text("my,own\n")
    times = {path: path.stat().st_mtime_ns for path in figures.iterdir()}
    said = cloudcmp("report", measured, "--out", tmp_path / "r.html", "--figures", figures)
    assert said.code == 2
    assert said.err.startswith(f"{last}: is there already and is no figure of cloudcmp")
    assert {path: path.stat().st_mtime_ns for path in figures.iterdir()} == times
