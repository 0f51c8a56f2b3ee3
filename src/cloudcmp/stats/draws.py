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
