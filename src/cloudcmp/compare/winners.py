"""The winners of a cell: the unbeaten candidates; the cheapest of equals gets a star (Rodamilans, tables 6 and 7)."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from cloudcmp.compare.verdict import bars_of
from cloudcmp.cost import price_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.pairs import CellPairs, Pairs
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Basis, Clause, Estimate, Verdict, Winner

# Pairs beyond this number are only counted, because nobody reads so many names.
_MOST_OPEN = 20


@dataclass(frozen=True, slots=True)
class WinnerRow:
    """One field of a table of operation x class x threads.

    `operation` is the cell without its threads, `group` the class of the compared offerings (empty if no offering has
    one), and `threads` is as in the cell (None if the cell has none).
    """

    operation: str
    group: str
    threads: str | None
    winner: Winner


def winner_of(
    plan: Plan,
    cell: str,
    metric: Metric,
    estimates: Sequence[Estimate],
    pairs: CellPairs,
    bars: Mapping[tuple[str, int], Clause | None],
    basis: Basis = Basis.PERFORMANCE,
) -> Winner:
    """Return the winners of one cell among the candidates of `estimates`, best median first; `bars` is from `bars_of`.

    A candidate that failed, or that has too few launches or no value, cannot win. Of the others, the winners are those
    that no verdict puts behind another; there is no winner until some pair is better, worse or practically the same.
    `reason` says what is undecided. The star marks the cheapest of the candidates that are practically the same as the
    best, if it is cheaper than one of them and all their prices are known in one currency.
    """
    pairs = pairs.among({one.candidate for one in estimates if one.offered})
    none = partial(Winner, cell, (), None, basis=basis)
    if not pairs:
        return none("one candidate: nothing to compare")
    if not pairs.decides:
        return none("exploratory: no verdict")
    if not pairs.settled():
        return none(f"cannot tell yet: {_why(pairs.clauses())}")
    able = {one.candidate: one.median or 0.0 for one in estimates if not bars[cell, one.candidate]}
    beaten = pairs.beaten()
    sign = -1.0 if metric.better is Better.HIGHER else 1.0
    unbeaten = sorted((at for at in able if at not in beaten), key=lambda at: (sign * able[at], at))
    if not unbeaten:
        return none("the verdicts contradict each other: rounds with all candidates are needed")
    best = unbeaten[0]
    equals = [at for at in unbeaten if at == best or pairs.verdict(best, at) is Verdict.SAME]
    starred, why_none = _star(plan, equals) if basis is Basis.PERFORMANCE else (None, [])
    left_out = tuple(f"left out: {bar}" for one in estimates if one.offered and (bar := bars[cell, one.candidate]))
    notes = [*_open(plan, pairs, unbeaten), *left_out, *why_none]
    return Winner(cell, tuple(unbeaten), starred, "; ".join(notes), left_out, basis)


def _why(clauses: Iterable[Clause]) -> str:
    """Return why no pair is decided: each reason once, with the candidates or, if there are many, their number."""
    concerned: dict[str, list[str]] = {}
    for clause in dict.fromkeys(clauses):
        concerned.setdefault(clause.text, []).append(clause.subject)
    parts = []
    for reason, names in concerned.items():
        some = [name for name in names if name]
        who = ", ".join(some) if len(some) < 3 else f"{len(some)} candidates"
        parts.append(f"{who}: {reason}" if who else reason)
    return "; ".join(parts)


def winner_rows(
    plan: Plan, estimates: Sequence[Estimate], comparisons: Pairs, metrics: Mapping[str, Metric]
) -> tuple[WinnerRow, ...]:
    """Return the winners by operation x class x threads, for every deciding cell; classes are those of the study.

    Within a class, only its own candidates are compared, with the verdicts of the whole family.
    """
    groups: dict[str, set[int]] = {}
    for candidate in plan.candidates:
        requested = candidate.asked.category if candidate.asked else None
        groups.setdefault(requested or candidate.offering.category or "", set()).add(candidate.index)
    bars = bars_of(plan, estimates)
    by_cell: dict[str, list[Estimate]] = {}
    for one in estimates:
        by_cell.setdefault(one.cell, []).append(one)
    deciding = {text: pairs for text in by_cell if (pairs := comparisons.of(text)) and pairs.decides}
    rows = []
    for (text, pairs), (group, members) in itertools.product(deciding.items(), sorted(groups.items())):
        cell = Cell.parse(text)
        some = [one for one in by_cell[text] if one.candidate in members]
        rest = Cell(cell.metric, tuple(pair for pair in cell.params if pair[0] != "threads"))
        winner = winner_of(plan, text, metrics[cell.metric], some, pairs.among(members), bars)
        rows.append(WinnerRow(str(rest), group, cell.get("threads"), winner))
    return tuple(rows)


def _star(plan: Plan, equals: Sequence[int]) -> tuple[int | None, list[str]]:
    """Return the cheapest of the equals, or None and the reason."""
    if len(equals) < 2:
        return None, []
    prices = {at: price_of(plan.candidates[at]) for at in equals}
    unknown = [plan.candidates[at].id for at, price in prices.items() if price is None]
    if unknown:
        return None, [f"no cheapest: the price of {', '.join(unknown)} is unknown"]
    known = {at: price for at, price in prices.items() if price is not None}
    if len({price.currency for price in known.values()}) > 1:
        return None, ["no cheapest: prices are in several currencies"]
    cheapest = min(known, key=lambda at: known[at].amount)
    if all(price.amount == known[cheapest].amount for price in known.values()):
        return None, []
    return cheapest, []


def _open(plan: Plan, pairs: CellPairs, unbeaten: Sequence[int]) -> Iterator[str]:
    undecided = pairs.undecided(unbeaten)
    for a, b in itertools.islice(undecided, _MOST_OPEN):
        yield f"cannot tell {plan.candidates[a].id} from {plan.candidates[b].id} yet ({pairs.reason(a, b)})"
    rest = sum(1 for _ in undecided)
    if rest:
        yield f"cannot tell {rest} more pairs apart yet"
