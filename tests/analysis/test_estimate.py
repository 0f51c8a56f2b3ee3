import numpy as np

from cloudcmp.analysis import estimate
from cloudcmp.catalog import METRICS
from tests.analysis.planted import FMA, RTT50, RTT95, plan_of, values_of


def test_a_thin_whole_way() -> None:
    rng = np.random.default_rng(1)
    plan = plan_of(cells=(FMA, RTT50, RTT95))
    values, histograms = values_of(plan, lambda cell, launch, run: (1e-4 if "rtt" in cell else 1e10) * rng.lognormal(0, 0.02))
    found = estimate(plan, values, histograms, METRICS)
    assert [(one.cell, one.candidate) for one in found] == [(c, k) for c in (FMA, RTT50, RTT95) for k in range(3)]
    print(found[0]); print(found[4])
    assert all(one.n == 6 and one.n_ok == 12 for one in found)
