"""Plausible true values of several quantities, drawn together, so that each keeps its relation to the others."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]


def drawn_means(rounds: Floats, draws: int, seed: int) -> Floats:
    """Draws of the true mean of each row, given its values in rounds that the rows share.

    `rounds` has shape (rows, rounds), NaN where a row has no value. The result has shape (rows, draws). Of a row with n
    values each draw is its mean plus a t variable with n - 1 degrees of freedom times sd / sqrt(n): the posterior under
    a flat prior, for normal values. Rows that have the same rounds get the same disturbance, so that the difference of
    two rows varies as their paired differences do. A row with fewer than two values is drawn as its one value, or NaN.
    It does not measure how single machines scatter around the mean.
    Source: Gelman et al., "Bayesian Data Analysis", 3rd edition, section 3.2 and 3.6 (multivariate normal).
    """
    known = np.isfinite(rounds)
    count = known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, rounds, 0.0).sum(axis=1) / count
    centred = np.where(known, rounds - mean[:, None], 0.0)
    random = np.random.default_rng(seed)
    disturbance = centred @ random.standard_normal((rounds.shape[1], draws))
    chance = random.random(draws)
    drawn = np.repeat(mean[:, None], draws, axis=1)
    for n in np.unique(count[count >= 2]):
        rows = count == n
        # The scale of a t variable with n - 1 degrees of freedom, by the same chance for every n.
        scale = np.sqrt((n - 1) / special.chdtri(n - 1, chance))
        drawn[rows] += disturbance[rows] * scale / np.sqrt(n * (n - 1))
    return drawn


def drawn_spreads(spreads: Floats, freedom: Floats, draws: int, seed: int) -> Floats:
    """Draws of the true spread of each row, shape (rows, draws), given measured ones and their degrees of freedom.

    Each is the spread times sqrt(f / X), X chi-squared with f degrees of freedom: the posterior under a flat prior of
    its logarithm, for normal values. Both arrays have shape (rows,); rows with NaN are drawn as NaN. Rows are drawn
    independently of each other.
    Source: Gelman et al., "Bayesian Data Analysis", 3rd edition, section 3.2.
    """
    drawn = np.full((len(spreads), draws), np.nan)
    known = np.flatnonzero(np.isfinite(spreads) & np.isfinite(freedom))
    half = freedom[known, None] / 2.0
    gamma = np.random.default_rng(seed).standard_gamma(half, (len(known), draws))
    drawn[known] = spreads[known, None] * np.sqrt(half / gamma)
    return drawn


def highest_spread(freedom: Floats, chance: float) -> Floats:
    """By which factor a true spread may be above a measured one, but for a `chance`; shape as `freedom`."""
    return np.asarray(np.sqrt(freedom / special.chdtri(freedom, 1.0 - chance)))
