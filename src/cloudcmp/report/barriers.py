"""What keeps a study from leaving things behind, before anything is run."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from cloudcmp.model.safety import BARRIERS, Barrier
from cloudcmp.report.table import say, table


def show_barriers(console: Console, barriers: Mapping[str, Sequence[Barrier]]) -> None:
    """Print each provider's barriers, in the order in which they stand: whether each holds, how, and what stays."""
    if not barriers:
        return
    console.print()
    say(console, "Against leftovers", "bold")
    rows = [(provider, one.name, one.holds, one.how) for provider, some in barriers.items() for one in in_order(some)]
    table(console, ("provider", "barrier", "holds", "how, and what stays billed when only this one holds"), rows)


def in_order(barriers: Sequence[Barrier]) -> list[Barrier]:
    """Barriers in the order in which they stand."""
    return sorted(barriers, key=lambda one: BARRIERS.index(one.name) if one.name in BARRIERS else len(BARRIERS))
