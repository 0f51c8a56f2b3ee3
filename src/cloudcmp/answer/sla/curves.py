"""Utilities of values between 0 and 1, by the user's own midpoint and slope or by Menasce and Ngo."""

import numpy as np
from numpy.typing import NDArray

from cloudcmp.model.utility import Curve

Floats = NDArray[np.float64]


def sigmoid(values: Floats, midpoint: float, slope: float, *, falls: bool) -> Floats:
    """A sigmoid whose argument is the distance to the midpoint in midpoints, times the slope.

    With t = s (x - m) / m: falling (1 + e^-s) / (1 + e^t), which is 1 at 0 and goes to 0; rising (1 / (1 + e^-t) - f) /
    (1 - f) with f = 1 / (1 + e^s), which is 0 at 0 and goes to 1. Values in milliseconds and in hours have the same
    shape, which raw seconds have not.
    Source: Bennani and Menasce, "Resource Allocation for Autonomic Data Centers using Analytic Performance Models",
    ICAC 2005, with a scaled argument.
    """
    argument = np.clip(slope * (values - midpoint) / midpoint, -700.0, 700.0)
    if falls:
        return np.asarray((1.0 + np.exp(-slope)) / (1.0 + np.exp(argument)))
    floor = 1.0 / (1.0 + np.exp(slope))
    return np.asarray((1.0 / (1.0 + np.exp(-argument)) - floor) / (1.0 - floor))


def menasce_ngo(values: Floats, curve: Curve, scale: float = 1.0) -> Floats:
    """The utilities of Menasce and Ngo, before their weights, of values divided by `scale`.

    Response time r: 2 e^-r / (1 + e^-r). Throughput x: 2 / (1 + e^-x) - 1. Availability a: 10 a - 9, not below 0.
    Source: Menasce and Ngo, "Understanding Cloud Computing: Experimentation and Capacity Planning", CMG 2009 (the forms
    are reconstructed from the values that the paper requires at the ends).
    """
    x = values / scale
    if curve is Curve.AVAILABILITY:
        return np.clip(10.0 * x - 9.0, 0.0, 1.0)
    fall = np.exp(-np.clip(x, 0.0, 700.0))
    return np.asarray(2.0 * fall / (1.0 + fall) if curve is Curve.RESPONSE else 2.0 / (1.0 + fall) - 1.0)
