"""Every statistic refuses what it cannot judge, with one line, and never lets NaN through."""

from collections.abc import Callable

import pytest
from tests.stats.paired import paired_t

from cloudcmp.stats import adjust, describe, drift, many, tests
from cloudcmp.stats import histogram as hdr

GOOD = [1.0, 2.0, 4.0]
STATISTICS: dict[str, Callable[[object], object]] = {
    "median": describe.median,
    "mean": describe.mean,
    "sd": describe.sd,
    "cov": describe.cov,
    "quantiles": lambda x: describe.quantiles(x, (0.5,)),
    "geometric_mean": describe.geometric_mean,
    "t_interval": describe.t_interval,
    "median_interval": describe.median_interval,
    "quantile_interval": lambda x: describe.quantile_interval(x, 0.9),
    "paired_t": paired_t,
    "welch_t a": lambda x: tests.welch_t(x, GOOD),
    "welch_t b": lambda x: tests.welch_t(GOOD, x),
    "cliffs_delta a": lambda x: many.cliffs_delta(x, GOOD),
    "cliffs_delta b": lambda x: many.cliffs_delta(GOOD, x),
    "hodges_lehmann": many.hodges_lehmann,
    "hodges_lehmann_shift": lambda x: many.hodges_lehmann_shift(GOOD, x),
    "holm": adjust.holm,
    "benjamini_hochberg": adjust.benjamini_hochberg,
    "between_share": lambda x: describe.between_share(x, [0] * len(x)),  # type: ignore[arg-type]
    "trend": drift.trend,
    "two_modes": drift.two_modes,
    "group_medians": lambda x: describe.group_medians(x, [0] * len(x)),  # type: ignore[arg-type]
    "from_values": hdr.from_values,
    "encode": hdr.encode,
}


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ([], "no values"),
        ([1.0, float("nan"), 2.0], "value 2 of 3 is nan"),
        ([1.0, 2.0, float("inf")], "value 3 of 3 is inf"),
        ([float("-inf"), 2.0, 1.0], "value 1 of 3 is -inf"),
        ([0.5, 1e300], "value 2 of 2 is 1e\\+300"),
        ([[0.5, 0.1]], "2 dimensions"),
    ],
)
def test_a_bad_sample_is_refused_in_one_line(name: str, bad: list[float], says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        STATISTICS[name](bad)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0, float("nan")])
def test_a_confidence_outside_0_and_1_is_refused(confidence: float) -> None:
    for interval in (describe.t_interval, describe.median_interval):
        with pytest.raises(ValueError, match=r"write 0\.95 for 95 %"):
            interval(GOOD, confidence)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_a_quantile_outside_0_and_1_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        describe.quantiles(GOOD, (p,))
