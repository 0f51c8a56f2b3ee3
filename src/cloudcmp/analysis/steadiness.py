"""How steady candidates are between and inside launches, what goes with two levels, and how many launches they need."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from cloudcmp.model.cell import Cell
from cloudcmp.model.history import Facts
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.model.steadiness import LaunchesNeeded, ModeFact, Steadiness, TwoLevels
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.model.values import TrialValues
from cloudcmp.stats import describe
from cloudcmp.stats.check import Floats
from cloudcmp.stats.drift import two_modes
from cloudcmp.stats.repetitions import about_launches_for, launches_for
from cloudcmp.stats.spread import sd_interval, within_interval

SHARES = (0.01, 0.02, 0.05)
"""The half widths of the median's interval for which the launches are told."""
# A fact goes with two levels if it puts this share of the launches on the right one.
_EXPLAINS = 0.9
_HOURS = ("00 to 06 h", "06 to 12 h", "12 to 18 h", "18 to 24 h")

_Place = Mapping[tuple[int, str | None, int | None], int]


def steadiness(
    plan: Plan, estimates: Iterable[Estimate], metrics: Mapping[str, Metric], values: TrialValues | None,
    facts: Sequence[Facts] = (), begun: Mapping[int, float] | None = None,
) -> tuple[Steadiness, ...]:  # fmt: skip
    """How steady each candidate is in each cell with two launches or more, in the order of `estimates`.

    `values` are those of trials, None if unknown; `facts` and `begun` (Unix time) those of each launch. Intervals are
    Bonett's for standard deviations, divided by the mean, whose own error is left out: it adds less than a tenth to the
    interval for coefficients of variation below 0.3. It does not tell whether the spread is the candidate's own: the
    controller's network and clock are in it.
    """
    place: _Place = {(one.candidate, one.session, one.round): one.index for one in plan.launches}
    runs = {} if values is None else runs_of(plan, values)
    named = [dict(one) for one in facts] or [{} for _ in plan.launches]
    for launch, at in (begun or {}).items():
        moment = datetime.fromtimestamp(at, UTC)
        named[launch] = {**named[launch], "hour (UTC)": _HOURS[moment.hour // 6],
                         "day": "weekend" if moment.weekday() > 4 else "weekday"}  # fmt: skip
    return tuple(
        _steadiness(
            plan, one, metrics[Cell.parse(one.cell).metric], runs.get((one.candidate, one.cell), ()), place, named
        )
        for one in estimates
        if one.n > 1
    )


def _steadiness(
    plan: Plan, one: Estimate, metric: Metric, runs: Sequence[Floats], place: _Place, facts: Sequence[Mapping[str, str]]
) -> Steadiness:
    values = np.array(one.values)
    mean = abs(describe.mean(values))
    scale = 1.0 if metric.signed or mean == 0.0 else mean
    spread, interval = describe.sd(values), sd_interval(values)
    inside = within_interval([run / (1.0 if metric.signed else abs(run.mean()) or 1.0) for run in runs])
    needed = () if metric.signed else tuple(_needed(plan, one, values, share) for share in SHARES)
    launches = [
        place.get((one.candidate, session, round_)) for session, round_ in zip(one.sessions, one.rounds, strict=True)
    ]
    return Steadiness(
        one.candidate, one.cell, one.n, metric.signed,
        None if spread is None else spread / scale, _bounds(interval, scale),
        None if inside is None else inside[0], None if inside is None else _bounds(inside[1], 1.0),
        tuple(each for each in needed if each is not None),
        _levels(values, [{} if at is None else facts[at] for at in launches]),
    )  # fmt: skip


def _bounds(interval: describe.Interval | None, scale: float) -> Bounds | None:
    return None if interval is None else Bounds(interval.low / scale, interval.high / scale)


def _needed(plan: Plan, one: Estimate, values: Floats, share: float) -> LaunchesNeeded | None:
    cov = describe.cov(values)
    if cov is None or one.n < FEWEST_LAUNCHES:
        return None
    found = launches_for(values, share, seed=plan.seed)
    return LaunchesNeeded(share, found or max(about_launches_for(cov, share), one.n + 1), found is not None)


def runs_of(plan: Plan, values: TrialValues) -> dict[tuple[int, str], list[Floats]]:
    """The values of the ok trials of each launch, by candidate and cell, where there are two or more."""
    launches = len(plan.launches)
    code = values.cell[values.ok].astype(np.int64) * launches + values.launch[values.ok]
    order = np.argsort(code, kind="stable")
    code, value = code[order], values.value[values.ok][order]
    ids, starts, counts = np.unique(code, return_index=True, return_counts=True)
    found: dict[tuple[int, str], list[Floats]] = {}
    for at in np.flatnonzero(counts > 1).tolist():
        cell, launch = divmod(int(ids[at]), launches)
        own = value[starts[at] : starts[at] + counts[at]]
        found.setdefault((plan.launches[launch].candidate, values.cells[cell]), []).append(own)
    return found


def _levels(values: Floats, facts: Sequence[Mapping[str, str]]) -> TwoLevels | None:
    """The two levels of launch values with the facts that go with them; None if there are not clearly two."""
    modes = two_modes(values)
    if modes is None:
        return None
    high = values > (modes.low + modes.high) / 2.0
    named = [
        _mode_fact(name, [one.get(name) for one in facts], high)
        for name in sorted({key for one in facts for key in one})
    ]
    known = sorted((one for one in named if one is not None), key=lambda one: -one.share)
    return TwoLevels(modes.low, modes.high, modes.share_high, tuple(known))


def _mode_fact(
    name: str, texts: Sequence[str | None], high: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> ModeFact | None:
    """A fact whose values put nearly all launches on the right level; None if it does not."""
    if None in texts or len(set(texts)) < 2:
        return None
    counts = Counter(zip(texts, high.tolist(), strict=True))
    upper = {text for text in set(texts) if counts[text, True] > counts[text, False]}
    right = sum(counts[text, text in upper] for text in set(texts)) / len(texts)
    lower = set(texts) - upper
    if right < _EXPLAINS or not upper or not lower:
        return None
    return ModeFact(name, tuple(sorted(map(str, lower))), tuple(sorted(map(str, upper))), right)
