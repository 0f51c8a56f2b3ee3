"""The first screen answers in ten seconds: who, by how much, how surely, for what money, and what next."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.analysis.planted import CHASE, FMA, FMA_ALL, LU, TASK, estimate_of, plan_of, price
from tests.report.payloads import ALL
from tests.slices import spread

from cloudcmp.app.study_view import with_answer
from cloudcmp.catalog import METRICS
from cloudcmp.compare import compare
from cloudcmp.cost import with_cost
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.view import View
from cloudcmp.report.comparison import show
from cloudcmp.report.first_screen import show_first
from cloudcmp.units import Money

STEADY = np.array([10.0, 10.1, 9.9, 10.05, 9.95, 10.0])
WIDE = np.array([1.0, 1.6, 0.7, 1.2, 0.8, 1.1])
CELLS = (FMA_ALL, LU, CHASE, TASK, FMA)


def study(candidates: int = 2, *, priced: bool = False, cells: tuple[str, ...] = CELLS) -> View:
    """Each candidate 10 % above the one before it, but for the last cell, in which nothing can be told."""
    prices = [price(f"0.{at + 1}") for at in range(candidates)] if priced else []
    plan = plan_of(candidates=candidates, cells=cells, prices=prices, runner="cloud")
    cost = Money(Decimal("1.20"), "USD") if priced else None
    plan = replace(plan, quote=replace(plan.quote, expected_s=3600.0, expected_cost=cost))
    some = [
        estimate_of(at, 10 * np.roll(WIDE, at) if cell == FMA else 1.1**at * np.roll(STEADY, at), cell)
        for cell in cells
        for at in range(candidates)
    ]
    estimates = with_cost(plan, some, METRICS)
    found = compare(plan, estimates, METRICS, {})
    analysis = Analysis(estimates, found.pairs, found.winners, found.money, found.money_winners)
    return View(plan, METRICS, with_answer(plan, analysis, METRICS), (), warnings=("c0: a core was throttled",))


def printed(view: View, width: int = 80, study: str = "studies/mine", encoding: str = "utf-8") -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show_first(Console(file=out, width=width), view, study)
    out.flush()
    return out.buffer.getvalue().decode()  # type: ignore[attr-defined]


def test_two_candidates_and_five_measurements_fit_twenty_five_lines() -> None:
    text = printed(study())
    assert len(text.splitlines()) < 25, text  # `run` prints one more: the path of the report
    assert "ANSWER     of 5 measurements, c1 wins 2, c0 wins 2 and 1 is undecided." in text
    assert "c1 against c0" in text
    assert "▲ floating point (fma), all threads, flop/s" in text
    assert "▼ memory latency (chase)" in text
    assert "+10.0 % (" in text or "+10 % (" in text
    assert "NOT SETTLED  floating point (fma), 1 thread" in text
    assert "cloudcmp run --resume studies/mine --more " in text
    assert "chance about 80 %" in " ".join(text.split())
    assert "MIND  c0: a core was throttled" in text
    assert "cloudcmp compare studies/mine --all" in text


def test_work_for_money_stands_beside_the_performance() -> None:
    text = printed(study(priced=True))
    assert "FOR MONEY  of 4 measurements, c0 wins 3 and 1 is undecided." in text
    assert "flop/USD" in text
    assert "c0: 0.1 USD/h; c1: 0.2 USD/h" in text


def test_three_candidates_are_marked_one_by_one() -> None:
    text = printed(study(3))
    assert "next against best" in text
    assert "▲ 12.1" in text
    assert text.count("▼") > 4


SCREENS = [(count, width) for width in (60, 80, 120) for count in (1, 2, 3, 4, 5, 12, 40)]


@pytest.mark.parametrize(("count", "width"), spread(SCREENS, 6))
def test_any_number_of_candidates_fits_any_terminal(count: int, width: int) -> None:
    text = printed(study(count, priced=True), width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert ("nothing to compare" in text) is (count == 1)
    assert len(text.splitlines()) <= 45


def test_many_candidates_are_counted_not_listed() -> None:
    text = printed(study(12))
    assert "c11 " in text
    assert "11 behind" in text


@pytest.mark.parametrize("width", [60, 80])
def test_a_name_may_be_cut_and_the_best_value_may_not(width: int) -> None:
    view = study(12)
    long = [replace(one, id=f"provider/{'r' * 60}{one.index}/type-{one.index:030d}") for one in view.plan.candidates]
    text = printed(replace(view, plan=replace(view.plan, candidates=tuple(long))), width)
    value = next(line for line in printed(view).splitlines() if line.startswith("    c11 ")).split()[1]
    assert float(value) > 0
    assert f"… {value} " in text or f"11 {value} " in text


def test_more_rounds_are_not_offered_for_an_imported_table() -> None:
    view = study()
    text = printed(replace(view, plan=replace(view.plan, imported=True)))
    assert "--more" not in text


def test_trials_that_were_not_run_come_before_more_rounds() -> None:
    text = printed(replace(study(), not_run=3))
    assert "--more" not in text
    assert "3 trials of the plan were not run yet; run them first:\n  cloudcmp run --resume" in text


def test_a_failure_is_named_and_no_rounds_are_sold_for_it() -> None:
    plan = plan_of(candidates=2, runner="cloud")
    some = [estimate_of(0, STEADY), replace(estimate_of(1, 2 * STEADY), n_started=12, n_ok=6)]
    found = compare(plan, some, METRICS, {})
    analysis = Analysis(tuple(some), found.pairs, found.winners, found.money)
    text = printed(View(plan, METRICS, with_answer(plan, analysis, METRICS), ()))
    assert "NOT SETTLED" in text
    assert "6 of 12 trials failed" in " ".join(text.split())
    assert "--more" not in text


def test_a_terminal_of_plain_ascii_gets_ascii() -> None:
    assert printed(study(3), encoding="ascii").isascii()


@pytest.mark.parametrize("payload", ALL)
def test_p29_no_text_moves_the_cursor(payload: str, poison: Callable[[str], View]) -> None:
    text = printed(poison(payload))
    assert "\x1b" not in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80


def test_simulated_numbers_are_said_to_be(view: View) -> None:
    assert "SIMULATED: planted numbers, not measured" in printed(view)


def test_a_change_that_needs_a_note_is_marked_and_noted() -> None:
    """Nearly all trials of one side waited for a processor: no better without that beside it."""
    plan = plan_of(candidates=2, runner="cloud")
    some = [estimate_of(0, STEADY), estimate_of(1, 2 * np.roll(STEADY, 1))]
    marks = {(FMA, 1): ("c1: threads waited for a processor in 12 of 12 trials",)}
    found = compare(plan, some, METRICS, {}, marks=marks)
    analysis = Analysis(tuple(some), found.pairs, found.winners, found.money)
    view = View(plan, METRICS, with_answer(plan, analysis, METRICS), ())
    text = printed(view)
    assert "▲!floating point (fma)" in text
    assert "! c1: threads waited for a processor in 12 of 12 trials" in text
    assert "n = 6; c1: threads waited for a processor in 12 of 12 trials)" in view.analysis.answer[0]


def test_a_change_against_the_order_of_the_medians_says_so() -> None:
    """Ninety-five in each round against 100 in most and 40 in some: the median is higher, the mean change lower."""
    plan = plan_of(candidates=2, rounds=12, runner="cloud")
    wild = [100.0, 100.0, 100.0, 30.0, 100.0, 25.0, 100.0, 100.0, 20.0, 100.0, 30.0, 100.0]
    some = [estimate_of(0, wild), estimate_of(1, [95.0 + 0.1 * at for at in range(12)])]
    found = compare(plan, some, METRICS, {})
    analysis = Analysis(tuple(some), found.pairs, found.winners, found.money)
    text = printed(View(plan, METRICS, with_answer(plan, analysis, METRICS), ()))
    assert "the medians stand the other way round: the change is the mean round by round" in text


def test_a_cost_has_one_unit_in_the_answer_and_in_the_table() -> None:
    view = study(priced=True, cells=(TASK, FMA_ALL))
    first, out = printed(view), io.StringIO()
    show(Console(file=out, width=80), view)
    rows = [[line for line in text.splitlines() if " USD per " in f" {line}"] for text in (first, out.getvalue())]
    found = [re.findall(r"USD per [\w ]*tasks?|[\d.]{3,}", row[0])[:3] for row in rows]
    assert found[0] == found[1]
    assert len(found[0]) == 3
    # 1.1 times as long, at twice the price: c1 costs 2.2 times as much
    assert re.search(r"USD per .*\+120 % \(\+11\d to \+12\d\)", first)
    rates = [re.search(r"\wflop/USD", text) for text in (first, out.getvalue())]
    assert rates[0] is not None
    assert rates[1] is not None
    assert rates[0][0] == rates[1][0]


def test_no_line_says_that_one_line_is_left_out() -> None:
    for count in range(1, 8):
        view = replace(study(), warnings=tuple(f"warning {at}" for at in range(count)))
        text = printed(view)
        assert " 1 more " not in text
        assert "warning 0" in text


def test_an_imported_table_names_no_command_that_it_cannot_run() -> None:
    view = study()
    imported = printed(replace(view, plan=replace(view.plan, imported=True)))
    assert "would settle it (chance" in " ".join(imported.split())
    assert "):\n" not in imported
    assert "):\n" in printed(view)


@pytest.mark.parametrize(
    ("factor", "change"),
    [
        (1 / 44, "×0.0227 (0.0224 to 0.0230)"),
        (1 / 44e6, "×2.27e-08 (2.24e-08 to 2.30e-08)"),
        (1.1, "+10 % (+9 to +12)"),
    ],
)
def test_a_change_stands_apart_from_the_values_however_wide_it_is(factor: float, change: str) -> None:
    plan = plan_of(candidates=2, cells=(FMA_ALL,), runner="cloud")
    some = [estimate_of(0, 523.6 * STEADY, FMA_ALL), estimate_of(1, 523.6 * factor * np.roll(STEADY, 1), FMA_ALL)]
    found = compare(plan, some, METRICS, {})
    analysis = Analysis(tuple(some), found.pairs, found.winners, found.money, found.money_winners)
    text = printed(View(plan, METRICS, with_answer(plan, analysis, METRICS), ()))
    lines = [line for line in text.splitlines() if change in line]
    assert len(lines) == 1, text
    assert lines[0].endswith(f"  {change}"), lines
    assert re.search(r" 5\.24 +[0-9.e-]+(?: |$)", text), text
    assert all(cell_len(line) <= 80 for line in text.splitlines())
