"""The measurements in which a provider is behind the best of the others, and the parts of the lost time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.answer.offers import provider_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.pairs import CellPairs
from cloudcmp.model.plan import Candidate
from cloudcmp.model.result import Bounds, Comparison, Estimate, Verdict
from cloudcmp.model.view import View

_SCALING = "scaling_latency_s"
_SCALING_PARTS = (("provisioning", "provisioning_latency_s"), ("booting", "booting_latency_s"))
_FIRST_BYTE = {"blob_latency_s": "blob_first_byte_s"}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a time: that of the provider's candidate, that of the best one, and the difference, in seconds."""

    name: str
    own_s: float
    best_s: float
    lost_s: float


@dataclass(frozen=True, slots=True)
class Gap:
    """A cell in which the best candidate of a provider, `own`, is behind the best of the others, `best`.

    `ratio` is how many times worse it is, above 1, whatever the direction of the metric, with its 95 % interval: that
    of the comparison, the geometric mean over launches, which need not be the ratio of the two medians. For a metric
    that can be 0 it is None, and `difference` is the loss in its unit, with its interval. `verdict` is that on `own`
    against `best`, None if the cell is exploratory. `reason` says why it is not a better one. `n` rounds or launches of
    the smaller side are behind it. `parts` are those of the time that is lost; medians of parts need not add up to the
    median of the whole.
    """

    cell: str
    unit: str
    own: int
    best: int
    own_value: float
    best_value: float
    ratio: float | None
    difference: float | None
    bounds: Bounds | None
    n: int
    decides: bool
    verdict: Verdict | None
    reason: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Gaps:
    """Where a provider is behind, worst first: cells with verdicts before exploratory ones.

    `cells` counts the cells that it has in common with another provider, `ahead` those in which it is not behind, and
    `same` those in which it is practically the same.
    """

    provider: str
    candidates: tuple[str, ...]
    gaps: tuple[Gap, ...]
    cells: int
    ahead: int
    same: int
    simulated: bool


def gaps_of(view: View, provider: str) -> Gaps:
    """Return where a provider of a study is behind; a region of `simulated` counts as a provider of its own.

    In each cell the provider's best candidate is compared with the best of all others. Both are chosen by the values
    that are compared, so a small gap of many candidates may be chance: the verdict is corrected for all pairs, the
    interval is that of this pair alone. It does not say why a provider is slower, only in which part.

    Raises UserMistake if the study does not have the provider, or no other.
    """
    plan = view.plan
    own = frozenset(one.index for one in plan.candidates if _is_of(one, provider))
    others = frozenset(one.index for one in plan.candidates) - own
    if not own or not others:
        known = ", ".join(dict.fromkeys(map(provider_of, plan.candidates)))
        if not own:
            raise UserMistake.at("--provider", f"the study has no provider {provider!r}", f"it has {known}")
        raise UserMistake.at("--provider", f"{provider!r} is the only one of the study", "a gap needs another provider")
    values = {(one.cell, one.candidate): one for one in view.analysis.estimates if one.value is not None and one.n}
    found, ahead, same = [], 0, 0
    for cell in dict.fromkeys(cell for cell, _ in values):
        metric = view.metrics[Cell.parse(cell).metric]
        a, b = _best(values, cell, own, metric), _best(values, cell, others, metric)
        pairs = view.analysis.comparisons.of(cell)
        pair = pairs.between(a.candidate, b.candidate) if a and b else None
        if a is None or b is None or pair is None:
            continue
        gap = _gap(a, b, pair, pairs, metric, _parts(values, a, b))
        ahead += gap is None
        if gap is not None and gap.verdict is Verdict.SAME:
            same += 1
        elif gap is not None:
            found.append(gap)
    ranked = tuple(sorted(found, key=_rank))
    ids = tuple(one.id for one in plan.candidates if one.index in own)
    simulated = any(one.simulated for one in plan.candidates)
    return Gaps(provider, ids, ranked, len(found) + ahead + same, ahead, same, simulated)


def _is_of(one: Candidate, provider: str) -> bool:
    return provider in {provider_of(one), one.offering.provider} or (
        one.offering.provider == "simulated" and provider == one.offering.region
    )


def _best(
    values: Mapping[tuple[str, int], Estimate], cell: str, among: frozenset[int], metric: Metric
) -> Estimate | None:  # fmt: skip
    known = [values[cell, at] for at in sorted(among) if (cell, at) in values]
    sign = 1.0 if metric.better is Better.LOWER else -1.0
    return min(known, key=lambda one: sign * (one.value or 0.0), default=None)


def _gap(
    own: Estimate, best: Estimate, pair: Comparison, pairs: CellPairs, metric: Metric, parts: tuple[Part, ...]
) -> Gap | None:  # fmt: skip
    """The gap of two estimates; None if the first is not behind."""
    if own.value is None or best.value is None or pair.effect is None:
        return None
    turned = pair.a != own.candidate
    lower = metric.better is Better.LOWER
    if pair.by_difference:
        sign = (1.0 if lower else -1.0) * (-1.0 if turned else 1.0)
        size, ends = sign * pair.effect, [sign * end for end in _ends(pair)]
        behind = size > 0
    else:
        power = 1.0 if lower is not turned else -1.0
        size, ends = pair.effect**power, [end**power for end in _ends(pair) if end > 0]
        behind = size > 1
    if not behind or not math.isfinite(size):
        return None
    bounds = Bounds(min(ends), max(ends)) if len(ends) == 2 and all(map(math.isfinite, ends)) else None
    return Gap(
        cell=own.cell,
        unit=metric.unit,
        own=own.candidate,
        best=best.candidate,
        own_value=own.value,
        best_value=best.value,
        ratio=None if pair.by_difference else size,
        difference=size if pair.by_difference else None,
        bounds=bounds,
        n=pair.n,
        decides=pair.decides,
        verdict=pairs.verdict(own.candidate, best.candidate),
        reason=pairs.reason(own.candidate, best.candidate),
        parts=parts,
    )


def _ends(pair: Comparison) -> tuple[float, ...]:
    return () if pair.bounds is None else (pair.bounds.low, pair.bounds.high)


def _rank(one: Gap) -> tuple[bool, bool, float, str]:
    """Verdicts first, then ratios, the worst first; differences have no common scale and come last."""
    return not one.decides, one.ratio is None, -(one.ratio or 0.0), one.cell


def _parts(values: Mapping[tuple[str, int], Estimate], own: Estimate, best: Estimate) -> tuple[Part, ...]:
    """The parts of a time that both candidates have, the largest loss first; empty if the study has none."""
    cell = Cell.parse(own.cell)
    if cell.metric == _SCALING:
        named = [(name, str(Cell(metric, cell.params))) for name, metric in _SCALING_PARTS]
        return _sorted([_part(values, name, part, own, best) for name, part in named])
    if cell.metric in _FIRST_BYTE:
        first = _part(values, "first byte", str(Cell(_FIRST_BYTE[cell.metric], cell.params)), own, best)
        if first is None or own.value is None or best.value is None:
            return ()
        own_s, best_s = own.value - first.own_s, best.value - first.best_s
        return _sorted([first, Part("after the first byte", own_s, best_s, own_s - best_s)])
    return ()


def _part(
    values: Mapping[tuple[str, int], Estimate], name: str, cell: str, own: Estimate, best: Estimate
) -> Part | None:  # fmt: skip
    a, b = values.get((cell, own.candidate)), values.get((cell, best.candidate))
    if a is None or b is None or a.value is None or b.value is None:
        return None
    return Part(name, a.value, b.value, a.value - b.value)


def _sorted(parts: Sequence[Part | None]) -> tuple[Part, ...]:
    known = [one for one in parts if one is not None]
    return tuple(sorted(known, key=lambda one: -one.lost_s)) if len(known) == len(parts) else ()
