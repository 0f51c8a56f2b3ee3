"""What keeps a study from leaving things behind, before anything is run."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from cloudcmp.model.safety import SAFEGUARDS, Safeguard
from cloudcmp.report.table import say, table


def show_safeguards(console: Console, safeguards: Mapping[str, Sequence[Safeguard]]) -> None:
    """Print each provider's safeguards, in the order in which they stand: whether each holds, how, and what stays."""
    if not safeguards:
        return
    console.print()
    say(console, "Against leftovers", "bold")
    rows = [(provider, one.name, one.holds, one.how) for provider, some in safeguards.items() for one in in_order(some)]
    table(console, ("provider", "barrier", "holds", "how, and what stays billed when only this one holds"), rows)


def in_order(safeguards: Sequence[Safeguard]) -> list[Safeguard]:
    """Barriers in the order in which they stand."""
    return sorted(safeguards, key=lambda one: SAFEGUARDS.index(one.name) if one.name in SAFEGUARDS else len(SAFEGUARDS))
