"""What a reader must know of an imported table is said in every verdict, not only while it is imported."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloudcmp.app.compare import compare
from cloudcmp.app.import_ import import_files
from cloudcmp.app.tool_files import ImportOptions
from cloudcmp.errors import UserMistake
from cloudcmp.model.result import Comparison, NoVerdict, Verdict
from cloudcmp.model.view import View
from tests.late import Late
from tests.slices import examples

pd = Late("pandas")

_DATA = os.environ.get("CLOUDCMP_DATA")
APART = "measured at different times"
TOLD_APART = (Verdict.BETTER, Verdict.WORSE)


def write(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path = folder / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    return path


def seen(folder: Path, rows: Sequence[dict[str, Any]], options: ImportOptions | None = None) -> View:
    """The comparison of an imported table."""
    made = import_files([str(write(folder, rows))], folder / "study", None, options or ImportOptions())
    return compare([str(made.folder)])


def rows_of(name: str, factor: float, first: float = 0.0, n: int = 8, **more: Any) -> list[dict[str, Any]]:
    """Launches of an offering, an hour from each other from the hour `first` on."""
    rng = np.random.default_rng(len(name))
    return [
        {"offering": name, "metric": "req_per_s", "unit": "req/s", "better": "higher",
         "value": repr(100.0 * factor * float(rng.lognormal(0.0, 0.01))), "instance": f"{name}{at}",
         "time": 1.7e9 + 3600.0 * (first + at), **{key: one(at) if callable(one) else one for key, one in more.items()}}
        for at in range(n)
    ]  # fmt: skip


def pair_of(view: View) -> Comparison:
    (pair,) = view.analysis.comparisons
    return pair


def test_sides_that_were_measured_one_after_the_other_get_no_verdict_without_rounds(tmp_path: Path) -> None:
    pair = pair_of(seen(tmp_path, [*rows_of("a", 1.0), *rows_of("b", 2.0, first=20.0)]))
    assert (pair.verdict, pair.no_verdict) == (Verdict.CANNOT_TELL, NoVerdict.BLOCKS)
    assert APART in pair.marks
    assert "--allow-blocks" in pair.reason


def test_who_allows_blocks_gets_a_marked_verdict(tmp_path: Path) -> None:
    view = seen(tmp_path, [*rows_of("a", 1.0), *rows_of("b", 2.0, first=20.0)], ImportOptions(allow_blocks=True))
    assert pair_of(view).verdict in TOLD_APART
    assert APART in pair_of(view).marks
    assert APART in " ".join(view.analysis.answer)


def test_rounds_pair_sides_that_were_measured_one_after_the_other(tmp_path: Path) -> None:
    rounds = {"round": lambda at: at}
    pair = pair_of(seen(tmp_path, [*rows_of("a", 1.0, **rounds), *rows_of("b", 2.0, first=20.0, **rounds)]))
    assert pair.verdict in TOLD_APART
    assert APART in pair.marks


def test_sides_that_alternate_are_not_marked(tmp_path: Path) -> None:
    pair = pair_of(seen(tmp_path, [*rows_of("a", 1.0), *rows_of("b", 2.0, first=0.5)]))
    assert pair.verdict in TOLD_APART
    assert pair.marks == ("no rounds: Welch's t decides",)


@pytest.mark.parametrize("column", ["version", "tool_version", "kernel", "image", "fio.tool_version"])
def test_what_differs_beside_the_offering_is_a_mark(tmp_path: Path, column: str) -> None:
    view = seen(tmp_path, [*rows_of("a", 1.0, **{column: "1.0"}), *rows_of("b", 2.0, 0.5, **{column: "2.0"})])
    marks = [one for one in pair_of(view).marks if "1.0 against 2.0" in one]
    assert len(marks) == (0 if column == "fio.tool_version" else 1)  # no output of fio is compared here


def test_another_agent_refuses_the_verdict_as_it_does_in_a_measured_study(tmp_path: Path) -> None:
    both = [*rows_of("a", 1.0, agent_version="1"), *rows_of("b", 2.0, 0.5, agent_version="2")]
    assert pair_of(seen(tmp_path, both)).no_verdict is NoVerdict.UNLIKE


def test_rows_that_are_there_twice_are_told_in_the_verdict(tmp_path: Path) -> None:
    once = [*rows_of("a", 1.0, n=6), *rows_of("b", 2.0, 0.25, n=6)]
    bare = [{key: value for key, value in row.items() if key not in {"instance", "time"}} for row in once]
    clean = pair_of(seen(tmp_path, bare))
    assert not any("repeat" in mark for mark in clean.marks)
    (tmp_path / "twice").mkdir()
    view = seen(tmp_path / "twice", [*bare, *bare])
    assert {"a: 6 of 12 rows repeat another one", "b: 6 of 12 rows repeat another one"} <= set(pair_of(view).marks)
    assert "6 of 12 rows repeat another one" in " ".join(view.analysis.answer)


def test_a_coarse_clock_repeats_itself_without_a_mark(tmp_path: Path) -> None:
    coarse = [
        {"offering": name, "metric": "wait_ms", "unit": "ms", "better": "lower", "value": str(12 + at % 2)}
        for name in ("a", "b")
        for at in range(12)
    ]
    assert not any("repeat" in mark for mark in pair_of(seen(tmp_path, coarse)).marks)


SYSBENCH = """sysbench 1.0.{version} (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
Initializing random number generator from current time


Prime numbers limit: 10000

Initializing worker threads...

Threads started!

CPU speed:
    events per second:  {rate:.2f}

General statistics:
    total time:                          10.0000s
    total number of events:              {events}

Latency (ms):
         min:                                    0.80
         avg:                              {mean:10.2f}
         max:                                    2.00
         95th percentile:                        1.00
         sum:                                 9990.00

Threads fairness:
    events (avg/stddev):           {events}.0000/0.00
    execution time (avg/stddev):   9.9900/0.00
"""


def outputs(folder: Path, name: str, version: int, rates: Sequence[float]) -> list[str]:
    found = []
    for at, rate in enumerate(rates):
        path = folder / f"{name}{at}.txt"
        path.write_text(
            SYSBENCH.format(version=version, rate=rate, events=round(rate * 10), mean=9990 / round(rate * 10)),
            encoding="utf-8",
        )
        found.append(f"{name}={path}")
    return found


def test_versions_and_copies_of_tool_outputs_are_marks_of_every_verdict(tmp_path: Path) -> None:
    files = [
        *outputs(tmp_path, "a", 20, [1000.0] * 6),
        *outputs(tmp_path, "b", 21, [1100.5, 1101, 1102, 1103, 1104, 1105]),
    ]
    imported = import_files(files, tmp_path / "study", None, ImportOptions())
    assert any("versions" in note for note in imported.notes)
    view = compare([str(imported.folder)])
    for pair in view.analysis.comparisons:
        assert any("1.0.20 against 1.0.21" in mark for mark in pair.marks), pair.marks
        assert any(mark.startswith("a: files with the bytes of another one: a1.txt and a2.txt") for mark in pair.marks)


def test_a_value_below_zero_of_an_undeclared_metric_is_refused(tmp_path: Path) -> None:
    """A slower server that fails half of its requests, written as -1, was once called the best."""
    rows = [
        {"offering": name, "metric": "response_ms", "unit": "ms", "better": "lower", "round": at,
         "value": -1 if name == "large" and at % 2 else 100 + at}
        for name in ("small", "large") for at in range(12)
    ]  # fmt: skip
    with pytest.raises(UserMistake, match="response_ms is -1, yet not declared as signed"):
        seen(tmp_path, rows)


@pytest.mark.skipif(not _DATA, reason="CLOUDCMP_DATA names no folder of real measurements")
def test_two_batches_of_one_type_of_real_machines_get_no_unmarked_verdict(tmp_path: Path) -> None:
    """Batches of thirty fresh VMs of one type, months apart (Azure VM Noise Dataset 2024): A against A."""
    path = Path(str(_DATA)) / "azure_vm_noise" / "azure_vm_noise_eastus.csv.gz"
    table = pd.read_csv(path, usecols=["test", "lifespan", "sku", "starttime", "value"])
    table = table[(table.lifespan == "short") & (table.value > 0) & (table.sku == "D8s_v5")].sort_values("starttime")
    rng, n, told, marked = np.random.default_rng(7), examples(60), 0, 0
    groups = [one for _, one in table.groupby("test") if len(one) >= 200]
    for number in range(n):
        some = groups[number % len(groups)]
        begin = int(rng.integers(0, len(some) - 120))
        batches = [("a", some.iloc[begin : begin + 30]), ("b", some.iloc[begin + 90 : begin + 120])]
        rows = [
            {"offering": name, "metric": "score", "unit": "score", "better": "higher", "value": value,
             "instance": f"{name}{at}", "time": pd.Timestamp(start).timestamp()}
            for name, batch in batches
            for at, (start, value) in enumerate(zip(batch.starttime, batch.value, strict=True))
        ]  # fmt: skip
        place = tmp_path / str(number)
        place.mkdir()
        pair = pair_of(seen(place, rows))
        told += pair.verdict in TOLD_APART
        marked += APART in pair.marks
    assert (told, marked) == (0, n)


def test_names_that_differ_in_case_only_are_told(tmp_path: Path) -> None:
    view = seen(tmp_path, [*rows_of("small", 1.0), *rows_of("Small", 2.0, first=0.5)])
    assert "small and Small differ in upper and lower case only, and count as 2 candidates" in view.warnings


@pytest.mark.parametrize(("price", "known"), [("0.0000001", False), ("9000", False), ("0.003", True), ("400", True)])
def test_a_price_that_no_cloud_has_is_unknown_and_said_so(tmp_path: Path, price: str, known: bool) -> None:
    cheap = rows_of("a", 1.0, price_usd_per_hour=price)
    view = seen(tmp_path, [*cheap, *rows_of("b", 2.0, first=0.5, price_usd_per_hour="0.1")])
    assert (view.plan.candidates[0].offering.price is not None) is known
    warned = f"a: no cloud has a price of {price} USD/h, so its cost counts as unknown"
    assert (warned in view.warnings) is not known
    assert bool(view.analysis.money_winners) is known
