"""Small studies with planted values, straight in numpy, for the tests of analysis, cost, compare and answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from cloudcmp.catalog import METRICS
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Reduce
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import AGGREGATION, Candidate, Launch, Plan, PlannedTrial, Quote
from cloudcmp.model.result import Estimate
from cloudcmp.model.study import Decide
from cloudcmp.model.values import HistogramRow, TrialValues
from cloudcmp.stats.histogram import encode

FMA = "fma_flop_per_s precision=f64;threads=one"
FMA_ALL = "fma_flop_per_s precision=f64;threads=all"
LU = "lu_flop_per_s n=1000;threads=one"
CHASE = "chase_latency_s pages=base;size_bytes=16384"
TASK = "task_time_s task=fft;threads=1"
LOSS = "udp_loss_ratio path=loopback;rate_bytes_per_s=max;size_bytes=1448"
RTT50, RTT95, RTT99 = (f"rtt_s path=loopback;percentile={p};protocol=tcp;size_bytes=64" for p in (50, 95, 99))


def probe_of(cell: str) -> str:
    """The probe's name in these tests: one probe a metric."""
    return Cell.parse(cell).metric.split("_")[0]


def plan_of(
    candidates: int = 3,
    rounds: int = 6,
    runs: int = 2,
    cells: Sequence[str] = (FMA,),
    decide: Sequence[Decide] = (),
    prices: Sequence[Price | None] = (),
    sessions: Sequence[str | None] = (None,),
    categories: Sequence[str | None] = (),
    not_offered: Mapping[str, set[int]] | None = None,
    runner: str = "simulated",
    imported: bool = False,
    aggregation: tuple[str, ...] = AGGREGATION,
) -> Plan:
    """A plan with candidates c0, c1, ...; rounds in each session, candidates in the order of their numbers."""
    chosen = []
    for at in range(candidates):
        price = prices[at] if at < len(prices) else None
        category = categories[at] if at < len(categories) else None
        chosen.append(Candidate(at, f"c{at}", Offering("cloud", "r", f"c{at}", category=category, price=price), runner))
    launches, trials = [], []
    for session in sessions:
        for number in range(rounds):
            for at in range(candidates):
                launches.append(Launch(len(launches), at, number, session, 0.0, 1))
                for run in range(runs):
                    for probe in dict.fromkeys(probe_of(cell) for cell in cells):
                        given = tuple(
                            cell for cell in cells
                            if probe_of(cell) == probe and at not in (not_offered or {}).get(cell, set())
                        )  # fmt: skip
                        if given:
                            launch = launches[-1].index
                            trials.append(PlannedTrial(len(trials), launch, probe, (), given, run, 0, 1, 1, 1))
    return Plan(
        "test", "which?", tuple(chosen), tuple(launches), tuple(trials), tuple(decide), (), rounds, runs, 1, 0.0,
        Quote(len(trials), 1.0, None, None, (), 0.05), imported=imported, aggregation=aggregation,
    )  # fmt: skip


def price(amount: str, currency: str = "USD") -> Price:
    return Price(Decimal(amount), currency, "test")


Value = Callable[[str, Launch, int], float | None]


def values_of(plan: Plan, value: Value) -> tuple[TrialValues, tuple[HistogramRow, ...]]:
    """Trial values from `value(cell, launch, run)`, None for a trial that failed; a latency is 100 equal operations."""
    cells = tuple(dict.fromkeys(cell for trial in plan.trials for cell in trial.cells))
    rows, histograms = [], []
    for trial in plan.trials:
        launch = plan.launches[trial.launch]
        for cell in trial.cells:
            found = value(cell, launch, trial.run)
            latency = METRICS[Cell.parse(cell).metric].reduce is Reduce.PERCENTILE
            shown = 0.0 if found is None or latency else found
            rows.append((launch.index, cells.index(cell), found is not None, shown))
            if latency and found is not None and "percentile=50" in cell:
                metric = Cell.parse(cell).metric
                params = ";".join(f"{k}={v}" for k, v in Cell.parse(cell).params if k != "percentile")
                text = encode(np.full(100, found * 1e9))
                histograms.append(HistogramRow(launch.index, trial.index, metric, params, text))
    launch, cell, ok, shown = zip(*rows, strict=True) if rows else ((), (), (), ())
    return TrialValues(
        cells,
        np.array(launch, dtype=np.int32),
        np.array(cell, dtype=np.int32),
        np.array(ok, dtype=np.bool_),
        np.array(shown, dtype=np.float64),
    ), tuple(histograms)


def estimate_of(candidate: int, values: Sequence[float], cell: str = FMA, **changes: object) -> Estimate:
    """An estimate with these launch values of rounds 0, 1, ...; its figures are the numpy ones."""
    n = len(values)
    bare = Estimate(candidate, cell, 2 * n, 2 * n, n, tuple(values), tuple(range(n)), (None,) * n)
    if n:
        bare = replace(bare, median=float(np.median(values)), mean=float(np.mean(values)))
    return replace(bare, **changes)
