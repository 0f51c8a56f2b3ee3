"""Outputs with several runs, several machines, failed runs, and the note on each: as the command imports them."""

import json
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.app.import_ import import_files
from cloudcmp.app.tool_files import ImportOptions
from cloudcmp.errors import UserMistake
from tests.cli.command import cloudcmp
from tests.tools.outputs import SAMPLES, sample


def rows_of(study: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = cloudcmp("export", study, "--json").json["data"]
    return rows


def test_each_system_of_a_phoronix_file_is_a_candidate(tmp_path: Path) -> None:
    said = cloudcmp("import", SAMPLES / "phoronix-composite.xml", "--out", tmp_path / "study")
    assert said.code == 0, said.err
    assert "3 runs of pts/compress-7zip with the same settings, each a value of its own, all of one launch" in said.out
    assert "not read: result 4 (pts/compress-7zip-1.10.0): LINE_GRAPH" in said.out
    data = cloudcmp("compare", tmp_path / "study", "--json").json["data"]
    assert [one["offering"]["name"] for one in data["candidates"]] == ["m7i.2xlarge", "m7a.2xlarge"]
    rows = rows_of(tmp_path / "study")
    assert len({(row["offering"], row["instance"]) for row in rows}) == 2
    (failed,) = [row for row in rows if row["outcome"] == "failed"]
    assert (failed["offering"], failed["value"]) == ("m7a.2xlarge", None)
    assert failed["params"].endswith("tool=pts/build-linux-kernel")
    triad = [row["value"] for row in rows if "tool=pts/stream" in row["params"]]
    assert triad == pytest.approx([38011.1e6, 38013.7e6, 45519.9e6, 45521.9e6])


def test_several_systems_in_a_file_are_not_one_offering(tmp_path: Path) -> None:
    file = SAMPLES / "phoronix-composite.xml"
    with pytest.raises(UserMistake, match=r"tells of 2 systems: m7a\.2xlarge, m7i\.2xlarge; write FILE alone"):
        import_files([f"small={file}"], tmp_path / "study", None, ImportOptions())
    one = tmp_path / "one.xml"
    one.write_text(sample("phoronix-composite.xml").replace("m7a.2xlarge", "m7i.2xlarge").split("  <Result>", 1)[0]
                   + RESULT + "</PhoronixTestSuite>\n")  # fmt: skip
    import_files([f"small={one}"], tmp_path / "study", None, ImportOptions())
    assert {row["offering"] for row in rows_of(tmp_path / "study")} == {"small"}


RESULT = """  <Result>
    <Identifier>pts/c-ray-1.2.0</Identifier>
    <Scale>Seconds</Scale>
    <Proportion>LIB</Proportion>
    <Data><Entry><Identifier>m7i.2xlarge</Identifier><Value>12.5</Value><RawString>12.4:12.6</RawString></Entry></Data>
  </Result>
"""


def test_a_run_that_ended_with_a_code_is_a_failure(tmp_path: Path) -> None:
    said = cloudcmp("import", f"small={SAMPLES / 'hyperfine.json'}", "--out", tmp_path / "study")
    assert said.code == 0, said.err
    assert "5 runs of hyperfine with the same settings" in said.out
    assert "failed runs in the file: 1" in said.out
    rows = rows_of(tmp_path / "study")
    assert [row["outcome"] for row in rows] == ["ok"] * 7 + ["failed", "ok"]
    times = [time for result in json.loads(sample("hyperfine.json"))["results"] for time in result["times"]]
    assert [row["value"] for row in rows if row["value"] is not None] == [*times[:7], times[8]]
    assert len({row["instance"] for row in rows}) == 1


def test_means_are_imported_with_a_note_that_runs_are_better(tmp_path: Path) -> None:
    said = cloudcmp("import", f"a={SAMPLES / 'hyperfine-means.csv'}", "--out", tmp_path / "study")
    assert said.code == 0, said.err
    assert "not read: single runs, which hyperfine tells with --export-json" in said.out


def test_runs_of_one_file_are_values_of_one_launch(tmp_path: Path) -> None:
    run = tmp_path / "runs.json"
    run.write_text(sample("iperf3-udp.json") * 3, encoding="utf-8")
    said = cloudcmp("import", f"a={run}", "--out", tmp_path / "study")
    assert said.code == 0, said.err
    assert "runs.json: 3 runs of iperf3 with the same settings, each a value of its own, all of one launch" in said.out
    rows = rows_of(tmp_path / "study")
    assert len([row for row in rows if row["metric"] == "tool_jitter_s"]) == 3
    assert len({row["instance"] for row in rows}) == 1
    single = cloudcmp("import", f"a={SAMPLES / 'iperf3-udp.json'}", "--out", tmp_path / "single")
    assert "runs of" not in single.out


@pytest.mark.parametrize(
    "name",
    ["hyperfine.json", "k6-export.json", "phoronix-composite.xml", "phoronix-result.json", "iperf3-udp.json",
     "openssl-digests-multi.txt"],
)  # fmt: skip
@pytest.mark.parametrize("share", [0.35, 0.6, 0.97])
def test_a_cut_file_is_refused_in_one_line(tmp_path: Path, name: str, share: float) -> None:
    text = sample(name)
    (tmp_path / name).write_text(text[: int(len(text) * share)], encoding="utf-8")
    said = cloudcmp("import", f"a={name}", "--out", "study", cwd=tmp_path)
    assert said.code == 2
    assert len(said.err.strip().splitlines()) == 1
    assert said.err.startswith(name)
    assert not (tmp_path / "study").exists()


TABLE = (
    "offering;metric;unit;value\na;score_points;points;12,5\na;score_points;points;13\nb;score_points;points;14,25\n"
)


def test_a_table_of_a_spreadsheet_without_a_direction(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    said = cloudcmp("import", "table.csv", "--out", "study", cwd=tmp_path)
    assert said.code == 2
    assert "table.csv:2: whether a higher or a lower score_points is better is not known" in said.err
    assert "--better higher|lower" in said.err
    said = cloudcmp("import", "table.csv", "--out", "study", "--better", "higher", cwd=tmp_path)
    assert said.code == 0, said.err
    assert "higher counts as better, as --better says: score_points" in said.out
    rows = rows_of(tmp_path / "study")
    assert [(row["value"], row["better"]) for row in rows] == [(12.5, "higher"), (13.0, "higher"), (14.25, "higher")]


def test_a_direction_that_is_there_is_kept_and_said_so(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(
        TABLE.replace("unit;value", "unit;better;value").replace("points;1", "points;lower;1"), encoding="utf-8"
    )
    said = cloudcmp("import", "table.csv", "--out", "study", "--better", "higher", cwd=tmp_path)
    assert said.code == 0, said.err
    assert "--better higher was not needed: the direction of every metric is known" in said.out
    assert {row["better"] for row in rows_of(tmp_path / "study")} == {"lower"}
    said = cloudcmp("import", "table.csv", "--out", "other", "--better", "faster", cwd=tmp_path)
    assert said.code == 2
    assert "Traceback" not in said.err


def test_a_table_with_semicolons_is_no_output_of_a_tool(tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text(TABLE.replace(";", "\t"), encoding="utf-8")
    said = cloudcmp("import", "x=table.tsv", "--out", "study", cwd=tmp_path)
    assert said.code == 2
    assert "table.tsv: is a tidy table; import it alone" in said.err
