"""Parquet files of few bytes that unpack to gigabytes are refused in one line, whoever reads them, in little memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.slices import long, some

_MEASURE = """
import sys
from pathlib import Path
from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.store import parquet_rows
from cloudcmp.store.tidy_check import read_tidy
path = Path(sys.argv[1])
for read in (
    lambda: read_tidy(path, METRICS),
    lambda: sum(1 for _ in parquet_rows(path, ("offering", "metric", "note")))):
    try:
        read()
    except UserMistake as error:
        print(error.faults[0].line())
[peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(peak.split()[1]) // 1024)
"""


def texts(text: str, count: int) -> pa.DictionaryArray:
    """One text, named by many rows."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([text], pa.large_string()))


def table(count: int, note: pa.Array) -> pa.Table:
    """A tidy table with a column of notes."""
    names = {"offering": "a", "metric": "m", "unit": "s", "better": "lower"}
    return pa.table(
        {**{name: texts(text, count) for name, text in names.items()}, "value": pa.array(np.ones(count)), "note": note}
    )


def dictionary(path: Path) -> None:
    """4000 rows that name one text of 500 kB."""
    pq.write_table(table(4000, texts("x" * 500_000, 4000)), path, compression="zstd")


def pages(path: Path) -> None:
    """1100 texts of 500 kB, none the same, in a page that compresses well."""
    count, size = 1100, 500_000
    text = np.full((count, size), ord("x"), np.uint8)
    text[:, :5] = np.char.zfill(np.arange(count).astype("S5"), 5).view(np.uint8).reshape(count, 5)
    ends = np.arange(count + 1, dtype=np.int64) * size
    notes = pa.LargeStringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(text))
    pq.write_table(table(1100, notes), path, compression="zstd", use_dictionary=False, write_statistics=False)


def rows(path: Path) -> None:
    """6 x 10^7 rows of nothing."""
    part = table(10**6, texts("n", 10**6))
    with pq.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(60):
            writer.write_table(part)


def measured(path: Path) -> list[str]:
    """What both readers of such files say, and the peak of their memory in MiB."""
    run = subprocess.run([sys.executable, "-c", _MEASURE, path], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.splitlines()


@long
@pytest.mark.parametrize(
    ("bomb", "told"),
    [
        (dictionary, "a cell of the column 'note' has 500000 bytes, more than 131072"),
        *some(
            [
                (rows, "has 60000000 rows, more than 50000000"),
                (pages, "a part of it unpacks to more than 512MB"),
            ],
            1,
            0,
        ),
    ],
)
def test_a_small_file_takes_little_memory(bomb: object, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    bomb(path)
    assert path.stat().st_size < 4_000_000
    *lines, peak_mb = measured(path)
    assert lines == [f"{path}: {told}; split it, or write it as CSV"] * 2
    assert int(peak_mb) < 700, "MiB"


def test_long_cells_are_read_few_rows_at_a_time(tmp_path: Path) -> None:
    """Cells just short enough, many of them: the batches stay small."""
    path = tmp_path / "long.parquet"
    pq.write_table(table(2000, texts("x" * 100_000, 2000)), path, compression="zstd")
    *_, peak_mb = measured(path)
    assert int(peak_mb) < 450, "MiB"


def test_a_name_that_is_a_pattern(tmp_path: Path) -> None:
    from cloudcmp.store import parquet_rows

    path = tmp_path / "a[b]*?'.parquet"
    pq.write_table(table(3, texts("n", 3)), path)
    assert list(parquet_rows(path, ("offering", "note"))) == [["a", "n"]] * 3
