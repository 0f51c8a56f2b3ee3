"""Outputs of other tools become a study, or are refused with their place."""

import gzip
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from cloudcmp.app.import_ import import_files
from cloudcmp.app.tool_files import FORMATS, ImportOptions, format_of
from cloudcmp.catalog import READERS
from cloudcmp.errors import UserMistake
from tests.cli.command import cloudcmp
from tests.tools.outputs import RAW, REAL, SAMPLES, real, sample

FIO = SAMPLES / "fio-read.json"
IPERF = "pkb_iperf_samples_2014/sample_results.ndjson.gz"


def line(**told: object) -> str:
    """A sample of PerfKitBenchmarker, with what is said otherwise."""
    labels = "|cloud:GCP||machine_type:n1-standard-1||zone:europe-west1-a||threads:4|"
    whole = {
        "test": "sysbench",
        "metric": "tps",
        "value": 12.5,
        "unit": "tps",
        "labels": labels,
        "timestamp": 1400000000,
    }
    return json.dumps({**whole, "sample_uri": "s1", "run_uri": "r1", **told}) + "\n"


def refused(folder: Path, *files: str, asked: ImportOptions | None = None) -> str:
    """Why files are not imported: lines, and no study."""
    with pytest.raises(UserMistake) as mistake:
        import_files(files, folder / "study", None, asked or ImportOptions())
    assert not (folder / "study").exists()
    return str(mistake.value)


def test_files_of_two_offerings_are_compared(tmp_path: Path) -> None:
    for name in ("a1", "a2", "b1"):
        (tmp_path / name).write_text(sample("fio-read.json"))
    said = cloudcmp("import", "small=a1", "small=a2", "large=b1", "--out", "study", cwd=tmp_path)
    assert said.code == 0, said.err
    assert "15 values" in said.out
    assert "a2: the same bytes as a1: a copy is no launch of its own" in said.out
    data = cloudcmp("compare", "study", "--json", cwd=tmp_path).json["data"]
    assert [one["offering"]["name"] for one in data["candidates"]] == ["small", "large"]
    (cell,) = {one["cell"] for one in data["estimates"] if "read_bandwidth" in one["cell"]}
    assert cell.startswith("tool_bytes_per_s measure=read_bandwidth;settings=bs_bytes:131072,")
    by = {one["candidate"]: one for one in data["estimates"] if one["cell"] == cell}
    assert (by[0]["median"], by[0]["n"], by[1]["n"]) == (880316739, 2, 1)


def test_samples_are_a_study_of_their_own(tmp_path: Path) -> None:
    real_path = REAL / IPERF
    if not real_path.exists():
        pytest.skip(f"no real samples: CLOUDCMP_DATA names no folder with {IPERF}")
    said = cloudcmp("import", real_path, "--out", tmp_path / "study")
    assert said.code == 0, said.err
    assert "6 samples left out: repeated" in said.out
    assert "3607 values" in said.out
    rows = cloudcmp("export", tmp_path / "study", "--json").json["data"]
    samples = {}
    with gzip.open(real_path, "rt") as file:
        for each in map(json.loads, file):
            samples[each["sample_uri"]] = each
    # A second witness: the mean of all values by hand, in bytes a second.
    assert sum(row["value"] for row in rows) == pytest.approx(sum(s["value"] for s in samples.values()) * 1e6 / 8)
    assert {row["provider"] for row in rows} == {"gcp"}
    assert {row["metric"] for row in rows} == {"tool_bytes_per_s"}
    assert len({(row["region"], row["offering"]) for row in rows}) == len(
        {(s["labels"].split("sending_zone:")[1].split("|")[0], s["labels"].split("machine_type:")[1].split("|")[0])
         for s in samples.values()}
    )  # fmt: skip


def test_what_samples_do_not_say_is_left_out_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "samples.json"
    file.write_text(
        line() + line(sample_uri="s2", metric="cpu", unit="%") + line(sample_uri="s3", unit="MB/s") + line()
        + line(sample_uri="s4", unit="ms", metric="lat", value=0)
    )  # fmt: skip
    said = cloudcmp("import", file, "--out", tmp_path / "study", "--json")
    assert said.code == 0, said.err
    assert said.json["data"]["values"] == 2
    warnings = "\n".join(said.json["warnings"])
    for words in ("sysbench cpu in %", "repeated", "of zero or less", "powers of ten"):
        assert words in warnings
    rows = cloudcmp("export", tmp_path / "study", "--json").json["data"]
    assert {(row["metric"], row["value"]) for row in rows} == {("tool_op_per_s", 12.5), ("tool_bytes_per_s", 12.5e6)}
    assert rows[0]["params"] == "measure=tps;settings=threads:4;tool=sysbench"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (line() + line()[:60] + "\n", "samples.json:2: this is no JSON object"),
        (line(value="12.5"), "which is no number"),
        (line(labels="|cloud:GCP|"), "no label says the machine type"),
        (line(labels="|cloud:GCP||cloud:AWS||machine_type:x|"), "is there twice"),
        (line(unit="%"), "holds nothing that can be compared"),
        (line(value=1).replace("1,", "NaN,", 1), "cut or broken"),
        (line().replace('"value": 12.5', '"value": 1, "value": 12.5'), "tells 'value' twice"),
    ],
)
def test_doubtful_samples_are_refused_with_their_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "samples.json"
    file.write_text(text)
    assert says in refused(tmp_path, str(file))


def test_names_of_spare_cores_say_what_was_measured(tmp_path: Path) -> None:
    real(f"{RAW}/aws_m7i.large__stressng__stdout")
    files = sorted((REAL / RAW).glob("*__stressng__stdout"))
    said = cloudcmp("import", *files, "--out", tmp_path / "study")
    assert said.code == 0, said.err
    rows = cloudcmp("export", tmp_path / "study", "--json").json["data"]
    assert {(row["provider"], row["offering"]) for row in rows} >= {("aws", "m7i.large"), ("gcp", "e2-medium")}
    assert len({row["instance"] for row in rows}) == len(files)


def test_a_refused_file_refuses_all(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text(sample("fio-read.json")[:3000])
    (tmp_path / "odd.txt").write_text("hello\n")
    said = cloudcmp(
        "import", FIO, tmp_path / "cut.json", tmp_path / "odd.txt", "--offering", "x", "--out", "study", cwd=tmp_path
    )
    assert said.code == 2
    assert "cut.json: fio: line" in said.err
    assert "odd.txt: is neither a tidy table nor a known output" in said.err
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("files", "asked", "says"),
    [
        ((str(FIO),), ImportOptions(), "does not say which offering was measured; add --offering NAME"),
        ((str(FIO),), ImportOptions("fioo", "x"), "unknown format 'fioo'; nearest: fio"),
        ((str(FIO),), ImportOptions("dbench", "x"), "dbench: no line tells the version"),
        (("x=nowhere.json",), ImportOptions("fio"), "no such file"),
        (("both.txt",), ImportOptions(offering="x"), "can be read as"),
        (("table.csv", f"x={FIO}"), ImportOptions(), "is a tidy table"),
        (("x=both.txt", "y=./both.txt"), ImportOptions("dbench"), "is named twice"),
        (("aws_m9.large__fio__stdout",), ImportOptions(), "says that the run ended with 1"),
        (("broken.gz",), ImportOptions(offering="x"), "the gzip file is cut or broken"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], asked: ImportOptions, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "both.txt").write_text(sample("dbench.txt") + sample("stress-ng-cpu.txt"))
    (tmp_path / "table.csv").write_text("offering,metric,unit,better,value\na,speed,op/s,higher,1\n")
    (tmp_path / "aws_m9.large__fio__stdout").write_text(sample("fio-read.json"))
    (tmp_path / "aws_m9.large__fio__meta.json").write_text('{"exit_code": 1, "start": "2024-09-02T21:53:04"}')
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    assert says in refused(tmp_path, *files, asked=asked)


def test_every_format_is_known_by_its_content() -> None:
    assert set(FORMATS) == {"table", "pkb", *READERS}
    for path in SAMPLES.iterdir():
        reader = next(name for name in sorted(READERS, key=len, reverse=True) if path.name.startswith(name))
        assert format_of(path, ImportOptions()) == reader


def test_tools_are_listed() -> None:
    said = cloudcmp("list", "tools", "--json").json["data"]
    assert {"tool": "fio", "packages": "fio", "what it does": said["rows"][0]["what it does"]} == said["rows"][0]
    shown = cloudcmp("list", "tools", "unixbench").out
    assert "./Run -c 1" in shown
    assert "measure index" in shown


def test_a_line_without_an_end_is_not_held_in_memory(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for _ in range(130):
            file.write(b"a" * 2**20)
    peak = _peak(lambda: refused(tmp_path, "x=" + str(bomb)))
    assert peak < 300 * 2**20
    assert "longer than 64 MiB in one line" in refused(tmp_path, "x=" + str(bomb))


def _peak(what: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    assert "is empty" in refused(tmp_path, f"x={tmp_path / 'empty'}")


def test_a_pipe_is_no_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is no plain file" in refused(tmp_path, f"x={tmp_path / 'pipe'}")
