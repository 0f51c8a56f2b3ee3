"""Samples of a watch from a file: what is read, and every fault in one line."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.errors import UserMistake
from cloudcmp.store.watch_table import is_watch_table, read_watch

HEAD = "time,ok,seconds\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "watch.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_samples_are_read_with_their_usual_step(tmp_path: Path) -> None:
    path = written(tmp_path, "Time,OK,Seconds,reason\n0,1,0.1\n60,no,,refused\n120,true,0.2\n400,up,0.3\n")
    found = read_watch(path)
    assert found.every_s == 60
    assert [(one.at, one.ok, one.response_s, one.reason) for one in found.samples] == [
        (0.0, True, 0.1, ""), (60.0, False, None, "refused"), (120.0, True, 0.2, ""), (400.0, True, 0.3, ""),
    ]  # fmt: skip
    assert [one.size_bytes for one in found.samples] == [None] * 4
    sized = read_watch(written(tmp_path, "time,ok,seconds,bytes,reason\n0,1,0.1,1e6\n60,0,,,refused\n120,1,0.1,0,\n"))
    assert [(one.size_bytes, one.reason) for one in sized.samples] == [(1e6, ""), (None, "refused"), (0.0, "")]
    path = written(tmp_path, "Time,OK,Seconds,reason\n0,1,0.1\n60,no,,refused\n120,true,0.2\n400,up,0.3\n")
    assert read_watch(path, 30.0).every_s == 30.0
    assert is_watch_table(path)
    with pytest.raises(UserMistake, match=r"samples are 60\.0 s apart, and --every is 3600 s"):
        read_watch(path, 3600.0)


def test_times_in_milliseconds_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "time,ok,seconds\n1777593600000,1,0.1\n1777593660000,1,0.1\n")
    with pytest.raises(UserMistake, match=r":2: '1777593600000' is after the year 2100; write seconds, not ms"):
        read_watch(path)


def test_dates_are_in_utc_without_a_zone(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + "1970-01-01T00:01:00,1,0.1\n1970-01-01T02:02:00+02:00,1,0.1\n")
    assert [one.at for one in read_watch(path).samples] == [60.0, 120.0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("when,ok,seconds\n", "watch.csv:1: the columns time, ok and seconds are not named"),
        (HEAD + "soon,1,0.1\n", "watch.csv:2: 'soon' is no time"),
        (HEAD + "nan,1,0.1\n", "watch.csv:2: 'nan' is no time"),
        (HEAD + "0,perhaps,0.1\n", "watch.csv:2: 'perhaps' is neither ok nor not"),
        (HEAD + "0,1,fast\n", "watch.csv:2: 'fast' is not a time that the answer took"),
        (HEAD + "0,1,\n", "watch.csv:2: an answer without its seconds"),
        (HEAD + "0,1\n", "watch.csv:2: 2 of 3 cells in the row"),
        ("time,ok,seconds,bytes\n0,1,0.1,many\n", "watch.csv:2: 'many' is not a number of bytes"),
        ("time,ok,seconds,bytes\n0,1,0.1,-1\n", "watch.csv:2: an answer of -1 bytes"),
        (HEAD + "0,1,0.1\n", "1 sample: its interval is unknown"),
        (HEAD + "0,1,\"0.1\n", "watch.csv"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserMistake) as caught:
        read_watch(written(tmp_path, text))
    assert told in str(caught.value)


def test_what_is_no_table_of_samples_is_known_by_its_head(tmp_path: Path) -> None:
    assert not is_watch_table(written(tmp_path, "provider,offering\n"))
    assert not is_watch_table(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    assert not is_watch_table(tmp_path / "b.csv")
    with pytest.raises(UserMistake, match="is no CSV text"):
        read_watch(tmp_path / "b.csv")


@settings(deadline=None, derandomize=True, max_examples=40)
@given(rows=st.lists(st.text(max_size=20), max_size=6))
def test_any_rows_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, rows: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(HEAD + "\n".join(rows), encoding="utf-8", errors="replace")
    with suppress(UserMistake):
        assert len(read_watch(path, 60.0).samples) <= len(rows) + sum(map(len, rows))
