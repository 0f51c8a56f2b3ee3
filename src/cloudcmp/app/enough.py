"""Changes a running study's later rounds: ends it once it knows enough, and measures only who is still in question."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from cloudcmp import compare
from cloudcmp.answer.selection import changes, end_lines, standing_lines
from cloudcmp.app.plan import host_of, quoted
from cloudcmp.app.study_view import Measured, cell_names_of
from cloudcmp.model.pairs import CellPairs
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, Estimate, NoVerdict
from cloudcmp.model.selection import Ended
from cloudcmp.plan import shortened, still_measured, with_measured
from cloudcmp.store import StudyStore

# What more rounds cannot change; such pairs keep no study running.
_INCURABLE = (NoVerdict.BARRED, NoVerdict.UNLIKE, NoVerdict.NOT_COMPARABLE, NoVerdict.BLOCKS)


def replan(say: Callable[[str], None]) -> Callable[[StudyStore, int], None]:
    """Return what changes a study's plan after a number of rounds, by its rule or its `until`, and says so."""

    def changed(store: StudyStore, rounds: int) -> None:
        if store.plan.ended is not None:
            return
        if store.plan.stop is not None:
            _by_rule(store, rounds, say)
        elif is_tight(store):
            _end(store, Ended(rounds, store.plan.rounds, ()), say)

    return changed


def _by_rule(store: StudyStore, rounds: int, say: Callable[[str], None]) -> None:
    """Measure only who is still in question, and end the study if nobody is."""
    plan = store.plan
    measured, before = Measured.of(store, plan, drawn=False), still_measured(plan)
    found = compare.next_round(plan, measured.estimates, measured.metrics, rounds, before)
    if found.over:
        _end(store, Ended(rounds, plan.rounds, found.standings), say)
    elif found.measured != before and rounds < plan.rounds:
        changed = with_measured(plan, rounds, found.measured, host_of)
        dropped = (*compare.came_back(plan.dropped, found.measured, rounds), *found.leaving)
        changed = replace(changed, dropped=dropped)
        for line in changes(changed, rounds):
            say(line)
        store.replan(quoted(changed))


def _end(store: StudyStore, ended: Ended, say: Callable[[str], None]) -> None:
    shorter = replace(shortened(store.plan, ended.rounds), ended=ended)
    for line in (*end_lines(shorter), *standing_lines(shorter, cell_names_of(shorter))):
        say(line)
    store.replan(quoted(shorter))


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
