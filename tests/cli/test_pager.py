"""Long answers at a terminal go through the user's pager, and nothing else does."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.slices import long

from .command import cloudcmp
from .terminal import Terminal

PAGER = """#!/bin/sh
echo "PAGER BEGINS $*"
cat
echo "PAGER ENDS"
"""
MANY = 60


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    path = tmp_path / "my pager"
    path.write_text(PAGER)
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported study of many candidates; the later the name, the better."""
    folder = tmp_path_factory.mktemp("many")
    rows = [f"c{at:02},ops_per_s,op/s,higher,{1000 * (1 + at) + round_},{round_}"
            for at in range(MANY) for round_ in range(6)]  # fmt: skip
    (folder / "many.csv").write_text("\n".join(["offering,metric,unit,better,value,round", *rows]))
    done = cloudcmp("import", folder / "many.csv", "--out", folder / "study")
    assert done.code == 0, done.err
    return folder / "study"


def shown(folder: Path, *words: str | Path, **environ: str) -> tuple[int, str]:
    """The exit code, and what a terminal shows of a command."""
    given = {**os.environ, "COLUMNS": "80", "LINES": "24", **environ}
    terminal = Terminal(folder, given, *map(str, words))
    code = terminal.ended()
    return code, terminal.shown


@pytest.mark.parametrize("words", [("list", "metrics"), ("list", "probes")])
def test_a_long_list_is_paged_whole(words: tuple[str, ...], pager: Path, tmp_path: Path) -> None:
    code, text = shown(tmp_path, *words, PAGER=f"'{pager}' -x")
    assert code == 0
    plain = cloudcmp(*words).out
    assert plain.count("\n") > 24
    head, _, rest = text.partition("PAGER BEGINS -x\n")
    assert head.strip() == ""
    body, _, after = rest.partition("PAGER ENDS\n")
    assert [line.rstrip() for line in body.splitlines()] == [line.rstrip() for line in plain.splitlines()]
    assert "PAGER" not in after


@long
def test_a_thousand_prices_are_paged_the_cheapest_first(pager: Path, tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    rows = [f"mycloud,t{at},{1 + at * 37 % 1000},USD,h,here,2,8,{today}" for at in range(1000)]
    heads = "provider,name,amount,currency,unit,region,vcpus,memory_gib,as_of"
    (tmp_path / "own.csv").write_text("\n".join([heads, *rows]))
    book = {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert cloudcmp("fetch", "--from", tmp_path / "own.csv", "--as", "csv", **book).code == 0
    for words in (("list", "prices", "mycloud"), ("list", "prices", "--provider", "mycloud", "--limit", "0")):
        code, text = shown(tmp_path, *words, PAGER=f"'{pager}'", **book)
        assert code == 0
        body = text.partition("PAGER BEGINS")[2].partition("PAGER ENDS")[0]
        found = [float(price) for price in re.findall(r" ([\d.]+) USD/h", body)]
        assert found == [float(number) for number in range(1, 1001)]
    some = cloudcmp("list", "prices", "--provider", "mycloud", "--sort", "name", "--json", **book).json["data"]["rows"]
    assert [one["offering"] for one in some] == sorted(f"t{at}" for at in range(1000))


def test_a_comparison_of_many_is_paged_the_best_first(many: Path, pager: Path, tmp_path: Path) -> None:
    code, text = shown(tmp_path, "compare", many, "--all", PAGER=f"'{pager}'")
    assert code == 0
    assert text.count("PAGER BEGINS") == text.count("PAGER ENDS") == 1
    cell = text.partition("ops (op/s")[2] or text.partition("more is better)")[2]
    places = [cell.index(f" c{at:02} ") for at in range(MANY)]
    assert places == sorted(places, reverse=True)


def test_short_answers_and_other_forms_are_printed_at_once(many: Path, pager: Path, tmp_path: Path) -> None:
    for words in (
        ("list", "studies"),
        ("list", "metrics", "--no-pager"),
        ("list", "metrics", "--json"),
        ("list", "prices", "--csv"),
        ("compare", str(many), "--json"),
        ("compare", str(many), "--markdown"),
        ("compare", str(many), "--all", "--no-pager"),
    ):
        code, text = shown(tmp_path, *words, PAGER=f"'{pager}'", XDG_STATE_HOME=str(tmp_path))
        assert code == 0
        assert "PAGER" not in text
        assert text.strip()
    assert "PAGER" not in cloudcmp("list", "metrics", PAGER=f"'{pager}'").out


@pytest.mark.parametrize("command", ["/nowhere/at-all", "", "'", "/dev"])
def test_a_pager_that_cannot_be_used_is_no_error(command: str, tmp_path: Path) -> None:
    code, text = shown(tmp_path, "list", "metrics", PAGER=command)
    assert code == 0
    assert text.splitlines()[-1].strip()
    assert "fma_flop_per_s" in text


def test_a_pager_that_is_left_early_is_no_error(tmp_path: Path) -> None:
    code, text = shown(tmp_path, "list", "metrics", PAGER="head -n 1")
    assert code == 0
    assert len(text.splitlines()) == 1
    assert "Traceback" not in text


def test_less_is_the_pager_of_whoever_names_none(pager: Path, tmp_path: Path) -> None:
    (tmp_path / "less").symlink_to(pager)
    environ = {key: value for key, value in os.environ.items() if key != "PAGER"}
    given = {**environ, "LINES": "24", "COLUMNS": "80", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    dumb = Terminal(tmp_path, given, "list", "metrics")
    assert dumb.ended() == 0
    assert "PAGER" not in dumb.shown
    able = Terminal(tmp_path, given, "list", "metrics", term="xterm")
    assert able.ended() == 0
    assert "PAGER BEGINS -FRX" in able.shown
