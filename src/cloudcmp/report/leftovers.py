"""Renders a sweep's result as lines."""

from cloudcmp.model.leftover import Fate, Leftover, SweepResult
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.units import Money, format_money

_LONGEST = 500
_WORDS = {Fate.KEPT: "kept", Fate.DUE: "would go", Fate.DELETED: "gone", Fate.LEFT: "still there"}


def lines(swept: SweepResult) -> tuple[str, ...]:
    """Return one line for each leftover, machines first: its fate and its description."""
    return tuple(f"{_WORDS[one.fate]}: {_line(one)}" for one in swept.leftovers)


def summary_lines(swept: SweepResult, *, delete: bool) -> tuple[str, ...]:
    """Return the result in sentences: skipped providers first, the next step last."""
    due, gone = len(swept.of(Fate.DUE)), len(swept.of(Fate.DELETED))
    lines = [one for one in swept.skipped if one not in swept.faults]
    if swept.elsewhere:
        lines.append(f"{swept.elsewhere} of other studies: leave out --study to see them.")
    if not swept.leftovers and swept.complete:
        return (*lines, "No resource with cloudcmp's tags was found where cloudcmp could look.")
    if delete:
        return (*lines, f"{gone} destroyed and confirmed gone, {len(swept.of(Fate.LEFT))} left, "
                        f"{len(swept.of(Fate.KEPT))} kept.")  # fmt: skip
    next_ = "; add --delete to do it" if due else ""
    return (*lines, f"DRY RUN: {due} would be destroyed, {len(swept.of(Fate.KEPT))} kept{next_}.")


def faults(swept: SweepResult) -> tuple[str, ...]:
    """Return one line for each place that could not be listed and each resource that is left."""
    return (
        *(f"not listed: {one}" for one in swept.unlisted),
        *swept.faults,
        *(f"left: {_line(one)}" for one in swept.of(Fate.LEFT)),
    )


def _line(one: Leftover) -> str:
    """Describe a leftover in one line: its place and kind, its study and price, and why it still exists."""
    found = one.found
    facts = (f"study {one.study or 'unknown'}", f"expires {one.expires or 'unknown'}", found.state, _per_hour(one))
    return one_line(
        f"{one.provider}/{found.region} {found.kind} {found.cloud_id}: {', '.join(facts)}: {one.why}", _LONGEST
    )


def _per_hour(one: Leftover) -> str:
    if one.price is None:
        return "price unknown"
    return f"{format_money(Money(one.price.amount_per_hour, one.price.currency))}/h"
