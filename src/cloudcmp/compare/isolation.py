"""The effects of neighbours: each victim beside a load against the same victim alone, paired inside launches."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloudcmp.catalog import LOADS
from cloudcmp.compare.pairing import Figures, Rounds, figures_of, launches_of
from cloudcmp.compare.verdict import CODES, adjusted, bars_of, deciding, sameness, verdicts_of
from cloudcmp.model.cast import BESIDE, FULL_RATE, INTENSITY, NEIGHBOUR, NO_LOAD
from cloudcmp.model.cell import Cell
from cloudcmp.model.isolation import Effect
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Bounds, Estimate, Verdict
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.model.values import TrialValues
from cloudcmp.stats.spread import SpreadRatio, spread_ratio

_LEVELS = 10**15  # more than any rate


@dataclass(frozen=True, slots=True)
class _Pair:
    """A victim's estimates alone and beside one load, and what can be said of their launches."""

    alone: Estimate
    beside: Estimate
    cell: Cell
    metric: Metric
    figures: Figures


def effects_of(
    plan: Plan, estimates: Sequence[Estimate], values: TrialValues, metrics: Mapping[str, Metric]
) -> tuple[Effect, ...]:
    """The effect of each load on each victim, by candidate, victim and load; empty without any.

    The change is the mean over launches of the logarithm of the ratio (beside / alone) of the two values of a launch,
    with Student's interval of the pairs; a signed metric is compared by differences. One family: Holm's correction over
    all effects in deciding cells (Holm, Scand. J. Stat. 6, 1979). The first rule that applies gives the verdict: with
    fewer than 6 launches with both, or more than 10 % failed trials, there is none; within 3 %, practically the same
    (two one-sided tests); p below 0.05, worse or better. Standard deviations are those of runs inside launches, which
    need two runs. It does not tell whether two machines share a host: that needs evidence of its own.
    """
    known = {(one.candidate, one.cell): one for one in estimates if one.offered}
    pairs = [pair for one in known.values() if (pair := _pair(one, known, metrics)) is not None]
    if not pairs:
        return ()
    ranks = {name: at for at, name in enumerate(metrics)}
    pairs.sort(key=lambda one: (one.beside.candidate, ranks[one.cell.metric], str(_bare(one.cell)), _place(one.cell)))
    decide = deciding(plan, dict.fromkeys(one.cell for one in estimates))
    bars = bars_of(plan, [one for pair in pairs for one in (pair.alone, pair.beside)])
    found = []
    for pair in pairs:
        barred = [bars[one.cell, one.candidate] for one in (pair.alone, pair.beside)]
        why = "it does not decide" if pair.beside.cell not in decide else ""
        found.append(why or next((str(one) for one in barred if one is not None), ""))
    of_family = np.array([pair.beside.cell in decide for pair in pairs])
    open_ = np.array([not reason for reason in found])
    p = np.array([float(pair.figures.p[0]) for pair in pairs])
    p_same = np.array([float(sameness(pair.figures, pair.metric, decide.get(pair.beside.cell))[0]) for pair in pairs])
    for one in (p, p_same):
        one[~open_] = np.nan
        one[of_family] = adjusted(one[of_family], decides=True)
    rows = _rows(values)
    return tuple(
        replace(
            _effect(plan, pair, reason, (p[at], p_same[at]), rows), decides=bool(of_family[at]), place=_place(pair.cell)
        )
        for at, (pair, reason) in enumerate(zip(pairs, found, strict=True))
    )


def _place(cell: Cell) -> int:
    """The place of a cell's load: in the order of the catalog, and by its level."""
    return list(LOADS).index(cell.get(NEIGHBOUR) or "") * _LEVELS + int(min(_level(cell), _LEVELS - 1))


def _level(cell: Cell) -> float:
    """How much load there is: threads, or bytes a second."""
    text = cell.get(INTENSITY) or "1"
    return math.inf if text == FULL_RATE else float(text)


def _pair(one: Estimate, known: Mapping[tuple[int, str], Estimate], metrics: Mapping[str, Metric]) -> _Pair | None:
    """The pair of a victim beside a load; None for any other estimate, and without the victim's own."""
    cell = Cell.parse(one.cell)
    if cell.get(NEIGHBOUR) in {None, NO_LOAD}:
        return None
    alone = known.get((one.candidate, str(_alone(cell))))
    if alone is None:
        return None
    metric = metrics[cell.metric]
    launches = launches_of((one, alone), metric.signed, Rounds(), (0, 0))
    return _Pair(alone, one, cell, metric, figures_of(launches))


def _bare(cell: Cell) -> Cell:
    """The victim's measurement, whatever its neighbour does."""
    return Cell(cell.metric, tuple(pair for pair in cell.params if pair[0] not in BESIDE))


def _alone(cell: Cell) -> Cell:
    return Cell.of(cell.metric, {**dict(_bare(cell).params), NEIGHBOUR: NO_LOAD})


_Rows = Mapping[tuple[int, str], Sequence[float]]


def _rows(values: TrialValues) -> _Rows:
    """The values of the ok trials, by launch and cell."""
    found: dict[tuple[int, str], list[float]] = {}
    columns = (one.tolist() for one in (values.launch, values.cell, values.ok, values.value))
    for launch, cell, ok, value in zip(*columns, strict=True):
        if ok:
            found.setdefault((launch, values.cells[cell]), []).append(value)
    return found


def _effect(plan: Plan, pair: _Pair, reason: str, p: tuple[float, float], rows: _Rows) -> Effect:
    figures, metric = pair.figures, pair.metric
    n, centre, half = int(figures.n[0]), float(figures.centre[0]), float(figures.half_95[0])
    code = verdicts_of(figures, metric, np.array([p[0]]), np.array([p[1]]))[0]
    verdict = CODES[code] if not reason else None
    if not reason and n < FEWEST_LAUNCHES:
        reason = f"{n} of at least {FEWEST_LAUNCHES} launches with both"
    if not reason and verdict is Verdict.CANNOT_TELL:
        reason = "the interval is too wide"
    change, bounds = _as_change(centre, half, metric) if n else (None, None)
    lost, lost_bounds = _as_loss(centre, half, metric) if n else (None, None)
    found = Effect(
        pair.beside.candidate, str(_bare(pair.cell)), pair.alone.cell, pair.beside.cell, pair.cell.get(NEIGHBOUR) or "",
        _level(pair.cell), n, metric.signed, change, bounds, lost, lost_bounds,
        verdict or Verdict.CANNOT_TELL, reason,
    )  # fmt: skip
    spread = _spread(plan, pair, rows)
    if spread is None:
        return found
    return replace(found, sd_ratio=spread.ratio, sd_bounds=Bounds(spread.low, spread.high), sd_p=spread.p)


def _as_change(centre: float, half: float, metric: Metric) -> tuple[float, Bounds | None]:
    ends = (centre - half, centre + half)
    if not metric.signed:
        centre, ends = math.expm1(centre), (math.expm1(ends[0]), math.expm1(ends[1]))
    return centre, None if math.isnan(half) else Bounds(*ends)


def _as_loss(centre: float, half: float, metric: Metric) -> tuple[float | None, Bounds | None]:
    """The degradation in the sense of Delgado, 2010, section 3.5: of a rate 1 - beside / alone, of a time the rest.

    A signed metric has none.
    """
    if metric.signed:
        return None, None
    change, bounds = _as_change(centre, half, metric)
    if metric.better is Better.LOWER:
        return change, bounds
    return -change, bounds and replace(bounds, low=-bounds.high, high=-bounds.low)


def _spread(plan: Plan, pair: _Pair, rows: _Rows) -> SpreadRatio | None:
    """The ratio of the standard deviations of runs inside launches; None with fewer than two runs of each."""
    groups = []
    for launch in plan.launches:
        if launch.candidate == pair.beside.candidate:
            beside, alone = (rows.get((launch.index, one.cell), ()) for one in (pair.beside, pair.alone))
            groups.append((beside, alone))
    return spread_ratio(groups, seed=plan.seed)
