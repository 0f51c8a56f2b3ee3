"""`simulate` as a command."""

from pathlib import Path

import pytest

from tests.made_once import run_once

from .command import cloudcmp

WORLD = """\
schema: 1
name: small
duration: 1 h
runs: 2
service: 20 ms
user_bases:
  - {name: west, region: NA, users: 200, requests_per_hour: 60, request: 1 KB, response: 10 KB}
  - {name: "east [red]", region: EU, users: 100, requests_per_hour: 60, request: 1 KB, response: 10 KB}
data_centres:
  - {name: US, region: NA, machines: 2, price: 0.10 USD/h, transfer: 0.09 USD/GB}
  - {name: EU, region: EU, machines: 2, price: 0.10 USD/h, transfer: 0.09 USD/GB}
search: {choose: 2, target: 200 ms}
variants: {near: {why: A cable., latency: {NA to EU: 30 ms}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "world.yaml").write_text(WORLD, encoding="utf-8")
    return tmp_path


def test_the_answer_comes_first_and_every_table_says_that_it_is_simulated(folder: Path) -> None:
    said = cloudcmp("simulate", "world.yaml", "--variant", "near", cwd=folder)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "small [SIMULATED]"
    assert lines[1].startswith("seed 1 | 2 runs of 1 h | ")
    assert lines[3].startswith("ANSWER       US and EU: the least cost with a mean of at most 200 ms")
    assert any("VARIANT      near: A cable." in line for line in lines)
    assert "east [red]" in said.out
    assert max(map(len, lines)) <= 80
    assert "run 2 of 2" in said.err


def test_a_growing_queue_has_no_mean_that_holds_and_meets_nothing(folder: Path) -> None:
    text = WORLD.replace("service: 20 ms", "service: 900 ms").replace("target: 200 ms", "target: 60 s")
    (folder / "slow.yaml").write_text(text, encoding="utf-8")
    said = cloudcmp("simulate", "slow.yaml", cwd=folder)
    assert said.code == 0, said.err
    assert "no set of at most 2 data centres comes with a mean of at most 60" in " ".join(said.out.split())
    assert "MEAN         none holds: the queue of US grows without end in all" in said.out
    assert "*: a queue grows, so that the mean is that of this span alone" in " ".join(said.out.split())
    assert "overloaded" in said.out
    assert "1e+02" not in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_equal_seeds_print_equal_documents(folder: Path) -> None:
    first, again = (cloudcmp("simulate", "world.yaml", "--json", cwd=folder).out for _ in range(2))
    other = cloudcmp("simulate", "world.yaml", "--json", "--seed", "2", cwd=folder)
    assert first == again != other.out
    assert other.json["schema"] == "cloudcmp.simulate/1"
    assert other.json["data"]["scenario"]["seed"] == 2
    assert other.json["data"]["simulated"]
    assert other.json["data"]["search"]["choice"]["centres"] == ["US", "EU"]


def test_a_page_runs_nothing_and_has_the_chart(folder: Path) -> None:
    said = cloudcmp("simulate", "world.yaml", "--quiet", "--page", "world.html", cwd=folder)
    assert said.out.splitlines()[-1] == "world.html"
    page = (folder / "world.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert 'id="figure-response-times"' in page
    assert 'id="figure-response-map"' in page
    assert "Every number below is simulated" in page
    assert "seed 1" in page


STUDY = """\
schema: 1
question: How long does a task take?
candidates: [{provider: simulated, region: nimbus, offering: small}]
probes: [{probe: task}]
launches: 3
"""


def test_a_service_time_that_a_study_measured(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (folder / "study").symlink_to(run_once(tmp_path_factory, "simulate-command", STUDY))
    text = WORLD.replace("20 ms", "{study: study, cell: task_time_s}")
    (folder / "measured.yaml").write_text(text, encoding="utf-8")
    wrong = cloudcmp("simulate", "measured.yaml", cwd=folder)
    assert wrong.code == 2
    assert "measured.yaml:5:10: the study did not measure 'task_time_s'; it has: " in wrong.err
    cell = wrong.err.partition("it has: ")[2].partition(", ")[0].strip()
    (folder / "measured.yaml").write_text(text.replace("task_time_s", f'"{cell}"'), encoding="utf-8")
    said = cloudcmp("simulate", "measured.yaml", "--quiet", cwd=folder)
    assert said.code == 0, said.err
    assert "itself simulated (n = 3)" in " ".join(said.out.split())


TIMES = """\
vantage,provider,region,ms
Madrid,aws,eu-west-3,{}
Paris,aws,eu-west-3,4
Tokyo,aws,eu-west-3,2
"""
MEASURED = """\
schema: 1
duration: 1 h
runs: 2
service: 5 ms
latency: {wan: times.csv}
bandwidth: 1 Gbit/s
user_bases: [{name: south, region: Madrid, users: 10, requests_per_hour: 60, request: 1 KB}]
data_centres: [{name: X, region: aws/eu-west-3, machines: 1}]
"""


def test_round_trips_that_light_could_not_do_are_no_latencies(folder: Path) -> None:
    (folder / "measured.yaml").write_text(MEASURED, encoding="utf-8")
    (folder / "times.csv").write_text(TIMES.format("20"), encoding="utf-8")
    said = cloudcmp("simulate", "measured.yaml", "--quiet", cwd=folder)
    assert said.code == 0, said.err
    assert "1 round trip is left out: light in fibre could not do it" in " ".join(said.out.split())
    (folder / "times.csv").write_text(TIMES.format("0.02"), encoding="utf-8")
    said = cloudcmp("simulate", "measured.yaml", cwd=folder)
    assert said.code == 2
    assert "no latency from Madrid to aws/eu-west-3 is known that light in fibre could do" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["none.yaml"], "none.yaml: there is no such file"),
        (["."], ".: this is a folder"),
        (["world.yaml", "--variant", "far"], "--variant: the scenario has no variant 'far'; it has: near"),
        (["world.yaml", "--runs", "1"], "--runs: a search needs the interval of the simulation"),
        (["world.yaml", "--runs", "0"], "--runs: 0 is not between 1 and 1000"),
        (["bad.yaml"], "bad.yaml:7:37: users: -5 is not a number of users from 0 to 1000000000"),
        (["table.yaml"], "published: delgado-2010 has no table '9'"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, words: list[str], told: str) -> None:
    (folder / "bad.yaml").write_text(WORLD.replace("users: 200", "users: -5"), encoding="utf-8")
    table = "published: {document: delgado-2010, table: '9', rows: {}}\n"
    (folder / "table.yaml").write_text(WORLD + table, encoding="utf-8")
    said = cloudcmp("simulate", *words, cwd=folder)
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(told)
    assert "Traceback" not in said.err
