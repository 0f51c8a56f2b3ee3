"""The seeds' tables, recomputed for a reader."""

from pathlib import Path

import pytest

from .command import cloudcmp


def test_what_does_not_follow_is_shown_in_80_columns() -> None:
    said = cloudcmp("published", "deval-2017")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert "9675.68" in said.out
    assert "do not follow" in said.out


def test_the_document_holds_every_figure() -> None:
    data = cloudcmp("published", "deval-2017", "--json").json["data"]
    (one,) = data
    azure = [c for c in one["checks"] if c["table"] == "8" and c["row"] == "Azure" and c["column"] == "multi"]
    assert azure[0]["printed"] == "919.19"
    assert azure[0]["verdict"] == "does not follow"


def test_the_prices_of_a_document_are_listed_as_history() -> None:
    said = cloudcmp("list", "prices", "cloudcmp-2010")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert "C4.4" in said.out
    assert "2010-05-31" in said.out
    assert "never used to create anything" in " ".join(said.err.split())
    document = cloudcmp("list", "prices", "deval-2017", "--json").json
    assert document["data"]["rows"][0]["price"] == "0.073 XXX/h"
    assert any("implied" in line for line in document["warnings"])


def test_a_document_without_figures_does_not_count_none_and_tells_no_finding_twice() -> None:
    said = cloudcmp("published", "rodamilans-2014")
    assert "0 figures" not in said.out
    assert "no figure to recompute" in said.out
    found = said.out.split("\npage ")[1:]
    assert found
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", ["cloudcmp-2010", "delgado-2010", "rodamilans-2014", "shah"])
def test_what_no_number_is_stored_of_is_listed_last(name: str) -> None:
    said = cloudcmp("published", name)
    assert max(map(len, said.out.splitlines())) <= 80
    covered, _, rest = said.out.partition("\nNot covered\n")
    assert "does not follow" in covered
    assert "a plot" in rest


def test_sessions_are_weighed_and_written_for_import(tmp_path: Path) -> None:
    said = cloudcmp("published", "deval-2017", "--sessions", "--all", "--out", "s.csv", cwd=tmp_path)
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert "of 37 conclusions, 8 stand" in said.out
    assert "224 values; next: cloudcmp import s.csv" in " ".join((said.out + said.err).split())
    assert cloudcmp("import", "s.csv", "--out", "deval", cwd=tmp_path).code == 0
    assert cloudcmp("published", "deval-2017", "--out", "s.csv", cwd=tmp_path).code == 0, "its own file is replaced"


def test_a_file_of_another_kind_is_kept(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("mine\n", encoding="utf-8")
    said = cloudcmp("published", "deval-2017", "--out", "s.csv", cwd=tmp_path)
    assert said.code == 2
    assert (tmp_path / "s.csv").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("words", [("shah", "--sessions"), ("--sessions",)])
def test_a_document_without_sessions_is_refused_with_those_that_have_them(words: tuple[str, ...]) -> None:
    said = cloudcmp("published", *words)
    assert said.code == 2
    assert "there are: deval-2017" in said.err
    assert len(said.err.strip().splitlines()) == 1
