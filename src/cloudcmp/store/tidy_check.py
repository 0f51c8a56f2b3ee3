"""Checks a user's table: whole columns at once, and single rows only if they are doubtful or new."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.trial import Outcome
from cloudcmp.model.untrusted_text import steering_character
from cloudcmp.model.values import LARGEST_VALUE
from cloudcmp.store.tidy import COLUMNS, NEEDED, SIGNED
from cloudcmp.store.tidy_agree import OUTCOMES, Faults, Key, TableLaunches, TidyChunk, TidyRows, TidyTable
from cloudcmp.store.tidy_columns import TextColumn, UnreadableColumn, groups, times_of, values_of
from cloudcmp.store.tidy_read import Block, RawTable, read_table
from cloudcmp.store.tidy_rows import SIGNS, RowChecker, cell_of, key_of, round_of, steered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = dict[str, NDArray[np.int64]]

T = TypeVar("T")

_OUTCOME = {"": OUTCOMES.index(Outcome.OK), **{outcome.value: at for at, outcome in enumerate(OUTCOMES)}}
_NUMBERS = ("value", "time")
_KEY = ("provider", "region", "offering")
_CELL = ("metric", "params")
_OF_LAUNCH = ("instance", "round", "session")
_BITS_OF_INSTANCE = 40
_HAS_INSTANCE = "instance?"
"""The code of whether a row names its launch: without rounds and sessions, nothing else of a launch can disagree."""


def read_tidy(path: Path, known: Mapping[str, Metric], better: Better | None = None) -> TidyTable:
    """Reads a tidy table, CSV or Parquet; `known` are the metrics whose unit and direction are fixed.

    `better` is the direction of the other metrics where the table has none.

    Raises UserMistake with every fault, as `file:line: what; next`: missing columns, invalid or infinite numbers,
    unknown outcomes, a metric with two units or directions, an offering with two values of one attribute.
    """
    return check_table(path, read_table(path), known, better)


def check_table(path: Path, table: RawTable, known: Mapping[str, Metric], better: Better | None = None) -> TidyTable:
    """Checks a table that is not from a file of its own; `path` names the study. Raises UserMistake as `read_tidy`."""
    missing = [name for name in NEEDED if name not in table.columns]
    if missing:
        what = f"the column {missing[0]} is" if len(missing) == 1 else f"the columns {', '.join(missing)} are"
        raise UserMistake(Fault(f"{path}:1", f"{what} missing", f"a table needs {', '.join(NEEDED)}"))
    for name in table.columns:
        if steering_character(name):
            raise UserMistake(Fault(f"{path}:1", steered(name, name), "remove it"))
    faults = Faults(path)
    check = _TableCheck(RowChecker(faults, known, table.columns), faults, known, table.columns)
    for block in table.blocks:
        try:
            check.take(block)
        except UnreadableColumn as error:
            raise UserMistake(Fault(str(path), f"a column cannot be read ({error})", "write it as text")) from None
    rows = check.rows()
    if not len(rows) and not faults:
        faults.add(str(path), "the table has no rows", "write at least one")
    return check.checker.agreement.table(path, rows, better)


class _TableCheck:
    """Takes blocks one after the other: valid rows by their columns, doubtful ones and the first of a kind row by row.

    Rows of one kind have the same columns of a metric, of an offering and of a launch: if the first of them is
    consistent with the table, all are.
    """

    def __init__(
        self, checker: RowChecker, faults: Faults, known: Mapping[str, Metric], columns: tuple[str, ...]
    ) -> None:
        self.checker = checker
        self._faults = faults
        self._columns = columns
        self._texts = {name: TextColumn(_IS_SOUND.get(name, _is_plain)) for name in columns if name not in _NUMBERS}
        attributes = [name for name in columns if name not in COLUMNS]
        self._kinds = (
            ("metric", "params", "unit", "better", "signed"),
            (*_KEY, *attributes),
            (*_KEY, *(("instance", "round", "session") if {"round", "session"} & {*columns} else (_HAS_INSTANCE,))),
        )
        self._known_kinds: tuple[set[tuple[int, ...]], ...] = (set(), set(), set())
        self._signed = {name: metric.signed for name, metric in known.items()}
        self._cells = _Numbering(self._cell)
        self._keys = _Numbering(self._key)
        self._launches = _Launches(self._texts)
        self._chunks: list[TidyChunk] = []

    def rows(self) -> TidyRows:
        """All rows that were taken; meaningless after a fault."""
        return TidyRows(tuple(self._chunks), self._keys.values(), self._cells.values(), self._launches.launches())

    def take(self, block: Block) -> None:
        """Checks a block of rows, and keeps them while there is no fault."""
        import numpy as np

        columns = dict(zip(self._columns, block.columns, strict=True))
        codes = {name: text.codes(columns[name], block.text_of) for name, text in self._texts.items()}
        if "instance" in codes:
            named = [bool(text) for text in self._texts["instance"].texts]
            codes[_HAS_INSTANCE] = np.array(named, np.int64)[codes["instance"]]
        value, empty = values_of(columns["value"], block.text_of)
        time, timeless = np.full(block.count, np.nan), np.ones(block.count, np.bool_)
        if "time" in columns:
            time, timeless = times_of(columns["time"], block.text_of)
        outcome = self._outcomes(codes, block.count)
        cell = self._cells.codes(_columns(codes, _CELL, block.count))
        doubtful = self._doubtful(codes, value, empty, outcome, cell)
        doubtful |= np.isnan(time) & ~timeless
        doubtful[list(block.uneven)] = True
        kept = np.ones(block.count, np.bool_)
        for at in self._to_read(codes, doubtful):
            cells = block.row(at)
            if cells is None:
                kept[at] = False
                continue
            row = self.checker.row(*cells)
            if row is not None and doubtful[at]:
                value[at], time[at] = _float(row.value), _float(row.time)
        if not self._faults:
            self._keep(codes, cell, value, outcome, time, kept)

    def _doubtful(
        self, codes: "Codes", value: "NDArray[np.float64]", empty: "NDArray[np.bool_]", outcome: "NDArray[np.int8]",
        cell: "NDArray[np.int64]",
    ) -> "NDArray[np.bool_]":  # fmt: skip
        """The rows that may have a fault of their own."""
        import numpy as np

        doubtful = cell < 0
        for name, text in self._texts.items():
            doubtful |= ~text.sound(codes[name])
        ok = outcome == _OUTCOME[""]
        texts = self._texts["metric"].texts
        signed = np.array([self._signed.get(name, False) for name in texts], np.bool_)[codes["metric"]]
        if "signed" in codes:
            own = np.array([name not in self._signed for name in texts], np.bool_)[codes["metric"]]
            signed |= (
                own & np.array([text == SIGNED for text in self._texts["signed"].texts], np.bool_)[codes["signed"]]
            )
        doubtful |= np.where(ok, empty | ~(np.abs(value) < LARGEST_VALUE), ~empty)
        doubtful |= ~signed & (value <= 0)
        return doubtful

    def _to_read(self, codes: "Codes", doubtful: "NDArray[np.bool_]") -> Iterable[int]:
        """The rows to be read one by one, in their order: the doubtful ones, and the first valid one of a new kind."""
        import numpy as np

        sure = np.flatnonzero(~doubtful)
        chosen = set(np.flatnonzero(doubtful).tolist())
        for kind, known in zip(self._kinds, self._known_kinds, strict=True):
            columns = [codes[name][sure] for name in kind if name in codes]
            if not len(sure):
                continue
            _, first = groups(columns)
            for at, *numbers in zip(sure[first].tolist(), *(column[first].tolist() for column in columns), strict=True):
                if tuple(numbers) not in known:
                    known.add(tuple(numbers))
                    chosen.add(at)
        return sorted(chosen)

    def _keep(
        self, codes: "Codes", cell: "NDArray[np.int64]", value: "NDArray[np.float64]", outcome: "NDArray[np.int8]",
        time: "NDArray[np.float64]", kept: "NDArray[np.bool_]",
    ) -> None:  # fmt: skip
        import numpy as np

        count = len(value)
        if not kept.all():
            codes = {name: column[kept] for name, column in codes.items()}
            cell, value, outcome, time, count = cell[kept], value[kept], outcome[kept], time[kept], int(kept.sum())
        if not count:
            return
        key = self._keys.codes(_columns(codes, _KEY, count))
        launch = self._launches.codes(key, codes, time)
        self._chunks.append(TidyChunk(launch, cell.astype(np.int32), value, outcome, time))

    def _outcomes(self, codes: "Codes", count: int) -> "NDArray[np.int8]":
        import numpy as np

        if "outcome" not in codes:
            return np.full(count, _OUTCOME[""], np.int8)
        texts = self._texts["outcome"].texts
        return np.array([_OUTCOME.get(text, _OUTCOME[""]) for text in texts], np.int8)[codes["outcome"]]

    def _cell(self, numbers: tuple[int, ...]) -> str | None:
        try:
            return cell_of(*self._named(_CELL, numbers))
        except UserMistake:
            return None

    def _key(self, numbers: tuple[int, ...]) -> Key:
        return key_of(*self._named(_KEY, numbers))

    def _named(self, names: tuple[str, ...], numbers: tuple[int, ...]) -> list[str]:
        return [
            self._texts[name].texts[number] if name in self._texts else ""
            for name, number in zip(names, numbers, strict=True)
        ]


class _Numbering(Generic[T]):
    """Numbers for combinations of columns, in the order of their first rows; -1 if a combination has no value."""

    def __init__(self, value_of: Callable[[tuple[int, ...]], T | None]) -> None:
        self._value_of = value_of
        self._numbers: dict[T, int] = {}
        self._known: dict[tuple[int, ...], int] = {}

    def values(self) -> tuple[T, ...]:
        """All values, by number."""
        return tuple(self._numbers)

    def codes(self, columns: "list[NDArray[np.int64]]") -> "NDArray[np.int64]":
        """The number of each row's value."""
        import numpy as np

        rows, first = groups(columns)
        named = zip(*(column[first].tolist() for column in columns), strict=True)
        return np.array([self._number(numbers) for numbers in named], np.int64)[rows]

    def _number(self, numbers: tuple[int, ...]) -> int:
        if numbers not in self._known:
            value = self._value_of(numbers)
            self._known[numbers] = -1 if value is None else self._numbers.setdefault(value, len(self._numbers))
        return self._known[numbers]


class _Launches:
    """The launches of a table: rows of one offering and instance share one, a row without an instance is its own."""

    def __init__(self, texts: Mapping[str, TextColumn]) -> None:
        self._texts = texts
        self._known: dict[int, int] = {}
        self._count = 0
        self._parts: list[tuple[NDArray[np.int64], ...]] = []
        self._times: list[NDArray[np.float64]] = []

    def codes(self, key: "NDArray[np.int64]", codes: "Codes", time: "NDArray[np.float64]") -> "NDArray[np.int32]":
        """The number of each row's launch."""
        import numpy as np

        begun, instance = self._count, codes.get("instance")
        if instance is None or "" in [self._texts["instance"].texts[code] for code in np.unique(instance)]:
            self._count += len(key)
            self._add(np.arange(len(key)), key, codes, time)
            return np.arange(begun, self._count, dtype=np.int32)
        rows, first = groups([key, instance])
        pairs = (key[first] << _BITS_OF_INSTANCE) | instance[first]
        numbers = np.array([self._number(pair) for pair in pairs.tolist()], np.int32)
        self._add(first[numbers >= begun], key, codes, time)
        return numbers[rows]

    def launches(self) -> TableLaunches:
        """All launches, in the order of their first rows."""
        import numpy as np

        none = np.zeros(0, np.int64)
        columns = [np.concatenate(parts) for parts in zip(*self._parts, strict=True)] or [none] * 4
        instances, rounds, sessions = (
            tuple(self._texts[name].texts) if name in self._texts else ("",) for name in _OF_LAUNCH
        )
        numbers = tuple(round_of(text) if text and _is_round(text) else None for text in rounds)
        key, instance, round_, session = columns
        return TableLaunches(
            key, instance, round_, session, np.concatenate([np.zeros(0), *self._times]), instances, numbers, sessions
        )

    def _number(self, pair: int) -> int:
        number = self._known.setdefault(pair, self._count)
        self._count += number == self._count
        return number

    def _add(
        self, rows: "NDArray[np.int64]", key: "NDArray[np.int64]", codes: "Codes", time: "NDArray[np.float64]"
    ) -> None:
        self._parts.append((key[rows], *(column[rows] for column in _columns(codes, _OF_LAUNCH, len(key)))))
        self._times.append(time[rows])


def _columns(codes: "Codes", names: tuple[str, ...], count: int) -> "list[NDArray[np.int64]]":
    """The codes of some columns; zeros for a missing column."""
    import numpy as np

    return [codes[name] if name in codes else np.zeros(count, np.int64) for name in names]


def _float(number: float | None) -> float:
    return float("nan") if number is None else number


def _is_plain(text: str) -> bool:
    return steering_character(text) is None


def _is_named(text: str) -> bool:
    return bool(text) and _is_plain(text)


def _is_round(text: str) -> bool:
    try:
        return not text or round_of(text) >= 0
    except ValueError:
        return False


_IS_SOUND = {
    "round": _is_round,
    "signed": SIGNS.__contains__,
    "outcome": _OUTCOME.__contains__,
    **dict.fromkeys(NEEDED[:3], _is_named),
}
