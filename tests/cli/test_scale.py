"""`scale` as a command."""

from pathlib import Path

import pytest

from tests.made_once import run_once

from .command import cloudcmp

STUDY = """\
schema: 1
question: How fast do machines come?
candidates:
  - {provider: simulated, region: nimbus, offering: small}
  - {provider: simulated, region: stratus, offering: small}
probes: [{probe: scaling}]
launches: 8
"""
ROWS = "".join(f"{hour * 3600},{1000 if hour % 24 == 12 else 90}\n" for hour in range(72))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_once(tmp_path_factory, "scale-command", STUDY)


@pytest.fixture
def folder(tmp_path: Path, measured: Path) -> Path:
    (tmp_path / "study").symlink_to(measured)
    (tmp_path / "trace.csv").write_text(f"time,requests_per_s\n{ROWS}", encoding="utf-8")
    return tmp_path


def test_what_to_run_comes_first_and_fits_the_terminal(folder: Path) -> None:
    said = cloudcmp("scale", "study", "--load", "trace.csv", "--capacity", "100", "--owned-cost", "6 USD/month",
                    cwd=folder)  # fmt: skip
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "least money with at most 0.1 % of requests over target"
    assert lines[3].startswith("ANSWER       simulated/stratus/small: ")
    assert any(line.startswith("OWNED        own all 10 machines: 60 USD a month, 5") for line in lines)
    assert any("SIMULATED" in line for line in lines)
    assert "Policies on simulated/stratus/small" in lines
    assert max(map(len, lines)) <= 80


def test_the_document_has_the_policies_of_every_machine(folder: Path) -> None:
    said = cloudcmp("scale", "study", "--load", "trace.csv", "--capacity", "100", "--json", cwd=folder)
    assert said.err == ""
    found = said.json
    assert found["schema"] == "cloudcmp.scale/1"
    data = found["data"]
    assert [one["machine"]["key"]["region"] for one in data["choices"]] == ["stratus", "nimbus"]
    assert {one["policy"] for one in data["choices"][0]["outcomes"]} == {
        "fixed at the peak", "fixed at the mean", "reactive", "scheduled",
    }  # fmt: skip
    assert data["requests"] == 3 * 3600 * (23 * 90 + 1000)
    assert (data["owned"], data["simulated"]) == (None, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--load", "none.csv", "--capacity", "100"], "none.csv: no such file or directory; name a CSV file"),
        (
            ["--load", "trace.csv", "--capacity", "rps"],
            "--capacity: no source has a column 'rps'; write a number",
        ),
        (["--load", "trace.csv", "--capacity", "-5"], "--capacity: '-5' is not more than zero"),
        (["--load", "trace.csv", "--capacity", "100", "--over", "0"], "--over: '0' is not above 0 and at most 50 %"),
        (["--load", "trace.csv"], "cloudcmp scale: missing option '--capacity'"),
        (["--load", "one.csv", "--capacity", "9"], "one.csv: 1 row of load; the length of a step is unknown"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, words: list[str], told: str) -> None:
    (folder / "one.csv").write_text("time,load\n0,1\n", encoding="utf-8")
    said = cloudcmp("scale", "study", *words, cwd=folder)
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(told)
    assert "Traceback" not in said.err
