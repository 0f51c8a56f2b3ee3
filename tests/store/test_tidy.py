"""The tidy table: what is exported is imported again, and what is wrong in a table is told line by line."""

import csv
import io
import math
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.slices import examples
from tests.store.conftest import CHASE, FMA, QUICK, RTT

from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import Better, Reduce
from cloudcmp.model.untrusted_text import without_steering
from cloudcmp.store import NO_ROUNDS, REPLICATION_UNKNOWN, StudyStore
from cloudcmp.store.tidy import TidyCell, TidyColumns, TidyPlace
from cloudcmp.store.tidy_check import read_tidy
from cloudcmp.store.tidy_export import export_table
from cloudcmp.store.tidy_import import import_table
from cloudcmp.store.tidy_write import csv_parts, write_csv, write_parquet

PLACE = ("provider", "region", "offering", "instance", "round", "session", "attributes")
HEADER = "provider,region,offering,instance,round,session,time,metric,params,unit,better,value,outcome,signed"
PERCENTILES = {(launch, cell): 1e-4 * (launch + 1) for launch in range(4) for cell in (RTT, RTT.replace("99", "50"))}


def row(**more: object) -> dict[str, object]:
    """A row of a table, as words say it."""
    least = {"provider": "p", "region": "r", "offering": "o", "instance": "i", "round": 0, "session": "", "time": None,
             "metric": "rtt_s", "params": "", "unit": "s", "better": "lower", "value": 1.0, "outcome": "ok",
             "attributes": {}}  # fmt: skip
    return {**least, **more}


def table_of(rows: list[dict[str, object]]) -> TidyColumns:
    """A table whose rows share nothing."""
    places = tuple(TidyPlace(*(one[name] for name in PLACE)) for one in rows)  # type: ignore[arg-type]
    cells = tuple(TidyCell(*(str(one[name]) for name in ("metric", "params", "unit", "better"))) for one in rows)
    own = np.arange(len(rows), dtype=np.int32)
    value, time = (np.array([one[name] for one in rows], np.float64) for name in ("value", "time"))
    return TidyColumns(places, cells, tuple(str(one["outcome"]) for one in rows), own, own, own, value, time)


def taken(text: str | bytes, folder: Path, name: str = "table.csv") -> StudyStore:
    """The study made of a table."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return import_table(read_tidy(path, METRICS), folder / "imported", provenance={}, created_at=1.0)


def faults(text: str | bytes, folder: Path) -> list[str]:
    """The faults of a table, each without the folder in front."""
    with pytest.raises(UserMistake) as caught:
        taken(text, folder)
    assert not (folder / "imported").exists()
    return [fault.line().removeprefix(f"{folder}/") for fault in caught.value.faults]


def test_a_measured_study_as_a_table(full: StudyStore) -> None:
    table = export_table(full, METRICS, PERCENTILES)
    lines = "".join(csv_parts(table)).splitlines()
    assert lines[0] == f"{HEADER},price_usd_per_hour,vcpus"
    assert lines[1] == (
        "local,here,one,0,0,,2023-11-14T22:13:20.000000Z,fma_flop_per_s,precision=f64;threads=one,flop/s,higher,11,ok,,,1"
    )
    assert lines[3].endswith("rtt_s,path=loopback;percentile=99;protocol=tcp;size_bytes=64,s,lower,0.0001,ok,,,1")
    assert lines[6] == (
        "local,here,all,1,0,,2023-11-14T22:13:28.000000Z,"
        "chase_latency_s,pages=base;size_bytes=16384,s,lower,,timeout,,0.10,2"
    )
    assert len(table.value) == 16


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_exported_is_imported_again(full: StudyStore, tmp_path: Path, suffix: str) -> None:
    exported = export_table(full, METRICS, PERCENTILES)
    rows = list(exported.records())
    path = tmp_path / f"table.{suffix}"
    (write_csv if suffix == "csv" else write_parquet)(path, exported)
    with import_table(read_tidy(path, METRICS), tmp_path / "imported", provenance={}, created_at=1.0) as store:
        assert list(export_table(store, METRICS, {}).records()) == rows
        assert store.plan.imported
        assert [candidate.id for candidate in store.plan.candidates] == ["one", "all"]
        assert store.plan.candidates[1].offering.price is not None
        assert store.plan.candidates[1].offering.price.amount_per_hour == Decimal("0.10")
        assert store.plan.candidates[1].offering.price.source == "imported"
        values = store.measured(frozenset({"fma_flop_per_s"})).values
        assert values.cells[:2] == (FMA, CHASE)
        assert values.value.tolist()[:2] == [11.0, 21.0]
        assert values.ok.tolist() == [row["value"] is not None for row in rows]
        assert store.meta(NO_ROUNDS) is None
        assert store.meta(REPLICATION_UNKNOWN) is None
        assert store.imported_metrics()["rtt_s"].reduce is Reduce.MEDIAN
        assert store.attempts() == ()
        store.verify()


TEXTS = (
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
    .map(lambda text: without_steering(text).strip())
    .filter(bool)
)


@settings(max_examples=examples(60, 3), deadline=None)
@given(
    st.lists(
        st.tuples(
            TEXTS,
            st.integers(0, 3),
            st.sampled_from(["udp_jitter_s", "my_score", "fma_flop_per_s"]),
            st.floats(min_value=1e-300, max_value=9.9e59) | st.none(),
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(["csv", "parquet"]),
)
def test_any_table_that_is_written_is_read_back(values: list[tuple[str, int, str, float | None]], suffix: str) -> None:
    units = {"udp_jitter_s": ("s", "lower"), "my_score": ("score", "higher"), "fma_flop_per_s": ("flop/s", "higher")}
    rows = [
        row(offering=name, instance=f"i{n}", round=n % 3, metric=metric, params=f"k={k}", unit=units[metric][0],
            better=units[metric][1], value=value, outcome="ok" if value else "failed")
        for n, (name, k, metric, value) in enumerate(values)
    ]  # fmt: skip
    with TemporaryDirectory(dir=QUICK) as folder:
        path = Path(folder) / f"t.{suffix}"
        (write_csv if suffix == "csv" else write_parquet)(path, table_of(rows))
        table = read_tidy(path, METRICS)
        assert [None if math.isnan(one) else one for one in table.rows.chunks[0].value] == [
            one["value"] for one in rows
        ]
        launches = [table.rows.launches[at] for at in table.rows.chunks[0].launch]
        assert [table.rows.keys[launch.key][2] for launch in launches] == [one["offering"] for one in rows]
        with import_table(table, Path(folder) / "study", provenance={}, created_at=1.0) as store:
            again = list(export_table(store, METRICS, {}).records())
    kept = ("offering", "metric", "params", "value", "outcome")
    assert [[one[name] for name in kept] for one in again] == [[one[name] for name in kept] for one in rows]


def test_no_cell_of_a_table_is_a_formula() -> None:
    rows = [
        row(provider=sign + "p", region=sign + "r", offering=f"{sign}cmd", instance=sign, session=sign, time=0.0,
            metric="=m", unit="@u", value=-1.5, attributes={"-a": "+x"})
        for sign in "=+-@\t\r'"
    ]  # fmt: skip
    cells = [cell for line in csv.reader(io.StringIO("".join(csv_parts(table_of(rows))), newline="")) for cell in line]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r") and cell not in ("-1.5", "")]
    assert "-1.5" in cells


def test_the_least_table(tmp_path: Path) -> None:
    with taken(
        "offering,metric,unit,value\nA,udp_jitter_s,s,0\nA,udp_jitter_s,s,-1e-6\nB,udp_jitter_s,s,2\n", tmp_path
    ) as store:
        assert [launch.candidate for launch in store.plan.launches] == [0, 0, 1]
        assert [launch.round for launch in store.plan.launches] == [0, 0, 0]
        assert store.meta(NO_ROUNDS)
        assert store.meta(REPLICATION_UNKNOWN)
        rows = list(export_table(store, METRICS, {}).records())
        assert {(row["instance"], row["round"]) for row in rows} == {("", None)}
    with StudyStore.open(tmp_path / "imported", write=False) as store:
        assert store.measured(frozenset()).values.value.tolist() == [0.0, -1e-6, 2.0]


def test_an_unknown_metric_needs_a_direction(tmp_path: Path) -> None:
    table = "offering,metric,unit,value,signed{}\nA,my_score,score,1,yes{}\nA,my_score,score,0,yes{}\n"
    assert faults(table.format("", "", ""), tmp_path) == [
        "table.csv:2: whether a higher or a lower my_score is better is not known;"
        " add the column better with higher or lower, or --better higher|lower for all such metrics"
    ]
    with taken(table.format(",better", ",higher", ","), tmp_path) as store:
        metric = store.imported_metrics()["my_score"]
        assert (metric.unit, metric.better, metric.signed) == ("score", Better.HIGHER, True)


@pytest.mark.parametrize("value", ["-1", "0", "-0.0"])
def test_a_value_of_zero_or_less_is_refused_unless_the_metric_is_declared_signed(tmp_path: Path, value: str) -> None:
    """Many tools write -1 or 0 for a failure: such a value would turn every ratio of the metric into a difference."""
    head = "offering,metric,unit,better,value,outcome,signed\nA,response_ms,ms,lower,100,,\n"
    assert faults(f"{head}A,response_ms,ms,lower,{value},,\n", tmp_path) == [
        f"table.csv:3: response_ms is {value}, yet not declared as signed;"
        " write invalid as outcome and no value, or yes in a column signed if the metric can be 0 or less"
    ]
    with taken(f"{head}A,response_ms,ms,lower,,invalid,\n", tmp_path) as store:
        assert not store.imported_metrics()["response_ms"].signed


def test_whether_a_metric_is_signed_is_said_in_one_way(tmp_path: Path) -> None:
    table = "offering,metric,unit,better,value,signed\nA,balance,EUR,higher,-1,yes\nA,balance,EUR,higher,1,{}\n"
    assert faults(table.format("no"), tmp_path) == [
        "table.csv:3: signed of balance is 'no' here, else before; write it in all rows"
    ]
    assert faults(table.format("perhaps"), tmp_path) == [
        "table.csv:3: signed is 'perhaps'; write yes if the metric can be 0 or less, else no or nothing"
    ]


def test_attributes_become_those_of_the_offering(tmp_path: Path) -> None:
    head = "provider,offering,metric,unit,value,vcpus,memory_gib,price_eur_per_hour,cpu,volume,count,runner\n"
    row = "aws,m5,udp_jitter_s,s,1,{},8,{},{},gp3,2,simulated\n"
    with taken(head + row.format("4", "0.20", "") + row.format("4.0", "0.2", "Xeon"), tmp_path) as store:
        (candidate,) = store.plan.candidates
        offering = candidate.offering
        assert (offering.vcpus, offering.memory_gib, offering.attributes) == (4.0, 8.0, (("cpu", "Xeon"),))
        assert offering.price is not None
        assert (offering.price.amount_per_hour, offering.price.currency) == (Decimal("0.20"), "EUR")
        assert (str(candidate.volume), candidate.count, candidate.simulated) == ("gp3", 2, True)


def test_a_price_of_zero_is_unknown(tmp_path: Path) -> None:
    with taken("offering,metric,unit,value,price_usd_per_hour\nA,udp_jitter_s,s,1,0.00\n", tmp_path) as store:
        assert store.plan.candidates[0].offering.price is None


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    text = f"""{HEADER},vcpus,price_usd_per_hour
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,x,ok,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,nan,ok,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,1e999,,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,-1,,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,1,fine,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,1,failed,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,,,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,ms,lower,1,,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,s,higher,1,,,4,1
p,r,A,i,0,,,rtt_s,percentile,s,lower,1,,,4,1
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,1,,,2,1
p,r,A,i,0,,,rtt_s,percentile=50,s,lower,1,,,4,-1
p,r,A,i,1.5,,,rtt_s,percentile=50,s,lower,1,,,4,1
p,r,A,i,1,,,rtt_s,percentile=50,s,lower,1,,,4,1
p,r,A,i,,,yesterday,rtt_s,percentile=50,s,lower,1,,,4,1
p,r,,i,0,,,,,s,lower,1,,,4,1
p,r,A
p,r,B,,0,,,rtt_s,percentile=50,s,best,1,,,,1
"""
    told = faults(text, tmp_path)
    assert told == [
        "table.csv:2: the value 'x' is not a finite number; write e.g. 12.5",
        "table.csv:3: the value 'nan' is not a finite number; write e.g. 12.5",
        "table.csv:4: the value '1e999' is not a finite number; write e.g. 12.5",
        "table.csv:5: rtt_s is -1, yet it is always above 0; write invalid as outcome and no value",
        "table.csv:6: unknown outcome 'fine'; write one of ok, failed, timeout, preempted, aborted, invalid",
        "table.csv:7: the outcome is failed, yet there is a value; empty the value, or write ok",
        "table.csv:8: there is no value; write it, or the outcome that explains it, e.g. failed",
        "table.csv:9: rtt_s is in 'ms' here, and in 's' by its definition; convert the values to one unit",
        "table.csv:10: rtt_s is better higher here, and lower before; keep one direction",
        "table.csv:11: 'percentile' is not key=value, or is given twice; write metric key=value;key=value",
        "table.csv:12: vcpus of A is '2' here and '4' before; keep one of them, or name the offerings apart",
        "table.csv:13: price_usd_per_hour is '-1', which is no such number; write e.g. 4, or leave it empty",
        "table.csv:14: the round '1.5' is not a whole number; write 0, 1, 2, ...",
        "table.csv:15: the instance 'i' of A has two rounds or two sessions;"
        " an instance is one launch: name another one in each round and session",
        "table.csv:16: the time 'yesterday' is not understood; write e.g. 2026-01-31T12:00:00Z",
        "table.csv:17: no offering and no metric; fill in the empty cells",
        "table.csv:18: 3 cells where the header has 16; write one cell for each column",
        "table.csv:19: unknown direction 'best'; write higher or lower in the column better",
        f"table.csv:19: instance is empty here, and given on {tmp_path}/table.csv:9; give it in all rows",
    ]


def test_faults_are_counted_where_there_are_many(tmp_path: Path) -> None:
    told = faults("offering,metric,unit,value\n" + "A,rtt_s,s,x\n" * 50, tmp_path)
    assert len(told) == 21
    assert told[-1] == "table.csv: 30 more faults are not shown; mend these first"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "table.csv: the table is empty; write a header line with offering, metric, unit and value"),
        ("\n\n", "table.csv: the table is empty; write a header line with offering, metric, unit and value"),
        (
            "offering,metric\n",
            "table.csv:1: the columns unit, value are missing; a table needs offering, metric, unit, value",
        ),
        ("offering|metric|unit|value\n", "table.csv:1: the columns offering, metric, unit, value are missing;"),
        ("offering,metric,unit,value,\n", "table.csv:1: column 5 has no name; name it, or remove it"),
        ("offering,metric,unit,value,value\n", "table.csv:1: there are two columns 'value'; remove or rename one"),
        ("offering,metric,unit,value\n", "table.csv: the table has no rows; write at least one"),
        (b"offering,metric,unit,value\nA,\xff,s,1\n", "table.csv:2: is not UTF-8 text; save the table as UTF-8"),
        (
            'offering,metric,unit,value\nA,"rtt_s,s,1\n',
            "table.csv:2: no CSV (unexpected end of data); check the quotes",
        ),
        (
            "offering,metric,unit,value\nA,rtt_s,s," + "1" * 200_000 + "\n",
            "table.csv:2: no CSV (field larger than field",
        ),
        (b"PAR1garbage", "table.csv: no readable Parquet file ("),
        (
            "offering,metric,unit,value,price_usd_per_hour,price_eur_per_hour\nA,rtt_s,s,1,1,1\n",
            "table.csv: A has prices in",
        ),
    ],
)
def test_what_is_no_table_is_refused(text: str | bytes, told: str, tmp_path: Path) -> None:
    (line, *_) = faults(text, tmp_path)
    assert line.startswith(told)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="no such file"):
        read_tidy(tmp_path / "table.csv", METRICS)


def test_equal_names_in_two_places_stay_apart(tmp_path: Path) -> None:
    rows = [f"{place},M,udp_jitter_s,s,1\n" for place in ("a,x", "a,y", "b,x")]
    text = "provider,region,offering,metric,unit,value\n" + "".join(rows)
    with taken(text, tmp_path) as store:
        assert [candidate.id for candidate in store.plan.candidates] == ["a/x/M", "a/y/M", "b/M"]


LINES = st.lists(st.text(max_size=30), max_size=6).map("\n".join)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=200)
    | LINES.map(str.encode)
    | LINES.map(lambda t: f"offering,metric,unit,value,round\n{t}".encode())
)
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with TemporaryDirectory(dir=QUICK) as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)
        try:
            table = read_tidy(path, METRICS)
        except UserMistake:
            return
        with import_table(table, Path(folder) / "study", provenance={}, created_at=1.0) as store:
            assert len(store.imported_rows().value) == len(table.rows) > 0


def test_a_metric_that_is_not_known_here_is_told(full: StudyStore) -> None:
    with pytest.raises(UserMistake, match="holds fma_flop_per_s, a metric that is not known here"):
        export_table(full, {}, {})


def test_launches_stand_by_round_and_time_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    head = "offering,instance,round,metric,unit,better,value\n"
    rows = [f"a,i{at},{at},speed,op/s,higher,{value}\n" for at, value in enumerate((10, 12, 11, 14, 9, 13))]
    by_value = sorted(rows, key=lambda row: float(row.rsplit(",", 1)[1]))
    with taken(head + "".join(by_value), tmp_path) as store:
        launches = store.plan.launches
        assert [one.round for one in launches] == [0, 1, 2, 3, 4, 5]
        assert [one.index for one in launches] == [0, 1, 2, 3, 4, 5]
        values = store.measured(frozenset()).values
        told = dict(zip(values.launch.tolist(), values.value.tolist(), strict=True))
        assert [told[at] for at in range(6)] == [10, 12, 11, 14, 9, 13]


STEERING = ("\x1b[2J", "\x07", "\x9b2J", "\u202e", "\x00")


@pytest.mark.parametrize("text", STEERING)
@pytest.mark.parametrize("column", ["provider", "offering", "instance", "metric", "params", "unit", "note"])
def test_a_text_that_steers_a_terminal_is_refused(text: str, column: str, tmp_path: Path) -> None:
    cells = {"offering": "A", "metric": "m", "unit": "s", "value": "1", "better": "lower", column: f"k=a{text}b"}
    [line] = faults(",".join(cells) + "\n" + ",".join(cells.values()) + "\n", tmp_path)
    code = f"U+{ord(text[0]):04X}"
    assert line == f"table.csv:2: the column {column!r} holds {code}, which steers a terminal; remove it"


@pytest.mark.parametrize("text", STEERING)
def test_a_column_whose_name_steers_a_terminal_is_refused(text: str, tmp_path: Path) -> None:
    [line] = faults(f"offering,metric,unit,value,a{text}\nA,rtt_s,s,1,x\n", tmp_path)
    assert line.isprintable()
    assert f"holds U+{ord(text[0]):04X}, which steers a terminal" in line


def test_no_table_that_is_written_steers_a_terminal(tmp_path: Path) -> None:
    """A study may hold such names from elsewhere: a cloud's list, or an earlier version."""
    attributes = [{f"a{number}{text}": f"x{text}"} for number, text in enumerate(STEERING)]
    table = table_of(
        [row(offering=f"o{text}", attributes=more) for text, more in zip(STEERING, attributes, strict=True)]
    )
    written = "".join(csv_parts(table))
    assert written.replace("\n", "").isprintable()
    for name in ("t.csv", "t.parquet"):
        (write_csv if name == "t.csv" else write_parquet)(tmp_path / name, table)
        assert len(read_tidy(tmp_path / name, METRICS).rows) == len(STEERING)


@pytest.mark.parametrize("text", ["1e60", "-1e60", "1e75", "1.7e308"])
def test_a_value_whose_square_is_no_number_is_refused(text: str, tmp_path: Path) -> None:
    [line] = faults(f"offering,metric,unit,value,better\nA,m,s,{text},lower\n", tmp_path)
    what = f"table.csv:2: the value {text} is not between -1e+60 and 1e+60; write invalid as outcome and no value"
    assert line == what
