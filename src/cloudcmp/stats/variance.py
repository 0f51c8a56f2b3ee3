"""Where the spread of a cell comes from: launches that differ, or runs that differ on one launch."""

import numpy as np
import numpy.typing as npt

from cloudcmp.stats.check import finite, is_constant


def between_share(values: npt.ArrayLike, launch_ids: npt.ArrayLike) -> float | None:
    """The between-launch share of variance s_b^2 / (s_b^2 + s_w^2), in [0, 1]: the intraclass correlation.

    `values` are trial values, shape (n,); `launch_ids` name each one's launch, shape (n,), any comparable type.
    One-way random effects, method of moments for unequal numbers of runs: s_w^2 = MS_within,
    s_b^2 = (MS_between - MS_within) / n0 with n0 = (n - sum n_i^2 / n) / (k - 1), cut off at 0.
    None with fewer than 2 launches, without a launch of 2 runs or more, and when nothing varies at all.
    With few launches it is rough: from six launches of two runs, a true 0.5 is estimated anywhere from 0 to 0.9.
    Source: Searle, Casella and McCulloch, "Variance Components", section 3.6.
    """
    sample = finite(values, "between_share")
    launches, inverse, runs = np.unique(np.asarray(launch_ids), return_inverse=True, return_counts=True)
    if inverse.shape != sample.shape:
        raise ValueError(f"between_share: {sample.size} values, {inverse.size} launch ids; give one id for each value")
    n, k = sample.size, launches.size
    if k < 2 or n == k or is_constant(sample):
        return None
    # Shifted first: the same variances, without losing digits to a large common level.
    shifted = sample - sample.mean()
    means = np.bincount(inverse, weights=shifted) / runs
    within = float(((shifted - means[inverse]) ** 2).sum()) / (n - k)
    between = float((runs * (means - shifted.mean()) ** 2).sum()) / (k - 1)
    typical_runs = (n - float((runs.astype(np.float64) ** 2).sum()) / n) / (k - 1)
    of_launches = max(0.0, (between - within) / typical_runs)
    total = of_launches + within
    return of_launches / total if total > 0.0 else None
