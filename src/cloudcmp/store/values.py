"""One value for each trial and cell from its samples, by DuckDB over the Parquet files, which are read once."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cloudcmp.errors import Fault, StorageFault
from cloudcmp.model.cell import parse_params
from cloudcmp.model.plan import Plan
from cloudcmp.model.protocol import do_nothing
from cloudcmp.model.values import HistogramRow, Series, SeriesLimits, StudyValues, TrialValues
from cloudcmp.store.arrow import numbers, texts
from cloudcmp.store.faults import corrupt, from_os
from cloudcmp.store.signals import held_signals

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

T = TypeVar("T")

MEMORY_LIMIT = "1GB"
SAMPLES_AT_ONCE = 5_000_000
"""The number of samples that fits easily into the memory limit; more are processed in several steps."""
# The interval at which a query that continues after a signal is interrupted again.
_AGAIN_S = 0.1

Chosen = tuple[int, int, int]
"""Trial, attempt and number of samples of an attempt that supplies the values of its trial."""

_MEDIANS = """
SELECT trial_id, cell, median(value) AS value
FROM samples JOIN chosen USING (trial_id, attempt) JOIN cells USING (metric, params)
WHERE trial_id BETWEEN $first AND $last AND total = 0 AND value IS NOT NULL GROUP BY trial_id, cell
"""
# The sum is ordered, so that it does not depend on the order of files or on the number of threads.
_TOTALS = """
SELECT trial_id, cell, sum(part ORDER BY t_s, seq) / max(t_s) AS value FROM (
    SELECT trial_id, cell, seq, t_s,
        value * (t_s - lag(t_s, 1, 0.0) OVER (PARTITION BY trial_id, cell ORDER BY t_s, seq)) AS part
    FROM samples JOIN chosen USING (trial_id, attempt) JOIN cells USING (metric, params)
    WHERE trial_id BETWEEN $first AND $last AND total = 1 AND value IS NOT NULL)
GROUP BY trial_id, cell
"""
_HISTOGRAMS = """
SELECT trial_id, metric, params, hist
FROM samples JOIN chosen USING (trial_id, attempt) WHERE hist IS NOT NULL ORDER BY trial_id, seq
"""


_SAMPLES = """
SELECT trial_id AS trial, seq, metric, params, t_s, value, hist
FROM samples JOIN chosen USING (trial_id, attempt) ORDER BY trial_id, seq
"""


class Engine:
    """A DuckDB connection that works in another thread, while the caller only waits.

    DuckDB may block a thread until it is done, or catch a signal there and report it as its own error; and an exception
    that a signal raises while threads are started and joined would leave their locks held. So signals are recorded,
    interrupt the query, and are delivered once nothing runs any more.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        self._connection = connection

    def rows(self, query: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self._in_thread(lambda: self._connection.execute(query, values).fetchall())

    def columns(self, query: str, values: Mapping[str, object]) -> "dict[str, NDArray[Any]]":
        """All rows of a query, as an array for each column."""
        return self._in_thread(lambda: self._connection.execute(query, values).fetchnumpy())

    def table(self, query: str) -> "pa.Table":
        """All rows of a query, as an Arrow table."""
        return self._in_thread(lambda: self._connection.sql(query).to_arrow_table())

    def register(self, tables: "Mapping[str, pa.Table]") -> None:
        """Registers tables for queries, by name."""
        for name, table in tables.items():
            self._in_thread(partial(self._connection.register, name, table))

    def _in_thread(self, work: Callable[[], T]) -> T:
        import duckdb

        while True:
            with held_signals(self._connection.interrupt) as received, ThreadPoolExecutor(1) as pool:
                future = pool.submit(work)
                while not wait([future], _AGAIN_S).done:
                    if received:  # a signal before the start of the query interrupts nothing
                        self._connection.interrupt()
                fault = future.exception()
            if not (
                received and isinstance(fault, duckdb.InterruptException)
            ):  # otherwise the signals interrupted only the query
                return future.result()


@contextmanager
def engine(files: Sequence[Path]) -> Iterator[Engine]:
    """A DuckDB with the rows of `files` as the view `samples`; at least one file, all of one folder.

    The files are named through a link, because DuckDB would read `*`, `?` and `[` in a path as a pattern.
    """
    with held_signals(do_nothing):  # importing duckdb must not be interrupted by an exception
        import duckdb

    with scratch_folder() as scratch:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY_LIMIT,
            "threads": min(len(os.sched_getaffinity(0)), 8),
            "temp_directory": str(scratch),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        connection = duckdb.connect(config=settings)
        one = Engine(connection)
        try:
            link = scratch / "samples"
            link.symlink_to(files[0].parent.absolute())
            names = ", ".join("'" + str(link / path.name).replace("'", "''") + "'" for path in files)
            one.rows(f"CREATE VIEW samples AS SELECT * FROM read_parquet([{names}])")  # noqa: S608 (our names)
            yield one
        except duckdb.OutOfMemoryException as error:
            raise StorageFault(
                Fault(str(scratch), "no room to sort the samples", "set TMPDIR to a larger disk")
            ) from error
        except duckdb.Error as error:
            raise corrupt(files[0].parent, f"the samples cannot be read ({str(error).splitlines()[0]})") from error
        finally:
            connection.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder for data that does not fit into memory; removed afterwards."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="cloudcmp-", ignore_cleanup_errors=True)
    except OSError as error:
        raise from_os(error, Path("the temporary folder")) from error
    with scratch as path:
        yield Path(path)


def sample_table(chosen: Sequence[Chosen], files: Sequence[Path]) -> "pa.Table":
    """The samples in the files that belong to the `chosen` attempts; `t_s` counts from the measured phase."""
    import pyarrow as pa

    if files and chosen:
        with engine(files) as one:
            one.register(_tables([], chosen, frozenset()))
            return one.table(_SAMPLES)
    kinds = {"trial": pa.int32(), "seq": pa.int32(), "t_s": pa.float64(), "value": pa.float64()}
    names = ("trial", "seq", "metric", "params", "t_s", "value", "hist")
    return pa.schema([(name, kinds.get(name, pa.string())) for name in names]).empty_table()


def measured(
    plan: Plan,
    started: frozenset[int],
    chosen: Sequence[Chosen],
    files: Sequence[Path],
    totals: frozenset[str],
    limits: SeriesLimits | None = None,
) -> StudyValues:
    """The values, histograms and series in the files, all read by one engine.

    Has a value for each trial of `started` and each of its cells, in the order of the plan, the histograms, and the
    series within the limits `drawn`, if given. `chosen` are the attempts that supply the values. A cell without a
    sample, or with a value that is not finite, is not ok; a percentile cell is ok if its trial gave a histogram.
    """
    import numpy as np

    cells = list(dict.fromkeys(cell for trial in plan.trials for cell in trial.cells))
    index = {cell: i for i, cell in enumerate(cells)}
    rows = [
        (trial.launch, trial.index, index[cell])
        for trial in plan.trials
        if trial.index in started
        for cell in trial.cells
    ]
    launch, of_trial, cell = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    value = np.zeros(len(rows))
    ok = np.zeros(len(rows), dtype=np.bool_)
    histograms: tuple[HistogramRow, ...] = ()
    series: tuple[Series, ...] = ()
    whole: tuple[Series, ...] = ()
    if files and chosen:
        launches = {trial.index: trial.launch for trial in plan.trials}
        with engine(files) as one:
            one.register(_tables(cells, chosen, totals))
            histograms = tuple(HistogramRow(launches[row[0]], *row) for row in one.rows(_HISTOGRAMS))
            keys, keyed = _keyed(one, cells, chosen, totals, histograms)
            series = _series(one, cells, launches, limits) if limits else ()
            whole = _whole(one, cells, launches, limits.whole) if limits else ()
        wanted = of_trial * len(cells) + cell
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        if len(keys):
            ok = (keys[at] == wanted) & np.isfinite(keyed[at])
            value[ok] = keyed[at][ok]
    values = TrialValues(tuple(cells), launch.astype(np.int32), cell.astype(np.int32), ok, value)
    return StudyValues(values, histograms, series, whole)


def _keyed(
    one: Engine,
    cells: Sequence[str],
    chosen: Sequence[Chosen],
    totals: frozenset[str],
    histograms: Sequence[HistogramRow],
) -> tuple["NDArray[np.int64]", "NDArray[np.float64]"]:
    """Values by trial x number of cells + cell, in the order of these keys; 0 for a cell with a histogram."""
    import numpy as np

    plain, percentile = _kinds(cells)
    named = {metric in totals for _, metric, _ in plain}
    queries = [query for query, total in ((_MEDIANS, False), (_TOTALS, True)) if total in named]
    parts = [one.columns(query, {"first": first, "last": last}) for first, last in _steps(chosen) for query in queries]
    of_histogram: dict[tuple[str, str], list[int]] = {}
    for i, metric, params in percentile:
        of_histogram.setdefault((metric, params), []).append(i)
    in_histogram = {(row.trial, i) for row in histograms for i in of_histogram.get((row.metric, row.params), ())}
    pairs = np.array(sorted(in_histogram), dtype=np.int64).reshape(-1, 2)
    parts.append({"trial_id": pairs[:, 0], "cell": pairs[:, 1], "value": np.zeros(len(pairs))})
    trials, indexes, values = (
        np.concatenate([np.ma.filled(part[name].astype(np.float64), np.nan) for part in parts])
        for name in ("trial_id", "cell", "value")
    )
    keys = trials.astype(np.int64) * len(cells) + indexes.astype(np.int64)
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def _steps(chosen: Sequence[Chosen]) -> Iterator[tuple[int, int]]:
    """First and last trial of each step, so that memory does not grow with the number of samples."""
    first, last, waiting = -1, -1, 0
    for trial, _, n_samples in sorted(chosen):
        if last >= 0 and waiting + n_samples > SAMPLES_AT_ONCE:
            yield first, last
            last, waiting = -1, 0
        first = trial if last < 0 else first
        last = trial
        waiting += n_samples
    if last >= 0:
        yield first, last


_Named = tuple[int, str, str]


def _kinds(cells: Sequence[str]) -> tuple[list[_Named], list[_Named]]:
    """Index, metric and params of each plain cell, and of each percentile cell without its percentile."""
    plain: list[_Named] = []
    percentile: list[_Named] = []
    for i, cell in enumerate(cells):
        metric, _, params = cell.partition(" ")
        rest = parse_params(params)
        if rest.pop("percentile", None) is None:
            plain.append((i, metric, params))
        else:
            percentile.append((i, metric, ";".join(f"{key}={value}" for key, value in sorted(rest.items()))))
    return plain, percentile


def _tables(cells: Sequence[str], chosen: Sequence[Chosen], totals: frozenset[str]) -> "dict[str, pa.Table]":
    """The tables `chosen` and `cells` (those without a percentile) for queries."""
    import numpy as np
    import pyarrow as pa

    plain, _ = _kinds(cells)
    pairs = np.array(chosen, dtype=np.int32).reshape(-1, 3)
    columns = [numbers(np.ascontiguousarray(pairs[:, 0])), numbers(np.ascontiguousarray(pairs[:, 1]))]
    of_cells = [
        numbers(np.array([i for i, _, _ in plain], np.int32)),
        texts([metric for _, metric, _ in plain]),
        texts([params for _, _, params in plain]),
        numbers(np.array([metric in totals for _, metric, _ in plain], np.int32)),
    ]
    return {
        "chosen": pa.Table.from_arrays(columns, ["trial_id", "attempt"]),
        "cells": pa.Table.from_arrays(of_cells, ["cell", "metric", "params", "total"]),
    }


_SERIES = """
WITH drawn AS (
    SELECT trial_id, attempt, cell, metric, params, count(*) AS n
    FROM samples JOIN chosen USING (trial_id, attempt) JOIN cells USING (metric, params)
    WHERE value IS NOT NULL AND metric NOT IN (SELECT unnest($whole))
    GROUP BY ALL HAVING n >= $least ORDER BY trial_id, cell LIMIT $most),
numbered AS (
    SELECT trial_id, cell, n, t_s, value,
        row_number() OVER (PARTITION BY trial_id, cell ORDER BY t_s, seq) - 1 AS i
    FROM samples JOIN drawn USING (trial_id, attempt, metric, params) WHERE value IS NOT NULL)
SELECT trial_id, cell, list(t_s ORDER BY i), list(value ORDER BY i)
FROM numbered
WHERE n <= $points OR i = 0 OR i * ($points - 1) // (n - 1) <> (i - 1) * ($points - 1) // (n - 1)
GROUP BY trial_id, cell ORDER BY trial_id, cell
"""


def _series(one: Engine, cells: Sequence[str], launches: Mapping[int, int], limits: SeriesLimits) -> tuple[Series, ...]:
    """The samples over time of each cell with at least `least` of them, thinned to `points`; at most `most` series."""
    values = {"least": limits.least, "most": limits.most, "points": limits.points, "whole": list(limits.whole)}
    return _series_of(one.rows(_SERIES, values), cells, launches)


_WHOLE = """
SELECT trial_id, cell, list(t_s ORDER BY t_s, seq), list(value ORDER BY t_s, seq)
FROM samples JOIN chosen USING (trial_id, attempt) JOIN cells USING (metric, params)
WHERE value IS NOT NULL AND metric IN (SELECT unnest($whole)) GROUP BY trial_id, cell ORDER BY trial_id, cell
"""


def _whole(
    one: Engine, cells: Sequence[str], launches: Mapping[int, int], metrics: Sequence[str]
) -> tuple[Series, ...]:
    """All samples of some metrics."""
    return _series_of(one.rows(_WHOLE, {"whole": list(metrics)}), cells, launches) if metrics else ()


def _series_of(
    rows: Sequence[tuple[Any, ...]], cells: Sequence[str], launches: Mapping[int, int]
) -> tuple[Series, ...]:
    return tuple(
        Series(launches[trial], trial, cells[cell], tuple(t_s), tuple(value)) for trial, cell, t_s, value in rows
    )
