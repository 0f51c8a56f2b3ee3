"""All pairs at once say what each pair says alone, whatever is missing, unknown, equal, unlike or barred."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, FMA_ALL, LOSS, estimate_of, plan_of
from tests.compare.by_performance import compare
from tests.compare.witness import one_by_one
from tests.slices import examples

from cloudcmp.catalog import METRICS
from cloudcmp.compare import pairing
from cloudcmp.compare import winners as winners_of
from cloudcmp.compare.table import PairTable
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, Estimate, NoVerdict, Verdict
from cloudcmp.model.study import Decide

FACTS = ("agent_version", "kernel", "fma.engine", "dbench.loadfile")
EXACT = ("cell", "a", "b", "n", "decides", "by_difference", "verdict", "reason", "marks")
CLOSE = ("effect", "p_paired", "p_adjusted", "p_same", "p_welch", "hodges_lehmann", "cliffs_delta", "detectable")


def study_of(seed: int) -> tuple[Plan, list[Estimate], dict[int, dict[str, str]]]:
    """A study in which anything may be odd: drawn of a seed, so that each oddity is met with each other one."""
    rng = np.random.default_rng(seed)
    count, rounds = int(rng.integers(1, 7)), int(rng.integers(1, 12))
    cells = (FMA, CHASE, FMA_ALL, LOSS)[: int(rng.integers(1, 5))]
    decide = tuple(Decide("", cell, 0.01 if cell == LOSS else None) for cell in cells if rng.random() < 0.6)
    plan = plan_of(candidates=count, rounds=rounds, cells=cells, decide=decide)
    if rng.random() < 0.2:
        odd = tuple(replace(one, params=(("seconds", str(one.launch % 2)),)) for one in plan.trials)
        plan = replace(plan, trials=odd)
    if rng.random() < 0.3:
        plan = replace(plan, imported=True)
    estimates = [estimate(rng, at, cell, rounds) for cell in cells for at in range(count)]
    facts = {at: {key: str(rng.integers(2)) for key in FACTS if rng.random() < 0.3} for at in range(count)}
    return plan, estimates, facts


def estimate(rng: np.random.Generator, at: int, cell: str, rounds: int) -> Estimate:
    n = int(rng.choice([0, 1, rounds, rounds, rounds, rounds, int(rng.integers(1, rounds + 1))]))
    values = float(rng.choice([1.0, 1.0, 1.01, 1.2])) * rng.lognormal(
        0.0, float(rng.choice([0.0, 1e-9, 0.004, 0.1])), n
    )
    if cell == LOSS:
        values = rng.choice([0.0, 0.001, 0.5, 2.0]) * (values - 1.0)
    elif n and rng.random() < 0.1:
        values[0] = 0.0
    found = estimate_of(at, np.round(values, int(rng.integers(2, 12))), cell)
    kept = tuple(sorted(rng.choice(rounds, n, replace=False).tolist()))
    numbers: tuple[int | None, ...] = tuple(one // 2 for one in kept) if rng.random() < 0.2 else kept
    if n and rng.random() < 0.15:
        numbers = (None, *numbers[1:])
    sessions = tuple(str(rng.integers(2)) for _ in kept) if rng.random() < 0.2 else found.sessions
    found = replace(found, rounds=numbers, sessions=sessions, n_ok=2 * n - int(n > 3 and rng.random() < 0.15) * 2)
    return (
        replace(found, n_started=0, n_ok=0, reason="not offered", offered=False)
        if n == 0 and rng.random() < 0.5
        else found
    )


def in_value(reason: str) -> NoVerdict | None:
    """The value that a reason of the witness stands for."""
    starts = {
        "unlike: ": NoVerdict.UNLIKE, "no rounds with both": NoVerdict.NOT_COMPARABLE,
        "interval too wide after": NoVerdict.TOO_WIDE_FOR_ALL, "interval too wide": NoVerdict.TOO_WIDE,
    }  # fmt: skip
    if all(re.fullmatch(r"(\w+: )?\d+ of at least 6 (launches|rounds with both)", one) for one in reason.split("; ")):
        return NoVerdict.TOO_FEW
    found = (value for start, value in starts.items() if reason.startswith(start))
    return next(found, NoVerdict.BARRED) if reason else None


def agree(one: Comparison, other: Comparison) -> None:
    assert one.no_verdict is in_value(other.reason)
    for name in EXACT:
        assert getattr(one, name) == getattr(other, name), name
    for name in CLOSE:
        found, expected = getattr(one, name), getattr(other, name)
        assert (found is None) == (expected is None), name
        assert expected is None or found == pytest.approx(expected, rel=1e-12, abs=1e-300), name
    for name in ("bounds", "bounds_90"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            ends = (theirs.low, theirs.high, theirs.confidence)
            assert (mine.low, mine.high, mine.confidence) == pytest.approx(ends, rel=1e-12, abs=1e-15)


@settings(max_examples=examples(60, 3), deadline=None)
@given(st.integers(0, 2**32))
def test_all_at_once_say_what_each_pair_says_alone(seed: int) -> None:
    plan, estimates, facts = study_of(seed)
    found, winners = compare(plan, estimates, METRICS, facts, replication_known=not plan.imported, all_pairs=True)
    alone, won = one_by_one(plan, estimates, METRICS, facts)
    assert len(found) == len(alone)
    for one, other in zip(found, alone, strict=True):
        agree(one, other)
    assert winners == won


@pytest.mark.parametrize("seed", range(3))
def test_candidates_that_share_few_rounds_are_paired_all_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "_LARGEST", 0)
    for each in range(examples(30, 4)):
        plan, estimates, facts = study_of(1000 * seed + each)
        found, winners = compare(plan, estimates, METRICS, facts, replication_known=not plan.imported, all_pairs=True)
        alone, won = one_by_one(plan, estimates, METRICS, facts)
        for one, other in zip(found, alone, strict=True):
            agree(one, other)
        assert winners == won


def table_of(count: int = 5, cells: tuple[str, ...] = (FMA, CHASE)) -> PairTable:
    rng = np.random.default_rng(3)
    plan = plan_of(candidates=count, rounds=8, cells=cells)
    estimates = [estimate_of(at, (1.0 + 0.02 * at) * rng.lognormal(0.0, 0.02, 8), cell)
                 for cell in cells for at in range(count)]  # fmt: skip
    return compare(plan, estimates, METRICS, {})[0]


def test_a_pair_is_found_by_its_candidates_from_both_sides() -> None:
    table = table_of()
    listed = list(table)
    assert len(table) == len(listed) == 20
    assert [table[at] for at in range(len(table))] == listed
    assert table[-1] == listed[-1]
    assert list(table[3:12]) == listed[3:12]
    turned = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    for one in listed:
        pairs = table.of(one.cell)
        light = replace(one, hodges_lehmann=None, cliffs_delta=None)
        assert pairs.between(one.a, one.b) == pairs.between(one.b, one.a) == light
        assert pairs.reason(one.a, one.b) == pairs.reason(one.b, one.a) == one.reason
        assert pairs.verdict(one.a, one.b) is one.verdict
        assert pairs.verdict(one.b, one.a) is turned.get(one.verdict or Verdict.SAME, one.verdict)
        spread = pairs.spread(one.a, one.b)
        assert spread is not None
        assert spread > 0.0
    assert {one.verdict for one in listed} > {Verdict.BETTER}
    pairs = table.of(FMA)
    assert pairs.between(2, 2) is pairs.between(0, 9) is pairs.verdict(0, 9) is pairs.spread(0, 9) is None


def test_pairs_among_some_are_those_of_these_alone() -> None:
    pairs = table_of().of(FMA)
    for members in itertools.chain.from_iterable(itertools.combinations(range(5), size) for size in range(6)):
        some = pairs.among(members)
        expected = [one for one in pairs if one.a in members and one.b in members]
        assert list(some) == expected
        assert len(some) == len(expected)
        assert some.settled() is any(one.verdict is not Verdict.CANNOT_TELL for one in expected)
        behind = {one.b if one.verdict is Verdict.BETTER else one.a for one in expected
                  if one.verdict in (Verdict.BETTER, Verdict.WORSE)}  # fmt: skip
        assert some.beaten() == behind
        undecided = [(one.a, one.b) for one in expected if one.verdict is Verdict.CANNOT_TELL]
        assert list(pairs.undecided(members)) == undecided
        parts = {part for one in expected for part in one.reason.split("; ")} - {""}
        assert set(map(str, some.clauses())) == parts


def test_cells_that_are_left_out_change_no_family() -> None:
    table = table_of()
    some = table.only({CHASE})
    assert list(some) == [one for one in table if one.cell == CHASE]
    assert some.family == table.family == 20


def test_words_are_changed_in_every_pair() -> None:
    shouted = table_of(2, (FMA,)).worded(str.upper).worded(lambda text: f"{text}!")
    (one,) = shouted
    assert one.reason in {"!", "INTERVAL TOO WIDE!"}
    assert shouted.of(FMA).reason(1, 0) == one.reason


def test_very_many_open_pairs_are_counted_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winners_of, "_MOST_OPEN", 200)
    rng = np.random.default_rng(1)
    count = 40
    plan = plan_of(candidates=count, rounds=6)
    levels = [3.0, *[1.0] * (count - 2), 0.1]
    some = [estimate_of(at, level * rng.lognormal(0.0, 0.3, 6)) for at, level in enumerate(levels)]
    _, (winner,) = compare(plan, some, METRICS, {}, all_pairs=True)
    assert len(winner.winners) > 30
    assert winner.reason.count("cannot tell c") == 200
    assert winner.reason.endswith("more pairs apart yet")
