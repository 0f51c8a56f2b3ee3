"""Consistency between the rows of a table: units, directions, attributes of an offering, and the rows of a launch."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, overload

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Group, Metric, Reduce
from cloudcmp.model.trial import Outcome
from cloudcmp.store.tidy import COLUMNS, SIGNED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_FAULTS = 20
PRICE = re.compile(r"price_([a-z]{3})_per_hour", re.ASCII)
NUMBER_PATTERN = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_NUMBER = re.compile(NUMBER_PATTERN, re.ASCII)
OUTCOMES = tuple(Outcome)
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A row without a fault; `key` is provider, region and offering. None and empty texts are unknown."""

    key: Key
    instance: str
    round: int | None
    session: str
    time: float | None
    cell: str
    value: float | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class TableLaunch:
    """A launch as its first row describes it; `key` counts the offerings of the table, `instance` may be empty."""

    key: int
    instance: str
    round: int | None
    session: str
    time: float | None


@dataclass(frozen=True, slots=True, eq=False)
class TableLaunches(Sequence[TableLaunch]):
    """The launches of a table in columns of equal length; as a sequence, each as its first row describes it.

    `instance`, `round` and `session` count `instances`, `rounds` and `sessions`; a `time` that is unknown is NaN.
    A million launches in columns take a fifth of the memory of objects, and no time of the garbage collector.
    """

    key: "NDArray[np.int64]"
    instance: "NDArray[np.int64]"
    round: "NDArray[np.int64]"
    session: "NDArray[np.int64]"
    time: "NDArray[np.float64]"
    instances: tuple[str, ...]
    rounds: tuple[int | None, ...]
    sessions: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.key)

    @property
    def timeless(self) -> bool:
        """True if the time of a launch is unknown."""
        return any(map(math.isnan, self.time.tolist()))

    @overload
    def __getitem__(self, at: int) -> TableLaunch: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[TableLaunch]: ...

    def __getitem__(self, at: int | slice) -> TableLaunch | Sequence[TableLaunch]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        time = float(self.time[at])
        return TableLaunch(
            int(self.key[at]), self.instances[self.instance[at]], self.rounds[self.round[at]],
            self.sessions[self.session[at]], None if math.isnan(time) else time,
        )  # fmt: skip

    def __iter__(self) -> Iterator[TableLaunch]:
        columns = (one.tolist() for one in (self.key, self.instance, self.round, self.session, self.time))
        for key, instance, round_, session, time in zip(*columns, strict=True):
            known = None if math.isnan(time) else time
            yield TableLaunch(key, self.instances[instance], self.rounds[round_], self.sessions[session], known)


@dataclass(frozen=True, slots=True, eq=False)
class TidyChunk:
    """Rows in columns of equal length; `launch`, `cell` and `outcome` count those of the table; NaN is unknown."""

    launch: "NDArray[np.int32]"
    cell: "NDArray[np.int32]"
    value: "NDArray[np.float64]"
    outcome: "NDArray[np.int8]"
    time: "NDArray[np.float64]"


@dataclass(frozen=True, slots=True)
class TidyRows:
    """The rows of a table in its order; offerings, cells and launches are in the order of their first rows."""

    chunks: tuple[TidyChunk, ...]
    keys: tuple[Key, ...]
    cells: tuple[str, ...]
    launches: TableLaunches

    def __len__(self) -> int:
        return sum(len(chunk.launch) for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class TidyTable:
    """A table whose rows are consistent; `attributes` are texts by offering and name.

    `assumed` are the metrics whose direction neither the table nor the catalogue says, but the caller.
    """

    path: Path
    rows: TidyRows
    metrics: dict[str, Metric]
    attributes: dict[Key, dict[str, str]]
    has_rounds: bool
    has_instances: bool
    assumed: tuple[str, ...] = ()


def number_of(text: str) -> float | None:
    """The finite number in a text in decimal or scientific form, None for any other text."""
    if _NUMBER.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


class Faults:
    """The faults of a table: counts all of them and keeps the first few."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: list[Fault] = []
        self._count = 0

    def add(self, where: str, what: str, next: str) -> None:
        """Adds one fault."""
        self._count += 1
        if self._count <= MOST_FAULTS:
            self._kept.append(Fault(where, what, next))

    def __bool__(self) -> bool:
        return self._count > 0

    def raise_any(self) -> None:
        """Raises UserMistake if there was a fault."""
        if self._count > MOST_FAULTS:
            hidden = self._count - MOST_FAULTS
            self._kept.append(Fault(str(self._path), f"{hidden} more faults are not shown", "mend these first"))
        if self._kept:
            raise UserMistake(*self._kept)


@dataclass(slots=True)
class _Metric:
    """A metric as its rows describe it: first place, unit, direction, whether it can be 0 or less, parameters."""

    where: str
    unit: str
    better: str = ""
    signed: bool | None = None
    params: set[str] = field(default_factory=set)
    cells: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)


class Agreement:
    """Takes rows one after the other and reports each contradiction to an earlier row once."""

    def __init__(self, faults: Faults, known: Mapping[str, Metric], columns: tuple[str, ...]) -> None:
        self._faults = faults
        self._known = known
        self._attributes = [name for name in columns if name not in COLUMNS]
        self._offerings: dict[Key, dict[str, str]] = {}
        self._metrics: dict[str, _Metric] = {}
        self._launches: dict[tuple[Key, str], tuple[int | None, str]] = {}
        self._reported: set[tuple[Key, str, str]] = set()
        self._with: dict[str, str] = {}
        self._without: dict[str, str] = {}

    def take(self, where: str, of: Mapping[str, str], row: CheckedRow) -> None:
        """Compares a row with those before it; `of` are its cells by column."""
        self._take_metric(where, of, row)
        for name in self._attributes:
            if of[name]:
                self._take_attribute(where, row.key, name, of[name])
        for name, there in (("round", of.get("round")), ("instance", row.instance)):
            (self._with if there else self._without).setdefault(name, where)
        if row.instance:
            self._take_launch(where, row)

    def _take_launch(self, where: str, row: CheckedRow) -> None:
        first = self._launches.setdefault((row.key, row.instance), (row.round, row.session))
        reported = (row.key, "", row.instance)
        if first != (row.round, row.session) and reported not in self._reported:
            what = f"the instance {row.instance!r} of {row.key[2]} has two rounds or two sessions"
            next_ = "an instance is one launch: name another one in each round and session"
            self._faults.add(where, what, next_)
            self._reported.add(reported)

    def _take_metric(self, where: str, of: Mapping[str, str], row: CheckedRow) -> None:
        name, unit, better = of["metric"], of["unit"], of.get("better", "")
        metric = self._metrics.get(name)
        if metric is None:
            known = self._known.get(name)
            metric = _Metric("its definition", known.unit, known.better.value) if known else _Metric(where, unit)
            self._metrics[name] = metric
        if row.cell not in metric.cells:
            metric.cells.add(row.cell)
            metric.params.update(key for key, _ in Cell.parse(row.cell).params)
        self._take_sign(where, name, metric, of.get("signed", ""))
        if unit != metric.unit and unit not in metric.reported:
            what = f"{name} is in {unit!r} here, and in {metric.unit!r} by {metric.where}"
            self._faults.add(where, what, "convert the values to one unit")
            metric.reported.add(unit)
        if not better or better in metric.reported:
            return
        if better not in tuple(Better):
            self._faults.add(where, f"unknown direction {better!r}", "write higher or lower in the column better")
        elif metric.better and better != metric.better:
            self._faults.add(where, f"{name} is better {better} here, and {metric.better} before", "keep one direction")
        else:
            metric.better = better
            return
        metric.reported.add(better)

    def _take_sign(self, where: str, name: str, metric: _Metric, sign: str) -> None:
        if name in self._known:
            return  # the catalogue knows
        signed = sign == SIGNED
        if metric.signed is not None and metric.signed is not signed and "signed" not in metric.reported:
            self._faults.add(where, f"signed of {name} is {sign!r} here, else before", "write it in all rows")
            metric.reported.add("signed")
        metric.signed = signed

    def _take_attribute(self, where: str, key: Key, name: str, text: str) -> None:
        mine = self._offerings.setdefault(key, {})
        before = mine.get(name)
        if before == text or (key, name, text) in self._reported:
            return
        number = _NUMERIC.get(name) or (PRICE.fullmatch(name) and _not_negative)
        if number and number(text) is None:
            self._faults.add(where, f"{name} is {text!r}, which is no such number", "write e.g. 4, or leave it empty")
        elif before is None:
            mine[name] = text
            return
        elif number is None or number(text) != number(before):
            what = f"{name} of {key[2]} is {text!r} here and {before!r} before"
            self._faults.add(where, what, "keep one of them, or name the offerings apart")
        self._reported.add((key, name, text))

    def table(self, path: Path, rows: TidyRows, better: Better | None = None) -> TidyTable:
        """The table of all rows that were taken; raises UserMistake if there was any fault.

        `better` is the direction of the metrics whose direction is not known otherwise.
        """
        for name, where in self._without.items():
            if name in self._with:
                self._faults.add(where, f"{name} is empty here, and given on {self._with[name]}", "give it in all rows")
        for key, attributes in self._offerings.items():
            if sum(PRICE.fullmatch(name) is not None for name in attributes) > 1:
                self._faults.add(str(path), f"{key[2]} has prices in two currencies", "keep one of them")
        assumed = tuple(name for name, metric in self._metrics.items() if not metric.better)
        for name in assumed:
            metric = self._metrics[name]
            if better is not None:
                metric.better = better.value
            else:
                next_ = "add the column better with higher or lower, or --better higher|lower for all such metrics"
                self._faults.add(metric.where, f"whether a higher or a lower {name} is better is not known", next_)
        self._faults.raise_any()
        metrics = {name: self._metric(path, name, metric) for name, metric in self._metrics.items()}
        return TidyTable(path, rows, metrics, self._offerings, "round" in self._with, "instance" in self._with,
                         assumed)  # fmt: skip

    def _metric(self, path: Path, name: str, metric: _Metric) -> Metric:
        """The metric as it is in a table: one value per row, whatever samples it came from."""
        if name in self._known:
            return replace(self._known[name], reduce=Reduce.MEDIAN)
        return Metric(
            name,
            metric.unit,
            Better(metric.better),
            Group.COMPUTE,
            Reduce.MEDIAN,
            tuple(sorted(metric.params)),
            f"As the table {path.name} has it.",
            "What the table does not say.",
            1.0,
            bool(metric.signed),
        )


def _positive(text: str) -> float | None:
    number = number_of(text)
    return None if number is None or number <= 0 else number


def _count(text: str) -> float | None:
    number = _positive(text)
    return None if number is None or not number.is_integer() else number


def _not_negative(text: str) -> Decimal | None:
    """An amount of money; zero is allowed, and means that the price is unknown."""
    return Decimal(text) if (number := number_of(text)) is not None and number >= 0 else None


_NUMERIC = {"vcpus": _positive, "memory_gib": _positive, "count": _count}
