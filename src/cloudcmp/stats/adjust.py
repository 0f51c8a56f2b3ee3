"""p values corrected for the number of simultaneous tests."""

import numpy as np
import numpy.typing as npt

from cloudcmp.stats.check import Floats, finite


def holm(p: npt.ArrayLike) -> Floats:
    """Holm's adjusted p values, shape and order of `p`, shape (m,): below alpha with family-wise error <= alpha.

    Sorted in ascending order, the i-th (from 1) becomes the largest of (m + 1 - k) p(k) over k <= i, at most 1. Holds
    for any dependence between the tests. `p` must be the whole family: leaving members out makes every result too
    small.
    Source: Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6, 1979.
    """
    raw = _p_values(p, "holm")
    order = np.argsort(raw, kind="stable")
    steps = raw[order] * np.arange(raw.size, 0, -1)
    return _in_order_of(order, np.maximum.accumulate(steps))


def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjusted p values, shape and order of `p`, shape (m,): bounds the false discovery rate.

    Sorted in ascending order, the i-th (from 1) becomes the smallest of m p(k) / k over k >= i, at most 1. For
    exploring many cells; a share of the flagged cells is expected to be false, so it carries no verdict.
    Source: Benjamini and Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57, 1995.
    """
    raw = _p_values(p, "benjamini_hochberg")
    order = np.argsort(raw, kind="stable")
    steps = raw[order] * raw.size / np.arange(1, raw.size + 1)
    return _in_order_of(order, np.minimum.accumulate(steps[::-1])[::-1])


def _p_values(p: npt.ArrayLike, name: str) -> Floats:
    raw = finite(p, name)
    outside = (raw < 0.0) | (raw > 1.0)
    if outside.any():
        at = int(np.argmax(outside))
        raise ValueError(f"{name}: value {at + 1} of {raw.size} is {raw[at]}; a p value lies between 0 and 1")
    return raw


def _in_order_of(order: npt.NDArray[np.intp], adjusted: Floats) -> Floats:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return result
