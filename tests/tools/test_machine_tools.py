"""stress-ng, dbench, PostMark, UnixBench, HPC Challenge and STREAM: known figures, and what makes them not sure."""

import math
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudcmp.published
from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.model.tool import UnclearOutput
from cloudcmp.tools import TOOLS
from tests.tools.outputs import PKB, RAW, real, reports, sample, values, why


def test_stress_ng_of_three_ages() -> None:
    (old,) = reports("stress-ng", real(f"{PKB}/stress_ng_output.txt"))
    assert values(old) == {"bogo_ops": 4485.82, "bogo_ops_by_cpu_time": 2249.65}
    assert old.settings == {"stressor": "context", "workers": "2"}
    (new,) = reports("stress-ng", real(f"{RAW}/aws_c7g.xlarge__stressng__stdout"))
    assert new.tool == "stress-ng-cpu"
    first, second = reports("stress-ng", sample("stress-ng-two.txt"))
    assert values(first) == {"bogo_ops": 425121.28, "bogo_ops_by_cpu_time": 454232.96}
    assert second.settings == {"stressor": "qsort", "workers": "1"}


def test_stress_ng_says_the_same_in_yaml() -> None:
    table = reports("stress-ng", sample("stress-ng-two.txt"))
    yaml = reports("stress-ng", sample("stress-ng-two.yaml"))
    for a, b in zip(table, yaml, strict=True):
        assert values(a) == pytest.approx(values(b), rel=2e-3)
        assert a.settings == b.settings
    # How many worked follows from what all used and what each did; where it does not, it is not told.
    half = sample("stress-ng-two.yaml").replace("instance: 93.591024", "instance: 46.795512")
    assert reports("stress-ng", half)[0].settings["workers"] == "2"
    odd = sample("stress-ng-two.yaml").replace("instance: 93.591024", "instance: 70.0")
    assert "workers" not in reports("stress-ng", odd)[0].settings


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 200), st.floats(0.2, 90.0), st.floats(0.5, 4.0))
def test_stress_ng_is_read_however_slow_the_machine_is(operations: int, real_s: float, busy: float) -> None:
    """The tool prints two decimals: a rate of 0.22 follows from 0.221282 as well as 221.28 does."""
    busy_s = max(0.2, busy * real_s)
    row = (
        f"stress-ng: metrc: [1] cpu {operations:14d} {real_s:9.2f} {busy_s:9.2f} {0:9.2f}"
        f" {operations / real_s:14.2f} {operations / busy_s:14.2f}"
    )
    if float(f"{operations / real_s:.2f}") == 0.0 or float(f"{operations / busy_s:.2f}") == 0.0:
        return
    text = sample("stress-ng-cpu.txt")
    (line,) = [one for one in text.splitlines() if re.search(r"\] cpu +\d", one)]
    (found,) = reports("stress-ng", text.replace(line, row))
    assert values(found)["bogo_ops"] == float(f"{operations / real_s:.2f}")


def test_dbench_counts_in_millions_of_bytes() -> None:
    (report,) = reports("dbench", sample("dbench-sync.txt"))
    assert report.settings == {"clients": "1", "duration_s": "2", "sync": "open"}
    last = next(line for line in sample("dbench-sync.txt").splitlines() if line.startswith("Throughput")).split()
    assert values(report)["throughput"] == float(last[1]) * 1e6
    asked = tool_settings("dbench", {"clients": "1", "duration_s": "2 s", "sync": "open"})
    assert len(TOOLS["dbench"].read(sample("dbench-sync.txt"), asked)) == 2
    with pytest.raises(UnclearOutput, match="says sync open, none was asked for"):
        TOOLS["dbench"].read(sample("dbench-sync.txt"), {**asked, "sync": "none"})


def test_postmark_counts_in_whole_seconds() -> None:
    (report,) = reports("postmark", sample("postmark.txt"))
    found = values(report)
    # 14 seconds in all, 12 of them transactions.
    assert found["transactions"] == 16666
    assert found["created"] == pytest.approx(120191 / 14)
    assert "too short" in why("postmark", sample("postmark.txt").replace("12 seconds of", "3 seconds of"))


def test_unixbench_follows_from_its_scores() -> None:
    one, eight = reports("unixbench", sample("unixbench.txt"))
    assert (values(one)["index"], values(eight)["index"]) == (357.0, 354.0)
    assert (one.settings, eight.settings) == ({"copies": "1"}, {"copies": "8"})
    # The scores of the published table, by hand.
    table = tomllib.loads((Path(cloudcmp.published.__file__).parent / "deval_2017/appendix_a.toml").read_text())
    for printed, report in zip(table["table"], (one, eight), strict=True):
        rows = [(float(score) / float(base)) for _, base, score, _ in printed["rows"][:12]]
        assert round(10 * math.prod(rows) ** (1 / 12), 1) == values(report)["index"]
    readings = TOOLS["unixbench"].read(sample("unixbench.txt"), tool_settings("unixbench", {"copies": "8"}))
    assert readings[0].value == 354.0


def test_hpcc_names_its_units() -> None:
    (report,) = reports("hpcc", real(f"{PKB}/hpcc-sample.txt"))
    found = values(report)
    assert found["hpl"] == pytest.approx(0.0331844e12)
    assert found["dgemm_star"] == pytest.approx(10.3432e9)
    assert found["ptrans"] == pytest.approx(0.338561e9)
    assert found["random_access_mpi"] == pytest.approx(0.0134972e9)
    assert found["stream_triad_single"] == pytest.approx(12.2433e9)
    assert found["fft_mpi"] == pytest.approx(2.49383e9)
    assert found["pingpong_latency"] == pytest.approx(0.34659e-6)
    assert report.settings == {"processes": "4", "n": "39552", "nb": "192"}
    (own,) = reports("hpcc", sample("hpcc.txt"))
    assert own.version == "1.5.0"


def test_stream_follows_from_its_arrays() -> None:
    (report,) = reports("stream", sample("stream.txt"))
    assert values(report) == {"copy": 16e9, "scale": 12.8e9, "add": 19.2e9, "triad": 18461.5e6}
    assert report.settings == {"array_bytes": "80000000", "threads": "2"}


CHANGED = [
    ("stress-ng", "stress-ng-cpu.txt", "successful run", "unsuccessful run", "successful"),
    ("stress-ng", "stress-ng-cpu.txt", "hogs: 2 cpu", "hogs: 2 cpu, 1 vm", "were begun"),
    ("stress-ng", "stress-ng-cpu.txt", "(secs)", "(mins)", "in seconds"),
    ("stress-ng", "stress-ng-two.txt", "425121.28", "425.12", "does not follow"),
    ("stress-ng", "stress-ng-two.txt", "425121.28", "425121,28", "were begun"),
    ("stress-ng", "stress-ng-two.yaml", "stressor: qsort", "stressor: pipe", "twice"),
    ("stress-ng", "stress-ng-two.yaml", "wall-clock-time", "wall-time", "no wall-clock-time"),
    (
        "dbench",
        "dbench.txt",
        "\nThroughput",
        "\nThroughput 1 MB/sec  2 clients  2 procs  max_latency=1 ms\nThroughput",
        "again",
    ),
    ("dbench", "dbench.txt", "max_latency=", "max_latency=0.000 ms; was ", "throughput"),
    ("postmark", "postmark.txt", "megabytes written (", "kilobytes written (", "does not follow"),
    ("postmark", "postmark.txt", "megabytes written (", "furlongs written (", "is not known"),
    ("unixbench", "unixbench.txt", "  357.0", "  358.0", "does not follow"),
    ("unixbench", "unixbench.txt", "  163.2", "  165.2", "its score gives 163.2"),
    ("unixbench", "unixbench.txt", "  116700.0", "  116700.5", "the baseline"),
    ("unixbench", "unixbench.txt", "897.8 MWIPS", "898.8 MWIPS", "here, and"),
    ("unixbench", "unixbench.txt", "897.8 MWIPS", "897.8 GWIPS", "not in MWIPS"),
    ("unixbench", "unixbench.txt", "Index Score    ", "Index Score (Partial Only)    ", "a part of the tests"),
    ("unixbench", "unixbench.txt", "Execl Throughput", "xecl Throughput", "no line tells"),
    ("hpcc", "hpcc.txt", "0 tests completed and failed", "1 tests completed and failed", "failed their residual"),
    ("hpcc", "hpcc.txt", "Success=1", "Success=0", "failed"),
    ("hpcc", "hpcc.txt", "HPL_Tflops=", "HPL_Gflops=", "does not tell HPL_Tflops"),
    ("hpcc", "hpcc.txt", "HPL_Tflops=0.", "HPL_Tflops=1.", "does not follow"),
    ("hpcc", "hpcc.txt", "HPL_Tflops=0.", "HPL_Tflops=0.1\nHPL_Tflops=0.", "told again"),
    ("hpcc", "hpcc.txt", "StarSTREAM_Triad=", "StarSTREAM_Triad=nan", "is not a number"),
    ("stream", "stream.txt", "Best Rate MB/s", "Best Rate GB/s", "MB/s"),
    ("stream", "stream.txt", "16000.0", "1600.0", "does not follow"),
    ("stream", "stream.txt", "Solution Validates", "Failed Validation", "are right"),
]


@pytest.mark.parametrize(("reader", "name", "old", "new", "says"), CHANGED)
def test_a_changed_output_is_not_believed(reader: str, name: str, old: str, new: str, says: str) -> None:
    text = sample(name)
    assert old in text
    assert says in why(reader, text.replace(old, new, 1))
