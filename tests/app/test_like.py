"""At least as good as a machine that is known: an offering of a table, or this one, measured by the table's tools."""

import os
from pathlib import Path

import pytest

from cloudcmp.app.like import needs_like
from cloudcmp.app.recommend import question, recommend, sold
from cloudcmp.errors import UserMistake
from tests.cli.command import cloudcmp

TABLE = """\
provider,offering,region,usd_per_hour,memory_gib,stressng_1,stressng_best_n,passmark_me_latency,colour
aws,m5.large,us-east-1,0.096,8,1277,1678,80,3
aws,m6.large,us-east-1,0.090,8,1500,1640,60,1
aws,m4.large,us-east-1,0.050,8,900,1200,90,2
gcp,n2-standard-2,us-east1,0.040,4,1900,3000,70,5
gcp,m5.large,us-east1,0.2,4,,,,
"""
STRESS = """\
stress-ng: info:  [1] setting to a 20 second run per stressor
stress-ng: info:  [1] dispatching hogs: {workers} cpu
stress-ng: metrc: [1] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [1]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [1] cpu               {ops}     20.00     {cpu}      0.00     {rate}   1000.00
stress-ng: info:  [1] successful run completed in 20.01s
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return str(path)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *, share: float = 1.0, fails: bool = False) -> None:
    """Put a stress-ng first on the search path that prints what the real one does, at 1,000 operations a CPU second."""
    folder.mkdir()
    cpus = len(os.sched_getaffinity(0))
    for workers in {1, cpus}:
        rate = 1000 * workers * share
        text = STRESS.format(
            workers=workers, ops=round(rate * 20), cpu=f"{20 * workers * share:.2f}", rate=f"{rate:.2f}"
        )
        (folder / f"out-{workers}").write_text(text, encoding="utf-8")
    script = folder / "stress-ng"
    script.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'stress-ng, version 0.17.08'; exit; }}\n"
        f'[ "$*" = "--metrics --cpu $3 --cpu-method div16 -t 20" ] || exit 9\ncat {folder}/out-$3\nexit {int(fails)}\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(
        "cloudcmp.app.like.find_program", lambda name: str(folder / name) if name == "stress-ng" else None
    )


def test_the_cheapest_that_is_as_good_as_an_offering(table: str) -> None:
    found = recommend([table], question(like="aws/m5.large"))
    assert [one.key.name for one in found.picks] == ["m6.large", "m5.large"]  # within 3 % of it in the second score
    assert [one.pick.key.name for one in found.misses] == ["n2-standard-2"]


def test_a_column_of_which_less_is_better(table: str) -> None:
    found = recommend([table], question(like="n2-standard-2", on=["passmark_me_latency"]))
    assert {one.key.name for one in found.picks} == {"n2-standard-2", "m6.large"}


def test_this_machine_is_measured_by_the_tables_tool(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "bin", monkeypatch)
    said: list[str] = []
    wanted = needs_like("local", sold([table]), ["stressng_1", "stressng_best_n"], said.append)
    numbers = [float(one.values[0]) for one in wanted.needs]
    assert numbers[:2] == pytest.approx([970, 970 * len(os.sched_getaffinity(0))])
    assert wanted.needs[2].name == "memory_gib"
    assert wanted.notes == ()
    assert len(said) == 2


def test_a_busy_machine_says_so(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch, share=0.6)
    wanted = needs_like("local", sold([table]), ["stressng_1"])
    assert wanted.notes == ("this machine was busy: stress-ng had 60 % of its processors, so it looks slower",)


def test_a_tool_that_fails_or_lacks_is_named(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch, fails=True)
    with pytest.raises(
        UserMistake, match="nothing of local is known: stressng_1 is not measured here: stress-ng ended"
    ):
        needs_like("local", sold([table]), ["stressng_1"])
    monkeypatch.setattr("cloudcmp.app.like.find_program", lambda _: None)
    with pytest.raises(UserMistake, match="stress-ng is not installed"):
        needs_like("local", sold([table]), ["stressng_1"])


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--like", "m7.large"], "--like: no source has an offering 'm7.large'; nearest: m"),
        (
            ["--like", "m5.large"],
            "--like: 'm5.large' is 2 offerings: aws/m5.large, gcp/m5.large; name its provider too",
        ),
        (["--like", "aws/m5.large", "--on", "colour"], "--on: whether more of 'colour' is better is not known here"),
        (["--like", "gcp/m5.large"], "--like: nothing of gcp/m5.large is known"),
    ],
)
def test_a_mistake_is_one_line(table: str, words: list[str], what: str) -> None:
    done = cloudcmp("recommend", table, *words)
    assert done.code == 2
    told = [line for line in done.err.splitlines() if not line.startswith("reading")]
    assert len(told) == 1, done.err
    assert told[0].startswith(what)
