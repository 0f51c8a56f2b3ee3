"""The price book: lists in whole or not at all, kept, and safe with several writers."""

import os
import signal
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from tests.slices import long

from cloudcmp.errors import CorruptStore, NewerSchema, StorageFault
from cloudcmp.model.price import Doubt, Item, PriceEntry, PriceList, PriceRow, Purchase, TypeFacts, Unit
from cloudcmp.store.prices import PriceBook, book_path

ROW = PriceRow(
    "aws", "eu", Item.INSTANCE, "large", Decimal("0.1234567890123"), "USD", Unit.HOUR, "linux", Purchase.RESERVED,
    "dedicated", 12, Decimal(5), Decimal(1), Decimal(9), "internet", Decimal(2), "S1", date(2026, 1, 1), "standard",
)  # fmt: skip
SOLD = TypeFacts("aws", "eu", "large", 2.0, 8.0, "general", (("cpu", "one"),))
DOUBT = Doubt("aws", "eu", "S2", "small", "odd", Item.INSTANCE, "linux", Purchase.SPOT, "shared")
LIST = PriceList("aws", "test", "fetched", 1e9, "USD", "a" * 64, (ROW,), date(2026, 2, 2), ("eu",), (SOLD,), (DOUBT,))


def test_what_is_put_in_comes_out(tmp_path: Path) -> None:
    with PriceBook(tmp_path / "prices.db") as book:
        kept = book.put(LIST)
        assert (kept.rows, kept.sold, kept.doubts, kept.first, kept.again) == (1, 1, 1, (DOUBT,), False)
    with PriceBook(tmp_path / "prices.db") as book:
        (list_,) = book.lists()
        assert (list_.source, list_.how, list_.sha256, list_.published) == ("test", "fetched", "a" * 64, LIST.published)
        assert book.rows(list_, "aws", "eu", Item.INSTANCE, "large") == (ROW,)
        assert book.sold(list_, "aws", "eu") == (SOLD,)
        assert book.doubts(list_, "aws", "eu", "small") == (DOUBT,)
        assert book.rows(list_, "aws", "us", Item.INSTANCE) == ()
        assert book.places() == (("aws", "eu"),)


def test_a_book_that_is_not_there_is_empty_and_is_not_made(tmp_path: Path) -> None:
    with PriceBook(tmp_path / "none" / "prices.db") as book:
        assert book.lists() == []
        assert book.places() == ()
    assert not (tmp_path / "none").exists()


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    with PriceBook(tmp_path / "new" / "prices.db") as book:
        book.put(LIST)
    assert (tmp_path / "new" / "prices.db").stat().st_mode & 0o777 == 0o600


def test_it_is_where_the_user_has_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    assert book_path() == Path("/elsewhere/cloudcmp/prices.db")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert book_path() == Path.home() / ".local" / "share" / "cloudcmp" / "prices.db"


def test_a_list_that_breaks_off_leaves_the_book_as_it_was(tmp_path: Path) -> None:
    def told() -> Iterator[PriceEntry]:
        yield from (replace(ROW, name=f"t{number}") for number in range(5000))
        raise ValueError("no more")

    with PriceBook(tmp_path / "prices.db") as book:
        book.put(LIST)
        with pytest.raises(ValueError, match="no more"):
            book.put(replace(LIST, sha256="b" * 64), told())
        assert len(book.lists()) == 1
        assert book.put(replace(LIST, sha256="c" * 64)).rows == 1


def test_older_lists_are_kept_and_the_newest_goes_first(tmp_path: Path) -> None:
    with PriceBook(tmp_path / "prices.db") as book:
        for number, how in enumerate(("bundled", "fetched", "fetched", "given", "recorded")):
            book.put(replace(LIST, how=how, sha256=f"{number:064x}", fetched_at=1e9 + number))
        assert [(one.how, one.id) for one in book.lists("aws", "eu")] == [
            ("given", 4), ("recorded", 5), ("fetched", 3), ("fetched", 2), ("bundled", 1)
        ]  # fmt: skip


def test_the_same_list_again_takes_no_room(tmp_path: Path) -> None:
    with PriceBook(tmp_path / "prices.db") as book:
        book.put(LIST)
        again = book.put(replace(LIST, fetched_at=2e9))
        assert (again.again, again.rows) == (True, 1)
        first, second = book.lists("aws", "eu", Item.INSTANCE)
        assert (first.fetched_at, second.fetched_at) == (2e9, 1e9)
        assert book.rows(first, "aws", "eu", Item.INSTANCE) == (ROW,)
    with sqlite3.connect(tmp_path / "prices.db") as connection:
        assert connection.execute("SELECT count(*) FROM row").fetchone() == (1,)
    connection.close()


def test_prices_that_hold_everywhere_cover_every_region(tmp_path: Path) -> None:
    with PriceBook(tmp_path / "prices.db") as book:
        book.put(replace(LIST, rows=(replace(ROW, region=""),)))
        (list_,) = book.lists("aws", "anywhere", Item.INSTANCE)
        assert len(book.rows(list_, "aws", "anywhere", Item.INSTANCE)) == 1


@long
def test_memory_does_not_grow_with_a_list(tmp_path: Path) -> None:
    def told(n: int) -> Iterator[PriceEntry]:
        return (replace(ROW, name=f"t{number}") for number in range(n))

    with PriceBook(tmp_path / "prices.db") as book:
        peaks = []
        for n in (2_000, 12_000):
            tracemalloc.start()
            book.put(replace(LIST, sha256=f"{n:064x}"), told(n))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5 + 1_000_000


KILLED = """
import os, signal, sys
from pathlib import Path
from dataclasses import replace
from tests.store.test_prices import LIST, ROW
from cloudcmp.store.prices import PriceBook

def told():
    for number in range(20_000):
        if number == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield replace(ROW, name=f"t{number}")

with PriceBook(Path(sys.argv[1])) as book:
    book.put(replace(LIST, sha256="d" * 64), told())
"""


@pytest.mark.parametrize("at", [0, 1500, 19_999])
def test_a_writer_that_is_killed_leaves_no_part_of_a_list(tmp_path: Path, at: int) -> None:
    path = tmp_path / "prices.db"
    with PriceBook(path) as book:
        book.put(LIST)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(at)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    with PriceBook(path) as book:
        assert [one.sha256 for one in book.lists()] == ["a" * 64]
        assert book.put(replace(LIST, sha256="e" * 64)).rows == 1


WRITES = """
import sys
from pathlib import Path
from dataclasses import replace
from tests.store.test_prices import LIST
from cloudcmp.store.prices import PriceBook

for number in range(8):
    with PriceBook(Path(sys.argv[1])) as book:
        book.put(replace(LIST, sha256=f"{int(sys.argv[2]) * 100 + number:064x}"))
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "prices.db"
    both = [subprocess.Popen([sys.executable, "-c", WRITES, str(path), who], env=os.environ) for who in ("1", "2")]
    assert [one.wait(60) for one in both] == [0, 0]
    with PriceBook(path) as book:
        assert len({one.sha256 for one in book.lists()}) == 16


@pytest.mark.parametrize("table", ["row", "doubt", "sold", "list"])
def test_a_change_in_the_file_is_found(tmp_path: Path, table: str) -> None:
    path = tmp_path / "prices.db"
    with PriceBook(path) as book:
        book.put(LIST)
    column = "source" if table == "list" else "said"
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {table} SET {column} = replace({column}, 'e', 'E')")
    connection.close()
    with pytest.raises(CorruptStore, match="was changed; remove the file and fetch"):
        _read_all(path)


def test_a_row_that_is_found_by_another_name_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / "prices.db"
    with PriceBook(path) as book:
        book.put(LIST)
        assert book.names(book.lists()[0], "aws", "eu", Item.INSTANCE) == ("large",)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE row SET name = 'larger'")
    connection.close()
    with PriceBook(path) as book:
        (list_,) = book.lists()
        (name,) = book.names(list_, "aws", "eu", Item.INSTANCE)
        with pytest.raises(CorruptStore, match="is not of 'larger'"):
            book.rows(list_, "aws", "eu", Item.INSTANCE, name)


def test_names_and_types_come_once_and_the_last_word_counts(tmp_path: Path) -> None:
    rows = tuple(replace(ROW, name=name, sku=f"{name}{number}") for number in range(3) for name in ("b", "a"))
    types = tuple(TypeFacts("aws", "eu", "a", vcpus) for vcpus in (2.0, 4.0, 2.0, 2.0))
    with PriceBook(tmp_path / "prices.db") as book:
        book.put(replace(LIST, rows=(*rows, replace(ROW, region="us", name="c")), sold=types))
        (list_,) = book.lists()
        assert book.names(list_, "aws", "eu", Item.INSTANCE) == ("a", "b")
        assert book.names(list_, "aws", None, Item.INSTANCE) == ("a", "b", "c")
        assert book.names(list_, "aws", "eu", Item.VOLUME) == ()
        assert [one.vcpus for one in book.sold(list_, "aws", "eu")] == [4.0, 2.0]


def _read_all(path: Path) -> None:
    with PriceBook(path) as book:
        (list_,) = book.lists()
        book.rows(list_, "aws", "eu", Item.INSTANCE)
        book.doubts(list_, "aws", "eu")
        book.sold(list_, "aws")


def test_a_file_that_is_no_book_is_told(tmp_path: Path) -> None:
    path = tmp_path / "prices.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(CorruptStore):
        PriceBook(path)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA application_id = 7")
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(CorruptStore, match="is no price book"):
        PriceBook(path)


def test_a_later_version_is_told(tmp_path: Path) -> None:
    path = tmp_path / "prices.db"
    with PriceBook(path) as book:
        book.put(LIST)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(NewerSchema):
        PriceBook(path)


@pytest.mark.parametrize("of", [replace(ROW, region="us"), replace(ROW, amount=Decimal(7))])
def test_equal_bytes_that_were_read_otherwise_are_another_list(tmp_path: Path, of: PriceRow) -> None:
    with PriceBook(tmp_path / "prices.db") as book:
        book.put(LIST)
        other = book.put(replace(LIST, rows=(of,), fetched_at=2e9))
        assert (other.again, other.rows) == (False, 1)
        newest = book.lists("aws", of.region, Item.INSTANCE)[0]
        assert newest.fetched_at == 2e9
        assert book.rows(newest, "aws", of.region, Item.INSTANCE) == (of,)
        # Each of the two is known again, though the other one came between.
        assert book.put(replace(LIST, fetched_at=3e9)).again
        assert book.put(replace(LIST, rows=(of,), fetched_at=4e9)).again
    with sqlite3.connect(tmp_path / "prices.db") as connection:
        assert connection.execute("SELECT count(*) FROM row").fetchone() == (2,)
        assert connection.execute("SELECT count(DISTINCT list) FROM cover").fetchone() == (2,)
    connection.close()


def test_the_newest_is_so_by_the_day_of_its_prices_not_by_when_it_came(tmp_path: Path) -> None:
    day = {1: date(2026, 11, 1), 2: date(2026, 11, 21), 3: date(2026, 11, 1), 4: None}
    with PriceBook(tmp_path / "prices.db") as book:
        for number, published in day.items():
            one = replace(LIST, how="recorded", sha256=f"{number:064x}", fetched_at=1e9 + number, published=published)
            book.put(one)
        assert [one.id for one in book.lists("aws", "eu")] == [2, 3, 1, 4]


def _unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = os.access
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK and asked(path, mode))


def test_without_the_right_to_write_what_lies_in_the_log_is_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "prices.db"
    with PriceBook(path) as writer:
        writer.put(LIST)
        assert path.with_name("prices.db-wal").stat().st_size > 0
        _unwritable(monkeypatch)
        with PriceBook(path) as book:
            assert len(book.lists()) == 1
    assert not path.with_name("prices.db-wal").exists()
    with PriceBook(path) as book:
        assert len(book.lists()) == 1


def test_a_log_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "prices.db"
    with PriceBook(path) as writer:
        writer.put(LIST)
    path.with_name("prices.db-wal").mkdir()
    path.with_name("prices.db-wal").joinpath("something").touch()
    _unwritable(monkeypatch)
    with pytest.raises(StorageFault, match="cannot be read now"):
        PriceBook(path)
