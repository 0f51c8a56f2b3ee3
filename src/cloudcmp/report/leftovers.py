"""The lines of a sweep's result."""

from cloudcmp.model.leftover import Fate, Leftover, SweepResult
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.units import Money, format_money

_LONGEST = 500
_WORDS = {Fate.KEPT: "kept", Fate.DUE: "would go", Fate.DELETED: "gone", Fate.LEFT: "still there"}


def lines(swept: SweepResult) -> tuple[str, ...]:
    """One line for each leftover, machines first: what happens to it and what it is."""
    return tuple(f"{_WORDS[one.fate]}: {_line(one)}" for one in swept.leftovers)


def summary_lines(swept: SweepResult, *, delete: bool) -> tuple[str, ...]:
    """The result in sentences: first what was skipped, last what to do next."""
    due, gone = len(swept.of(Fate.DUE)), len(swept.of(Fate.DELETED))
    lines = [one for one in swept.skipped if one not in swept.faults]
    if swept.elsewhere:
        lines.append(f"{swept.elsewhere} of other studies: see them without --study.")
    if not swept.leftovers and swept.complete:
        return (*lines, "Nothing bears our tags where we could look.")
    if delete:
        return (*lines, f"{gone} destroyed and seen gone, {len(swept.of(Fate.LEFT))} left, "
                        f"{len(swept.of(Fate.KEPT))} kept.")  # fmt: skip
    next_ = "; add --delete to do it" if due else ""
    return (*lines, f"DRY RUN: {due} would be destroyed, {len(swept.of(Fate.KEPT))} kept{next_}.")


def faults(swept: SweepResult) -> tuple[str, ...]:
    """One line for each place that could not be listed and each resource that is left."""
    return (
        *(f"not listed: {one}" for one in swept.unlisted),
        *swept.faults,
        *(f"left: {_line(one)}" for one in swept.of(Fate.LEFT)),
    )


def _line(one: Leftover) -> str:
    """A leftover as one line: where and what it is, its study and price, and why it is still there."""
    found = one.found
    facts = (f"study {one.study or 'unknown'}", f"expires {one.expires or 'unknown'}", found.state, _per_hour(one))
    return one_line(
        f"{one.provider}/{found.region} {found.kind} {found.cloud_id}: {', '.join(facts)}: {one.why}", _LONGEST
    )


def _per_hour(one: Leftover) -> str:
    if one.price is None:
        return "price unknown"
    return f"{format_money(Money(one.price.amount_per_hour, one.price.currency))}/h"
