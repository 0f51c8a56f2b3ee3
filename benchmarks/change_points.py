"""Changes of level in simulated years of daily values: how often one is found that is not there, and how late one is.

A year has 365 points; each day of it asks again, from the 30th on, with the points so far. A false alarm is a year in
which any of these looks finds a change in noise. For the delay, the level changes after day 180; sizes are in standard
deviations of the noise, so that 1 is 2 % where days scatter by 2 %. It is found once a look has a change within 10 days
of it. At the end of the year the size that is found is held against the planted one.

Correlated noise (AR) is slow to search, and gets a third of the years.

usage: python3 benchmarks/change_points.py [YEARS] [--seed N]      (150 years for each row unless given)
"""

import argparse
import math
import statistics
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cloudcmp.stats.change_points import Change, change_points

DAYS, FIRST_LOOK, CHANGED, NEAR = 365, 30, 180, 10
SIZES = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
Floats = NDArray[np.float64]


def autoregressive(random: np.random.Generator, days: int, r: float) -> Floats:
    """Values of standard deviation 1, each with the correlation `r` to the one before."""
    steps = random.normal(size=days) * math.sqrt(1.0 - r * r)
    values = [float(random.normal())]
    for step in steps[1:].tolist():
        values.append(r * values[-1] + step)
    return np.array(values)


def weekly(random: np.random.Generator, days: int) -> Floats:
    """Normal values that are lower by their standard deviation on two days of seven."""
    return random.normal(size=days) - (np.arange(days) % 7 > 4)


NOISE: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda random, days: random.normal(size=days),
    "t with 3 degrees of freedom": lambda random, days: random.standard_t(3, size=days) / math.sqrt(3.0),
    "lognormal, sigma 1": lambda random, days: random.lognormal(0.0, 1.0, size=days),
    "weekends lower by 1 sd": weekly,
    "AR(1), 0.3": lambda random, days: autoregressive(random, days, 0.3),
    "AR(1), 0.6": lambda random, days: autoregressive(random, days, 0.6),
}


def has_false_alarm(values: Floats) -> tuple[bool, bool]:
    """Whether the last look of a year finds a change, and whether any does."""
    last = bool(change_points(values))
    return last, last or any(change_points(values[:day]) for day in range(FIRST_LOOK, values.size))


def delay_of(values: Floats) -> float:
    """The days until the change after day 180 is found; infinite if it is not within the year."""
    for day in range(CHANGED + 1, values.size + 1):
        if near(change_points(values[:day])) is not None:
            return day - CHANGED
    return math.inf


def near(found: tuple[Change, ...]) -> Change | None:
    return next((one for one in found if abs(one.at - CHANGED) <= NEAR), None)


def share(count: int, of: int) -> str:
    return f"{100.0 * count / of:.1f} %"


def years_of(name: str, years: int) -> int:
    return years // 3 if name.startswith("AR") else years


def false_alarms(years: int, seed: int) -> None:
    print(f"\n{'noise':<30}{'at the end':>12}{'any day':>12}{'n (years)':>12}")
    for name, draw in NOISE.items():
        random, n = np.random.default_rng(seed), years_of(name, years)
        found = [has_false_alarm(draw(random, DAYS)) for _ in range(n)]
        ends, any_days = (sum(column) for column in zip(*found, strict=True))
        print(f"{name:<30}{share(ends, n):>12}{share(any_days, n):>12}{n:>12}", flush=True)


def delays(years: int, seed: int) -> None:
    print(f"\n{'noise':<12}{'size (sd)':>10}{'found in a year':>17}{'within 30 d':>13}{'median delay':>14}"
          f"{'size found':>12}{'covered':>9}{'n':>6}")  # fmt: skip
    for name in ("normal", "AR(1), 0.6"):
        for size in SIZES:
            random, n = np.random.default_rng(seed), years_of(name, years)
            late, sizes, covered = [], [], 0
            for _ in range(n):
                values = NOISE[name](random, DAYS)
                values[CHANGED:] += size
                late.append(delay_of(values))
                if (one := near(change_points(values))) is not None:
                    sizes.append(one.difference)
                    covered += one.bounds.low <= size <= one.bounds.high
            found = [one for one in late if one < math.inf]
            middle = statistics.median(late)
            soon = sum(one <= 30 for one in late)
            print(f"{name:<12}{size:>10.1f}{share(len(found), n):>17}{share(soon, n):>13}"
                  f"{'over 185 d' if middle == math.inf else f'{middle:.0f} d':>14}"
                  f"{statistics.mean(sizes) if sizes else math.nan:>12.2f}"
                  f"{share(covered, len(sizes)) if sizes else '-':>9}{n:>6}", flush=True)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("years", nargs="?", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    false_alarms(given.years, given.seed)
    delays(given.years, given.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
