"""Student's t by pairs, one pair of samples at a time: a witness of `cloudcmp.stats.many`."""

import numpy as np
import numpy.typing as npt

from cloudcmp.stats import tests
from cloudcmp.stats.check import finite
from cloudcmp.stats.describe import mean, sd


def paired_t(d: npt.ArrayLike) -> tests.TTest | None:
    """Student's t test that the mean of the differences `d`, shape (n,), is 0; None for n < 2.

    t = mean(d) / (sd(d) / sqrt(n)), n - 1 degrees of freedom. For a ratio give differences of logarithms.
    Differences without any spread are taken as they stand: all 0 gives t = 0 and p = 1; all equal and not 0 gives
    t = +-inf and p = 0, in step with the interval of `t_interval`, whose width is then 0. Such data is mostly coarse
    or copied, so an infinite statistic is worth a warning where it is shown.
    """
    differences = finite(d, "paired_t")
    spread, centre, n = sd(differences), mean(differences), differences.size
    if spread is None:
        return None
    return tests._t_test(centre, spread / float(np.sqrt(n)), float(n - 1), n)
