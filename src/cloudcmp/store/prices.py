"""The price book: every price list that was ever fetched on this machine, complete and dated.

One SQLite file per user. A list is written in one transaction, so it is stored completely or not at all, and two
processes may write at once: one waits for the other. A list with the same content as an earlier one of its source is
stored as a further date of that one. Each row has a digest, because SQLite does not notice a flipped bit in its pages.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cloudcmp.errors import CloudcmpError, Fault, NewerSchema, StorageFault
from cloudcmp.model.price import Doubt, How, Item, PriceEntry, PriceList, PriceListEntry, PriceRow, Purchase, TypeFacts
from cloudcmp.store.faults import corrupt, corrupt_if_malformed, storage
from cloudcmp.store.price_text import doubt_of, price_row, sold_of, values_of
from cloudcmp.store.seals import row_digest

SCHEMA_VERSION = 1
APPLICATION_ID = 0x636C6370
_BUSY_S = 120.0
_TABLES = f"""
CREATE TABLE list (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, how TEXT NOT NULL, fetched_at REAL NOT NULL, sha256 TEXT NOT NULL,
    published TEXT, body INTEGER NOT NULL, seal TEXT NOT NULL);
CREATE TABLE row (
    list INTEGER NOT NULL, provider TEXT NOT NULL, region TEXT NOT NULL, item TEXT NOT NULL, name TEXT NOT NULL,
    said TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE sold (
    list INTEGER NOT NULL, provider TEXT NOT NULL, region TEXT NOT NULL, name TEXT NOT NULL, said TEXT NOT NULL,
    seal TEXT NOT NULL);
CREATE TABLE doubt (
    list INTEGER NOT NULL, provider TEXT NOT NULL, region TEXT NOT NULL, name TEXT NOT NULL, said TEXT NOT NULL,
    seal TEXT NOT NULL);
CREATE TABLE cover (
    list INTEGER NOT NULL, provider TEXT NOT NULL, region TEXT NOT NULL, item TEXT NOT NULL, purchase TEXT NOT NULL,
    PRIMARY KEY (provider, region, item, purchase, list));
CREATE INDEX row_of ON row (list, provider, region, item, name);
CREATE INDEX sold_of ON sold (list, provider, region);
CREATE INDEX doubt_of ON doubt (list, provider, region, name);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""
# The user's own prices take precedence over the providers', and these over lists that are old by nature.
_RANK = {How.GIVEN: 0, How.FETCHED: 1, How.RECORDED: 1, How.BUNDLED: 2, How.PUBLISHED: 2}


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of storing a list: its number in the book, and how many rows, instance types and doubts it has.

    `again` is true if the book had this list already, and only its date is new; `first` are a few of the doubts.
    """

    list: int
    rows: int
    sold: int
    doubts: int
    first: tuple[Doubt, ...]
    again: bool = False


def book_path() -> Path:
    """The path of the user's price book: cloudcmp/prices.db under $XDG_DATA_HOME, by default ~/.local/share."""
    data = os.environ.get("XDG_DATA_HOME") or ""
    return (Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share") / "cloudcmp" / "prices.db"


class PriceBook:
    """The lists of one file; a missing file is an empty book, and is created with the first list.

    Raises StorageFault, CorruptStore and NewerSchema; StudyBusy is never raised: a writer waits for others.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or book_path()
        self._connection: sqlite3.Connection | None = None
        if self.path.exists():
            self._open()

    def close(self) -> None:
        """Closes the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> "PriceBook":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing

    def put(self, head: PriceList, entries: Iterable[PriceEntry] | None = None) -> Kept:
        """Stores a list completely or not at all; `entries` streams its rows in place of `head`'s.

        A list with the same rows as an earlier list of the same source takes no further space. Equal bytes are not
        enough: they may have been read for other regions, or by another version of the reader. Memory does not grow
        with the list. If `entries` raises, the book is unchanged.
        """
        if entries is None:
            entries = [*([head.published] if head.published else []), *head.sold, *head.rows, *head.doubts]
        with self._existing_file(), self._writing() as connection:
            number = int(connection.execute("SELECT coalesce(max(id), 0) + 1 FROM list").fetchone()[0])
            connection.execute("SAVEPOINT body")
            filler = _Filler(connection, number)
            filler.fill(entries)
            same = _same(connection, head, number)
            if same is not None:
                connection.execute("ROLLBACK TO body")
            connection.execute("RELEASE body")
            body = number if same is None else same
            published = head.published or filler.published
            day = published.isoformat() if published else None
            values = (number, head.source, head.how, head.fetched_at, head.sha256, day, body)
            connection.execute("INSERT INTO list VALUES (?,?,?,?,?,?,?,?)", (*values, row_digest("list", *values)))
            return Kept(number, *_counts(connection, body), _first(connection, body), same is not None)

    @contextmanager
    def _existing_file(self) -> Iterator[None]:
        """Creates the file if it is missing."""
        if self._connection is None:
            with storage(self.path):
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            self._open()
        yield

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        assert connection is not None
        with _book_errors(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _open(self) -> None:
        with _book_errors(self.path):
            mode = "rw" if os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK) else "ro"
            # An immutable database is read without its log: if there is a log, its rows would be missed.
            still = mode == "ro" and not _has_log(self.path)
            uri = f"file:{quote(str(self.path.absolute()))}?mode={mode}{'&immutable=1' if still else ''}"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_S, check_same_thread=False)
            self._connection = connection
            connection.execute("PRAGMA trusted_schema = OFF")
            if mode == "rw":
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
            version = _version(connection) if mode == "rw" or still else self._version_by_log(connection)
            if version == (0, 0) and mode == "rw":
                connection.execute("BEGIN IMMEDIATE")
                if _version(connection) == (0, 0):
                    for statement in filter(str.strip, _TABLES.split(";")):
                        connection.execute(statement)
                connection.execute("COMMIT")
                version = _version(connection)
            if version[0] not in {0, APPLICATION_ID}:
                self.close()
                raise corrupt_book(self.path, "is no price book")
            if version[1] > SCHEMA_VERSION:
                self.close()
                raise NewerSchema.at(str(self.path), "was written by a later version of cloudcmp", "use that version")

    def _version_by_log(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """The version of a book that cannot be written, and whose newest rows are in a log."""
        try:
            return _version(connection)
        except sqlite3.OperationalError as error:
            self.close()
            what = "the price book cannot be read now: its newest prices lie in a log, and it cannot be written"
            raise StorageFault(Fault(str(self.path), what, "wait for who writes it, or make it writable")) from error

    # -- reading

    def lists(
        self,
        provider: str | None = None,
        region: str | None = None,
        item: Item | None = None,
        purchase: Purchase | None = None,
    ) -> list[PriceListEntry]:
        """The lists with such prices, in order of precedence; all lists of the book without filters.

        The user's own lists precede the providers', these the lists that are old by nature, and newer ones precede
        older ones, by the day of their prices: lists without a day are last, and of one day the list stored last is
        first. A list of prices that apply everywhere covers every region.
        """
        wanted = {"provider = ?": provider, "region IN (?, '')": region, "item = ?": item, "purchase = ?": purchase}
        named = {clause: value for clause, value in wanted.items() if value is not None}
        where = f" WHERE body IN (SELECT list FROM cover WHERE {' AND '.join(named)})" if named else ""
        entries = [self._listed(row) for row in self._rows(f"SELECT * FROM list{where}", [*named.values()])]
        return sorted(entries, key=_turn)

    def rows(
        self, list_: PriceListEntry, provider: str, region: str | None, item: Item, name: str | None = None
    ) -> tuple[PriceRow, ...]:
        """A list's prices of an item in a region, or everywhere; None as region or name: all."""
        where, values = _where(provider, region, name)
        records = self._rows(
            f"SELECT said, seal FROM row WHERE list = ? AND item = ?{where}", [self._body(list_), item.value, *values]
        )
        rows = tuple(price_row(self._checked("row", *one)) for one in records)
        if name is not None and any(one.name != name for one in rows):
            raise corrupt_book(self.path, f"a row of it is not of {name!r}, by which it is found")
        return rows

    def names(self, list_: PriceListEntry, provider: str, region: str | None, item: Item) -> tuple[str, ...]:
        """The names that a list prices in a region, or everywhere, sorted, each once; reads none of their rows."""
        where, values = _where(provider, region, None)
        statement = f"SELECT DISTINCT name FROM row WHERE list = ? AND item = ?{where} ORDER BY 1"
        return tuple(str(name) for (name,) in self._rows(statement, [self._body(list_), item.value, *values]))

    def sold(self, list_: PriceListEntry, provider: str, region: str | None = None) -> tuple[TypeFacts, ...]:
        """The facts of a list about instance types besides their prices, without duplicates."""
        where, values = _where(provider, region, None)
        statement = f"SELECT said, seal FROM sold WHERE list = ?{where} GROUP BY said, seal ORDER BY max(rowid)"
        records = self._rows(statement, [self._body(list_), *values])
        return tuple(sold_of(self._checked("sold", *one)) for one in records)

    def doubts(
        self, list_: PriceListEntry, provider: str, region: str | None, name: str | None = None
    ) -> tuple[Doubt, ...]:
        """The lines of a list without a usable price; those without a name are in every result."""
        where, values = _where(provider, region, None)
        where, values = (where + " AND name IN (?, '')", [*values, name]) if name else (where, values)
        records = self._rows(f"SELECT said, seal FROM doubt WHERE list = ?{where}", [self._body(list_), *values])
        return tuple(doubt_of(self._checked("doubt", *one)) for one in records)

    def places(self, provider: str | None = None) -> tuple[tuple[str, str], ...]:
        """The providers and regions with any price in the book."""
        where, values = ("", []) if provider is None else (" WHERE provider = ?", [provider])
        rows = self._rows(f"SELECT DISTINCT provider, region FROM cover{where} ORDER BY 1, 2", values)
        return tuple((str(one), str(other)) for one, other in rows)

    def _rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        with _book_errors(self.path):
            return self._connection.execute(statement, values).fetchall()

    def _listed(self, row: tuple[Any, ...]) -> PriceListEntry:
        *values, sealed = row
        if row_digest("list", *values) != sealed:
            raise corrupt_book(self.path, f"its list {values[0]} was changed")
        with corrupt_if_malformed(self.path, "a list"):
            day = date.fromisoformat(values[5]) if values[5] else None
            return PriceListEntry(values[0], values[1], How(values[2]).value, values[3], values[4], day)

    def _body(self, list_: PriceListEntry) -> int:
        return int(self._rows("SELECT body FROM list WHERE id = ?", [list_.id])[0][0])

    def _checked(self, table: str, text: str, sealed: str) -> list[Any]:
        if row_digest(table, text) != sealed:
            raise corrupt_book(self.path, f"a {table} of it was changed")
        with corrupt_if_malformed(self.path, f"a {table}"):
            return list(json.loads(text))


def _turn(one: PriceListEntry) -> tuple[int, int, float, int]:
    """The sort key of a list by precedence."""
    return _RANK[How(one.how)], -one.dated.toordinal() if one.dated else 0, -one.fetched_at, -one.id


def _has_log(path: Path) -> bool:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def corrupt_book(path: Path, what: str) -> CloudcmpError:
    """The fault of a price book whose content was changed."""
    return type(corrupt(path, what))(Fault(str(path), what, "remove the file and fetch the prices again"))


@contextmanager
def _book_errors(path: Path) -> Iterator[None]:
    """Converts errors of SQLite and the system inside into cloudcmp errors, with advice for a price book."""
    try:
        with storage(path):
            yield
    except StorageFault as error:
        raise StorageFault(*(Fault(f.where, f.what, _next(f)) for f in error.faults)) from error
    except CloudcmpError as error:
        if error.faults and error.faults[0].next == corrupt(path, "").faults[0].next:
            raise corrupt_book(path, error.faults[0].what) from error
        raise


def _next(fault: Fault) -> str:
    return fault.next.replace("go on with --resume", "fetch again").replace("name another folder with --out",
                                                                            "set XDG_DATA_HOME")  # fmt: skip


def _version(connection: sqlite3.Connection) -> tuple[int, int]:
    return tuple(connection.execute(f"PRAGMA {one}").fetchone()[0] for one in ("application_id", "user_version"))


def _where(provider: str, region: str | None, name: str | None) -> tuple[str, list[object]]:
    where, values = " AND provider = ?", [provider]
    if region is not None:
        where, values = where + " AND region IN (?, '')", [*values, region]
    if name is not None:
        where, values = where + " AND name = ?", [*values, name]
    return where, list(values)


class _Filler:
    """Writes the entries of a reader into the tables, a thousand rows at a time."""

    def __init__(self, connection: sqlite3.Connection, list_: int) -> None:
        self.list = list_
        self.published: date | None = None
        self._connection = connection
        self._waiting: dict[str, list[tuple[object, ...]]] = {"row": [], "sold": [], "doubt": []}
        self._covers: set[tuple[str, str, str, str]] = set()

    def fill(self, entries: Iterable[PriceEntry]) -> None:
        for one in entries:
            if isinstance(one, date):
                self.published = min(one, self.published or one)  # the oldest: a list is only as recent as that
                continue
            table, values = values_of(one)
            self._waiting[table].append((self.list, *values))
            if not isinstance(one, TypeFacts) and one.item is not None:
                bought = one.purchase or Purchase.ON_DEMAND
                self._covers.add((one.provider, one.region, one.item.value, bought.value))
            if len(self._waiting[table]) >= 1000:
                self._flush(table)
        for table in self._waiting:
            self._flush(table)
        self._connection.executemany(
            "INSERT INTO cover VALUES (?,?,?,?,?)", [(self.list, *one) for one in sorted(self._covers)]
        )

    def _flush(self, table: str) -> None:
        rows = self._waiting[table]
        if rows:
            marks = ",".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            rows.clear()


def _counts(connection: sqlite3.Connection, body: int) -> tuple[int, int, int]:
    rows, sold, doubts = (
        connection.execute(f"SELECT count(*) FROM {table} WHERE list = ?", (body,)).fetchone()[0]
        for table in ("row", "sold", "doubt")
    )
    return rows, sold, doubts


def _first(connection: sqlite3.Connection, body: int) -> tuple[Doubt, ...]:
    records = connection.execute("SELECT said FROM doubt WHERE list = ? ORDER BY rowid LIMIT 3", (body,))
    return tuple(doubt_of(json.loads(text)) for (text,) in records)


def _same(connection: sqlite3.Connection, head: PriceList, body: int) -> int | None:
    """The earlier body with the same bytes, source, kind and content; None if there is none."""
    bodies = connection.execute(
        "SELECT DISTINCT body FROM list WHERE sha256 = ? AND source = ? AND how = ? ORDER BY body DESC",
        (head.sha256, head.source, head.how),
    ).fetchall()
    if not bodies:
        return None
    text = _digest_of(connection, body)
    return next((int(one) for (one,) in bodies if _digest_of(connection, one) == text), None)


def _digest_of(connection: sqlite3.Connection, body: int) -> str:
    """A digest of the content of a body, in its order."""
    digest = hashlib.sha256()
    for table in ("row", "sold", "doubt"):
        digest.update(table.encode())
        for (text,) in connection.execute(f"SELECT said FROM {table} WHERE list = ? ORDER BY rowid", (body,)):
            digest.update(text.encode() + b"\n")
    return digest.hexdigest()
