"""Met, broken or cannot tell: by windows, by clusters, with gaps, and as often right as is said."""

import numpy as np
import pytest
from tests.answer.sla.watches import MAY, watch

from cloudcmp.answer.sla.claims import bound_claim, parse_claim
from cloudcmp.answer.sla.prove import prove, prove_watch
from cloudcmp.answer.sla.requirements import requirement_of
from cloudcmp.answer.sla.sentences import claim_sentence
from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.model.service_level import Clusters, Doubt, SampleGroup, Standing

MONTH = 31 * 1440


def _standing(text: str, **planted: object) -> tuple[Standing, Doubt | None]:
    found = prove_watch(parse_claim(text), watch(MONTH, **planted))  # type: ignore[arg-type]
    return found.standing, found.doubt


def test_a_month_without_an_outage_meets_three_nines() -> None:
    assert _standing("availability >= 99.9 % a month") == (Standing.MET, None)


def test_fifty_minutes_down_break_three_nines_of_a_month_and_forty_do_not() -> None:
    # 0.1 % of 31 days are 44.6 minutes.
    assert _standing("availability >= 99.9 % a month", down=range(9000, 9050)) == (Standing.BROKEN, None)
    found = prove_watch(parse_claim("availability >= 99.9 % a month"), watch(MONTH, down=range(9000, 9040)))
    assert found.standing is not Standing.BROKEN
    assert found.windows[0].misses == 40


def test_samples_apart_prove_less_downtime_than_one_outage() -> None:
    apart = prove_watch(parse_claim("availability >= 99.9 % a month"), watch(MONTH, down=range(0, 50 * 800, 800)))
    assert (apart.standing, apart.doubt) == (Standing.CANNOT_TELL, Doubt.TOO_FEW)
    assert apart.requirement.samples is not None


def test_what_nobody_saw_is_neither_up_nor_down() -> None:
    found = prove_watch(parse_claim("availability >= 99.9 % a month"), watch(MONTH, unseen=range(1000, 2000)))
    assert (found.standing, found.doubt) == (Standing.CANNOT_TELL, Doubt.UNSEEN)
    (window,) = found.windows
    assert window.unseen == pytest.approx(1000 / MONTH)
    assert window.low is not None
    assert window.high == 1.0
    assert window.low == pytest.approx((1 - 1000 / MONTH) * (1 - 6.8e-5), rel=1e-4)


def test_a_month_that_is_not_over_can_be_broken_and_not_met() -> None:
    claim = parse_claim("availability >= 99.9 % a month")
    assert prove_watch(claim, watch(10 * 1440)).doubt is Doubt.UNSEEN
    assert prove_watch(claim, watch(10 * 1440, down=range(100, 200))).standing is Standing.BROKEN


def test_one_broken_month_breaks_the_claim_and_every_month_must_meet_it() -> None:
    claim = parse_claim("availability >= 99.9 % a month")
    found = prove_watch(claim, watch(61 * 1440, down=range(40 * 1440, 40 * 1440 + 100)))
    assert [one.standing for one in found.windows] == [Standing.MET, Standing.BROKEN]
    assert found.standing is Standing.BROKEN
    assert [one.n for one in found.windows] == [31 * 1440, 30 * 1440]


def test_a_month_in_which_nobody_looked_is_refused() -> None:
    with pytest.raises(UserMistake, match="nobody looked from 2026-06-01 to 2026-07-01"):
        prove_watch(parse_claim("p99 <= 1 s a month"), watch(70 * 1440, unseen=range(20 * 1440, 65 * 1440)))


def test_a_failed_request_is_slower_than_any_limit() -> None:
    found = prove_watch(parse_claim("p99 <= 1 s"), watch(MONTH, down=range(0, MONTH, 50)))
    assert (found.misses, found.failed) == (893, 893)
    assert found.standing is Standing.BROKEN
    assert found.figure is None  # the 99th percentile has no answer


def test_a_maximum_can_be_broken_and_never_met() -> None:
    assert _standing("max <= 1 s") == (Standing.CANNOT_TELL, Doubt.ANY_REQUEST)
    slow = np.full(MONTH, 0.1)
    slow[77] = 1.5
    assert _standing("max <= 1 s", seconds=slow) == (Standing.BROKEN, None)
    assert _standing("availability >= 100 %") == (Standing.CANNOT_TELL, Doubt.ANY_REQUEST)


def test_a_mean_is_over_the_answers_and_unbounded_where_nobody_looked() -> None:
    times = np.random.default_rng(4).lognormal(-2, 0.4, MONTH)
    found = prove_watch(parse_claim("mean <= 150 ms a month"), watch(MONTH, seconds=times))
    assert found.standing is Standing.MET
    assert found.value == pytest.approx(times.mean())
    assert _standing("mean <= 150 ms a month", seconds=times, unseen=range(99, 200))[1] is Doubt.UNSEEN


def test_in_general_an_outage_counts_once_and_not_by_its_samples() -> None:
    found = prove_watch(parse_claim("availability >= 99.9 %"), watch(MONTH, down=range(9000, 9050)))
    assert found.by is Clusters.DAY
    assert found.clusters == 31
    assert found.effective is not None
    assert found.effective < 2000
    assert found.standing is Standing.CANNOT_TELL


@pytest.mark.parametrize(("hours", "down"), [(3, range(60, 80)), (1, range(20, 22)), (2, range(60))])
def test_one_outage_in_a_few_hours_says_little_in_general(hours: int, down: range) -> None:
    found = prove_watch(parse_claim("availability >= 90 %"), watch(hours * 60, down=down))
    assert (found.by, found.clusters, found.standing) == (Clusters.HOUR, hours, Standing.CANNOT_TELL)


def test_a_window_that_is_over_is_not_settled_by_more_samples_than_fit_into_it() -> None:
    found = prove_watch(parse_claim("availability >= 99.9 % a month"), watch(MONTH, down=range(0, MONTH, 1050)))
    assert found.standing is Standing.CANNOT_TELL
    assert "in a month like it one sample at least every " in claim_sentence(found)
    assert "settle it" not in claim_sentence(found).partition("in a month")[0]


def _launches(claim: str, *launches: np.ndarray) -> object:
    metric = METRICS["rtt_s"]
    groups = [SampleGroup(values, np.ones(len(values), np.int64)) for values in launches]
    return prove(bound_claim(parse_claim(claim), "rtt_s", metric), "a", groups, Clusters.LAUNCH, "s")


def test_a_faster_service_never_proves_less() -> None:
    """Without a miss nothing shows how misses cluster; the percentile itself does."""
    random = np.random.default_rng(8)
    launches = [random.lognormal(-7.0, 0.3, 500) * random.lognormal(0, 0.05) for _ in range(8)]
    lows = [_launches(f"p99 rtt_s <= {limit} ms", *launches).bounds.low for limit in (2.0, 2.3, 3.0, 10.0)]  # type: ignore[attr-defined]
    assert lows == sorted(lows)
    assert lows[-1] > 0.99


def test_launches_that_are_all_or_nothing_count_as_one_sample_each() -> None:
    launches = [np.full(1000, 0.001)] * 8
    found = _launches("p99 rtt_s <= 2 ms", *launches)
    assert (found.standing, found.effective) == (Standing.CANNOT_TELL, 8)  # type: ignore[attr-defined]
    assert "299 launches" not in found.sentence  # type: ignore[attr-defined]


def test_bounds_of_a_month_hold_however_outages_cluster() -> None:
    """The uptime of each month is known to the second; samples at random moments of each minute see some of it."""
    random = np.random.default_rng(21)
    n, held = 2000, 0
    for _ in range(200):
        down = np.zeros(n * 60, np.bool_)
        for _ in range(random.poisson(3)):
            start = random.integers(n * 60)
            down[start : start + int(random.exponential(600))] = True
        seen = down[np.arange(n) * 60 + random.integers(0, 60, n)]
        group = SampleGroup(np.where(seen, np.nan, 0.0)[~seen], np.ones(int((~seen).sum()), np.int64), int(seen.sum()))
        found = prove(parse_claim("availability >= 99 %"), "a", [group], Clusters.SAMPLE, "s")
        held += found.alone is not None and found.alone <= 1 - down.mean()
    assert held >= 190  # 95 % are promised, and strata give more


def test_a_budget_is_spent_at_the_rate_of_what_failed() -> None:
    found = prove_watch(parse_claim("availability >= 99 % a month"), watch(MONTH, down=range(MONTH - 30, MONTH)))
    assert found.budget is not None
    assert found.budget.allowed_s == pytest.approx(0.01 * 31 * 86400)
    assert found.budget.spent_s == pytest.approx(30 * 60)
    hour = found.budget.burns[0]
    assert (hour.span_s, hour.n, hour.rate) == (3600.0, 60, pytest.approx(0.5 / 0.01))
    assert hour.bounds.low < hour.rate < hour.bounds.high


def test_what_a_claim_takes_before_anything_is_measured() -> None:
    percentile = requirement_of(parse_claim("p99 <= 300 ms over 30 days"), 0.95)
    assert [one.samples for one in percentile.needed] == [299, 473, 1049]
    assert percentile.every_s == pytest.approx(30 * 86400 / 299)
    uptime = requirement_of(parse_claim("availability >= 99.9 %"), 0.95)
    # 2,995 independent samples, two mean outages of half an hour apart
    assert uptime.days[1].days == pytest.approx(2995 * 3600 / 86400)
    assert requirement_of(parse_claim("mean <= 1 s"), 0.95).needed == ()


def test_days_of_watching_are_those_of_a_process_that_goes_up_and_down() -> None:
    """The spread of the uptime of many watches is that of T / (2 D) independent samples."""
    random = np.random.default_rng(12)
    down_s, up_s, length = 600.0, 60000.0, 40 * 86400.0
    uptimes = []
    for _ in range(3000):
        spans = random.exponential(np.tile([up_s, down_s], 120))
        ends = np.cumsum(spans)
        starts = ends - spans
        uptimes.append(np.clip(np.minimum(ends, length) - starts, 0, None)[::2].sum() / length)
    share = down_s / (down_s + up_s)
    expected = np.sqrt(share * (1 - share) / (length / (2 * down_s)))
    assert np.std(uptimes) == pytest.approx(expected, rel=0.06)


def test_a_watch_that_begins_late_in_its_month_does_not_see_the_beginning() -> None:
    found = prove_watch(parse_claim("p99 <= 1 s a month"), watch(1440, start=MAY + 30 * 86400))
    assert found.windows[0].unseen == pytest.approx(30 / 31)
