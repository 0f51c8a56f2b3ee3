"""Studies of equals that somebody looks at again and again: each adds rounds until something seems better."""

from dataclasses import replace

import numpy as np
from tests.analysis.planted import estimate_of, plan_of

from cloudcmp.catalog import METRICS
from cloudcmp.compare import compare
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Verdict

MOST_LOOKS = 10
FIRST, MORE = 6, 6
TOLD_APART = (Verdict.BETTER, Verdict.WORSE)


def looked_at(looks: int) -> Plan:
    """A plan of two equals that was extended after each look but the last."""
    plan = plan_of(candidates=2, rounds=FIRST + MORE * (looks - 1), runs=1)
    ends = tuple(2 * (FIRST + MORE * look) for look in range(looks - 1))
    return replace(plan, looks=ends)


def found_better(seed: int, most: int = MOST_LOOKS, *, counted: bool = True) -> bool:
    """True if one of two equals is called better at any of `most` looks; uncounted looks are told to nobody."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0.0, 0.05, (2, FIRST + MORE * (most - 1)))
    for look in range(1, most + 1):
        plan = looked_at(look) if counted else replace(looked_at(look), looks=())
        some = [estimate_of(at, values[at, : plan.rounds]) for at in range(2)]
        (pair,) = compare(plan, some, METRICS, {}).pairs
        if pair.verdict in TOLD_APART:
            return True
    return False


def wrong(n: int, seed: int) -> list[int]:
    """The seeds, of n, in which one of two equals was called better."""
    return [one for one in range(seed * n, (seed + 1) * n) if found_better(one)]
