"""Who wins a cell: those that nobody beats; among equals the cheapest gets a star (Rodamilans, tables 6 and 7)."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.analysis import NOT_OFFERED
from cloudcmp.compare.verdict import bars_of
from cloudcmp.cost import price_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, Estimate, Verdict, Winner


@dataclass(frozen=True, slots=True)
class WinnerRow:
    """One field of a table operation x class x threads.

    `operation` is the cell without its threads, `group` the class of offerings that were compared (empty where no
    offering has one), `threads` as in the cell (None: the cell has none).
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
    comparisons: Sequence[Comparison],
    bars: Mapping[tuple[str, int], str],
) -> Winner:
    """The winners of one cell among the candidates of `estimates`, best median first; `bars` as from `bars_of`.

    A candidate that failed, that has too few launches or no figure can not win, whatever its figures are. Of the rest
    the winners are those that no verdict puts behind another; nobody wins before a verdict tells some pair apart or
    calls it the same. `reason` says what is still open. The star goes to the cheapest of those that are practically
    the same as the best, where it is cheaper than one of them and all their prices are known in one currency.
    """
    offered = {one.candidate for one in estimates if one.reason != NOT_OFFERED}
    comparisons = [one for one in comparisons if {one.a, one.b} <= offered]
    if not comparisons:
        return Winner(cell, (), None, "one candidate: nothing to compare")
    if not any(one.decides for one in comparisons):
        return Winner(cell, (), None, "exploratory: no verdict")
    settled = [one for one in comparisons if one.verdict not in (None, Verdict.CANNOT_TELL)]
    if not settled:
        return Winner(cell, (), None, f"cannot tell yet: {_why(comparisons)}")
    able = {one.candidate: one.median or 0.0 for one in estimates if not bars[cell, one.candidate]}
    beaten = {one.b if one.verdict is Verdict.BETTER else one.a for one in settled if one.verdict is not Verdict.SAME}
    sign = -1.0 if metric.better is Better.HIGHER else 1.0
    unbeaten = sorted((at for at in able if at not in beaten), key=lambda at: (sign * able[at], at))
    if not unbeaten:
        return Winner(cell, (), None, "the verdicts contradict each other: rounds with all candidates are needed")
    same = {one.a + one.b - unbeaten[0] for one in settled
            if one.verdict is Verdict.SAME and unbeaten[0] in (one.a, one.b)}  # fmt: skip
    starred, why_none = _star(plan, [at for at in unbeaten if at == unbeaten[0] or at in same])
    notes = [*_open(plan, comparisons, unbeaten), *_left_out(estimates, bars), *why_none]
    return Winner(cell, tuple(unbeaten), starred, "; ".join(notes))


def _why(comparisons: Sequence[Comparison]) -> str:
    """Why no pair is settled: each reason once, with whom it concerns, or of how many where these are many."""
    clauses = dict.fromkeys(part for one in comparisons for part in one.reason.split("; "))
    concerned: dict[str, list[str]] = {}
    for clause in clauses:
        name, colon, reason = clause.rpartition(": ")
        concerned.setdefault(reason if colon else clause, []).append(name)
    told = []
    for reason, names in concerned.items():
        some = [name for name in names if name]
        who = ", ".join(some) if len(some) < 3 else f"{len(some)} candidates"
        told.append(f"{who}: {reason}" if who else reason)
    return "; ".join(told)


def winner_rows(
    plan: Plan, estimates: Sequence[Estimate], comparisons: Sequence[Comparison], metrics: Mapping[str, Metric]
) -> tuple[WinnerRow, ...]:
    """The winners by operation x class x threads, for every cell that decides; classes as the study asked for them.

    Within a class only its own candidates are set against each other, with the verdicts of the whole family.
    """
    groups: dict[str, set[int]] = {}
    for candidate in plan.candidates:
        asked = candidate.asked.category if candidate.asked else None
        groups.setdefault(asked or candidate.offering.category or "", set()).add(candidate.index)
    rows = []
    bars = bars_of(plan, estimates)
    deciding = dict.fromkeys(one.cell for one in comparisons if one.decides)
    for text, (group, members) in itertools.product(deciding, sorted(groups.items())):
        cell = Cell.parse(text)
        some = [one for one in estimates if one.cell == text and one.candidate in members]
        pairs = [one for one in comparisons if one.cell == text and {one.a, one.b} <= members]
        rest = Cell(cell.metric, tuple(pair for pair in cell.params if pair[0] != "threads"))
        winner = winner_of(plan, text, metrics[cell.metric], some, pairs, bars)
        rows.append(WinnerRow(str(rest), group, cell.get("threads"), winner))
    return tuple(rows)


def _star(plan: Plan, equals: Sequence[int]) -> tuple[int | None, list[str]]:
    """The cheapest of the equals, or none and why."""
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


def _open(plan: Plan, comparisons: Sequence[Comparison], unbeaten: Sequence[int]) -> Iterator[str]:
    for one in comparisons:
        if one.verdict is Verdict.CANNOT_TELL and one.a in unbeaten and one.b in unbeaten:
            a, b = plan.candidates[one.a].id, plan.candidates[one.b].id
            yield f"cannot tell {a} from {b} yet ({one.reason})"


def _left_out(estimates: Sequence[Estimate], bars: Mapping[tuple[str, int], str]) -> Iterator[str]:
    for one in estimates:
        why = bars[one.cell, one.candidate]
        if why and one.reason != NOT_OFFERED:
            yield f"left out: {why}"
