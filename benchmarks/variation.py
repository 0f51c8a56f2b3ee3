"""How often a variation that lies exactly at a limit is taken to meet it, and a fact without a relation for a cause.

    .venv/bin/python benchmarks/variation.py     # both tables, half a minute; seed 1

The first table: of simulated studies whose true coefficient of variation is the limit, the share in which the chance of
meeting it is 96.96 % or more, as `recommend` needs of the first offering that it asks at a confidence of 95 %; 3.0 is
what it says. Beside it, the same by resampling the launches (percentile bootstrap). The second: of 1,000 candidates
with two levels of launches and five facts without any relation, in how many a fact is named; and of 200 with a planted
processor, in how many it is.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cloudcmp.analysis.levels import LaunchFacts, two_levels
from cloudcmp.model.history import Facts
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Launch, Plan, Quote
from cloudcmp.stats.spread import freedom, spread_bounds

Floats = NDArray[np.float64]
Random = np.random.Generator

LEVEL = 1.0 - 0.05 * 6.0 / math.pi**2
STUDIES, DRAWS = 2000, 400
NUMBERS = (6, 8, 12, 20, 50)
KINDS: dict[str, tuple[Callable[[Random, int], Floats], float]] = {
    "normal, 5 %": (lambda random, n: 1 + 0.05 * random.standard_normal(n), 0.05),
    "lognormal, sigma 0.3": (lambda random, n: np.exp(0.3 * random.standard_normal(n)), math.sqrt(math.exp(0.09) - 1)),
    "t with 5 degrees of freedom": (lambda random, n: 1 + 0.05 * random.standard_t(5, n), 0.05 * math.sqrt(5 / 3)),
    "exponential part": (lambda random, n: 1 + 0.1 * (random.exponential(size=n) - 1), 0.1),
    "two levels, 20 % are 25 % above": (
        lambda random, n: np.where(random.random(n) < 0.2, 1.25, 1.0) * (1 + 0.01 * random.standard_normal(n)),
        math.sqrt((0.2 * 1.25**2 + 0.8) * 1.0001 - 1.05**2) / 1.05,
    ),
}


def missed(kind: str, n: int) -> tuple[float, float]:
    """The shares of studies whose upper bound lies below the truth: by degrees of freedom, and by resampling."""
    random, (draw, truth) = np.random.default_rng(1), KINDS[kind]
    ours = resampled = 0
    for _ in range(STUDIES):
        x = draw(random, n)
        cov = float(x.std(ddof=1) / abs(x.mean()))
        ours += spread_bounds(cov, freedom(x), 2.0 * LEVEL - 1.0).high < truth
        drawn = x[random.integers(n, size=(DRAWS, n))]
        resampled += float(np.quantile(drawn.std(axis=1, ddof=1) / np.abs(drawn.mean(axis=1)), LEVEL)) < truth
    return ours / STUDIES, resampled / STUDIES


def plan_of(n: int) -> Plan:
    """A plan of one candidate with so many launches."""
    launches = tuple(Launch(at, 0, at, None, 0.0, at) for at in range(n))
    sold = Candidate(0, "c", Offering("simulated", "r", "c"), "simulated")
    return Plan("levels", "which?", (sold,), launches, (), (), (), n, 1, 7, 0.0, Quote(n, 0.0, None, None, (), 0.05))


def named(n: int, studies: int, *, planted: bool) -> float:
    """The share of candidates with two levels of which a fact is named; the planted processor alone counts if any."""
    plan, found = plan_of(n), 0
    for seed in range(studies):
        random = np.random.default_rng(seed)
        high = random.permutation(np.arange(n) < max(3, n // 3))
        values = np.where(high, 130.0, 100.0) + random.normal(0.0, 1.0, n)
        cpu = high.astype(np.int64) if planted else random.integers(0, 2, n)
        zone, kernel, image = (random.integers(0, count, n) for count in (3, 2, 2))
        facts: tuple[Facts, ...] = tuple(
            (("cpu", f"{cpu[at]}"), ("image", f"{image[at]}"), ("kernel", f"{kernel[at]}"), ("zone", f"{zone[at]}"))
            for at in range(n)
        )
        levels = two_levels(values, range(n), LaunchFacts(plan, facts, {at: 25200.0 * at for at in range(n)}.get))
        found += levels is not None and any(one.fact == "cpu" or not planted for one in levels.facts)
    return found / studies


def main() -> None:
    """Print both tables."""
    print(f"{'launches':34}" + "".join(f"{n:>15}" for n in NUMBERS))
    for kind in KINDS:
        shares = (missed(kind, n) for n in NUMBERS)
        print(f"{kind:34}" + "".join(f"{100 * ours:7.1f} ({100 * drawn:4.1f})" for ours, drawn in shares))
    print()
    for n in (10, 12, 16, 24):
        false, right = named(n, 1000, planted=False), named(n, 200, planted=True)
        print(f"{n} launches: a fact without a relation {100 * false:.1f} %, the planted processor {100 * right:.1f} %")


if __name__ == "__main__":
    main()
