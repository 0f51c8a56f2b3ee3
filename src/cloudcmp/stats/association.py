"""How surely the values of a fact go with two groups."""

import numpy as np
import numpy.typing as npt

_DRAWS = 4999


def split_chance(codes: npt.NDArray[np.int64], high: npt.NDArray[np.bool_], *, seed: int) -> float:
    """The chance that a fact without any relation puts as many cases into their own group as this one does.

    `codes` numbers the fact's value of each case from 0, `high` says in which of two groups it is; both have shape
    (n,). A value stands for the group of most of its cases: the statistic is the number of cases in the group that
    their value stands for. Its distribution is that over all assignments of the groups to the cases, of which 4,999 are
    drawn; the p value counts the observed one as well, so that it is valid however many are drawn. For two values it is
    a form of Fisher's exact test. It supposes that cases are exchangeable: not that one follows from the last.
    Sources: Fisher, "Statistical Methods for Research Workers", 1934; Phipson and Smyth, Stat. Appl. Genet. Mol. Biol.
    9(1), 2010 (permutation p values are never zero).
    """
    cases = np.bincount(codes)
    upper = np.bincount(codes, weights=high, minlength=cases.size).astype(np.int64)
    observed = int(np.maximum(upper, cases - upper).sum())
    random = np.random.default_rng(seed)
    drawn = random.multivariate_hypergeometric(cases, int(upper.sum()), size=_DRAWS, method="marginals")
    reached = np.maximum(drawn, cases - drawn).sum(axis=1) >= observed
    return float((1 + int(reached.sum())) / (1 + _DRAWS))
