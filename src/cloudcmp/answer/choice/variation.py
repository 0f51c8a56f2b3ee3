"""How much measurements vary, as columns of a market: between the launches of an offering, and inside them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloudcmp.analysis.steadiness import runs_of
from cloudcmp.answer.choice.lookup import BETWEEN, WITHIN, columns_of, split_variation
from cloudcmp.model.cell import Cell
from cloudcmp.model.market import Market, Numbers
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.model.values import TrialValues
from cloudcmp.stats.spread import freedom, within_freedom, within_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Spread:
    """A spread of one offering, with its degrees of freedom and the values of the launches behind it."""

    value: float
    freedom: float
    launches: Floats


def with_variation(
    market: Market, plan: Plan, metrics: Mapping[str, Metric], values: TrialValues | None, names: Collection[str] | None
) -> Market:
    """Return a study's market with the columns `variation of CELL` and `variation within launches of CELL`.

    Those that `names` ask for, all with None. The rows are the plan's candidates, `values` those of trials. Each is a
    coefficient of variation (standard deviation over mean); of a metric that can be 0 or negative, the standard
    deviation in its unit. The first is that of launch values, the second the pooled one of runs inside launches. It is
    unknown for fewer than 6 launches, and if all have the same value: then the resolution of the measurement shows, not
    the steadiness of the candidate. A note names the candidates of which it is unknown.
    """
    runs = {} if values is None else runs_of(plan, values)
    wanted = _cells(market, names)
    columns: dict[str, Numbers] = {}
    notes: list[str] = []
    for cell in wanted:
        base, metric = market.columns[cell], metrics[Cell.parse(cell).metric]
        if not isinstance(base, Numbers) or base.launches is None:
            continue
        between = [_between(row, signed=metric.signed) for row in base.launches]
        within = [_within(runs.get((at, cell), ()), signed=metric.signed) for at in range(len(market.keys))]
        for kind, spreads in ((BETWEEN, between), (WITHIN, within)):
            if any(one is not None for one in spreads) or kind == BETWEEN:
                columns[kind + cell] = _column(kind + cell, base, spreads, metric)
        few = [str(key) for key, one, row in zip(market.keys, between, base.launches, strict=True)
               if one is None and np.isfinite(row).any()]  # fmt: skip
        notes += [_unknown(cell, few)] if few and names is not None else []
    return replace(market, columns={**market.columns, **columns}, notes=(*market.notes, *notes))


def _unknown(cell: str, few: Sequence[str]) -> str:
    more = f" and {len(few) - 3} more" if len(few) > 3 else ""
    return (f"how much {cell} varies is unknown for {', '.join(few[:3])}{more}: fewer than {FEWEST_LAUNCHES} launches, "
            "or all with the same value")  # fmt: skip


def _cells(market: Market, names: Collection[str] | None) -> list[str]:
    """The measured cells whose variation some names ask for; all with None."""
    if names is None:
        return [name for name, one in market.columns.items() if isinstance(one, Numbers) and one.is_measured]
    asked = [base for kind, base in map(split_variation, names) if kind]
    return list(dict.fromkeys(one.name for base in asked for one in columns_of(market, base) if one.is_measured))


def _between(launches: Floats, *, signed: bool) -> _Spread | None:
    known = launches[np.isfinite(launches)]
    scale = 1.0 if signed else abs(float(known.mean())) if known.size else 0.0
    if known.size < FEWEST_LAUNCHES or np.ptp(known) == 0.0 or scale == 0.0:
        return None
    return _Spread(float(known.std(ddof=1)) / scale, freedom(known), launches)


def _within(runs: Sequence[Floats], *, signed: bool) -> _Spread | None:
    if len(runs) < FEWEST_LAUNCHES:
        return None
    scaled = [run / (1.0 if signed else abs(float(run.mean())) or 1.0) for run in runs]
    inside = within_interval(scaled)
    if inside is None:
        return None
    return _Spread(inside[0], within_freedom(scaled), np.array([float(run.mean()) for run in runs]))


def _column(name: str, base: Numbers, spreads: Sequence[_Spread | None], metric: Metric) -> Numbers:
    width = max(base.launches.shape[1] if base.launches is not None else 0, *_widths(spreads))
    launches = np.full((len(spreads), width), np.nan)
    for row, one in enumerate(spreads):
        if one is not None:
            launches[row, : one.launches.size] = one.launches
    value, own = (
        np.array([np.nan if one is None else getattr(one, part) for one in spreads], np.float64)
        for part in ("value", "freedom")
    )
    return replace(
        base, name=name, value=value, freedom=own, launches=launches, unit=metric.unit if metric.signed else "ratio",
        better=Better.LOWER, marks=dict(base.marks),
    )  # fmt: skip


def _widths(spreads: Sequence[_Spread | None]) -> Iterator[int]:
    yield 0
    yield from (one.launches.size for one in spreads if one is not None)
