"""What the commands cost as the work grows: processor seconds and the peak of memory of each, by rows.

    .venv/bin/python benchmarks/scale.py [--most 1000000] [--only import]

A case is a name, how its input is made in a folder, and the command that is measured. Inputs are made in processes of
their own, because a process is billed the peak of memory of the one that started it.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

COMMAND = Path(sys.executable).with_name("cloudcmp")
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
_CANDIDATES, _CELLS, _ROUNDS = 10, 10, 8
_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Case:
    """What is measured: `make` fills a folder for a number of rows, `command` is run in it."""

    name: str
    make: Callable[[Path, int], None]
    command: Sequence[str]


@dataclass(frozen=True)
class Cost:
    """What a command took: processor seconds (user and system), and the peak of its memory."""

    cpu_s: float
    peak_mib: float


def table(folder: Path, rows: int, ending: str) -> None:
    """A tidy table of 10 candidates, 10 cells and 8 rounds, with named instances, times and prices."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    path = folder / f"table.{ending}"
    schema = _part(0, 1).schema
    options = pyarrow.csv.WriteOptions(quoting_style="none")
    with (
        pyarrow.csv.CSVWriter(path, schema, write_options=options)
        if ending == "csv"
        else pq.ParquetWriter(path, schema, compression="zstd") as writer
    ):
        for first in range(0, rows, _AT_ONCE):
            writer.write_table(_part(first, min(_AT_ONCE, rows - first)))


def _part(first: int, rows: int) -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    at = np.arange(first, first + rows)
    candidate, cell, round_ = at % _CANDIDATES, at // _CANDIDATES % _CELLS, at // (_CANDIDATES * _CELLS) % _ROUNDS
    value = np.random.default_rng(first).lognormal(0.02 * candidate, 0.1)
    day = np.datetime64("2026-01-31T12:00:00") + (at // 1000).astype("timedelta64[s]")

    def text(codes: "np.ndarray[tuple[int], np.dtype[np.int64]]", names: Iterable[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(names))).dictionary_decode()

    zero = np.zeros(rows, np.int64)
    return pa.table({
        "provider": text(zero, ["aws"]), "region": text(zero, ["eu-west-1"]),
        "offering": text(candidate, (f"type-{one:04d}" for one in range(_CANDIDATES))),
        "instance": text(round_ * _CANDIDATES + candidate, (f"i-{one:04d}" for one in range(_ROUNDS * _CANDIDATES))),
        "round": pa.array(round_), "session": text(zero, [""]),
        "time": pa.array([f"{one}.000000Z" for one in day.astype(str).tolist()]),
        "metric": text(cell, (f"metric{one:02d}" for one in range(_CELLS))), "params": text(zero, ["case=0"]),
        "unit": text(zero, ["op/s"]), "better": text(zero, ["higher"]), "value": pa.array(value),
        "outcome": text(zero, ["ok"]),
        "price_usd_per_hour": text(candidate, (f"{0.1 + one / 100:.2f}" for one in range(_CANDIDATES))),
    })  # fmt: skip


def imported(folder: Path, rows: int) -> None:
    """A study that was imported of such a table."""
    table(folder, rows, "parquet")
    subprocess.run([COMMAND, "import", "table.parquet", "--out", "study"], cwd=folder, check=True, capture_output=True)


def _parquet(folder: Path, rows: int) -> None:
    table(folder, rows, "parquet")


def _csv(folder: Path, rows: int) -> None:
    table(folder, rows, "csv")


CASES = (
    Case("import of Parquet", _parquet, ("import", "table.parquet", "--out", "study")),
    Case("import of CSV", _csv, ("import", "table.csv", "--out", "study")),
    Case("compare, imported", imported, ("compare", "study")),
    Case("export to Parquet", imported, ("export", "study", "--out", "out.parquet")),
    Case("export to CSV", imported, ("export", "study", "--out", "out.csv")),
)


def measured(case: Case, rows: int) -> Cost:
    """Make the input of a case, and run its command once."""
    with tempfile.TemporaryDirectory(prefix="cloudcmp-scale-") as folder:
        maker = multiprocessing.get_context("spawn").Process(target=case.make, args=(Path(folder), rows))
        maker.start()
        maker.join()
        if maker.exitcode:
            raise SystemExit(f"{case.name}: its input can not be made")
        process = subprocess.Popen([COMMAND, *case.command], cwd=folder, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{case.name}: {' '.join(case.command)} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--most", type=int, default=1_000_000, help="the largest number of rows")
    asked.add_argument("--only", default="", help="cases whose names hold this")
    told = asked.parse_args()
    sizes = [size for size in SIZES if size <= told.most]
    print("| rows |" + "".join(f" {size:,} |" for size in sizes))
    print("|---|" + "---|" * len(sizes))
    for case in CASES:
        if told.only in case.name:
            costs = [measured(case, size) for size in sizes]
            print(
                f"| {case.name} |" + "".join(f" {one.cpu_s:.1f} s, {one.peak_mib:.0f} MiB |" for one in costs),
                flush=True,
            )


if __name__ == "__main__":
    main()
