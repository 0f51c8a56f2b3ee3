"""Ends a study before its last round, once its intervals are as tight as it asks for."""

from collections.abc import Callable, Iterator

from cloudcmp import compare
from cloudcmp.app.plan import quoted
from cloudcmp.app.study_view import Measured
from cloudcmp.model.pairs import CellPairs
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, Estimate, NoVerdict
from cloudcmp.plan import shortened
from cloudcmp.store import StudyStore

# What more rounds cannot change; such pairs keep no study running.
_INCURABLE = (NoVerdict.BARRED, NoVerdict.UNLIKE, NoVerdict.NOT_COMPARABLE, NoVerdict.BLOCKS)


def stop_if_tight(say: Callable[[str], None]) -> Callable[[StudyStore, int], bool]:
    """Return what ends a study after a number of rounds if every interval is tight enough, and says so."""

    def ended(store: StudyStore, rounds: int) -> bool:
        if not is_tight(store):
            return False
        say(f"stopping after {rounds} of {store.plan.rounds} rounds: every interval is tight enough")
        store.replan(quoted(shortened(store.plan, rounds)))
        return True

    return ended


def is_tight(store: StudyStore) -> bool:
    """True if the interval of every change in a deciding cell is within the plan's `until` of it.

    That is a 95 % interval without correction: of a ratio, both of its ends, relative to it; of a difference, half its
    width, relative to the larger median. Up to five candidates count in pairs, of more each against the best. With a
    single candidate, the interval of its mean counts. Pairs that no further round can compare are left out.
    """
    plan = store.plan
    if plan.until is None:
        return False
    measured = Measured.of(store, plan, drawn=False)
    deciding = compare.deciding(plan, [one.cell for one in measured.estimates])
    estimates = [one for one in measured.estimates if one.cell in deciding and one.offered]
    if len(plan.candidates) == 1:
        return all(_mean_is_tight(one, plan.until) for one in estimates)
    found = compare.compare(plan, measured.estimates, measured.metrics, measured.facts, marks=measured.marks)
    medians = {(one.cell, one.candidate): one.median for one in estimates}
    return all(
        _pair_is_tight(pair, medians, plan.until)
        for cell, winner in zip(found.pairs.cells, found.winners, strict=True)
        if cell in deciding
        for pair in _asked(plan, found.pairs.of(cell), winner.winners[:1])
    )


def _asked(plan: Plan, pairs: CellPairs, best: tuple[int, ...]) -> Iterator[Comparison]:
    """The pairs whose intervals count: all of few candidates, else those of the best."""
    if not compare.asks_for_the_best(plan):
        yield from pairs
        return
    for one in plan.candidates:
        pair = pairs.between(one.index, best[0]) if best else None
        if pair is not None:
            yield pair


def _pair_is_tight(pair: Comparison, medians: dict[tuple[str, int], float | None], until: float) -> bool:
    if pair.no_verdict in _INCURABLE:
        return True
    if pair.bounds is None or pair.effect is None or pair.no_verdict is NoVerdict.TOO_FEW:
        return False
    if pair.by_difference:
        size = max(abs(medians.get((pair.cell, at)) or 0.0) for at in (pair.a, pair.b))
        return (pair.bounds.high - pair.bounds.low) / 2.0 <= until * size
    return max(pair.bounds.high / pair.effect, pair.effect / pair.bounds.low) <= 1.0 + until


def _mean_is_tight(one: Estimate, until: float) -> bool:
    if one.mean is None or one.mean_bounds is None:
        return one.n_started > one.n_ok  # a candidate that fails keeps no study running
    return (one.mean_bounds.high - one.mean_bounds.low) / 2.0 <= until * abs(one.mean)
