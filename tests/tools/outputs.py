"""Outputs of tools to test readers with: small ones made for this, and larger ones that others made."""

import os
from pathlib import Path

import pytest

from cloudcmp.model.tool import Report, UnclearOutput
from cloudcmp.tools import READERS

SAMPLES = Path(__file__).parent / "samples"
REAL = Path(os.environ.get("CLOUDCMP_DATA", "nowhere"))
PKB = "pkb_testdata"
RAW = "sparecores/raw_tool_outputs"

OWN = sorted(path.name for path in SAMPLES.iterdir() if path.is_file())
"""A sample's name begins with that of its reader."""

OTHERS = {
    f"{PKB}/fio_fio-parser-sample-result.json": "fio",
    f"{PKB}/sysbench-memory-output-sample.txt": "sysbench",
    f"{PKB}/sysbench-output-sample.txt": "sysbench",
    f"{PKB}/hpcc-sample.txt": "hpcc",
    f"{PKB}/pgbench.stdout.txt": "pgbench",
    f"{PKB}/stress_ng_output.txt": "stress-ng",
    f"{PKB}/wrk_result.txt": "wrk",
    f"{PKB}/ping.out": "ping",
    f"{PKB}/lmbench_output.txt": "lmbench",
    f"{PKB}/omb_mbw_mr.txt": "osu_mbw_mr",
    f"{PKB}/coremark_sample_output.txt": "coremark",
    f"{PKB}/bonnie-plus-plus-sample.txt": "bonnie++",
    **{f"{PKB}/iperf_benchmark_embedded_{number}.txt": "iperf" for number in range(1, 7)},
    f"{PKB}/iperf3_embedded_1.txt": "iperf3",
    f"{PKB}/iperf3_embedded_2.txt": "iperf3",
    f"{RAW}/aws_c7g.xlarge__bw_mem__stdout": "bw_mem",
    f"{RAW}/aws_c7g.xlarge__redis__stdout": "redis",
    f"{RAW}/aws_c7g.xlarge__static_web__stdout": "static_web",
    f"{RAW}/aws_c7g.xlarge__compression_text__stdout": "compression",
    f"{RAW}/aws_c7g.xlarge__passmark__stdout": "passmark",
    f"{RAW}/ovh_b3-8__membench__stdout": "membench",
    f"{RAW}/aws_c7g.xlarge__llm__stdout": "llama-bench",
    f"{RAW}/aws_c7g.xlarge__stressng__stdout": "stress-ng",
    f"{RAW}/aws_m7i.large__openssl__stdout": "openssl",
}
"""Real outputs by their place in the folder of real data, and what reads them."""


def sample(name: str) -> str:
    """An output of our own making."""
    return (SAMPLES / name).read_bytes().decode()


def real(name: str) -> str:
    """An output that others made; the test is skipped where the folder of real data is not there."""
    path = REAL / name
    if not path.exists():
        pytest.skip(f"no real outputs: CLOUDCMP_DATA names no folder with {name}")
    return path.read_bytes().decode()


def reader_of(name: str) -> str:
    """What reads a sample of our own or a real output."""
    if name in OTHERS:
        return OTHERS[name]
    return next(reader for reader in sorted(READERS, key=len, reverse=True) if name.startswith(reader))


def text_of(name: str) -> str:
    """A sample of our own, or a real output."""
    return real(name) if name in OTHERS else sample(name)


def reports(reader: str, text: str) -> tuple[Report, ...]:
    """What a reader finds in a text."""
    return READERS[reader].reports(text)


def values(report: Report) -> dict[str, float]:
    """A report's readings by measure."""
    found = {one.measure: one.value for one in report.readings}
    assert len(found) == len(report.readings)
    return found


def why(reader: str, text: str) -> str:
    """Why a reader is not sure of a text."""
    with pytest.raises(UnclearOutput) as refused:
        reports(reader, text)
    line = str(refused.value)
    assert line
    assert "\n" not in line
    return line
