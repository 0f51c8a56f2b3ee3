"""The looks at a study: verdicts were seen, then rounds were added. Each look may spend a share of the error."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cloudcmp.compare.pairing import Figures
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Estimate
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.stats.check import Floats
from cloudcmp.stats.looks import share_of_look

Keys = frozenset[tuple[str | None, int | None]]


def share_of(plan: Plan, look: int) -> float:
    """Return the share of the error rate that a look may spend, `look` 0 being the first.

    An imported table cannot grow: its only look spends everything. A study that stops once its intervals are tight has
    its first look at one of several moments. The p values of a study with a rule hold at every look.
    """
    return 1.0 if plan.imported or plan.stop is not None else share_of_look(look, len(plan.checks) + 1)


def looks_of(plan: Plan) -> tuple[Keys | None, ...]:
    """Return the rounds, with their sessions, that each look had seen; None for the last one, which has seen all."""
    if plan.stop is not None:
        return (None,)
    return (*(frozenset((one.session, one.round) for one in plan.launches[:end]) for end in plan.looks), None)


def until(one: Estimate, seen: Keys | None) -> Estimate:
    """Return the estimate with only the launch values of the rounds that a look had seen."""
    if seen is None:
        return one
    kept = [at for at, key in enumerate(zip(one.sessions, one.rounds, strict=True)) if key in seen]
    return replace(
        one,
        values=tuple(one.values[at] for at in kept),
        rounds=tuple(one.rounds[at] for at in kept),
        sessions=tuple(one.sessions[at] for at in kept),
    )


def spent(plan: Plan, figures: Sequence[Figures], p_values: Sequence[Floats]) -> Floats:
    """Return the p value of each pair over all looks: the least p of any look, divided by the look's share.

    `p_values` are those of each look, `figures` what it saw. An earlier look counts only if it had enough rounds and
    its difference has the sign of the last one.
    """
    last, least = figures[-1], p_values[-1] / share_of(plan, len(figures) - 1)
    for look, (one, p) in enumerate(zip(figures[:-1], p_values[:-1], strict=True)):
        counts = (one.n >= FEWEST_LAUNCHES) & (np.sign(one.centre) == np.sign(last.centre))
        least = np.where(counts, np.fmin(least, p / share_of(plan, look)), least)
    return np.minimum(least, 1.0)
