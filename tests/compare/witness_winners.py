"""The winners of a cell, from a list of comparisons: a second witness of `cloudcmp.compare.winners`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cloudcmp.compare.winners import _star
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, Estimate, Verdict, Winner


def winner_of(
    plan: Plan,
    cell: str,
    metric: Metric,
    estimates: Sequence[Estimate],
    comparisons: Sequence[Comparison],
    bars: Mapping[tuple[str, int], str],
) -> Winner:
    """The winners of one cell among the candidates of `estimates`, best median first; `bars` as from `bars_of`.

    The rules are those of `cloudcmp.compare.winners.winner_of`.
    """
    offered = {one.candidate for one in estimates if one.offered}
    comparisons = [one for one in comparisons if {one.a, one.b} <= offered]
    if not comparisons:
        return Winner(cell, (), None, "one candidate: nothing to compare")
    if not any(one.decides for one in comparisons):
        return Winner(cell, (), None, "exploratory: no verdict")
    settled = [one for one in comparisons if one.verdict not in (None, Verdict.CANNOT_TELL)]
    if not settled:
        return Winner(cell, (), None, f"cannot tell yet: {_why(one.reason for one in comparisons)}")
    able = {one.candidate: one.median or 0.0 for one in estimates if not bars[cell, one.candidate]}
    beaten = {one.b if one.verdict is Verdict.BETTER else one.a for one in settled if one.verdict is not Verdict.SAME}
    sign = -1.0 if metric.better is Better.HIGHER else 1.0
    unbeaten = sorted((at for at in able if at not in beaten), key=lambda at: (sign * able[at], at))
    if not unbeaten:
        return Winner(cell, (), None, "the verdicts contradict each other: rounds with all candidates are needed")
    same = {one.a + one.b - unbeaten[0] for one in settled
            if one.verdict is Verdict.SAME and unbeaten[0] in (one.a, one.b)}  # fmt: skip
    starred, why_none = _star(plan, [at for at in unbeaten if at == unbeaten[0] or at in same])
    left_out = [
        f"left out: {bars[cell, one.candidate]}" for one in estimates if one.offered and bars[cell, one.candidate]
    ]
    notes = [*_open(plan, comparisons, unbeaten), *left_out, *why_none]
    return Winner(cell, tuple(unbeaten), starred, "; ".join(notes), tuple(left_out))


def _why(reasons: Iterable[str]) -> str:
    """Each reason once with whom it concerns, by reading the reasons themselves."""
    concerned: dict[str, list[str]] = {}
    for clause in dict.fromkeys(part for reason in reasons for part in reason.split("; ")):
        name, colon, reason = clause.rpartition(": ")
        concerned.setdefault(reason if colon else clause, []).append(name)
    some = {reason: list(filter(None, names)) for reason, names in concerned.items()}
    who = {reason: ", ".join(one) if len(one) < 3 else f"{len(one)} candidates" for reason, one in some.items()}
    return "; ".join(f"{who[reason]}: {reason}" if who[reason] else reason for reason in some)


def _open(plan: Plan, comparisons: Sequence[Comparison], unbeaten: Sequence[int]) -> Iterator[str]:
    for one in comparisons:
        if one.verdict is Verdict.CANNOT_TELL and one.a in unbeaten and one.b in unbeaten:
            a, b = plan.candidates[one.a].id, plan.candidates[one.b].id
            yield f"cannot tell {a} from {b} yet ({one.reason})"
