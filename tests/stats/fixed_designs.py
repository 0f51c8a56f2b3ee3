"""Designs with a fixed number of launches and Holm's verdicts over all pairs: what the rules are compared with."""

import numpy as np
import numpy.typing as npt
from tests.stats.markets import Markets

from cloudcmp.stats import many
from cloudcmp.stats.adjust import holm

Floats = npt.NDArray[np.float64]
ALPHA = 0.05


def holm_certified(costs: Floats, *, paired: bool) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The cloud with the least mean of each market, and whether Holm puts all others behind it.

    `costs` has the shape (markets, launches, clouds). Paired t tests by round, or Welch's.
    """
    count, n, k = costs.shape
    first, second = np.triu_indices(k, 1)
    means = costs.mean(axis=1)
    lead = means.argmin(axis=1)
    if paired:
        differences = costs[:, :, first] - costs[:, :, second]
        centre, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
        p = many.t_test(centre.ravel(), (spread / np.sqrt(n)).ravel(), np.full(centre.size, n - 1.0))
    else:
        sd = costs.std(axis=1, ddof=1)
        size = np.full(first.shape, float(n))
        rows = [
            many.t_test(
                *many.welch((means[at, first], means[at, second]), (sd[at, first], sd[at, second]), (size, size))
            )
            for at in range(count)
        ]
        p = np.concatenate(rows)
    adjusted = np.array([holm(row) for row in p.reshape(count, first.size)])
    of_lead = (first == lead[:, None]) | (second == lead[:, None])
    return lead, np.where(of_lead, adjusted < ALPHA, True).all(axis=1)


def one_after_the_other(markets: Markets, launches: int) -> Floats:
    """The costs if all launches of one cloud come before those of the next, shape (markets, launches, clouds)."""
    _, k = markets.shape
    columns = [
        np.stack([markets.draw(cloud * launches + number)[:, cloud] for number in range(launches)], axis=1)
        for cloud in range(k)
    ]
    return np.stack(columns, axis=2)
