"""Views built by hand, with the numbers that the reports must show."""

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from tests.report.listed import Listed

from cloudcmp.catalog import METRICS
from cloudcmp.cost import with_cost
from cloudcmp.model.cell import Cell
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial, Quote
from cloudcmp.model.result import Bounds, Comparison, Estimate, Verdict, Winner
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.model.values import Series
from cloudcmp.model.view import Cdf, View
from cloudcmp.report.figures import Figure, figures
from cloudcmp.units import Money

START = 1_790_000_000.0
ROUNDS = 6
# cell, the mean of the first candidate, and the others' factors
CELLS = (
    ("fma_flop_per_s precision=f64;threads=one", 5.2e10, (1.0, 1.004, 0.7)),
    ("fma_flop_per_s precision=f64;threads=all", 9.8e10, (1.0, 1.9, 3.5)),
    ("triad_bytes_per_s store=nontemporal;threads=all", 1.4e10, (1.0, 1.2, 1.5)),
    ("chase_latency_s pages=base;size_bytes=268435456", 9.1e-8, (1.0, 1.4, 1.01)),
    ("disk_op_per_s block_bytes=4096;depth=1;durability=direct;op=read;pattern=random;threads=one", 8.1e3, (1, 2.2, 5)),
    ("blob_latency_s concurrency=1;op=download;percentile=50;size_bytes=1024", 0.031, (1.0, 0.6, 0.62)),
    ("blob_latency_s concurrency=1;op=download;percentile=99;size_bytes=1024", 0.21, (1.0, 0.5, 1.8)),
    ("tcp_bytes_per_s path=zone;size_bytes=131072;streams=1", 6.1e8, (1.0, 1.9, 1.02)),
    ("udp_loss_ratio path=zone;rate_bytes_per_s=max;size_bytes=1448", 0.004, (1.0, 0.0, 6.0)),
    ("rtt_s path=zone;percentile=95;protocol=tcp;size_bytes=64", 2.1e-4, (1.0, 1.3, 0.7)),
    ("task_time_s task=crypto;threads=one", 8.1, (1.0, 0.8, 1.4)),
    ("wan_rtt_s percentile=50;vantage=europe", 0.031, (1.0, 3.1, 2.2)),
)
# Texts that name a cell, a metric or what is planned: other tests fill those.
_STRUCTURAL = frozenset({"cell", "cells", "metric", "params", "probe", "metrics", "facts", "stop", "sha256"})
ViewOf = Callable[..., View]


def poisoned(value: Any, payload: str) -> Any:
    """A copy of frozen data in which every free text is the payload."""
    if isinstance(value, StrEnum):
        return value
    if isinstance(value, str):
        return payload
    if is_dataclass(value) and not isinstance(value, type):
        texts = {one.name: poisoned(getattr(value, one.name), payload) for one in fields(value)
                 if one.name not in _STRUCTURAL}  # fmt: skip
        return replace(value, **texts)
    if isinstance(value, Listed):
        return value.worded(lambda _: payload)
    if isinstance(value, tuple):
        return tuple(poisoned(one, payload) for one in value)
    return value


def candidate(index: int, provider: str, name: str, price: str | None, *, runner: str | None = None) -> Candidate:
    """A candidate whose id is `provider/name`."""
    cost = None if price is None else Price(Decimal(price), "USD", "list price")
    offering = Offering(provider, "eu-1", name, vcpus=2.0, memory_gib=4.0, category="general", price=cost,
                        attributes=(("cpu", "Xeon Platinum"), ("network_bytes_per_s", "1250000000")))  # fmt: skip
    return Candidate(index, f"{provider}/{name}", offering, runner or provider)


CANDIDATES = (
    candidate(0, "simulated", "alpha-2", "0.081"),
    candidate(1, "simulated", "beta-2", "0.094"),
    candidate(2, "simulated", "gamma-2", None),
)


def bounds(values: list[float]) -> Bounds:
    """The interval that spans all values: exact for six of them."""
    return Bounds(min(values), max(values), 0.96875)


def estimate(at: int, cell: str, mean: float, rng: random.Random, *, failed: int = 0, n: int = ROUNDS) -> Estimate:
    """An estimate from `n` launch values drawn around a mean."""
    values = [mean * (1 + rng.gauss(0, 0.02)) for _ in range(n)]
    counted = {"n_started": 2 * n, "n_ok": 2 * n - failed, "n": n, "values": tuple(values)}
    places = {"rounds": tuple(range(n)), "sessions": (None,) * n}
    middle, average = statistics.median(values), statistics.fmean(values)
    error = 2.57 * statistics.stdev(values) / math.sqrt(n)
    return Estimate(at, cell, **counted, **places, median=middle, median_bounds=bounds(values), mean=average,
                    mean_bounds=Bounds(average - error, average + error), p5=min(values), p95=max(values),
                    cov=statistics.stdev(values) / average if average else None, between_share=0.6)  # fmt: skip


def compared(cell: str, a: Estimate, b: Estimate, verdict: Verdict | None, reason: str = "") -> Comparison:
    """A comparison of two estimates with the verdict that it is given."""
    signed = METRICS[Cell.parse(cell).metric].signed
    x, y = a.median or 0.0, b.median or 0.0
    effect = x - y if signed else x / y
    near = (effect - 0.001, effect + 0.001) if signed else (effect * 0.97, effect * 1.03)
    return Comparison(cell, a.candidate, b.candidate, ROUNDS, verdict is not None, signed, effect, Bounds(*near),
                      Bounds(*near, 0.9), 0.0004, 0.012, 0.02, effect, 0.91, 0.003 if signed else 1.041, verdict,
                      reason)  # fmt: skip


def verdict_of(cell: str, x: float, y: float) -> Verdict:
    """The verdict on x against y without any test: within 3 % is the same."""
    if abs(x - y) <= 0.03 * abs(y):
        return Verdict.SAME
    return Verdict.BETTER if (x > y) == (METRICS[Cell.parse(cell).metric].better == "higher") else Verdict.WORSE


def plan_of(candidates: tuple[Candidate, ...], cells: tuple[str, ...], **changes: object) -> Plan:
    """A plan of six rounds with one trial for each launch."""
    launches = tuple(
        Launch(at, at % len(candidates), at // len(candidates), None, 600.0 * at, at)
        for at in range(ROUNDS * len(candidates))
    )
    trials = tuple(
        PlannedTrial(one.index, one.index, "fma", (), cells, 0, one.start_s, 2.0, 20.0, one.index) for one in launches
    )
    quote = Quote(len(trials), 720.0, Money(Decimal("1.20"), "USD"), Money(Decimal("4.80"), "USD"),
                  (("fma_flop_per_s", 0.04),), 0.02, ("boot times are not in the estimate",))  # fmt: skip
    made = Plan("demo", "Which of three clouds serves a web shop best?", candidates, launches, trials, (), (), ROUNDS,
                2, 7, START, quote)  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def attempts_of(plan: Plan) -> tuple[Attempt, ...]:
    """One attempt for each trial; the third candidate's second one times out, and one was interrupted."""
    made = []
    for trial in plan.trials:
        late = trial.index == 5
        outcome = Outcome.TIMEOUT if late else Outcome.OK
        why = "no answer within 20 s" if late else ""
        begun = START + trial.start_s
        made.append(Attempt(trial.index, 1, outcome, begun, begun + 2.0, why, n_samples=0 if late else 3))
    made.append(Attempt(0, 2, Outcome.ABORTED, START, START + 1.0, "the controller ended", interrupted=True))
    return tuple(made)


def _series(candidates: tuple[Candidate, ...]) -> tuple[Series, ...]:
    steps = tuple(float(at) for at in range(1, 31))
    return tuple(
        Series(
            launch,
            launch,
            CELLS[0][0],
            steps,
            tuple(5e10 * (1 - 0.3 * (at > 15) * (launch % 3 == 2) + 0.002 * (at * launch % 7)) for at in steps),
        )
        for launch in range(2 * len(candidates))
    )


def _cdfs(candidates: tuple[Candidate, ...]) -> tuple[Cdf, ...]:
    shares = tuple((at + 1) / 50 for at in range(50))
    return tuple(
        Cdf(one.index, metric, params, tuple(low * (1 + one.index / 3) * wide**share for share in shares), shares)
        for metric, params, low, wide in (
            ("blob_latency_s", "concurrency=1;op=download;size_bytes=1024", 0.012, 400.0),
            ("rtt_s", "path=zone;protocol=tcp;size_bytes=64", 1e-4, 4.0),
        )
        for one in candidates
    )


def _analysis(candidates: tuple[Candidate, ...], exploratory: frozenset[str], seed: int) -> Analysis:
    rng = random.Random(seed)
    estimates, comparisons, winners = [], [], []
    for cell, mean, factors in CELLS:
        row = [
            estimate(one.index, cell, mean * factors[one.index % 3], rng, failed=int(one.index == 2))
            for one in candidates
        ]
        estimates += row
        explores = Cell.parse(cell).metric in exploratory
        for a in row:
            for b in row[a.candidate + 1 :]:
                verdict = None if explores else verdict_of(cell, a.median or 0.0, b.median or 0.0)
                comparisons.append(compared(cell, a, b, verdict))
        up = METRICS[Cell.parse(cell).metric].better == "higher"
        best = sorted(row, key=lambda one: (one.median or 0.0) * (-1 if up else 1))[0].candidate
        winners.append(Winner(cell, () if explores else (best,), None, "exploratory" if explores else ""))
    return Analysis(tuple(estimates), Listed(comparisons), tuple(winners), Listed(), (),
                    ("beta-2 moves the most blobs for the money.", "gamma-2 has no known price."))  # fmt: skip


def make_view(
    candidates: tuple[Candidate, ...] = CANDIDATES,
    exploratory: frozenset[str] = frozenset({"wan_rtt_s"}),
    seed: int = 3,
) -> View:
    """A study of twelve cells over four groups with a failure, an unknown price and a signed metric."""
    plan = plan_of(candidates, tuple(cell for cell, _, _ in CELLS))
    hosts = tuple(
        (one.index, (("cpu_model", "EPYC 7763"), ("cpus", "2"), ("kernel", "6.1.0"), ("memory_bytes", "4102443008")))
        for one in candidates
    )
    provenance = (("cloudcmp", "0.1.0"), ("seed", "7"), ("started", "2026-09-21T14:13:20Z"))
    found = _analysis(candidates, exploratory, seed)
    found = replace(found, estimates=with_cost(plan, found.estimates, METRICS))
    return View(plan, METRICS, found, attempts_of(plan), _series(candidates),
                _cdfs(candidates), hosts, provenance, ("1 attempt was cut short and run again",),
                ("beta-2: its launches fall into two groups",))  # fmt: skip


@pytest.fixture(scope="session")
def view() -> View:
    """The study of three simulated clouds."""
    return make_view()


@pytest.fixture(scope="session")
def drawn(view: View) -> tuple[Figure, ...]:
    """Its figures, drawn once."""
    return figures(view)


@pytest.fixture(scope="session")
def view_of() -> ViewOf:
    """The factory of views."""
    return make_view


@pytest.fixture(scope="session")
def poison() -> Callable[[str], View]:
    """The study with a payload in every free text: names, prices' sources, facts, warnings, reasons, words."""
    base = make_view()
    base = replace(base, analysis=replace(base.analysis, estimates=tuple(
        replace(one, warnings=("warned",), reason="why") for one in base.analysis.estimates)))  # fmt: skip
    return lambda payload: poisoned(base, payload)


@pytest.fixture(scope="session")
def make_candidate() -> Callable[..., Candidate]:
    """The factory of candidates."""
    return candidate
