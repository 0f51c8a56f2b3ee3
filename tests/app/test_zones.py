"""Studies within a zone and between two, from a file to the report, on emulated clouds."""

import contextlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.app.clouds import Sky, clouds, unable
from tests.emulated.kinds import kind
from tests.slices import some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")

ZONES = {"aws": ("us-east-1b", "us-east-1a"), "gcp": ("us-central1-c", "us-central1-a"), "azure": ("2", "1")}
STUDY = """\
schema: 1
question: How far is the next zone?
candidates:
%sprobes:
  - {probe: int, params: {threads: one, duration_s: 0.05}}
  - {probe: rtt, params: {path: zones, duration_s: 0.1}}
  - {probe: tcp, params: {path: zones, duration_s: 0.1}}
launches: 1
runs: 1
budget: 1 USD
caps: {duty: 100 %%}
"""


def written(sky: Sky, cloud: str) -> None:
    first, far = ZONES[cloud]
    rented = kind(cloud).rented(f"zone: {first}").rstrip("\n") + f"\n    far: {{zone: {far}}}\n"
    (sky.folder / "study.yaml").write_text(STUDY % rented)


def attempts(sky: Sky) -> list[tuple[str, str, dict[str, Any]]]:
    """The outcome, the reason and the facts of each attempt."""
    with contextlib.closing(sqlite3.connect(f"file:{sky.folder / 'out' / 'study.db'}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT outcome, why, facts FROM attempt").fetchall()
    return [(outcome, why, json.loads(facts or "{}")) for outcome, why, facts in rows]


@pytest.mark.parametrize("cloud", some(tuple(ZONES), 1, 0))
def test_p01_a_pair_between_two_zones_is_measured_and_leaves_nothing(cloud: str, tmp_path: Path) -> None:
    with clouds(tmp_path / "sky", (cloud,)) as sky:
        written(sky, cloud)
        ran = sky.shortly("run", "study.yaml", "--out", "out", "--json")
        assert ran.code == 0, ran.out + ran.err
        assert {outcome for outcome, _, _ in attempts(sky)} == {"ok"}, attempts(sky)
        assert {tuple(facts["zones"]) for _, _, facts in attempts(sky)} == {ZONES[cloud]}
        measured = {one["cell"].split()[0] for one in ran.json["data"]["estimates"] if one["n_ok"]}
        assert {"int_op_per_s", "rtt_s", "tcp_bytes_per_s"} <= measured
        assert [*sky.left(), *sky.harm(), *sky.bodies(), *sky.unwritten] == []
        report = (sky.folder / ran.json["data"]["report"]).read_text()
        assert "path=zones" in report
        assert "Co-location cannot be told" in report or cloud == "aws"


def test_machines_that_a_cloud_puts_into_one_zone_are_invalid_and_send_nothing(tmp_path: Path) -> None:
    with clouds(tmp_path / "sky") as sky:
        sky.cloud.faults = replace(sky.cloud.faults, zones="ignored")
        written(sky, "aws")
        ran = sky.shortly("run", "study.yaml", "--out", "out", "--json")
        between = [one for one in attempts(sky) if one[0] != "ok"]
        assert len(between) == 2, ran.out + ran.err
        for outcome, why, facts in between:
            assert outcome == "invalid"
            assert why == "path: zones, and both machines are in us-east-1a"
            assert facts["notes"] == {"payload_bytes": 0}
        assert sky.left() == []
        assert "both machines are in us-east-1a" in (sky.folder / ran.json["data"]["report"]).read_text()
