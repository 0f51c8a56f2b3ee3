"""The answer in sentences: true to the tables, and honest about what is not known."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, FMA_ALL, LOSS, LU, RTT50, TASK, estimate_of, plan_of, price

from cloudcmp.answer import in_words
from cloudcmp.answer.words import more_rounds, rounds_needed, short_names
from cloudcmp.catalog import METRICS
from cloudcmp.compare import compare
from cloudcmp.cost import with_cost
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Estimate
from cloudcmp.model.study import Decide
from cloudcmp.units import Money

STEADY = np.array([10.0, 10.1, 9.9, 10.05, 9.95, 10.0])
WIDE = np.array([1.0, 1.6, 0.7, 1.2, 0.8, 1.1])


def said(plan: Plan, estimates: Sequence[Estimate], **known: bool) -> tuple[str, ...]:
    priced = with_cost(plan, estimates, METRICS)
    comparisons, winners = compare(plan, priced, METRICS, {}, **known)
    return in_words(plan, priced, comparisons, winners, METRICS)


def of(*values: Sequence[float], cell: str = FMA, **study: object) -> tuple[str, ...]:
    plan = plan_of(candidates=len(values), cells=(cell,), runner="cloud", **study)  # type: ignore[arg-type]
    plan = replace(plan, quote=replace(plan.quote, expected_s=3600.0, expected_cost=Money(Decimal("1.20"), "USD")))
    return said(plan, [estimate_of(at, some, cell) for at, some in enumerate(values)])


def level(factor: float, turn: int = 0) -> list[float]:
    return list(STEADY * factor * (1.0 + 0.001 * np.roll([1, -1, 0, 1, -1, 0], turn)))


def test_the_best_is_named_with_how_much_how_surely_and_n() -> None:
    first, _ = of(level(1.0), level(1.25, 1))
    assert re.fullmatch(
        r"fma_flop_per_s \(threads=one\): c1 is best: 25\.\d % higher than c0, the other "
        r"\(95 % interval 2[45]\.\d % to 25\.\d % higher, n = 6\)\.",
        first,
    )


def test_lower_is_said_where_lower_is_better() -> None:
    first, _ = of(level(1.0), level(1.25, 1), cell=CHASE)
    assert ": c0 is best: 20.0 % lower than c1, the other (95 % interval 19." in first


def test_a_factor_is_said_where_percents_would_confuse() -> None:
    first = of(level(1.0), level(3.0, 1))[0]
    assert ": c1 is best: 3.00 times as high as c0, the other (95 % interval 3.00 to 3.00 times as high, n" in first
    assert "c0 is best: 0.33 times as high as c1" in of(level(1.0), level(3.0, 1), cell=CHASE)[0]


def test_ties_name_the_cheapest() -> None:
    first = of(level(1.005), level(1.0, 1), level(0.5, 2), prices=(price("0.2"), price("0.1"), price("0.1")))[0]
    assert "c0 and c1 are practically the same and best, c1 the cheapest of them. c0 is " in first


def test_what_cannot_be_told_says_what_it_would_take() -> None:
    first = of(list(10 * WIDE), list(13 * np.roll(WIDE, 2)))[0]
    found = re.fullmatch(
        r".*: cannot tell yet: interval too wide\. (\d+) more rounds \(about .*, (\d+\.\d\d) USD\) "
        r"would probably separate c1 and c0, if they differ as much as it seems\.",
        first,
    )
    assert found is not None
    # Six rounds were quoted at 1.20 USD.
    assert float(found[2]) == pytest.approx(int(found[1]) * 0.20)


def test_rounds_are_quoted_as_the_plan_counts_them_over_all_sessions() -> None:
    # The plan's six rounds are those of both sessions together, and were quoted at 1.20 USD.
    plan = plan_of(candidates=2, rounds=3, sessions=("peak", "off"), runner="cloud")
    plan = replace(plan, rounds=6, quote=replace(plan.quote, expected_cost=Money(Decimal("1.20"), "USD")))
    assert more_rounds(plan, 3).endswith(", 0.600 USD)")


def test_a_difference_that_seems_nil_is_asked_for_at_three_percent() -> None:
    first = of(list(10 * WIDE), list(10.01 * np.roll(WIDE, 2)))[0]
    assert "would probably show a difference of 3 % between" in first


def test_too_few_launches_ask_for_the_rest() -> None:
    first = of(level(1.0)[:4], level(2.0, 1)[:4], rounds=4)[0]
    assert "4 of at least 6 launches" in first
    assert "2 more rounds (about 30 min 00 s, 0.600 USD) would probably separate" in first


def test_no_money_is_named_where_none_is_known() -> None:
    plan = plan_of(candidates=2, runner="local")
    sentences = said(plan, [estimate_of(0, list(10 * WIDE)), estimate_of(1, list(13 * np.roll(WIDE, 2)))])
    assert "USD" not in " ".join(sentences)
    assert sentences[-1] == "No price is known, so costs are not compared."


def test_an_imported_table_is_not_quoted_a_time() -> None:
    first = of(list(10 * WIDE), list(13 * np.roll(WIDE, 2)), imported=True)[0]
    assert re.search(r"wide\. \d+ more rounds would probably", first)


def test_a_task_is_said_to_cost_least_only_when_it_is_sure() -> None:
    slow_cheap = of(level(1.0), level(0.8, 1), cell=TASK, prices=(price("0.10"), price("0.20")))
    assert slow_cheap[0].endswith(
        "A task costs least on c0: 0.000278 USD, 37.4 % to 37.6 % lower than on c1 (95 % interval)."
    )
    unsure = of(level(1.0), level(0.8, 1), cell=TASK, prices=(price("0.10"), price("0.125")))
    assert "costs least" not in " ".join(unsure)
    mixed = of(level(1.0), level(0.8, 1), cell=TASK, prices=(price("0.10"), price("0.20", "EUR")))
    assert "costs least" not in " ".join(mixed)
    third = of(
        level(1.0), level(0.8, 1), list(20 * WIDE), cell=TASK, prices=(price("0.10"), price("0.20"), price("0.05"))
    )
    assert "costs least" not in " ".join(third)
    copied = of([1.0] * 6, [0.8] * 6, cell=TASK, prices=(price("0.10"), price("0.20")))
    assert "costs least" not in " ".join(copied)
    of_known = of(level(1.0), level(0.8, 1), level(0.5, 2), cell=TASK, prices=(price("0.10"), price("0.20"), None))
    assert "costs least on c0 of those with a known price" in " ".join(of_known)
    unknown = of(level(1.0), level(0.8, 1), cell=TASK, prices=(price("0.10"), None))
    assert unknown[-1] == "The price of c1 is unknown, so its cost is not compared."


def test_differences_of_shares_are_percentage_points() -> None:
    first = of(list(0.01 + 0.001 * WIDE), list(0.05 + 0.001 * np.roll(WIDE, 1)), cell=LOSS)[1]
    assert "c0 is best: 4 percentage points lower than c1, the other (95 % interval 3.94 to 4.06 percentage" in first


def test_simulated_numbers_are_said_to_be() -> None:
    some = [estimate_of(at, level(1.0 + at, at)) for at in range(2)]
    assert (
        said(plan_of(candidates=2), some)[0]
        == "All numbers are simulated: their true values are planted, and nothing was measured."
    )
    plan = plan_of(candidates=2, runner="local")
    mixed = replace(plan, candidates=(plan.candidates[0], replace(plan.candidates[1], runner="simulated")))
    assert said(mixed, some)[0].startswith("The numbers of c1 are simulated")
    assert "simulated" not in " ".join(said(plan, some))


def test_values_that_may_share_a_launch_are_said_to() -> None:
    some = [estimate_of(at, level(1.0 + at, at)) for at in range(2)]
    plan = plan_of(candidates=2, runner="imported", imported=True)
    plain = said(plan, some)
    noted = said(plan, some, replication_known=False)
    assert noted[0].startswith("The table does not say which values came from one launch")
    assert noted[1:] == plain


def test_loopback_says_nothing_of_a_network() -> None:
    sentences = of(level(1e-5), level(2e-5, 1), cell=RTT50)
    assert "they do not measure a network" in sentences[0]
    assert "network" not in " ".join(of(level(1.0), level(2.0, 1)))


def test_several_cells_are_summed_up_first_and_not_all_told() -> None:
    cells = [f"lu_flop_per_s n={n};threads=one" for n in range(100, 112)]
    plan = plan_of(candidates=2, cells=cells, runner="cloud")
    estimates = []
    for at, cell in enumerate(cells):
        other = list(10 * WIDE) if at == 3 else level(2.0 if at else 1.001, 1)
        estimates += [estimate_of(0, level(1.0), cell), estimate_of(1, other, cell)]
    sentences = said(plan, estimates)
    assert sentences[0] == ("Of 12 deciding measurements, c1 wins 10, 1 is a tie and 1 is undecided.")
    assert "4 more measurements are in the table." in sentences


def test_only_cells_that_decide_are_told() -> None:
    plan = plan_of(candidates=2, cells=(FMA, FMA_ALL, LU), decide=(Decide("", LU),), runner="cloud")
    estimates = [estimate_of(at, level(1.0 + at, at), cell) for cell in (FMA, FMA_ALL, LU) for at in range(2)]
    text = " ".join(said(plan, estimates))
    assert "lu_flop_per_s (threads=one): c1 is best" in text
    assert "fma" not in text


def test_cells_are_called_by_what_tells_them_apart() -> None:
    names = short_names([FMA, FMA_ALL, CHASE, CHASE.replace("16384", "4096"), RTT50, "pi_time_s digits=9"])
    assert list(names.values()) == [
        "fma_flop_per_s (threads=one)", "fma_flop_per_s (threads=all)", "chase_latency_s (size_bytes=16384)",
        "chase_latency_s (size_bytes=4096)", "rtt_s (percentile=50)", "pi_time_s",
    ]  # fmt: skip


def test_one_candidate_gets_no_verdict() -> None:
    assert of(level(1.0))[0] == "No deciding measurement has two candidates: there is no verdict."


def test_a_failed_candidate_is_left_out_by_name() -> None:
    plan = plan_of(candidates=3, runner="cloud")
    dead = replace(estimate_of(1, ()), n_started=12, n_ok=0, reason="12 of 12 trials failed")
    sentences = said(plan, [estimate_of(0, level(1.0)), dead, estimate_of(2, level(2.0, 1))])
    assert "c2 is best: 100.0 % higher than c0, the next" in sentences[0]
    assert sentences[0].endswith(" Left out: c1: 12 of 12 trials failed.")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_study_gets_plain_sentences(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 9))
    cells = data.draw(st.lists(st.sampled_from([FMA, CHASE, LOSS, TASK, RTT50]), min_size=1, max_size=3, unique=True))
    some = st.lists(st.floats(1e-6, 1e6), min_size=n, max_size=n)
    prices = data.draw(st.lists(st.sampled_from([None, price("0.1"), price("0"), price("0.3", "EUR")]), max_size=3))
    plan = plan_of(rounds=max(n, 1), cells=cells, prices=prices)
    sentences = said(plan, [estimate_of(at, data.draw(some), cell) for cell in cells for at in range(3)])
    assert sentences
    for sentence in sentences:
        assert sentence.endswith(".")
        assert not re.search(r"nan|inf\b|None|\n", sentence)


def test_the_rounds_asked_for_do_find_the_difference() -> None:
    """The promise itself: at the number of rounds named, a difference as seen is found in about 80 % of studies."""
    rng = np.random.default_rng(5)
    plan = plan_of(candidates=2, rounds=8)
    pilot = [estimate_of(0, rng.lognormal(0.0, 0.05, 8)), estimate_of(1, rng.lognormal(0.05, 0.05, 8))]
    (one,), _ = compare(plan, pilot, METRICS, {})
    spread = float(np.subtract(*(np.log(some.values) for some in pilot)).std(ddof=1))
    needed = rounds_needed(one, spread, None, 1)
    assert needed is not None
    d = np.log(pilot[0].values) - np.log(pilot[1].values)
    centre, spread = d.mean(), d.std(ddof=1)
    found = 0
    for _ in range(400):
        drawn = rng.normal(centre, spread, needed)
        again = [estimate_of(0, np.exp(drawn)), estimate_of(1, np.ones(needed))]
        (result,), _ = compare(plan_of(candidates=2, rounds=needed), again, METRICS, {})
        found += result.p_adjusted is not None and result.p_adjusted < 0.05
    assert found / 400 == pytest.approx(0.8, abs=0.07)
