"""The measurements of a market that an application's demands need: cells of services, and benchmarks of processors."""

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.lookup import better_of, numbers_of
from cloudcmp.model.application import Application, CellWish
from cloudcmp.model.market import Market, Numbers
from cloudcmp.model.metric import Better

_PROCESSOR = ("task_time_s", "int_op_per_s", "unixbench_index", "n_index", "pi_time_s", "twolf_time_s", "npb_time_s",
              "lu_flop_per_s", "fma_flop_per_s", "triad_bytes_per_s", "chase_latency_s")  # fmt: skip
"""Metrics of processors and memory that may explain processor time, the most general first."""
_SINGLE, _EVERY = frozenset({"one", "1", ""}), "all"
_NO_PROCESSOR = "disk"
_SIZES = ("block_bytes", "entries", "size_bytes", "n", "digits")
_SHARED = ("table_", "blob_", "queue_", "wan_")
"""Metrics of a region rather than of one machine in it."""


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """A measurement of one thread of a processor, and of all its threads if that was measured."""

    one: Numbers
    every: Numbers | None

    @property
    def name(self) -> str:
        """The column's name."""
        return self.one.name


def parsed(name: str) -> tuple[str, Mapping[str, str]]:
    """The metric and the parameters of a column's name."""
    metric, _, rest = name.partition(" ")
    pairs = (one.partition("=") for one in rest.split(";") if one)
    return metric, {key: value for key, _, value in pairs}


def lower_is_better(column: Numbers) -> bool:
    """True for a time or a latency; a column of a table without a direction is one if its unit is seconds."""
    better = better_of(column)
    return better is Better.LOWER or (better is None and column.unit == "s")


def find_cell(market: Market, wish: CellWish) -> Numbers | None:
    """Return the column that fits a wish best; None without any.

    Of several the one with most of the parameters that the wish would rather have, then the largest sizes, then the
    fewest parameters.
    """
    found = []
    for name, column in market.columns.items():
        metric, params = parsed(name)
        if isinstance(column, Numbers) and metric == wish.metric and set(wish.must) <= set(params.items()):
            rather = sum(params.get(key) == value for key, value in wish.rather)
            sizes = tuple(float(params[key]) for key in _SIZES if params.get(key, "").isdigit())
            found.append(((rather, sizes, -len(params)), name, column))
    if not found:
        return None
    best = max(found, key=lambda one: (one[0], one[1]))[2]
    return _shared(market, best) if best.name.startswith(_SHARED) else best


def _shared(market: Market, column: Numbers) -> Numbers:
    """A column of a region's service with its values at every offering of the region."""
    first: dict[tuple[str, str], int] = {}
    for row, key in enumerate(market.keys):
        if np.isfinite(column.value[row]):
            first.setdefault(key[:2], row)
    rows = np.array([row if np.isfinite(column.value[row]) else first.get(key[:2], row)
                     for row, key in enumerate(market.keys)], np.int64)  # fmt: skip
    launches = None if column.launches is None else column.launches[rows]
    day = None if column.day is None else column.day[rows]
    return replace(column, value=column.value[rows], launches=launches, day=day)


def operation_costs(market: Market, op: str, size_bytes: int) -> NDArray[np.float64]:
    """Return what one operation costs at each offering's region, in the market's currency; NaN if that is unknown.

    A size of 0 is that of a row or of a message, which needs no other price.
    """
    own = next(
        (one for name, one in market.columns.items() if isinstance(one, Numbers) and _is_cost(name, op, size_bytes)),
        None,
    )
    if own is None:
        return np.full(len(market.keys), np.nan)
    return _shared(market, own).value


def _is_cost(name: str, op: str, size_bytes: int) -> bool:
    metric, params = parsed(name)
    return metric == f"{op}_cost" and (not size_bytes or params.get("size_bytes", "0") in {str(size_bytes), "0"})


def benchmarks_of(market: Market, application: Application) -> tuple[Benchmark, ...]:
    """Return the columns that may explain the application's processor time, the first choice first.

    They are those of the application's own list, in which `*` stands for any text; without one the probes of processors
    and memory; without such probes, as in the table of somebody else, every other measurement of a known direction.
    Raises UserMistake for a name in the list that is no column of numbers.
    """
    if application.benchmarks:
        names = [name for one in application.benchmarks for name in _named(market, one)]
        named = (numbers_of(market, name, f"benchmarks of {application.name}") for name in dict.fromkeys(names))
        return tuple(Benchmark(one, _every(market, one)) for one in named)
    return tuple(_known(market)) or tuple(_foreign(market, application.ran_cell))


def _named(market: Market, wanted: str) -> Sequence[str]:
    """The columns of numbers that a name with `*` fits; the name itself if it has none, or fits nothing."""
    names = [name for name, one in market.columns.items() if isinstance(one, Numbers)]
    return (fnmatch.filter(names, wanted) if "*" in wanted else ()) or (wanted,)


def _foreign(market: Market, own: str) -> Iterator[Benchmark]:
    for name, column in market.columns.items():
        if isinstance(column, Numbers) and name != own and better_of(column) is not None:
            yield Benchmark(column, None)


def _known(market: Market) -> Iterator[Benchmark]:
    columns: dict[str, list[tuple[Sequence[float], str, Numbers]]] = {}
    for name, column in market.columns.items():
        metric, params = parsed(name)
        threads = params.get("threads", params.get("copies", ""))
        if not isinstance(column, Numbers) or metric not in _PROCESSOR or threads not in _SINGLE:
            continue
        task = params.get("task", "")
        if task != _NO_PROCESSOR:
            sizes = tuple(float(params[key]) for key in _SIZES if params.get(key, "").isdigit())
            columns.setdefault(f"{metric} {task}", []).append((sizes, name, column))
    order = sorted(columns, key=lambda one: (_PROCESSOR.index(one.partition(" ")[0]), not one.endswith(" cpu"), one))
    for group in order:
        best = max(columns[group], key=lambda one: one[:2])[2]
        yield Benchmark(best, _every(market, best))


def _every(market: Market, column: Numbers) -> Numbers | None:
    """The same measurement with all threads at once."""
    metric, params = parsed(column.name)
    for key in ("threads", "copies"):
        if key in params:
            text = ";".join(f"{name}={_EVERY if name == key else value}" for name, value in params.items())
            found = market.columns.get(f"{metric} {text}")
            return found if isinstance(found, Numbers) else None
    return None
