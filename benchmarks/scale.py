"""How cost grows with the work: processor time and memory of real commands on studies of growing size.

    .venv/bin/python benchmarks/scale.py                  # every case but the long ones
    .venv/bin/python benchmarks/scale.py --long           # every case
    .venv/bin/python benchmarks/scale.py compare-10x10    # the named ones; --keep FOLDER keeps their studies for later

Each case makes its study in a process of its own, which is not measured, then runs one command as a process and prints
its processor seconds (user + system), its wall time and its peak of resident memory. A row is one line of CASES.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from cloudcmp.model.plan import Plan

ROOT = Path(__file__).parent.parent
CLOUDCMP = Path(os.environ.get("CLOUDCMP", ROOT / ".venv/bin/cloudcmp"))

Make = Callable[[Path], None]
ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Case:
    """A row: what is made in an empty folder, and the command that is then run in that folder and measured."""

    name: str
    what: str
    make: Make
    command: tuple[str, ...]
    long: bool = False


def nothing(folder: Path) -> None:
    """For commands that need no study."""


def table(candidates: int, cells: int, rounds: int = 8) -> Make:
    """An imported study: lognormal values whose true levels span 10 % over the candidates, a launch a round."""

    def make(folder: Path) -> None:
        import random

        rng = random.Random(1)
        with (folder / "table.csv").open("w", encoding="utf-8") as file:
            file.write("provider,region,offering,instance,round,metric,params,unit,better,value,price_usd_per_hour\n")
            for at in range(candidates):
                level = 1e3 * (1.0 + 0.1 * at / max(candidates - 1, 1))
                for number in range(rounds):
                    for cell in range(cells):
                        value = level * rng.lognormvariate(0.0, 0.03)
                        file.write(f"cloud,r,type-{at:04},i{at}-{number},{number + 1},ops_per_s,case={cell},op/s,"
                                   f"higher,{value!r},{0.1 + at / 1000:.4f}\n")  # fmt: skip
        subprocess.run([CLOUDCMP, "import", "table.csv", "--out", "study"], cwd=folder, check=True, capture_output=True)

    return make


def offerings(count: int, metrics: int) -> Make:
    """A table of offerings with prices, sizes and metrics of one run each."""

    def make(folder: Path) -> None:
        import random

        rng = random.Random(1)
        names = [f"metric_{at}" for at in range(metrics)]
        with (folder / "offers.csv").open("w", encoding="utf-8") as file:
            file.write(
                ",".join(["provider,offering,region,usd_per_hour,vcpus,memory_gib", *names, "metric_date"]) + "\n"
            )
            for at in range(count):
                vcpus = 2 ** rng.randrange(8)
                values = [f"{vcpus * 1e3 * rng.lognormvariate(0, 0.3):.2f}" for _ in names]
                head = f"aws,m{at % 97}i.{at},us-east-1,{vcpus * rng.uniform(0.03, 0.07):.5f},{vcpus},{vcpus * 4}"
                file.write(",".join([head, *values, "2026-01-05"]) + "\n")

    return make


def fleet(count: int, metrics: int, machines: int) -> Make:
    """Such a table of offerings, and an inventory of machines of its types, each with a use of its own."""

    def make(folder: Path) -> None:
        import random

        offerings(count, metrics)(folder)
        rng = random.Random(2)
        sold = [line.split(",")[:3] for line in (folder / "offers.csv").read_text(encoding="utf-8").splitlines()[1:]]
        with (folder / "inventory.csv").open("w", encoding="utf-8") as file:
            file.write("resource,provider,offering,region,count,cpu_p95_percent,memory_p95_percent\n")
            for at in range(machines):
                use = f"{rng.uniform(5, 95):.1f},{rng.uniform(5, 95):.1f}"
                file.write(f"i-{at},{','.join(rng.choice(sold))},{rng.randrange(1, 9)},{use}\n")

    return make


def measured(samples: int, candidates: int = 20, rounds: int = 6, probes: int = 38, *, compacted: bool = True) -> Make:
    """A measured study of `samples` in all: two cells a trial, every tenth trial a latency's histogram beside them."""

    def make(folder: Path) -> None:
        import numpy as np

        from cloudcmp.model.trial import Attempt, Outcome, Sample
        from cloudcmp.stats.histogram import encode
        from cloudcmp.store import StudyStore

        plan = measured_plan(candidates, rounds, probes)
        rng = np.random.default_rng(1)
        count = max(2, samples // len(plan.trials) // 2)
        with StudyStore.create(folder / "study", plan, study_text="", provenance={}, created_at=0.0) as store:
            for trial in plan.trials:
                level = 1e9 * (1.0 + 0.005 * plan.launches[trial.launch].candidate)
                found: list[Sample] = []
                for cell in trial.cells:
                    metric, _, params = cell.partition(" ")
                    if "percentile" in params:
                        rest = ";".join(part for part in params.split(";") if not part.startswith("percentile"))
                        hist = encode(rng.lognormal(11.0, 0.3, 200))
                        found.append(Sample(len(found), metric, rest, 1.0, None, hist))
                        continue
                    values = (level * rng.lognormal(0.0, 0.03, count)).tolist()
                    first = len(found)
                    found += [Sample(first + i, metric, params, 0.1 * (i + 1), value, None)
                              for i, value in enumerate(values)]  # fmt: skip
                store.begin_attempt(trial.index, 0, 0.0)
                store.finish_attempt(Attempt(trial.index, 0, Outcome.OK, 0.0, 1.0, ""), found)
            if compacted:
                store.compact()

    return make


def measured_plan(candidates: int, rounds: int, probes: int) -> "Plan":
    """A plan of `rounds` launches of each candidate, on which each probe runs once."""
    from cloudcmp.model.offering import Offering
    from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial, Quote

    sold = [Candidate(at, f"type-{at:02}", Offering("simulated", "r", f"type-{at:02}"), "simulated")
            for at in range(candidates)]  # fmt: skip
    launches = [Launch(i, i % candidates, i // candidates, None, 60.0 * i, i) for i in range(candidates * rounds)]
    trials = []
    for launch in launches:
        for probe in range(probes):
            cells = [f"fma_flop_per_s precision=f64;threads={probe + 1}",
                     f"chase_latency_s pages=base;size_bytes={1024 * (probe + 1)}"]  # fmt: skip
            if probe % 10 == 0:
                cells.append(f"rtt_s path=loopback;percentile=99;protocol=tcp;size_bytes={64 * (probe + 1)}")
            trials.append(PlannedTrial(len(trials), launch.index, "fma", (), tuple(cells), 0, 0.0, 1.0, 20.0, 1))
    quote = Quote(len(trials), 60.0, None, None, (), 0.05)
    return Plan("scale", "which?", tuple(sold), tuple(launches), tuple(trials), (), (), rounds, 1, 7, 0.0, quote)


def many(candidates: int) -> Make:
    """The file of a study with so many candidates, a volume and a price each."""

    def make(folder: Path) -> None:
        lines = ["schema: 1", "name: many", "question: which?", "probes: [{probe: fma}]", "candidates:"]
        for at in range(candidates):
            lines += [
                "  - provider: simulated",
                f"    region: region-{at:04}",
                "    offering: medium",
                "    volume: {type: block, size: 10 GiB, price: 0.002 USD/h}",
                f"    price: {0.1 + at / 10000:.4f} USD/h",
            ]
        (folder / "study.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    return make


def write_rows(folder: Path, rows: int, ending: str) -> None:
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
        for first in range(0, rows, ROWS_AT_ONCE):
            writer.write_table(_part(first, min(ROWS_AT_ONCE, rows - first)))


def _part(first: int, rows: int) -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    at = np.arange(first, first + rows)
    candidate, cell, round_ = at % 10, at // 10 % 10, at // (100) % 8
    value = np.random.default_rng(first).lognormal(0.02 * candidate, 0.1)
    day = np.datetime64("2026-01-31T12:00:00") + (at // 1000).astype("timedelta64[s]")

    def text(codes: "np.ndarray[tuple[int], np.dtype[np.int64]]", names: Iterable[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(names))).dictionary_decode()

    zero = np.zeros(rows, np.int64)
    return pa.table({
        "provider": text(zero, ["aws"]), "region": text(zero, ["eu-west-1"]),
        "offering": text(candidate, (f"type-{one:04d}" for one in range(10))),
        "instance": text(round_ * 10 + candidate, (f"i-{one:04d}" for one in range(80))),
        "round": pa.array(round_), "session": text(zero, [""]),
        "time": pa.array([f"{one}.000000Z" for one in day.astype(str).tolist()]),
        "metric": text(cell, (f"metric{one:02d}" for one in range(10))), "params": text(zero, ["case=0"]),
        "unit": text(zero, ["op/s"]), "better": text(zero, ["higher"]), "value": pa.array(value),
        "outcome": text(zero, ["ok"]),
        "price_usd_per_hour": text(candidate, (f"{0.1 + one / 100:.2f}" for one in range(10))),
    })  # fmt: skip


def series_of(rows: int) -> Make:
    """A table of so many rows over 500 days, of 20 candidates in 10 metrics, without named instances.

    A fifth of the series has a change of level of 5 % in the middle.
    """

    def make(folder: Path) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.csv

        at = np.arange(rows)
        series, day = at % 200, at * 500 // rows
        level = 1e3 * np.where((series % 5 == 0) & (day >= 250), 1.05, 1.0)
        value = level * np.random.default_rng(1).lognormal(0.0, 0.03, rows)
        days = (np.datetime64("2025-01-01") + np.arange(500)).astype(str)

        def text(codes: "np.ndarray[tuple[int], np.dtype[np.int64]]", names: Iterable[str]) -> pa.Array:
            return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(names))).dictionary_decode()

        table = pa.table({
            "provider": text(series * 0, ["aws"]), "region": text(series * 0, ["eu-west-1"]),
            "offering": text(series // 10, (f"type-{one:02d}" for one in range(20))),
            "time": text(day, (f"{one}T12:00:00Z" for one in days.tolist())),
            "metric": text(series % 10, (f"m{one}_per_s" for one in range(10))),
            "unit": text(series * 0, ["op/s"]), "better": text(series * 0, ["higher"]),
            "value": pa.array(np.round(value, 3)),
        })  # fmt: skip
        options = pyarrow.csv.WriteOptions(quoting_style="none")
        pyarrow.csv.write_csv(table, folder / "table.csv", options)

    return make


def rows_of(rows: int, ending: str) -> Make:
    """A table of so many rows, to be imported."""
    return lambda folder: write_rows(folder, rows, ending)


def imported(rows: int) -> Make:
    """A study that was imported of such a table."""

    def make(folder: Path) -> None:
        write_rows(folder, rows, "parquet")
        words = [CLOUDCMP, "import", "table.parquet", "--out", "study"]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)

    return make


def of_rows(rows: int, told: str, *, long: bool = False) -> list[Case]:
    """What a table of so many rows costs, in and out."""
    return [
        Case(f"import-{told}", f"import, {told} rows of Parquet", rows_of(rows, "parquet"),
             ("import", "table.parquet", "--out", "study"), long=long),
        Case(f"import-csv-{told}", f"import, {told} rows of CSV", rows_of(rows, "csv"),
             ("import", "table.csv", "--out", "study"), long=long),
        Case(f"imported-{told}", f"compare, {told} imported rows", imported(rows), COMPARE, long=long),
        Case(f"export-{told}", f"export, {told} rows to Parquet", imported(rows),
             ("export", "study", "--out", "out.parquet"), long=long),
        Case(f"export-csv-{told}", f"export, {told} rows to CSV", imported(rows),
             ("export", "study", "--out", "out.csv"), long=long),
    ]  # fmt: skip


COMPARE = ("compare", "study")

RECOMMEND = ("recommend", "offers.csv", "--minimise", "cost per metric_3", "--require", "memory_gib >= 16",
             "--require", "metric_7 >= 8000", "--spread", "5 %", "--all")  # fmt: skip
FLEET = ("recommend", "offers.csv", "--fleet", "inventory.csv", "--metric", "metric_3", "--spread", "5 %")
CASES = [
    Case("help", "--help", nothing, ("--help",)),
    Case("list-offerings", "list offerings", nothing, ("list", "offerings")),
    Case("compare-2x10", "compare, 2 candidates x 10 cells", table(2, 10), COMPARE),
    Case("compare-30x10", "compare, 30 x 10 (4,350 pairs)", table(30, 10), COMPARE),
    Case("compare-10x100", "compare, 10 x 100 (4,500 pairs)", table(10, 100), COMPARE),
    Case("compare-10x1000", "compare, 10 x 1,000 (45,000 pairs)", table(10, 1000), COMPARE),
    Case("compare-100x10", "compare, 100 x 10 (49,500 pairs)", table(100, 10), COMPARE),
    Case("compare-300x1", "compare, 300 x 1 (44,850 pairs)", table(300, 1), COMPARE),
    Case("compare-1000x1", "compare, 1,000 x 1 (499,500 pairs)", table(1000, 1), COMPARE),
    Case("json-100x10", "compare --json, 100 x 10", table(100, 10), (*COMPARE, "--json")),
    Case("report-100x10", "report, 100 x 10", table(100, 10), ("report", "study"), long=True),
    Case("measured-1e6", "compare, 10^6 measured samples, one file", measured(10**6), COMPARE),
    Case("measured-1e7", "compare, 10^7 measured samples, one file", measured(10**7), COMPARE, long=True),
    Case("measured-1e7-small", "compare, 10^7 measured samples, 4,560 files", measured(10**7, compacted=False), COMPARE,
         long=True),
    Case("plan-300", "plan, 300 candidates", many(300), ("plan", "study.yaml")),
    Case("plan-1000", "plan, 1,000 candidates", many(1000), ("plan", "study.yaml")),
    Case("recommend-5000x20", "recommend, 5,000 offerings x 20 metrics", offerings(5000, 20), RECOMMEND),
    Case("recommend-50000x20", "recommend, 50,000 offerings x 20 metrics", offerings(50_000, 20), RECOMMEND),
    Case("history-1e6", "history, 10^6 rows of CSV, 200 series", series_of(10**6), ("history", "table.csv")),
    Case("fleet-5000x5000", "recommend --fleet, 5,000 machines x 5,000", fleet(5000, 20, 5000), FLEET),
    *of_rows(10**5, "1e5"),
    *of_rows(10**6, "1e6"),
    *of_rows(10**7, "1e7", long=True),
]  # fmt: skip


def spent(command: tuple[str, ...], folder: Path) -> tuple[int, float, float, float]:
    """The exit status of a command, and its processor seconds, wall seconds and peak MB."""
    begun = time.monotonic()
    with (folder / "out.txt").open("wb") as out, (folder / "err.txt").open("wb") as err:
        process = subprocess.Popen([CLOUDCMP, *command], cwd=folder, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime, time.monotonic() - begun, used.ru_maxrss / 1000


def measure(case: Case, folder: Path) -> None:
    """Make the study of a case, unless an earlier call left it there, run its command, and print the row."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        # A process begins with the memory of the one that starts it, so that this one stays small.
        subprocess.run([sys.executable, __file__, "--make", case.name, str(folder)], check=True)
    code, cpu_s, wall_s, megabytes = spent(case.command, folder)
    told = "" if code == 0 else f"  exit {code}: {(folder / 'err.txt').read_text(encoding='utf-8').strip()[:200]}"
    print(f"{case.name:20} {case.what:44} {cpu_s:8.2f} {wall_s:8.2f} {megabytes:8.0f}{told}", flush=True)


def main(arguments: list[str]) -> None:
    """Measure the cases that are named, or all."""
    by_name = {case.name: case for case in CASES}
    if arguments[:1] == ["--make"]:
        by_name[arguments[1]].make(Path(arguments[2]))
        return
    keep = Path(arguments[arguments.index("--keep") + 1]).absolute() if "--keep" in arguments else None
    named = [by_name[word] for word in arguments if word in by_name]
    print(f"{'case':20} {'what':44} {'cpu s':>8} {'wall s':>8} {'MB':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        for case in named or [one for one in CASES if not one.long or "--long" in arguments]:
            measure(case, (keep or Path(scratch)) / case.name)


if __name__ == "__main__":
    main(sys.argv[1:])
