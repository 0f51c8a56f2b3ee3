"""`cloudcmp history`, and the steadiness of `compare`: what is printed, drawn and refused."""

import json
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks

from .command import cloudcmp

PAGE = DOCS / "how-to" / "follow-over-time.md"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table of the how-to page."""
    path = tmp_path_factory.mktemp("rates") / "rates.csv"
    path.write_text(next(one.text for one in blocks(PAGE) if one.info == "csv rates.csv"), encoding="utf-8")
    return path


def test_the_page_shows_what_is_printed(table: Path) -> None:
    shown = next(one.text for one in blocks(PAGE) if one.info == "text" and one.text.startswith("rates.csv"))
    done = cloudcmp("history", table, "--as-of", "2026-03-01")
    assert done.code == 0, done.err
    assert [line.rstrip() for line in done.out.splitlines()] == shown.splitlines()


def test_the_document_has_what_the_screen_says(table: Path) -> None:
    data = cloudcmp("history", table, "--as-of", "2026-03-01", "--json").json["data"]
    (series,) = data["series"]
    (change,) = series["changes"]
    assert (change["at"], change["since"]) == ("2026-02-18T03:00:00Z", "2026-02-17T03:00:00Z")
    assert change["bounds"]["low"] < change["change"] < change["bounds"]["high"] < 0
    assert (change["better"], change["n_before"], change["n_after"]) == (False, 17, 11)
    assert len(series["points"]) == 28
    assert series["level"]["points"] == 11
    assert data["outdated"] == []
    early = cloudcmp("history", table, "--as-of", "2026-02-17", "--json").json["data"]
    assert early["series"][0]["changes"] == []
    assert len(early["series"][0]["points"]) == 17


def test_an_old_table_is_told(table: Path) -> None:
    done = cloudcmp("history", table, "--as-of", "2026-09-01")
    assert "! rates.csv: measured 186 days ago; measuring it again has no known cost" in " ".join(done.out.split())


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_figure_is_drawn_again_and_never_over_another_file(table: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"f.{kind}"
    for _ in range(2):
        done = cloudcmp("history", table, "--figure", path)
        assert done.code == 0, done.err
    assert path.read_bytes().startswith({"svg": b"<svg ", "png": b"\x89PNG"}[kind])
    path.write_text("mine", encoding="utf-8")
    assert cloudcmp("history", table, "--figure", path).code == 2
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--figure", "f.pdf"), "f.pdf is neither .svg nor .png"),
        (("--as-of", "May"), "'May' is no day"),
        (("--metric", "memory_rat"), "no value of 'memory_rat'; nearest: memory_rate"),
        (("--class", "voi"), "unknown class 'voi'; nearest: voip"),
        (("--provider", "azure"), "no value of the provider 'azure'"),
    ],
)
def test_what_is_mistyped_is_one_line(table: Path, words: tuple[str, ...], why: str) -> None:
    done = cloudcmp("history", table, *words)
    assert done.code == 2
    assert why in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_steadiness_is_a_table_and_a_key_of_the_document(tmp_path: Path) -> None:
    spread = {"calm": 0.004, "wild": 0.05}
    rows = [f"{name},rate,op/s,higher,{100 * (1 + width * ((at * 7) % 11 - 5)):.4f},{at}"
            for name, width in spread.items() for at in range(22)]  # fmt: skip
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["offering,metric,unit,better,value,round", *rows]) + "\n", encoding="utf-8")
    done = cloudcmp("compare", path, "--steadiness")
    assert done.code == 0, done.err
    assert "calm against wild" in " ".join(done.out.split())
    assert "steadier" in done.out
    document = cloudcmp("compare", path, "--steadiness", "--json").json
    (pair,) = document["data"]["steadiness"]["pairs"]
    assert (pair["verdict"], pair["a"], pair["b"]) == ("steadier", 0, 1)
    assert pair["ratio"] == pytest.approx(0.08, rel=0.1)
    assert [one["n"] for one in document["data"]["steadiness"]["figures"]] == [22, 22]
    assert cloudcmp("compare", path, "--json").json["data"]["steadiness"] is None
    assert json.dumps(document)


def test_a_timer_needs_rounds_at_set_times(tmp_path: Path) -> None:
    study = tmp_path / "s.yaml"
    text = ("schema: 1\nquestion: which?\ncandidates:\n  - {provider: simulated, region: nimbus, offering: small}\n"
            "probes:\n  - {probe: fma, params: {threads: one}}\nlaunches: 2\nruns: 1\n")  # fmt: skip
    for more, code, words in (
        ("", 2, "nothing is to be timed"),
        ("every: 1 d\nfor: 2 d\n", 0, "OnUnitInactiveSec=600s"),
    ):
        study.write_text(text + more, encoding="utf-8")
        folder = tmp_path / f"out{code}"
        assert cloudcmp("run", study, "--out", folder, "--quiet").code == 0
        done = cloudcmp("run", "--resume", folder, "--timer")
        assert done.code == code
        assert words in done.out + done.err
    assert "names" not in cloudcmp("run", "--timer").out
    assert "add --resume DIR" in cloudcmp("run", "--timer").err
    assert "is past" in cloudcmp("run", study, "--until", "2020-01-01").err
