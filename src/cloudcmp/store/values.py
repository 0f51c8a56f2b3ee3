"""From samples to one value for each trial and cell, by DuckDB over the Parquet files."""

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
from cloudcmp.model.protocol import nothing
from cloudcmp.model.values import HistogramRow, Series, TrialValues
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
# How often a query that goes on after a signal is ended once more.
_AGAIN_S = 0.1
"""So many fit into the memory limit with room to spare; more are taken in several steps."""

Chosen = tuple[int, int, int]
"""Trial, attempt and number of samples of an attempt that gives the values of its trial."""

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
SELECT DISTINCT trial_id, cell, 0.0 AS value
FROM samples JOIN chosen USING (trial_id, attempt) JOIN histogram_cells USING (metric, params)
WHERE trial_id BETWEEN $first AND $last AND hist IS NOT NULL
"""


class Engine:
    """A DuckDB connection whose work is done in another thread, while whoever asks only waits.

    DuckDB may hold a thread until it is done, or catch a signal there and call it an error of its own; and an exception
    that a signal raises while threads are started and joined would leave their locks held. So signals are taken note
    of, end the query, and are passed on when nothing is under way any more.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        self._connection = connection

    def rows(self, query: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self._aside(lambda: self._connection.execute(query, values).fetchall())

    def columns(self, query: str, values: Mapping[str, object]) -> "dict[str, NDArray[Any]]":
        """All rows of a query, as an array for each column."""
        return self._aside(lambda: self._connection.execute(query, values).fetchnumpy())

    def register(self, tables: "Mapping[str, pa.Table]") -> None:
        """Tables for queries, by name."""
        for name, table in tables.items():
            self._aside(partial(self._connection.register, name, table))

    def _aside(self, work: Callable[[], T]) -> T:
        import duckdb

        while True:
            with held_signals(self._connection.interrupt) as came, ThreadPoolExecutor(1) as pool:
                future = pool.submit(work)
                while not wait([future], _AGAIN_S).done:
                    if came:  # a signal ends nothing where it came before the query had begun
                        self._connection.interrupt()
                fault = future.exception()
            if not (came and isinstance(fault, duckdb.InterruptException)):  # else they ended it and nothing more
                return future.result()


@contextmanager
def engine(files: Sequence[Path]) -> Iterator[Engine]:
    """A DuckDB that sees the rows of `files`, one at least and all of one folder, as the view `samples`.

    The files are named through a link, because DuckDB would read `*`, `?` and `[` in a path as a pattern.
    """
    with held_signals(nothing):  # whose module ends the process when what a signal raises comes while it is made
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
            raise corrupt(files[0].parent, f"the samples can not be read ({str(error).splitlines()[0]})") from error
        finally:
            connection.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for what does not fit into memory; removed afterwards."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="cloudcmp-", ignore_cleanup_errors=True)
    except OSError as error:
        raise from_os(error, Path("the temporary folder")) from error
    with scratch as path:
        yield Path(path)


def trial_values(
    plan: Plan,
    started: frozenset[int],
    chosen: Sequence[Chosen],
    files: Sequence[Path],
    totals: frozenset[str],
) -> TrialValues:
    """One row for each trial of `started` and each of its cells, in the order of the plan.

    `chosen` are the attempts that give the values. A cell without a sample, or with a value that
    is not finite, is not ok.
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
    if files and chosen:
        keys, found = _measured(cells, chosen, files, totals)
        wanted = of_trial * len(cells) + cell
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        if len(keys):
            ok = (keys[at] == wanted) & np.isfinite(found[at])
            value[ok] = found[at][ok]
    return TrialValues(tuple(cells), launch.astype(np.int32), cell.astype(np.int32), ok, value)


def _measured(
    cells: Sequence[str], chosen: Sequence[Chosen], files: Sequence[Path], totals: frozenset[str]
) -> tuple["NDArray[np.int64]", "NDArray[np.float64]"]:
    """Values by trial x number of cells + cell, in the order of these keys."""
    import numpy as np

    with engine(files) as one:
        one.register(tables(cells, chosen, totals))
        parts = [
            one.columns(query, {"first": first, "last": last})
            for first, last in _steps(chosen)
            for query in (_MEDIANS, _TOTALS, _HISTOGRAMS)
        ]
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


def tables(
    cells: Sequence[str], chosen: Sequence[Chosen], totals: frozenset[str] = frozenset()
) -> "dict[str, pa.Table]":
    """The tables `chosen`, `cells` and `histogram_cells` (whose params are without the percentile) for queries."""
    import numpy as np
    import pyarrow as pa

    plain: list[tuple[int, str, str]] = []
    percentile: list[tuple[int, str, str]] = []
    for i, cell in enumerate(cells):
        metric, _, params = cell.partition(" ")
        rest = parse_params(params)
        if rest.pop("percentile", None) is None:
            plain.append((i, metric, params))
        else:
            percentile.append((i, metric, ";".join(f"{key}={value}" for key, value in sorted(rest.items()))))
    pairs = np.array(chosen, dtype=np.int32).reshape(-1, 3)
    columns = [numbers(np.ascontiguousarray(pairs[:, 0])), numbers(np.ascontiguousarray(pairs[:, 1]))]
    named = {"chosen": pa.Table.from_arrays(columns, ["trial_id", "attempt"])}
    for name, rows in (("cells", plain), ("histogram_cells", percentile)):
        columns = [
            numbers(np.array([i for i, _, _ in rows], np.int32)),
            texts([metric for _, metric, _ in rows]),
            texts([params for _, _, params in rows]),
            numbers(np.array([metric in totals for _, metric, _ in rows], np.int32)),
        ]
        named[name] = pa.Table.from_arrays(columns, ["cell", "metric", "params", "total"])
    return named


def histograms(
    launches: Mapping[int, int], chosen: Sequence[Chosen], files: Sequence[Path]
) -> tuple[HistogramRow, ...]:
    """Every histogram of the chosen attempts; `launches` gives the launch of each trial."""
    if not files:
        return ()
    with engine(files) as one:
        one.register(tables((), chosen))
        rows = one.rows(
            "SELECT trial_id, metric, params, hist FROM samples JOIN chosen USING (trial_id, attempt)"
            " WHERE hist IS NOT NULL ORDER BY trial_id, seq",
        )
    return tuple(HistogramRow(launches[trial], trial, metric, params, hist) for trial, metric, params, hist in rows)


_SERIES = """
WITH drawn AS (
    SELECT trial_id, attempt, cell, metric, params, count(*) AS n
    FROM samples JOIN chosen USING (trial_id, attempt) JOIN cells USING (metric, params)
    WHERE value IS NOT NULL GROUP BY ALL HAVING n >= $least ORDER BY trial_id, cell LIMIT $most),
numbered AS (
    SELECT trial_id, cell, n, t_s, value,
        row_number() OVER (PARTITION BY trial_id, cell ORDER BY t_s, seq) - 1 AS i
    FROM samples JOIN drawn USING (trial_id, attempt, metric, params) WHERE value IS NOT NULL)
SELECT trial_id, cell, list(t_s ORDER BY i), list(value ORDER BY i)
FROM numbered
WHERE n <= $points OR i = 0 OR i * ($points - 1) // (n - 1) <> (i - 1) * ($points - 1) // (n - 1)
GROUP BY trial_id, cell ORDER BY trial_id, cell
"""


def series(
    plan: Plan, chosen: Sequence[Chosen], files: Sequence[Path], least: int, most: int, points: int
) -> tuple[Series, ...]:
    """The samples over time of each cell with at least `least` of them, thinned to `points`; at most `most` series."""
    if not files:
        return ()
    cells = list(dict.fromkeys(cell for trial in plan.trials for cell in trial.cells))
    launches = {trial.index: trial.launch for trial in plan.trials}
    with engine(files) as one:
        one.register(tables(cells, chosen))
        rows = one.rows(_SERIES, {"least": least, "most": most, "points": points})
    return tuple(
        Series(launches[trial], trial, cells[cell], tuple(t_s), tuple(value)) for trial, cell, t_s, value in rows
    )
