"""A load over time from a file: what is read, and every fault in one line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.errors import UserMistake
from cloudcmp.store.load_trace import read_load

HEAD = "time,requests_per_s\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "trace.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_rate_holds_until_the_next_row_and_the_last_one_for_the_usual_step(tmp_path: Path) -> None:
    load = read_load(written(tmp_path, HEAD + "0,10\n60,20\n120,0\n300,5.5\n"))
    assert load.times.tolist() == [0, 60, 120, 300]
    assert load.rates.tolist() == [10, 20, 0, 5.5]
    assert (load.end, load.uneven) == (360.0, 1)
    assert load.requests == 600 + 1200 + 60 * 5.5
    assert load.scaled(2.0).requests == 2 * load.requests


def test_dates_are_in_utc_without_a_zone_and_columns_are_found_by_name(tmp_path: Path) -> None:
    text = "host,requests_per_s,Time\na,1,2026-01-05T00:00\na,2,2026-01-05 02:01+02:00\n"
    load = read_load(written(tmp_path, text))
    assert load.times.tolist() == [1767571200.0, 1767571260.0]
    assert load.rates.tolist() == [1, 2]


def test_any_name_of_the_other_of_two_columns_is_the_load(tmp_path: Path) -> None:
    assert read_load(written(tmp_path, "\ufefftime,visitors\n0,3\n1,4\n")).rates.tolist() == [3, 4]


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0, 1e9)), min_size=2, max_size=30))
def test_what_is_written_is_read(rows: list[tuple[int, float]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        time, lines = 0, []
        for step, rate in rows:
            time += step
            lines.append(f"{time},{rate!r}")
        path = written(Path(folder), HEAD + "\n".join(lines))
        if not any(rate for _, rate in rows):
            with pytest.raises(UserMistake):
                read_load(path)
            return
        load = read_load(path)
    assert load.rates.tolist() == [rate for _, rate in rows]
    assert load.times[-1] == time


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ":1: the columns time and requests_per_s are not both named; begin with 'time,requests_per_s'"),
        ("a,b\n1,2\n", ":1: the columns time and requests_per_s are not both named; begin with 'time,requests_per_s'"),
        (HEAD, ": no row of load; the length of a step is unknown; give two rows or more"),
        (HEAD + "0,1\n", ": 1 row of load; the length of a step is unknown; give two rows or more"),
        (HEAD + "0,1\n60,\n", ":3: the load is missing: a gap; write requests per second, 0 for none"),
        (HEAD + "0,1\n60,many\n", ":3: 'many' is no load; write requests per second, 0 for none"),
        (HEAD + "0,1\n60,-2\n", ":3: a load of -2; write requests per second, 0 for none"),
        (HEAD + "0,1\n60,nan\n", ":3: a load of nan; write requests per second, 0 for none"),
        (HEAD + "0,1\n60,1e999\n", ":3: a load of 1e999; write requests per second, 0 for none"),
        (HEAD + "0,1\n60\n", ":3: 1 cell in the row; write a time and a rate in each row"),
        (HEAD + "0,1\nnan,2\n", ":3: 'nan' is no time; write seconds, or 2026-01-05T10:00"),
        (HEAD + "0,1\nsoon,2\n", ":3: 'soon' is no time; write seconds, or 2026-01-05T10:00"),
        (HEAD + "0,1\n2026-01-05,2\n", ":3: seconds and dates in one trace; write all times alike"),
        (
            HEAD + "0,1\n60,2\n30,3\n",
            ":4: a time before that of the row before; sort the rows by time, one for each time",
        ),
        (HEAD + "0,1\n60,2\n60,3\n", ":4: the time of the row before again; sort the rows by time, one for each time"),
        (
            HEAD + "0,1\n60,2\n120,3\n180,3\n1180,4\n",
            ":6: a gap of 1000 s, where the usual step has 60 s; fill it, or cut the trace there",
        ),
        (HEAD + "0,0\n60,0\n", ": every load is 0; give a trace with requests"),
    ],
)
def test_a_fault_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UserMistake) as refused:
        read_load(path)
    (fault,) = refused.value.faults
    assert fault.line() == f"{path}{told}"


def test_a_file_that_is_none_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="no such file"):
        read_load(tmp_path / "none.csv")
    with pytest.raises(UserMistake, match="is a directory"):
        read_load(tmp_path)
    (tmp_path / "bytes.csv").write_bytes(b"time,load\n0,\xff\n")
    with pytest.raises(UserMistake, match="no CSV text"):
        read_load(tmp_path / "bytes.csv")
