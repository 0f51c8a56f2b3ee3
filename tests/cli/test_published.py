"""The seeds' tables, recomputed for a reader."""

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
    said = cloudcmp("published", "cloudcmp-2010")
    assert "0 figures" not in said.out
    assert "no figure to recompute" in said.out
    found = said.out.split("\npage ")[1:]
    assert found
    assert len(found) == len(set(found))
