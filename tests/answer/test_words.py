"""The answer in sentences: true to the tables, and honest about what is not known."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, FMA_ALL, LOSS, LU, RTT50, TASK, estimate_of, plan_of, price
from tests.slices import examples

from cloudcmp.answer.effects import leading, short_names
from cloudcmp.answer.outlook import more_rounds, outlooks
from cloudcmp.answer.words import in_words
from cloudcmp.catalog import METRICS
from cloudcmp.compare import compare
from cloudcmp.cost import with_cost
from cloudcmp.model.offering import Price
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Estimate, Verdict
from cloudcmp.model.study import Decide
from cloudcmp.units import Money

STEADY = np.array([10.0, 10.1, 9.9, 10.05, 9.95, 10.0])
WIDE = np.array([1.0, 1.6, 0.7, 1.2, 0.8, 1.1])


def said(plan: Plan, estimates: Sequence[Estimate], **known: Any) -> tuple[str, ...]:
    priced = with_cost(plan, estimates, METRICS)
    return in_words(plan, analysed(plan, priced, **known), METRICS)


def analysed(plan: Plan, estimates: Sequence[Estimate], **known: Any) -> Analysis:
    found = compare(plan, estimates, METRICS, {}, **known)
    winners = (*found.winners, *found.money_winners)
    more = outlooks(plan, estimates, found.pairs, found.money, winners, METRICS)
    return Analysis(tuple(estimates), found.pairs, found.winners, found.money, found.money_winners, outlooks=more)


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
        r"would settle c1 and c0 with a chance of about 80 %\.",
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


def test_too_few_launches_ask_for_the_rest() -> None:
    first = of(level(1.0)[:4], level(2.0, 1)[:4], rounds=4)[0]
    assert "4 of at least 6 launches" in first
    assert "2 more rounds (about 30 min 00 s, 0.600 USD) would settle c1 and c0 with a chance of over 95 %" in first


def test_no_money_is_named_where_none_is_known() -> None:
    plan = plan_of(candidates=2, runner="local")
    sentences = said(plan, [estimate_of(0, list(10 * WIDE)), estimate_of(1, list(13 * np.roll(WIDE, 2)))])
    assert "USD" not in " ".join(sentences)
    assert sentences[-1] == "No price is known, so costs are not compared."


def test_an_imported_table_is_not_quoted_a_time() -> None:
    first = of(list(10 * WIDE), list(13 * np.roll(WIDE, 2)), imported=True)[0]
    assert re.search(r"wide\. \d+ more rounds would settle c1 and c0 with a chance of about 80 %", first)


def money_of(*values: Sequence[float], cell: str, prices: Sequence[Price | None], **study: object) -> str:
    """The sentences on work for money."""
    found = of(*values, cell=cell, prices=prices, **study)
    return " ".join(one for one in found if ", work for money: " in one or ", cost of a task: " in one)


@pytest.mark.parametrize("cell", [FMA, TASK])
def test_work_for_money_gets_a_verdict_of_its_own(cell: str) -> None:
    """The faster one is 25 % faster at twice the price: it wins in speed, and loses for the money."""
    fast = 1.25 if cell == FMA else 1 / 1.25
    first, money = of(level(1.0), level(fast, 1), cell=cell, prices=(price("0.10"), price("0.20")))
    assert ": c1 is best: " in first
    if cell == FMA:
        words = r", work for money: c0 is best: 60\.\d % more work per USD than c1, the other "
        ends = r"\(95 % interval (59\.\d|60\.\d) % to 60\.\d % higher, n = 6\)\."
    else:  # 1 / 1.6
        words = r", cost of a task: c0 is best: a task costs 37\.5 % less than on c1, the other "
        ends = r"\(95 % interval 37\.\d % to 37\.\d % lower, n = 6\)\."
    assert re.search(words + ends, money)


def test_costs_that_are_alike_or_far_apart_are_told_as_costs() -> None:
    twice = (price("0.10"), price("0.20"))
    tie = money_of(level(1.0), level(0.4999, 1), cell=TASK, prices=twice)
    assert "practically the same and best" in tie
    far = money_of(level(1.0), level(2.0, 1), cell=TASK, prices=twice)
    assert re.search(
        r"a task costs 0\.25 times as much as on c1, the other \(95 % interval 0\.\d+ to 0\.\d+ times", far
    )
    third = money_of(level(1.0), level(0.4999, 1), level(3.0, 2), cell=TASK, prices=(*twice, price("0.10")))
    assert re.search(r"practically the same and best.*\. On c\d a task costs 0\.33 times as much as on c2", third)


def test_work_for_money_is_as_sure_as_the_measurement() -> None:
    twice = (price("0.10"), price("0.20"))
    assert "practically the same and best" in money_of(level(1.0), level(2.001, 1), cell=FMA, prices=twice)
    unsure = money_of(list(10 * WIDE), list(20 * np.roll(WIDE, 2)), cell=FMA, prices=twice)
    assert "work for money: cannot tell yet: interval too wide" in unsure


def test_no_work_for_money_without_two_prices_in_one_currency() -> None:
    two = level(1.0), level(0.8, 1)
    assert not money_of(*two, cell=TASK, prices=(price("0.10"), price("0.20", "EUR")))
    assert not money_of(*two, cell=TASK, prices=(price("0.10"), None))
    assert of(*two, cell=TASK, prices=(price("0.10"), None))[-1].startswith("The price of c1 is unknown")
    # Latency is no work: an hour of it costs the same whoever is fast.
    assert not money_of(*two, cell=CHASE, prices=(price("0.10"), price("0.20")))
    known = money_of(*two, level(0.5, 2), cell=TASK, prices=(price("0.10"), price("0.20"), None))
    assert "c0 is best" in known
    assert "c2" not in known


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
    assert noted[1:] == tuple(one.replace("n = 6)", "n = 6; replication unknown)") for one in plain)


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


def test_no_line_is_saved_by_a_line_that_says_so() -> None:
    for count, more in ((8, 0), (9, 0), (10, 2)):
        cells = [f"lu_flop_per_s n={n};threads=one" for n in range(100, 100 + count)]
        plan = plan_of(candidates=2, cells=cells, runner="cloud")
        estimates = [estimate_of(at, level(1.0 + at, at), cell) for cell in cells for at in range(2)]
        sentences = said(plan, estimates)
        assert sum("c1 is best" in one for one in sentences) == count - more
        assert sum("more measurement" in one for one in sentences) == bool(more)
    assert leading("abc", 2) == ("abc", 0)
    assert leading("abcd", 2) == ("ab", 2)
    assert leading("", 2) == ("", 0)


def test_reading_is_told_before_writing_whichever_was_measured_first() -> None:
    cells = [f"disk_op_per_s block_bytes=4096;op={op};pattern=random" for op in ("write", "read")]
    plan = plan_of(candidates=2, cells=cells, decide=(Decide("", "disk_op_per_s"),), runner="cloud")
    estimates = [estimate_of(at, level(1.0 + at, at), cell) for cell in cells for at in range(2)]
    read, write = (sentence for sentence in said(plan, estimates) if "is best" in sentence)
    assert "op=read" in read
    assert "op=write" in write


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


def test_rounds_are_asked_for_only_where_they_can_bring_a_verdict() -> None:
    """Half of the trials failed: no number of rounds helps while they go on failing."""
    plan = plan_of(candidates=2, rounds=8, runner="cloud")
    failing = replace(estimate_of(1, [*level(1.3), 13.0, 13.1]), n_started=16, n_ok=8)
    sentences = said(plan, [estimate_of(0, [*level(1.0), 10.0, 10.1]), failing])
    assert "8 of 16 trials failed" in sentences[0]
    assert "more round" not in " ".join(sentences)


def test_a_chance_is_about_as_often_right_as_it_says() -> None:
    """The promise itself: of pairs that were undecided, as many as said are settled by the rounds asked for."""
    rng, settled, promised = np.random.default_rng(5), 0, 0.0
    plan = plan_of(candidates=2, rounds=8)
    looked = replace(plan, looks=(len(plan.launches),))
    count = 0
    while count < examples(150):
        truth, spread = rng.normal(0.0, 0.05), 0.05
        values = rng.normal(truth, spread, 8)
        pilot = [estimate_of(0, np.exp(values)), estimate_of(1, np.ones(8))]
        found = analysed(plan, pilot)
        if not found.outlooks:
            continue
        (one,) = found.outlooks
        assert one.chance is not None
        more = min(one.rounds, 400)
        again = np.exp(np.concatenate([values, rng.normal(truth, spread, more)]))
        grown = replace(plan_of(candidates=2, rounds=8 + more), looks=looked.looks)
        (result,) = compare(grown, [estimate_of(0, again), estimate_of(1, np.ones(8 + more))], METRICS, {}).pairs
        settled += result.verdict is not Verdict.CANNOT_TELL
        promised += one.chance if more == one.rounds else 0.0
        count += 1
    assert settled / count == pytest.approx(promised / count, abs=0.15)
